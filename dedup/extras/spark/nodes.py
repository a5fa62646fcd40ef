"""Nodes: classes of articles with equal fingerprints, each named by the number of its first article.

The members of a class are related to every other article in the same way, and later ones are duplicates of
the first. So a class is decided as one, by its first member; `results.py` gives each member its rows. An
article that a pin names is a class of its own: what was said of it was not said of its copies.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn


def _digest() -> Column:
    """SHA-256 of all that relations are made of: 32 bytes in place of some 500."""
    hashes = (
        fn.array_join(fn.col(name).cast("array<string>"), ",") for name in ("sentence_hashes", "buckets")
    )
    numbers = (fn.col(name).cast("string") for name in ("content_hash", "shingle_count"))
    return fn.unhex(fn.sha2(fn.concat_ws(";", *numbers, *hashes, fn.hex("signature")), 256))


def members(articles: DataFrame, pins: DataFrame | None) -> DataFrame:
    """The articles of classes that have several; schema `MEMBER`."""
    found = articles.select("id", _digest().alias("digest"))
    if pins is not None:
        ends = pins.select(fn.explode(fn.array("a", "b")).alias("id"))
        found = found.join(fn.broadcast(ends), "id", "left_anti")
    classes = found.groupBy("digest").agg(
        fn.min("id").alias("node"), fn.max("id").alias("last"), fn.count("*").alias("weight")
    )
    return found.join(classes.where("weight > 1"), "digest")


def nodes(articles: DataFrame, members: DataFrame | None) -> DataFrame:
    """One row per class, with the fingerprint; schema `NODE`. No members: no class has several articles."""
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
