"""Steps from fingerprints to groups: articles in order, classes of equal fingerprints, nodes by key.

Articles are numbered in canonical order (docs/semantics.md, section 5), and later steps compare numbers.
A node is a class of articles with equal fingerprints and times of publication, named by the number of its
first article. All members of a class have the same relations, and later members are duplicates of the first.
So only the first member is compared, and `results.py` writes marks and pairs for every member.

Nodes that share a key are compared. A key is a bucket, the content hash of a text without buckets, a pinned
pair, or a sentence; but a common sentence (docs/semantics.md, section 2) is no key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from dedup.base import times
from dedup.base.settings import Settings
from dedup.extras.spark.schema import BUCKET, COMMON, CONTENT, PIN_KINDS, SENTENCE, columns
from dedup.rules.common import effective_stories, is_common
from dedup.rules.marks import FUTURE_TOLERANCE
from dedup.rules.pair import Relation

PARTITION_BITS = 33  # number of low bits of `monotonically_increasing_id` that hold a row's number


def canonical_time(settings: Settings) -> Column:
    """Return the time that sorts articles in canonical order, as `rules.marks.order_key` does."""
    published, added = fn.col("published_at"), fn.col("added_at")
    if settings.canonical_order != "published":
        return added
    earliest = times.microseconds(datetime(settings.earliest_year, 1, 1, tzinfo=UTC))
    soon = published - added <= FUTURE_TOLERANCE // times.MICROSECOND
    plausible = published.isNotNull() & (published >= earliest) & soon
    return fn.when(plausible, published).otherwise(added)


def ordered(fingerprints: DataFrame, settings: Settings, partitions: int | None) -> DataFrame:
    """Return the articles that have a fingerprint, sorted canonically, with a `place`; schema `ORDERED`."""
    # Spark compares strings byte by byte, as canonical order demands. No two articles have equal source_ids.
    order = ("time", "source_id")
    found = fingerprints.where(fn.col("reason").isNull()).withColumn("time", canonical_time(settings))
    # Round down like `rules.marks.published_second`. `div` rounds to zero, so subtract the remainder first.
    second = fn.expr("(time - pmod(time, 1000000)) div 1000000")
    known = fn.lit(settings.canonical_order == "published") & (fn.col("time") == fn.col("published_at"))
    found = found.withColumn("published", fn.when(known, second).otherwise(0))
    divided = found.repartitionByRange(*([partitions] if partitions else []), *order)
    return divided.sortWithinPartitions(*order).withColumn("place", fn.monotonically_increasing_id())


def numbered(ordered: DataFrame) -> DataFrame:
    """Add `id`, the number of each article in canonical order, from 0 on."""
    # `ordered` must be a written table, because places that Spark computes twice may differ.
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
    """Return the pinned pairs whose articles are both in the corpus; schema `PINNED`."""
    rows = [(i, *pair, PIN_KINDS[relation]) for i, (pair, relation) in enumerate(sorted(pins.items()))]
    table = articles.sparkSession.createDataFrame(rows, "number long, one string, other string, kind int")
    ids = articles.select("id", "source_id")
    for name in ("one", "other"):
        named = ids.select(fn.col("id").alias(f"{name}_id"), fn.col("source_id").alias(name))
        table = named.join(fn.broadcast(table), name)
    both = (fn.col("one_id"), fn.col("other_id"))
    return table.select("number", fn.least(*both).alias("a"), fn.greatest(*both).alias("b"), "kind")


def _digest() -> Column:
    # The SHA-256 covers all values that relations depend on: Spark shuffles 32 bytes instead of about 500.
    hashes = (
        fn.array_join(fn.col(name).cast("array<string>"), ",") for name in ("sentence_hashes", "buckets")
    )
    numbers = (fn.col(name).cast("string") for name in ("content_hash", "shingle_count", "published"))
    return fn.unhex(fn.sha2(fn.concat_ws(";", *numbers, *hashes, fn.hex("signature")), 256))


def members(articles: DataFrame, pins: DataFrame | None) -> DataFrame:
    """Return the articles that share their fingerprint with another article; schema `MEMBER`."""
    found = articles.select("id", _digest().alias("digest"))
    if pins is not None:
        # A pin of an article does not hold for its copies, so a pinned article is alone in its class.
        ends = pins.select(fn.explode(fn.array("a", "b")).alias("id"))
        found = found.join(fn.broadcast(ends), "id", "left_anti")
    classes = found.groupBy("digest").agg(
        fn.min("id").alias("node"), fn.max("id").alias("last"), fn.count("*").alias("weight")
    )
    return found.join(classes.where("weight > 1"), "digest")


def nodes(articles: DataFrame, members: DataFrame | None) -> DataFrame:
    """Return one row per class; schema `NODE`. Without `members`, each class has one article."""
    if members is None:
        alone = {"node": fn.col("id"), "last": fn.col("id"), "weight": fn.lit(1).cast("long")}
        return articles.withColumns(alone)
    found = articles.join(members, "id", "left").where("node IS NULL OR node = id")
    values = {
        "node": fn.col("id"),
        "last": fn.coalesce("last", "id"),
        "weight": fn.coalesce("weight", fn.lit(1).cast("long")),
    }
    return found.withColumns(values)


def common(nodes: DataFrame, settings: Settings, pins: Mapping[int, bool]) -> DataFrame:
    """Find the common sentences (docs/semantics.md, section 2); schema `COMMON`.

    `pins` maps the hash of a sentence to True (always common) or False (never common).
    """
    # Each node counts `weight` times, once for every article of its class. Spark computes only integers here.
    # `rules.common` divides them in Python, so that all engines get the same floats.
    carried = nodes.select("weight", "buckets", fn.explode("sentence_hashes").alias("sentence"))
    counted = carried.groupBy("sentence").agg(fn.sum("weight").alias("carriers"))
    many = fn.col("carriers") > settings.common_stories
    if pins:
        pin_rows = nodes.sparkSession.createDataFrame(list(pins.items()), "sentence long, always boolean")
        counted = counted.join(pin_rows, "sentence", "full").where("coalesce(always, true)")
        counted = counted.where(many | fn.col("always"))
        counted = counted.withColumn("carriers", fn.coalesce("carriers", fn.lit(0)))
    else:
        counted = counted.where(many).withColumn("always", fn.lit(None).cast("boolean"))
    banded = carried.join(counted.select("sentence"), "sentence").select(
        "sentence", "weight", fn.posexplode("buckets").alias("band", "bucket")
    )
    # `n`: number of carriers with the same bucket. With 10^10 carriers, the sum of n (n - 1) does not fit
    # into a long, so `n` is a decimal.
    alike = banded.groupBy("sentence", "band", "bucket").agg(
        fn.sum("weight").cast("decimal(18,0)").alias("n")
    )
    pairs = alike.groupBy("sentence").agg(fn.sum(fn.col("n") * (fn.col("n") - 1)).alias("pairs"))
    judged = partial(_judged, bands=settings.buckets, limit=settings.common_stories)
    found = counted.join(pairs, "sentence", "left")
    return found.select(
        "sentence", "carriers", fn.coalesce("pairs", fn.lit(0)).cast("decimal(38,0)").alias("pairs"), "always"
    ).mapInArrow(judged, COMMON)


def _judged(batches: Iterator[pa.RecordBatch], bands: int, limit: int) -> Iterator[pa.RecordBatch]:
    """Yield the common sentences among `batches`, with their effective stories.

    Columns of `batches`: sentence, number of carriers, P as in `rules.common`, and whether the sentence is
    pinned as common.
    """
    for batch in batches:
        found: list[tuple[int, int, float]] = []
        for sentence, carriers, pairs, always in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            if always or is_common(carriers, int(pairs), bands, limit):
                found.append((sentence, carriers, effective_stories(carriers, int(pairs), bands)))
        types = (pa.int64(), pa.int64(), pa.float64())
        arrays = [pa.array([row[i] for row in found], kind) for i, kind in enumerate(types)]
        yield pa.RecordBatch.from_arrays(arrays, columns(COMMON))


def packed(sentences: Column, shingles: Column) -> Column:
    """Pack two counts into one column: sentences in the upper 32 bits, shingles in the lower 32."""
    return fn.shiftleft(sentences.cast("long"), 32).bitwiseOR(shingles.cast("long"))


def carried(nodes: DataFrame, common: DataFrame) -> DataFrame:
    """Count the common sentences of each node that has common sentences; schema `CARRIED`."""
    sentences = nodes.select("node", fn.explode("sentence_hashes").alias("sentence_hash"))
    found = sentences.join(common.select("sentence_hash"), "sentence_hash")
    return found.groupBy("node").agg(fn.count("*").cast("int").alias("common"))


def sized(nodes: DataFrame, carried: DataFrame) -> DataFrame:
    """Add `packed`: the number of sentences that are not common, and the number of shingles."""
    counted = nodes.join(carried, "node", "left")
    sentences = fn.size("sentence_hashes") - fn.coalesce("common", fn.lit(0))
    return counted.withColumn("packed", packed(sentences, fn.col("shingle_count"))).drop("common")


def groups(nodes: DataFrame, carried: DataFrame, common: DataFrame, pins: DataFrame | None) -> DataFrame:
    """Return the nodes of each key that at least two nodes share; schema `GROUP`."""
    # Each row carries `packed`, the counts that a score needs. So a later step that counts the shared keys of
    # pairs needs no join with `nodes`.
    found = sized(nodes, carried)
    no_buckets = fn.size("buckets") == 0
    contents = fn.when(no_buckets, fn.array("content_hash")).otherwise(fn.array().cast("array<long>"))
    kinds = (
        (SENTENCE, fn.col("sentence_hashes")),
        (BUCKET, fn.array_distinct("buckets")),
        (CONTENT, contents),
    )
    named = [fn.transform(keys, _named(kind)) for kind, keys in kinds]
    rows = found.select("node", "packed", fn.explode(fn.concat(*named)).alias("named"))
    rows = rows.select("named.kind", "named.key", "node", "packed")
    common = common.select(fn.lit(SENTENCE).alias("kind"), fn.col("sentence_hash").alias("key"))
    rows = rows.join(common, ["kind", "key"], "left_anti")
    if pins is not None:
        ends = pins.select(
            "kind", fn.col("number").alias("key"), fn.explode(fn.array("a", "b")).alias("node")
        )
        pin_rows = found.select("node", "packed").join(fn.broadcast(ends), "node")
        rows = rows.union(pin_rows.select("kind", "key", "node", "packed"))
    # A node is alone if its key has neither a previous nor a next node. This test saves a second pass, which
    # would count the nodes of each key.
    order = Window.partitionBy("kind", "key").orderBy("node")
    rows = rows.withColumns(
        {
            "place": fn.row_number().over(order),
            "alone": fn.lag("node").over(order).isNull() & fn.lead("node").over(order).isNull(),
        }
    )
    return rows.where("NOT alone")


def _named(kind: int) -> Any:
    return lambda key: fn.struct(fn.lit(kind).alias("kind"), key.alias("key"))
