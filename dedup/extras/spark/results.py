"""The marks and stored pairs of every article, from decided nodes (docs/semantics.md, section 5).

A node is a class of articles with equal fingerprints and times of publication. An article gets its node's
pairs with earlier originals. Equal scores are ranked by the numbers of rules and articles, as in
`rules.marks`: rules are numbered by name, articles in canonical order.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from dedup.base.settings import Settings
from dedup.extras.spark.exchange import RUN_FILE
from dedup.extras.spark.grouping import sized
from dedup.extras.spark.schema import BUCKET, CONTENT, EDGE, SCORES, columns
from dedup.extras.spark.scoring import related
from dedup.rules.marks import Status
from dedup.rules.pair import Relation, Rule
from dedup.rules.pairs import RULES

_SCORES = columns(SCORES)
_PINNED = RULES.index(Rule.PINNED)


def originals(
    edges: DataFrame, gone: DataFrame, members: DataFrame | None, own: DataFrame | None, settings: Settings
) -> DataFrame:
    """Return the stored pairs of each duplicate with its originals; schema `ORIGINAL`.

    `edges`: pairs of related nodes; `gone`: nodes that are duplicates; `members`: articles of classes with
    several articles; `own`: scores of copies within these classes.
    """
    found = _with_ends(edges, gone).where("duplicate AND a_out != b_out")
    found = found.select(
        fn.when(fn.col("a_out"), fn.col("a")).otherwise(fn.col("b")).alias("node"),
        fn.when(fn.col("a_out"), fn.col("b")).otherwise(fn.col("a")).alias("original"),
        "rule",
        *_SCORES,
    )
    rows = found.where("original < node").withColumnRenamed("node", "id")
    if members is not None and own is not None:
        # The number of a node is the number of its first article. An original that is later than this article
        # may be earlier than a copy in the node's class, so compare originals with each copy's own number.
        copies = members.where("id != node").select("id", "node")
        canonical = own.select(fn.col("a").alias("node"), fn.col("a").alias("original"), "rule", *_SCORES)
        later = copies.join(found.union(canonical), "node").where("original < id").drop("node")
        rows = rows.union(later)
    best = Window.partitionBy("id").orderBy(fn.desc("score"), "original")
    return rows.withColumn("rank", fn.row_number().over(best)).where(_kept(settings))


def own_scores(
    nodes: DataFrame, carried: DataFrame, members: DataFrame, gone: DataFrame, settings: Settings
) -> DataFrame:
    """Return the scores of canonical nodes and their own copies; schema `EDGE`, where a = b.

    All articles of a node have equal fingerprints, so the node is scored against itself.
    """
    several = members.where("id = node").select("node").join(gone, "node", "left_anti")
    classes = sized(nodes.join(several, "node", "left_semi"), carried)
    classes = classes.withColumn("sentences", fn.size("sentence_hashes"))
    kinds = fn.when(fn.size("buckets") > 0, 1 << CONTENT | 1 << BUCKET).otherwise(1 << CONTENT)
    ends = {
        "packed": "packed",
        "content": "content_hash",
        "signature": "signature",
        "published": "published",
        "sentences": "sentences",
    }
    both = [fn.col(column).alias(f"{n}_{end}") for n, column in ends.items() for end in "ab"]
    shared = fn.shiftright("packed", 32).cast("int").alias("shared")
    node = fn.col("node")
    pairs = classes.select(node.alias("a"), node.alias("b"), shared, kinds.alias("kinds"), *both)
    return pairs.mapInArrow(partial(related, settings=replace(settings, hash_key="")), EDGE)


def best_match(edges: DataFrame, gone: DataFrame) -> DataFrame:
    """Return each original with its best match among earlier and later originals; schema `BEST_MATCH`."""
    found = _similar(edges, gone)
    later = found.select(fn.col("b").alias("id"), fn.col("a").alias("other"), "rule", "score")
    earlier = found.select(fn.col("a").alias("id"), fn.col("b").alias("other"), "rule", "score")
    best = Window.partitionBy("id").orderBy(fn.desc("score"), "rule", "other")
    return later.union(earlier).withColumn("rank", fn.row_number().over(best)).where("rank = 1")


def similar(edges: DataFrame, gone: DataFrame, best_match: DataFrame, settings: Settings) -> DataFrame:
    """Return the stored pairs of similar originals; schema `SIMILAR`."""
    best = Window.partitionBy("b").orderBy(fn.desc("score"), "rule", "a")
    ranked = _similar(edges, gone).withColumn("rank", fn.row_number().over(best))
    of_earlier = best_match.select(fn.col("id").alias("a"), fn.col("other").alias("best"))
    flag = fn.coalesce(fn.col("best") == fn.col("b"), fn.lit(False))
    found = ranked.join(of_earlier, "a", "left").withColumn("best_match", flag)
    kept = found.where(_kept(settings) | fn.col("best_match"))
    return kept.withColumnsRenamed({"b": "id", "a": "other"})


def marks(
    articles: DataFrame, fingerprints: DataFrame, originals: DataFrame, best_match: DataFrame
) -> DataFrame:
    """Return the mark of every article; schema `MARK`. An article whose fingerprint has a `reason` failed."""
    copies = originals.where("rank = 1").select("id", "original", "score", "rule")
    alike = best_match.select("id", fn.lit(None).cast("long").alias("original"), "score", "rule")
    names = articles.select("id", "source_id")
    named = names.select(fn.col("id").alias("original"), fn.col("source_id").alias("duplicate_of"))
    status = (
        fn.when(fn.col("original").isNotNull(), Status.DUPLICATE.value)
        .when(fn.col("rule").isNotNull(), Status.SIMILAR.value)
        .otherwise(Status.UNIQUE.value)
    )
    found = names.join(copies.union(alike), "id", "left").join(named, "original", "left")
    readable = found.select(
        "source_id", status.alias("status"), "duplicate_of", "score", _rule_name().alias("reason")
    )
    failed = fingerprints.where(fn.col("reason").isNotNull()).select(
        "source_id",
        fn.lit(Status.FAILED.value).alias("status"),
        fn.lit(None).cast("string").alias("duplicate_of"),
        fn.lit(None).cast("double").alias("score"),
        "reason",
    )
    return readable.union(failed)


def matches(articles: DataFrame, originals: DataFrame, similar: DataFrame) -> DataFrame:
    """Return the stored pairs with source_ids instead of numbers; schema `MATCH`."""
    copies = originals.select(
        "id",
        fn.col("original").alias("other"),
        fn.lit(Relation.DUPLICATE.value).alias("relation"),
        "rule",
        *_SCORES,
        fn.lit(False).alias("best_match"),
    )
    relation = fn.lit(Relation.SIMILAR.value).alias("relation")
    alike = similar.select("id", "other", relation, "rule", *_SCORES, "best_match")
    names = articles.select("id", "source_id")
    others = names.select(fn.col("id").alias("other"), fn.col("source_id").alias("other_source_id"))
    found = copies.union(alike).join(names, "id").join(others, "other")
    return found.withColumn("rule", _rule_name())


def _with_ends(edges: DataFrame, gone: DataFrame) -> DataFrame:
    """Add the columns a_out and b_out, which say whether node a and node b are duplicates."""
    for end in ("a", "b"):
        out = gone.select(fn.col("node").alias(end), fn.lit(True).alias("out"))
        edges = edges.join(out, end, "left").withColumn(f"{end}_out", fn.coalesce("out", fn.lit(False)))
        edges = edges.drop("out")
    return edges


def _similar(edges: DataFrame, gone: DataFrame) -> DataFrame:
    return _with_ends(edges.where("NOT duplicate"), gone).where("NOT a_out AND NOT b_out")


def _kept(settings: Settings) -> Column:
    return (fn.col("rank") <= settings.similar_pairs) | (fn.col("rule") == _PINNED)


def _rule_name() -> Column:
    name = fn.lit(None).cast("string")
    for place, rule in enumerate(RULES):
        name = fn.when(fn.col("rule") == place, rule.value).otherwise(name)
    return name


@dataclass(frozen=True, slots=True)
class Result:
    """The marks of a corpus. Each use of a table reads it from the folder of the steps.

    Attributes:
        report: settings, digests, versions, counts, steps and rounds, as in `run.json`.
    """

    marks: DataFrame
    matches: DataFrame
    common_sentences: DataFrame
    fingerprints: DataFrame
    refused: DataFrame
    report: dict[str, Any]

    def write(self, output: str) -> None:
        """Write the tables (Parquet) and `run.json` to a folder at any URL. Older files are replaced.

        If `output` is not on this machine, `run.json` is a folder with one file of text.
        """
        tables = {
            "mark": self.marks,
            "match": self.matches,
            "common_sentence": self.common_sentences,
            "fingerprint": self.fingerprints,
            "refused": self.refused,
        }
        folder = Path(re.sub("^file:(//)?", "", output))
        # Without `run.json` the folder counts as incomplete while its tables are replaced.
        if (folder / RUN_FILE).is_file():
            (folder / RUN_FILE).unlink()
        for name, table in tables.items():
            table.write.mode("overwrite").parquet(f"{output}/{name}")
        # If the tables are on this machine, write a file. Only Spark can write to a remote store, and Spark
        # writes a folder.
        if (folder / "refused").is_dir():
            (folder / RUN_FILE).write_text(json.dumps(self.report, indent=2) + "\n", "utf-8")
            return
        line = self.marks.sparkSession.range(0, 1, 1, 1).select(
            fn.lit(json.dumps(self.report)).alias("value")
        )
        line.write.mode("overwrite").text(f"{output}/{RUN_FILE}")
