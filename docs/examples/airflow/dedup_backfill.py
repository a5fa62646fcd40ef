"""Settle loaded articles every night, and fail the run if a check raises an alarm.

Put this file into the folder of DAGs of Airflow 3. `dedup` must be installed on the machine of Airflow's
worker, with the address of the database in DEDUP_DATABASE_URL. The next try of a killed task continues the
backfill.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    dag_id="dedup_backfill",
    description="Settle pending news articles",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,  # one backfill settles the articles of all missed nights
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
) as dag:
    settle = BashOperator(
        task_id="settle",
        bash_command="dedup worker --once --log-format json",
        execution_timeout=timedelta(hours=4),
    )
    check = BashOperator(task_id="check", bash_command="dedup status --check --max-age 26h")
    settle >> check
