"""Candidates: how many pairs the keys make, and what two nodes share.

Rows of joined groups are counted per pair; signatures are fetched only for pairs that they can matter to.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from dedup.base.errors import WorkError
from dedup.base.settings import Settings
from dedup.extras.spark.kinds import KIND_NAMES, SENTENCE
from dedup.extras.spark.schema import EDGE
from dedup.extras.spark.scoring import related

WORST_SHOWN = 5
"""Keys named where a round would join too many pairs."""

MARGIN = 1e-9
"""Scores so little below a threshold are computed all the same: the rule itself is in `rules.pairs`."""


def key_sizes(groups: DataFrame) -> DataFrame:
    """Columns kind, key, nodes."""
    return groups.groupBy("kind", "key").agg(fn.count("*").alias("nodes"))


def check_allowed(joined: DataFrame, allowed: int) -> None:
    """Raise a WorkError with the worst keys where a round would join more pairs than are allowed.

    `joined` has the columns kind, key, nodes, pairs.
    """
    pairs = fn.col("pairs").cast("decimal(38,0)")
    joined = joined.withColumn("pairs", pairs)
    total = joined.agg(fn.sum("pairs")).collect()[0][0] or 0
    if total <= allowed:
        return
    worst = joined.orderBy(fn.desc("pairs"), "kind", "key").limit(WORST_SHOWN).collect()
    named = "; ".join(
        f"{KIND_NAMES[row.kind]} {row.key}: {row.nodes:,} texts, {row.pairs:,} pairs" for row in worst
    )
    raise WorkError(
        f"a round would join up to {total:,} pairs, and {allowed:,} are allowed. The worst keys: {named}."
        " Allow more, or look at what these texts have in common"
    )


def pairs_of(joined: DataFrame, settings: Settings) -> DataFrame:
    """What two nodes share, without hopeless pairs; schema `PAIR`.

    `joined` has one row per shared key: kind, a, b, packed_a, packed_b.
    """
    counted = joined.groupBy("a", "b").agg(
        fn.sum(fn.when(fn.col("kind") == SENTENCE, 1).otherwise(0)).cast("int").alias("shared"),
        fn.bit_or(fn.expr("shiftleft(1, kind)")).alias("kinds"),
        fn.max("packed_a").alias("packed_a"),
        fn.max("packed_b").alias("packed_b"),
    )
    return counted.where(_possible(settings))


def _possible(settings: Settings) -> Column:
    """Whether two nodes can be related: not where few of many sentences is all that they share."""
    (sentences_a, shingles_a), (sentences_b, shingles_b) = (
        (fn.shiftright(name, 32), fn.col(name).bitwiseAND(fn.lit(0xFFFFFFFF)))
        for name in ("packed_a", "packed_b")
    )
    shared, fewer = fn.col("shared"), fn.least(sentences_a, sentences_b)
    jaccard = settings.similar_sentence_jaccard - MARGIN
    contained = settings.similar_containment - MARGIN
    return (
        (fn.col("kinds") != 1 << SENTENCE)
        | (fn.least(shingles_a, shingles_b) >= settings.containment_shingles)
        | (shared >= jaccard * (sentences_a + sentences_b - shared))
        | ((shared >= settings.containment_sentences) & (shared >= contained * fewer))
    )


def score_pairs(pairs: DataFrame, nodes: DataFrame, settings: Settings) -> DataFrame:
    """The related ones of pairs of schema `PAIR`; schema `EDGE`."""
    for end in ("a", "b"):
        columns = (
            fn.col("node").alias(end),
            *(fn.col(n).alias(f"{n}_{end}") for n in ("content", "signature")),
        )
        pairs = pairs.join(nodes.withColumnRenamed("content_hash", "content").select(*columns), end)
    # The key of the hashes stays here: no executor needs it to compare two numbers.
    score = partial(related, settings=replace(settings, hash_key=""))
    return pairs.mapInArrow(score, EDGE)
