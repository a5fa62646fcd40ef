"""A Spark session for tests. Without Java or pyspark, the tests are skipped with the reason.

With DEDUP_TEST_SPARK_REMOTE=1 the session is of Spark Connect, not a classic session.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REMOTE = "DEDUP_TEST_SPARK_REMOTE"

MASTER = "local[2, 4]"
"""Two cores; a failed task is tried up to four times, as on a cluster."""

CONFIGURATION = {
    "spark.driver.memory": "2g",
    # Java compiles the many short queries of the tests, which needs more room than the default.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}


def session(folder: Path) -> Any:
    """Return the present Spark session, or start a session."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    builder = builder.remote(MASTER) if os.environ.get(REMOTE) else builder.master(MASTER)
    for name, value in CONFIGURATION.items():
        builder = builder.config(name, value)
    return builder.config("spark.sql.warehouse.dir", str(folder)).getOrCreate()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session with two cores."""
    pytest.importorskip("pyspark", reason="needs pyspark: scripts/spark-test sets it up")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("needs Java 17")
    found = session(tmp_path_factory.mktemp("warehouse"))
    yield found
    found.stop()
