"""Articles in canonical order, numbered from 0, and the pins by these numbers (docs/semantics.md, section 5).

The numbers are the order: every later step compares them in place of times and names. They are made from
places that were written, never computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from dedup.base import times
from dedup.base.settings import Settings
from dedup.extras.spark.kinds import PIN_KINDS
from dedup.rules.marks import FUTURE_TOLERANCE
from dedup.rules.pair import Relation

PARTITION_BITS = 33
"""`monotonically_increasing_id` has the number of the row below, and that of its partition above."""


def canonical_time(settings: Settings) -> Column:
    """The time of an article in canonical order, as in `rules.marks.order_key`."""
    published, added = fn.col("published_at"), fn.col("added_at")
    if settings.canonical_order != "published":
        return added
    earliest = times.microseconds(datetime(settings.earliest_year, 1, 1, tzinfo=UTC))
    soon = published - added <= FUTURE_TOLERANCE // times.MICROSECOND
    plausible = published.isNotNull() & (published >= earliest) & soon
    return fn.when(plausible, published).otherwise(added)


def ordered(fingerprints: DataFrame, settings: Settings, partitions: int | None) -> DataFrame:
    """The articles that have a fingerprint, in canonical order, with their place; schema `ORDERED`.

    Spark compares strings byte by byte, as the contract does. No two rows are equal in both columns.
    """
    order = ("time", "source_id")
    found = fingerprints.where(fn.col("reason").isNull()).withColumn("time", canonical_time(settings))
    divided = found.repartitionByRange(*([partitions] if partitions else []), *order)
    return divided.sortWithinPartitions(*order).withColumn("place", fn.monotonically_increasing_id())


def numbered(ordered: DataFrame) -> DataFrame:
    """The same with `id`, the number of each in the order of all, from 0 on."""
    partition = fn.shiftright("place", PARTITION_BITS)
    counts = ordered.groupBy(partition.alias("partition")).agg(fn.count("*").alias("rows")).collect()
    starts, start = [], 0
    for row in sorted(counts, key=lambda row: row.partition):
        starts.append((row.partition, start))
        start += row.rows
    offsets = ordered.sparkSession.createDataFrame(starts, "partition long, start long")
    rank = fn.col("place").bitwiseAND(fn.lit((1 << PARTITION_BITS) - 1))
    joined = ordered.withColumn("partition", partition).join(fn.broadcast(offsets), "partition")
    return joined.withColumn("id", fn.col("start") + rank).drop("partition", "start", "place")


def pinned(articles: DataFrame, pins: Mapping[tuple[str, str], Relation]) -> DataFrame:
    """The pinned pairs whose articles both take part; schema `PINNED`."""
    rows = [(i, *pair, PIN_KINDS[relation]) for i, (pair, relation) in enumerate(sorted(pins.items()))]
    said = articles.sparkSession.createDataFrame(rows, "number long, one string, other string, kind int")
    ids = articles.select("id", "source_id")
    for name in ("one", "other"):
        named = ids.select(fn.col("id").alias(f"{name}_id"), fn.col("source_id").alias(name))
        said = named.join(fn.broadcast(said), name)
    both = (fn.col("one_id"), fn.col("other_id"))
    return said.select("number", fn.least(*both).alias("a"), fn.greatest(*both).alias("b"), "kind")
