"""The same marks on Spark, for those who outgrow one machine: docs/spark.md; needs the extra `spark`.

    from dedup.spark import deduplicate

    result = deduplicate(df, work="s3://bucket/work")
    result.marks, result.matches, result.common_sentences, result.fingerprints, result.refused, result.report

The names are imported when they are first used: executors import only what they run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup.spark.engine import deduplicate as deduplicate
    from dedup.spark.options import Options as Options
    from dedup.spark.options import Pins as Pins
    from dedup.spark.outcome import Result as Result

_HOMES = {
    "Options": "dedup.spark.options",
    "Pins": "dedup.spark.options",
    "Result": "dedup.spark.outcome",
    "deduplicate": "dedup.spark.engine",
}

__all__ = ["Options", "Pins", "Result", "deduplicate"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
