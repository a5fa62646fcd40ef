"""Settle every night what was loaded, and fail the run if all is not well.

Put it into the folder of DAGs of Airflow 3. `dedup` must be installed where the worker of Airflow runs, and the
connection string must be in its environment as DEDUP_DATABASE_URL. A task that is killed is gone on with by its
next try, since a backfill keeps what it has finished.
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
    catchup=False,  # one backfill settles whatever waits, of however many nights
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
