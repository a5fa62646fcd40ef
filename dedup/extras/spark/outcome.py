"""What a run gives: tables that were written as steps, and a report; `write` puts them into one folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from dedup.extras.spark.exchange import RUN_FILE


@dataclass(frozen=True, slots=True)
class Result:
    """The marks of a corpus, and what they were made with; the tables of `dedup.extras.spark.exchange`.

    Tables are read from the folder of the steps when used.
    """

    marks: DataFrame
    matches: DataFrame
    common_sentences: DataFrame
    fingerprints: DataFrame
    refused: DataFrame
    report: dict[str, Any]  # as in `run.json`: settings, digests, versions, counts, steps and rounds

    def write(self, output: str) -> None:
        """Write all tables into a folder, as Parquet, and `run.json`; what was there under these names goes.

        `output` is any URL that Spark writes. Where that is no file system of this machine, only Spark can
        write, and `run.json` is a folder with one file of text.
        """
        tables = {
            "mark": self.marks,
            "match": self.matches,
            "common_sentence": self.common_sentences,
            "fingerprint": self.fingerprints,
            "refused": self.refused,
        }
        folder = Path(re.sub("^file:(//)?", "", output))
        if (folder / RUN_FILE).is_file():  # without it the folder is known not to be whole
            (folder / RUN_FILE).unlink()
        for name, table in tables.items():
            table.write.mode("overwrite").parquet(f"{output}/{name}")
        if (folder / "refused").is_dir():
            (folder / RUN_FILE).write_text(json.dumps(self.report, indent=2) + "\n", "utf-8")
            return
        line = self.marks.sparkSession.range(0, 1, 1, 1).select(
            fn.lit(json.dumps(self.report)).alias("value")
        )
        line.write.mode("overwrite").text(f"{output}/{RUN_FILE}")
