"""The steps of a run. A step is written before the next begins, so that a killed run can continue.

A step writes a Parquet table `work/NAME/data`, then a marker `work/NAME/done` of one row. A step without a
marker is done again. Only Spark reads and writes files, so the folder and the session can be remote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from dedup.base.errors import WorkError
from dedup.extras.spark.schema import columns

MARKER = "digest string, rows long, seconds double"
"""Columns of a marker: `SparkSteps.digest`, number of rows of the step's table, and the step's duration."""

Told = Callable[[str, float, int], object]
"""A function that is called after each step with its name, seconds and rows."""


@dataclass(slots=True)
class Step:
    rows: int
    seconds: float
    made: bool  # true if this run made the step, false if an earlier run did


@dataclass
class SparkSteps:
    spark: SparkSession
    work: str  # URL of a folder for one run; two runs at once would overwrite each other's steps
    digest: str  # digest of the run's input, options and versions; tells whether a step is of this run
    told: Told | None = None
    done: dict[str, Step] = field(default_factory=dict)  # finished steps by name, in the order of first use

    def table(self, name: str, build: Callable[[], DataFrame], schema: str | None = None) -> DataFrame:
        """Return the table of a step, which `build` makes unless the step is finished.

        Without `schema`, the files decide the columns. Raises WorkError: the step belongs to another run.
        """
        if name not in self.done:
            found = self._marker(name)
            self.done[name] = Step(found[0], found[1], False) if found else self._make(name, build, schema)
            if self.told:
                self.told(name, self.done[name].seconds, self.done[name].rows)
        return self.tables([name], schema)

    def tables(self, names: Sequence[str], schema: str | None = None) -> DataFrame:
        """Return the rows of the tables of finished steps; these tables have the same columns.

        Without `schema`, the files decide the columns. Without `names`, return an empty table of `schema`.
        """
        if not names:
            if schema is None:
                raise ValueError("a schema is needed if no step is named")
            return self.spark.createDataFrame([], schema)
        reader = self.spark.read if schema is None else self.spark.read.schema(schema)
        return reader.parquet(*(f"{self.work}/{name}/data" for name in names))

    def rows(self, name: str) -> int:
        return self.done[name].rows

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of the table of each finished step."""
        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        step = fn.regexp_extract("path", "/([^/]+)/data/[^/]*$", 1).alias("step")
        found = files.load(self.work).select(step, "length").groupBy("step").agg(fn.sum("length"))
        return {row[0]: row[1] for row in found.collect() if row[0] in self.done}

    def _make(self, name: str, build: Callable[[], DataFrame], schema: str | None) -> Step:
        start = time.monotonic()
        made = build()
        if schema is not None:
            made = made.select(*columns(schema))
        made.write.mode("overwrite").parquet(f"{self.work}/{name}/data")
        rows = self.tables([name], schema).count()
        seconds = round(time.monotonic() - start, 3)
        marker: dict[str, Any] = {"digest": self.digest, "rows": rows, "seconds": seconds}
        types = dict(column.split() for column in MARKER.split(", "))
        values = [fn.lit(value).cast(types[column]).alias(column) for column, value in marker.items()]
        row = self.spark.range(0, 1, 1, 1).select(*values)
        row.write.mode("overwrite").parquet(f"{self.work}/{name}/done")
        return Step(rows, seconds, True)

    def _marker(self, name: str) -> tuple[int, float] | None:
        # The path is given twice, because Spark 4 logs a stack trace for a single missing path.
        paths = [f"{self.work}/{name}/done"] * 2
        try:
            rows = self.spark.read.schema(MARKER).parquet(*paths).collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error):
                return None
            raise
        if not rows:  # the run was killed while it wrote the marker
            return None
        if rows[0].digest != self.digest:
            raise WorkError(
                f"{self.work} holds the steps of another run: its articles, settings, pins, options or"
                " versions differ; take another folder, or remove this one"
            )
        return rows[0].rows, rows[0].seconds
