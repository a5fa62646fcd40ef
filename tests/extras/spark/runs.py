"""Run the fingerprint pass of Spark over a table, and return its outcome as Python values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from dedup.base.settings import Settings
from dedup.base.times import from_microseconds


@dataclass
class Run:
    """Outcome of a pass over a table.

    Attributes:
        articles: times, digest, reason, and fingerprint of each article, by source_id.
        refused: id and reason of each refused row.
        report: the report of the pass.
        steps: names of the steps that the pass made.
    """

    articles: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    refused: list[tuple[str | None, str]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


def reading(spark: Any, path: Path, work: Path, mapping: dict[str, str] | None = None, **more: Any) -> Run:
    """Run the fingerprint pass over a Parquet file."""
    from dedup.extras.spark.reading import read_table

    return passed(spark, read_table(spark, str(path), mapping=mapping), work, mapping=mapping, **more)


def passed(spark: Any, df: Any, work: Path, settings: Settings | None = None, **more: Any) -> Run:
    """Run the fingerprint pass over a DataFrame."""
    from dedup.extras.spark.fingerprinting import fingerprint
    from dedup.extras.spark.options import CorpusState
    from dedup.extras.spark.steps import SparkSteps

    run = Run()
    steps = SparkSteps(spark, str(work), "", lambda name, _seconds, _rows: run.steps.append(name))
    given = {name: more.pop(name) for name in ("models", "known") if name in more}
    corpus = CorpusState(settings or Settings(), **given)
    made, refused, run.report = fingerprint(df, corpus, steps, **more)
    for row in made.collect():
        kept = (
            row.version,
            row.content_hash,
            tuple(row.sentence_hashes),
            bytes(row.signature),
            tuple(row.buckets),
        )
        counts = (row.word_count, row.shingle_count)
        assert row.source_id not in run.articles
        run.articles[row.source_id] = (
            moment(row.published_at),
            moment(row.added_at),
            bytes(row.text_digest),
            row.reason,
            None if row.reason else kept,
            None if row.reason else counts,
        )
        assert row.reason is None or (kept, counts) == ((0, 0, (), b"", ()), (0, 0))
    run.refused = [tuple(row) for row in refused.collect()]
    return run


def moment(count: int | None) -> datetime | None:
    return None if count is None else from_microseconds(count)
