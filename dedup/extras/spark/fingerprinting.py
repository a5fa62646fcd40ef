"""Fingerprints of the articles of a DataFrame. One pass reads the texts; the step `read` stores the result.

Refused and repaired rows are counted by reason; a repaired row lost an optional field. A known article whose
text is unchanged keeps its fingerprint: Python reads only new and changed texts. `rows.py` converts values.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial, reduce
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from dedup.base.settings import Settings
from dedup.base.times import as_utc
from dedup.extras.spark import rows
from dedup.extras.spark.exchange import FORMAT
from dedup.extras.spark.grouping import canonical_time
from dedup.extras.spark.options import CorpusState, Options
from dedup.extras.spark.reading import INTEGERS, TEXTS, arranged, configured
from dedup.extras.spark.rows import Layout, Recipe
from dedup.extras.spark.schema import FINGERPRINT, columns
from dedup.extras.spark.steps import SparkSteps, Told
from dedup.files.record import record_bytes
from dedup.files.report import NUMBER, OTHER_REASONS, REASONS_KEPT
from dedup.text.fingerprint import Fingerprinter

# Rows that Spark passes to Python in one batch: 200 kB of usual news, or 1 GB of the longest accepted texts.
# Spark's default of 10,000 rows would be 150 GB of the longest texts.
BATCH_ROWS = 64

# A join with at most this number of ids (about 100 MB) sends the ids to every executor, so that the other
# table is not shuffled.
BROADCAST_ROWS = 2_000_000

DOUBLED = "the source_id comes more than once"
OUTDATED = "its fingerprint is of another version, and its text is not in the input"
READ = f"{FINGERPRINT}, {rows.READ}"  # columns of the step `read`: a fingerprint, or the reason of a refusal

# A code that no language has: it gives the fingerprint version of all languages without sentence parameters.
UNKNOWN_LANGUAGE = "x"

_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

TABLES = 1  # version of the tables between the steps: raised by one whenever the output of a step changes


@dataclass(frozen=True, slots=True)
class Taken:
    """Fingerprints, refused rows and counts of an input, after its texts were read."""

    steps: SparkSteps
    fingerprints: DataFrame  # one row per article of the corpus; schema `FINGERPRINT`
    refused: DataFrame  # rows that are not in the corpus, with the reason
    about: dict[str, Any]  # basis, versions, and counts of the rows


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
    """Read and fingerprint the input of `deduplicate`. `sample`: the share of rows, for an estimate."""
    basis = corpus.basis().as_dict()
    about = {"format": FORMAT, **basis, "dedup": _version(), "python": platform.python_version()}
    sources = [sorted(table.inputFiles()) for table in (df, corpus.known) if table is not None]
    # The sample is part of the digest: a run must not continue from the steps of an estimate.
    given = [mapping and dict(mapping), added_at and added_at.isoformat(), sources, sample]
    made_with = [TABLES, about, options.digest(), *given]
    digest = hashlib.sha256(json.dumps(made_with, sort_keys=True).encode()).hexdigest()
    steps = SparkSteps(df.sparkSession, work.rstrip("/"), digest, told)
    fingerprints, refused, report = fingerprint(df, corpus, steps, mapping=mapping, added_at=added_at)
    if corpus.horizon is not None:
        fingerprints, refused = _inside(fingerprints, refused, corpus.settings, corpus.horizon)
    return Taken(steps, fingerprints, refused, {**about, "spark": df.sparkSession.version, "input": report})


def fingerprint(
    df: DataFrame,
    corpus: CorpusState,
    steps: SparkSteps,
    *,
    mapping: Mapping[str, str] | None = None,
    added_at: datetime | None = None,
) -> tuple[DataFrame, DataFrame, dict[str, Any]]:
    """Return fingerprints (schema `FINGERPRINT`), refused rows (`REFUSED`) and a report of counts.

    `corpus.known` holds fingerprints made with the same sentence parameters. If an article has the same text,
    title, language and scope as the known article, the article keeps the known fingerprint, and known times
    replace missing times. A known article keeps its known fingerprint and times, too, if `df` lacks it or its
    row is refused; if that fingerprint is of another version, the article is refused. All rows of a repeated
    source_id are refused. If `added_at` is None, an article with neither an `added_at` nor a plausible
    `published_at` is refused, because its place in canonical order is unknown.
    """
    settings, known = corpus.settings, corpus.known
    longest = record_bytes(settings.text_max_characters)
    cells, layout = arranged(df, mapping, longest)
    added = as_utc(added_at, "added_at") if added_at else datetime.now(UTC)
    recipe = Recipe(layout, settings, dict(corpus.models), added, added_at is not None, longest)
    with configured(df.sparkSession, {_BATCH: str(BATCH_ROWS)}):
        if known is None:
            read = steps.table("read", lambda: _mapped(cells, rows.fingerprinted, recipe, READ))
            given_ids = read
        else:
            given_ids = steps.table("known", lambda: _compared(cells, layout, known))
            same = steps.table(
                "same", lambda: _mapped(given_ids.where("same"), rows.unchanged, recipe, rows.SAME)
            )
            changed = steps.table("changed", lambda: _changed(given_ids, same))
            found = _found(cells, layout, changed, steps.rows("changed"))
            read = steps.table("read", lambda: _mapped(found, rows.fingerprinted, recipe, READ))
    doubled = steps.table("doubled", lambda: _doubled(given_ids))
    twice = steps.rows("doubled")
    refused = _without(read.where("refused IS NOT NULL"), doubled, twice)
    refused = refused.selectExpr("source_id", "refused AS reason")
    if twice:
        again = _of(given_ids, doubled, twice, "left_semi").select("source_id")
        refused = refused.union(again.withColumn("reason", fn.lit(DOUBLED)))
    made = _without(read.where("refused IS NULL"), doubled, twice).select(*columns(FINGERPRINT))
    repaired = read.select("repaired")
    reused = 0
    if known is not None:
        fingerprinter = Fingerprinter(settings, corpus.models)
        versions = {fingerprinter.version(one) for one in (*corpus.models, "en", UNKNOWN_LANGUAGE)}
        moved = _without(same.where("moved"), doubled, twice)
        kept = steps.table("kept", lambda: _kept(known, made, moved, steps.rows("read")), FINGERPRINT)
        current = fn.col("version").isin(*versions) | fn.col("reason").isNotNull()
        outdated = kept.where(~current).select("source_id", fn.lit(OUTDATED).alias("reason"))
        made, refused = made.union(kept.where(current)), refused.union(outdated)
        repaired = repaired.union(same.select("repaired"))
        reused = _without(same, doubled, twice).count()
    articles = steps.rows("read" if known is None else "known")
    return made, refused, {"articles": articles, "reused": reused, **_counted(made, refused, repaired)}


def _mapped(cells: DataFrame, function: Callable[..., Any], recipe: Recipe, schema: str) -> DataFrame:
    # The recipe may hold the hash key. As an argument of a partial the recipe is not shown in Spark's plans.
    return cells.mapInArrow(partial(function, recipe), schema)


def _compared(cells: DataFrame, layout: Layout, known: DataFrame) -> DataFrame:
    """Return the rows without texts, joined with known articles; `same` is true for unchanged texts."""
    texts = [f"c{number}" for number in layout.places("text")]
    narrow = cells.select(
        _given_id(layout).alias("source_id"),
        _digest(cells, layout).alias("digest"),
        *(fn.lit("").alias(name) if name in texts else fn.col(name) for name in cells.columns),
    )
    before = known.select(
        fn.col("source_id").alias("known_id"),
        "text_digest",
        fn.col("version").alias("known_version"),
        *(fn.col(name.removeprefix("known_")).alias(name) for name in rows.KNOWN_TIMES),
        fn.col("reason").alias("known_reason"),
    )
    same = fn.col("digest").eqNullSafe(fn.col("text_digest")) & fn.col("digest").isNotNull()
    joined = narrow.join(before, narrow.source_id == before.known_id, "left")
    joined = joined.withColumn("same", same & fn.col("known_reason").isNull())
    return joined.drop("digest", "text_digest", "known_id", "known_reason")


def _given_id(layout: Layout) -> Column:
    return _first([fn.col(f"c{number}") for number in layout.places("source_id")])


def _first(cells: list[Column]) -> Column:
    # An empty value counts as missing, as in `extract_values`.
    texts = [cell.cast("string") for cell in cells]
    return fn.coalesce(*(fn.when(text != "", text) for text in texts), fn.lit(None).cast("string"))


def _digest(cells: DataFrame, layout: Layout) -> Column:
    """Compute `exchange.text_digest` in Spark.

    If storing a row would change one of its values, the row's digest differs from all stored digests.
    """
    # Stored values have no NUL, so a row with a NUL cannot have the digest of a stored article.
    types, parts = dict(cells.dtypes), []
    for field in ("language", "title", "text", "scope"):
        names = [f"c{number}" for number in layout.places(field)]
        # Only a scope may be an integer. Its digits are stored, which does not count as a repair.
        digested = TEXTS | INTEGERS if field == "scope" else TEXTS
        if not digested.issuperset(types[name] for name in names):
            return fn.lit(None).cast("binary")
        value, end = _first([fn.col(name) for name in names]).cast("binary"), fn.unhex(fn.lit("00"))
        if field == "scope":
            parts.append(fn.coalesce(fn.concat(end, value), fn.lit("").cast("binary")))
        else:
            parts += [end, fn.coalesce(value, fn.lit("").cast("binary"))]
    return fn.unhex(fn.sha2(fn.concat(*parts[1:]), 256))


def _changed(given: DataFrame, same: DataFrame) -> DataFrame:
    """Return the ids of the articles whose texts must be read, with the known times of these articles."""
    left = given.join(same.select("source_id"), "source_id", "left_anti")
    ids = left.select(fn.col("source_id").alias("changed_id"), *rows.KNOWN_TIMES)
    return ids.dropDuplicates(["changed_id"])


def _found(cells: DataFrame, layout: Layout, changed: DataFrame, count: int) -> DataFrame:
    ids = fn.broadcast(changed) if count <= BROADCAST_ROWS else changed
    # A null-safe comparison also finds rows without an id, which must be read to be refused with a reason.
    return cells.join(ids, _given_id(layout).eqNullSafe(fn.col("changed_id"))).drop("changed_id")


def _kept(known: DataFrame, made: DataFrame, moved: DataFrame, new: int) -> DataFrame:
    """Return the known articles whose texts were not read again, with new times if the input changed them."""
    kept = _without(known.select(*columns(FINGERPRINT)), made.select("source_id"), new)
    times = [name.removeprefix("known_") for name in rows.KNOWN_TIMES]
    given = moved.select(
        "source_id", fn.lit(True).alias("given"), *(fn.col(t).alias(f"new_{t}") for t in times)
    )
    joined = kept.join(given, "source_id", "left")
    chosen = {time: fn.when(fn.col("given"), fn.col(f"new_{time}")).otherwise(fn.col(time)) for time in times}
    return joined.withColumns(chosen).select(*columns(FINGERPRINT))


def _doubled(ids: DataFrame) -> DataFrame:
    counted = ids.where("source_id IS NOT NULL").groupBy("source_id").agg(fn.count("*").alias("times"))
    return counted.where("times > 1").select("source_id")


def _without(table: DataFrame, ids: DataFrame, count: int) -> DataFrame:
    return _of(table, ids, count, "left_anti") if count else table


def _of(table: DataFrame, ids: DataFrame, count: int, how: str) -> DataFrame:
    return table.join(fn.broadcast(ids) if count <= BROADCAST_ROWS else ids, "source_id", how)


def _counted(made: DataFrame, refused: DataFrame, repaired: DataFrame) -> dict[str, Any]:
    """Count failed articles, and refused and repaired rows by reason."""
    flaws = repaired.select(fn.explode("repaired").alias("reason"))
    failed = made.where("reason IS NOT NULL").select("reason")
    parts = {"failed": failed, "refused": refused.select("reason"), "repaired": flaws}
    named = [part.select(fn.lit(name).alias("what"), "reason") for name, part in parts.items()]
    kind = fn.regexp_replace("reason", NUMBER.pattern, "…")
    counts = reduce(lambda one, other: one.union(other), named).groupBy("what", kind.alias("kind"))
    found = counts.agg(fn.count("*").alias("count"), fn.min("reason").alias("reason")).collect()
    noted: dict[str, dict[str, int]] = {name: {} for name in parts}
    for row in sorted(found, key=lambda row: (-row["count"], row["reason"])):
        reasons = noted[row["what"]]
        reason = row["reason"] if len(reasons) < REASONS_KEPT else OTHER_REASONS
        reasons[reason] = reasons.get(reason, 0) + row["count"]
    return {**noted, "failed": sum(noted["failed"].values())}


def _inside(
    fingerprints: DataFrame, refused: DataFrame, settings: Settings, horizon: int
) -> tuple[DataFrame, DataFrame]:
    """Move articles before the horizon to the refused rows."""
    time = canonical_time(settings)
    reason = fn.lit("before the horizon of the corpus").alias("reason")
    outside = fingerprints.where(time < horizon).select("source_id", reason)
    return fingerprints.where(time >= horizon), refused.union(outside)


def _version() -> str | None:
    with suppress(PackageNotFoundError):  # clusters may ship the files without the metadata of the package
        return version("newsdedup")
    return None
