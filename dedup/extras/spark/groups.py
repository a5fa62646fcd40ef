"""Groups: the nodes that have a key in common, so that only candidates are ever compared.

A key is a sentence that is not common, a bucket, the content of a text without buckets, or a pinned pair.
Every row has what a score needs of its node besides the signature, so that one aggregation of joined rows
counts what two nodes share.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from dedup.extras.spark.kinds import BUCKET, CONTENT, SENTENCE


def packed(sentences: Column, shingles: Column) -> Column:
    """Two counts in one column: |S'| above, shingles in the lower 32 bits."""
    return fn.shiftleft(sentences.cast("long"), 32).bitwiseOR(shingles.cast("long"))


def carried(nodes: DataFrame, common: DataFrame) -> DataFrame:
    """How many of its sentences are common, of the nodes that have such; schema `CARRIED`."""
    sentences = nodes.select("node", fn.explode("sentence_hashes").alias("sentence_hash"))
    found = sentences.join(common.select("sentence_hash"), "sentence_hash")
    return found.groupBy("node").agg(fn.count("*").cast("int").alias("common"))


def sized(nodes: DataFrame, carried: DataFrame) -> DataFrame:
    """Nodes with `packed`, their counts of sentences that are not common and of shingles."""
    counted = nodes.join(carried, "node", "left")
    sentences = fn.size("sentence_hashes") - fn.coalesce("common", fn.lit(0))
    return counted.withColumn("packed", packed(sentences, fn.col("shingle_count"))).drop("common")


def groups(nodes: DataFrame, carried: DataFrame, common: DataFrame, pins: DataFrame | None) -> DataFrame:
    """The nodes by key, where several have it, each with its place; schema `GROUP`."""
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
        said = found.select("node", "packed").join(fn.broadcast(ends), "node")
        rows = rows.union(said.select("kind", "key", "node", "packed"))
    # Neighbours tell whether a key has several nodes, without a look at all of them.
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
