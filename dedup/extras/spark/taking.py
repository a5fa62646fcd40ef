"""How a run and an estimate begin: the steps of their folder, and the texts of the input as fingerprints."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from dedup.base.settings import Settings
from dedup.extras.spark import articles
from dedup.extras.spark.corpus import CorpusState
from dedup.extras.spark.exchange import FORMAT, Basis
from dedup.extras.spark.fingerprinting import fingerprint
from dedup.extras.spark.options import Options
from dedup.extras.spark.steps import SparkSteps, Told

TABLES = 1
"""Of the tables between the steps: raised by one whenever what a step writes changes."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An input whose texts are read."""

    steps: SparkSteps  # the first ones are done
    fingerprints: DataFrame  # of the articles that take part
    refused: DataFrame  # all others
    about: dict[str, Any]  # basis, versions, and what became of the rows


def take(
    df: DataFrame,
    corpus: CorpusState,
    options: Options,
    *,
    work: str,
    mapping: Mapping[str, str] | None,
    added_at: datetime | None,
    told: Told | None,
    sample: float | None = None,
) -> Taken:
    """Read an input; the arguments are those of `deduplicate`.

    `sample` is that of an estimate, whose folder is none of a run.
    """
    models = {language: model.checksum for language, model in corpus.models.items()}
    basis = Basis.of(corpus.settings, models, corpus.pins.digest(), corpus.horizon).as_dict()
    about = {"format": FORMAT, **basis, "dedup": _version(), "python": platform.python_version()}
    sources = [sorted(table.inputFiles()) for table in (df, corpus.known) if table is not None]
    made_with = [
        TABLES,
        about,
        options.digest(),
        mapping and dict(mapping),
        added_at and added_at.isoformat(),
        sources,
        sample,
    ]
    digest = hashlib.sha256(json.dumps(made_with, sort_keys=True).encode()).hexdigest()
    steps = SparkSteps(df.sparkSession, work.rstrip("/"), digest, told)
    report: dict[str, Any] = {}
    fingerprints, refused = fingerprint(
        df,
        corpus.settings,
        corpus.models,
        corpus.known,
        steps=steps,
        mapping=mapping,
        added_at=added_at,
        report=report,
    )
    if corpus.horizon is not None:
        fingerprints, refused = _inside(fingerprints, refused, corpus.settings, corpus.horizon)
    return Taken(steps, fingerprints, refused, {**about, "spark": df.sparkSession.version, "input": report})


def _inside(
    fingerprints: DataFrame, refused: DataFrame, settings: Settings, horizon: int
) -> tuple[DataFrame, DataFrame]:
    """The articles that are not before the horizon, and all others with the refused ones."""
    time = articles.canonical_time(settings)
    reason = fn.lit("before the horizon of the corpus").alias("reason")
    outside = fingerprints.where(time < horizon).select("source_id", reason)
    return fingerprints.where(time >= horizon), refused.union(outside)


def _version() -> str | None:
    """Of the package; None where its files were shipped without it."""
    with suppress(PackageNotFoundError):
        return version("newsdedup")
    return None
