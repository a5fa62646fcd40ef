"""Rounds that decide which nodes are duplicates, and find every pair that a mark depends on.

A node is a class of articles with equal fingerprints and times of publication. Nodes that share a key are
candidates. A node becomes *eligible* when it is among the first `head` undecided nodes of each of its keys.
Its earlier candidates are then eligible, too. A round has three parts. HEAD scores newly eligible nodes with
their earlier candidates. DECIDE finds which eligible nodes are canonical, and which are *out* (duplicates).
STAR scores new canonical nodes with all other candidates, and marks later duplicates as out. So a story of n
copies costs the pairs of one head, and n pairs for each canonical node, not n (n - 1) / 2 pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from dedup.base.errors import WorkError
from dedup.base.settings import Settings
from dedup.extras.spark.options import Options
from dedup.extras.spark.options import head as head_of
from dedup.extras.spark.schema import EDGE, ELIGIBLE, FATE, GROUP, KIND_NAMES, OPEN, PAIR, SENTENCE
from dedup.extras.spark.scoring import fates, related
from dedup.extras.spark.steps import SparkSteps


@dataclass(frozen=True, slots=True)
class Decided:
    edges: DataFrame  # pairs of related nodes; schema `EDGE`
    gone: DataFrame  # nodes that are duplicates; column `node`
    rounds: list[dict[str, Any]]  # counts of each round


@dataclass
class Rounds:
    """The rounds of a run. Each table that a round makes is one step."""

    steps: SparkSteps
    nodes: DataFrame
    groups: DataFrame
    members: DataFrame | None  # None if every class has one article
    settings: Settings
    options: Options
    budget: int  # maximum number of pairs of a round whose head is above `options.head_minimum`
    _edges: list[str] = field(default_factory=list)
    _eligible: list[str] = field(default_factory=list)
    _canonical: list[str] = field(default_factory=list)
    _gone: list[str] = field(default_factory=list)
    _report: list[dict[str, Any]] = field(default_factory=list)

    def all(self) -> Decided:
        places: DataFrame | None = self.groups
        while places is not None:
            places = self._round(len(self._report) + 1, places)
        gone = self.steps.tables(self._gone, FATE).where("out").select("node")
        return Decided(self.steps.tables(self._edges, EDGE), gone, self._report)

    def _round(self, number: int, places: DataFrame) -> DataFrame | None:
        """Do a round. Return the rows of `groups` whose nodes are undecided; None after the last round."""
        histogram = histogram_of(key_sizes(places))
        head = head_of(histogram, self.options.head_minimum, self.budget)
        last = head >= max(histogram, default=0)
        if self.options.allow_pairs is not None:
            near = fn.least("nodes", fn.lit(head))
            counted = key_sizes(places).withColumn("pairs", near * (near - 1) / 2)
            check_allowed(counted, self.options.allow_pairs)
        about: dict[str, Any] = {"head": head, "eligible": None}
        self._report.append(about)
        # If the first round is the last, HEAD scores all pairs, so STAR and a list of eligible nodes are not
        # needed.
        if not (last and number == 1):
            name = self._name(number, "eligible")
            self.steps.table(name, lambda: self._new_eligible(number, places, head), ELIGIBLE)
            self._eligible.append(name)
            about["eligible"] = self.steps.rows(name)
        edges = self._head(number, places, head, about)
        chosen = self._decide(number, edges, last)
        if last and number == 1:
            self._gone += chosen
            return None
        canonical = self._name(number, "canonical")
        self.steps.table(canonical, lambda: self._new_canonical(chosen), ELIGIBLE)
        out = self._star(number, canonical, about)
        if not last:
            self._keep_waiting(number, chosen)
        self._canonical.append(canonical)
        self._gone += [*chosen, out]
        if last:
            return None
        left = self._name(number + 1, "places")
        decided = self._nodes_of([*chosen, out], [canonical])
        found = self.steps.table(left, lambda: _placed(places.join(decided, "node", "left_anti")), GROUP)
        return found if self.steps.rows(left) else None

    # HEAD: compare the first nodes of each key

    def _new_eligible(self, number: int, places: DataFrame, head: int) -> DataFrame:
        within = places.groupBy("node").agg(fn.max("place").alias("place")).where(fn.col("place") <= head)
        before = self.steps.tables(self._eligible, ELIGIBLE).select("node")
        return within.join(before, "node", "left_anti").withColumn("round", fn.lit(number))

    def _head(self, number: int, places: DataFrame, head: int, about: dict[str, Any]) -> DataFrame:
        """Score each newly eligible node with its earlier undecided candidates."""
        inside = later = places.where(fn.col("place") <= head)
        if self._eligible:
            later = inside.join(self.steps.tables(self._eligible[-1:], ELIGIBLE), "node", "left_semi")
        one = inside.select("kind", "key", _as("node", "a"), _as("packed", "packed_a"))
        other = later.select("kind", "key", _as("node", "b"), _as("packed", "packed_b"))
        return self._scored(number, "head", one.join(other, ["kind", "key"]).where("a < b"), about)

    def _scored(self, number: int, part: str, joined: DataFrame, about: dict[str, Any]) -> DataFrame:
        """Score the pairs in `joined`, whose nodes share keys, and return the related pairs."""
        pairs, edges = self._name(number, f"{part}-pairs"), self._name(number, part)
        candidates = self.steps.table(pairs, lambda: pairs_of(joined, self.settings), PAIR)
        found = self.steps.table(edges, lambda: score_pairs(candidates, self.nodes, self.settings), EDGE)
        self._edges.append(edges)
        about[f"{part}_pairs"], about[f"{part}_edges"] = self.steps.rows(pairs), self.steps.rows(edges)
        return found

    # DECIDE: find the duplicates among eligible nodes

    def _decide(self, number: int, edges: DataFrame, last: bool) -> list[str]:
        """Decide which eligible nodes are out or must wait. Return the names of tables with these nodes."""
        step = self._name(number, "open")
        self.steps.table(step, lambda: self._open(number, edges, last), OPEN)
        found: list[str] = []
        while self.steps.rows(step) > self.options.edges_in_one_task:
            left = self._peel(number, len(found) + 1, step)
            # If no node is surely canonical, the later nodes of all remaining pairs wait for the next round.
            if left is None:
                break
            step = left
            found.append(f"{step}-out")
        if self.steps.rows(step):
            name = self._name(number, "fates")
            self.steps.table(name, lambda: self._fates(number, step), FATE)
            found.append(name)
        return found

    def _fates(self, number: int, step: str) -> DataFrame:
        """Decide the later nodes of the remaining pairs in one task. If there are too many, let all wait."""
        edges = self.steps.tables([step], OPEN)
        if self.steps.rows(step) <= self.options.edges_in_one_task:
            return edges.repartition(1).mapInArrow(partial(fates, number=number), FATE)
        return _fate(edges.select(_as("b", "node")).distinct(), False, number)

    def _open(self, number: int, edges: DataFrame, last: bool) -> DataFrame:
        """Return the pairs of duplicates in which both nodes are undecided; schema `OPEN`."""
        found = edges.where("duplicate").select("a", "b")
        if number > 1:
            waiting = self.steps.tables([self._name(number - 1, "waiting")], "a long, b long")
            gone = self._nodes_of(self._gone, [])
            found = found.union(waiting.join(gone.select(_as("node", "a")), "a", "left_anti"))
        if last:
            return found.withColumn("free", fn.lit(True))
        eligible = self.steps.tables(self._eligible, ELIGIBLE).select(_as("node", "a"), "round")
        return found.join(eligible, "a", "left").withColumn("free", fn.col("round").isNotNull())

    def _peel(self, number: int, turn: int, step: str) -> str | None:
        """Mark the duplicates of surely canonical nodes as out. Return the step with the remaining pairs.

        Returns None if there is no such duplicate.
        """
        # An eligible node is surely canonical if it is not the later node of any pair of `step`.
        edges = self.steps.tables([step], OPEN)
        name = self._name(number, f"peel-{turn}")
        first = edges.where("free").select("a").join(edges.select(_as("b", "a")), "a", "left_anti").distinct()

        def out() -> DataFrame:
            return _fate(
                edges.join(first, "a", "left_semi").select(_as("b", "node")).distinct(), True, number
            )

        gone = self.steps.table(f"{name}-out", out, FATE)
        if not self.steps.rows(f"{name}-out"):
            return None
        for end in ("a", "b"):
            edges = edges.join(gone.select(_as("node", end)), end, "left_anti")
        self.steps.table(name, lambda: edges, OPEN)
        return name

    def _new_canonical(self, chosen: Sequence[str]) -> DataFrame:
        """Return the eligible nodes that have become canonical in this round; schema `ELIGIBLE`."""
        eligible = self.steps.tables(self._eligible, ELIGIBLE)
        waiting = self.steps.tables(chosen, FATE).where("NOT out").select("node")
        others = self._nodes_of([*self._gone, *chosen], self._canonical).union(waiting)
        return eligible.join(others, "node", "left_anti")

    def _keep_waiting(self, number: int, chosen: Sequence[str]) -> None:
        edges = self.steps.tables([self._name(number, "open")], OPEN).select("a", "b")
        fate = self.steps.tables(chosen, FATE)
        waiting, gone = (
            fate.where("NOT out").select(_as("node", "b")),
            fate.where("out").select(_as("node", "a")),
        )
        left = edges.join(waiting, "b", "left_semi").join(gone, "a", "left_anti")
        self.steps.table(self._name(number, "waiting"), lambda: left, "a long, b long")

    # STAR: compare new canonical nodes with all other nodes of their keys

    def _star(self, number: int, canonical: str, about: dict[str, Any]) -> str:
        """Score new canonical nodes with unscored candidates. Return the step that lists the duplicates."""
        new = self.steps.tables([canonical], ELIGIBLE)
        centres = self.groups.join(new, "node").select(
            "kind", "key", _as("node", "c"), _as("packed", "packed_c"), _as("round", "since")
        )
        never = self.groups.join(self.steps.tables(self._eligible, ELIGIBLE), "node", "left_anti")
        if self.options.allow_pairs is not None:
            counted = centres.groupBy("kind", "key").agg(fn.count("*").alias("centres"))
            both = key_sizes(never).join(counted, ["kind", "key"])
            check_allowed(
                both.withColumn("pairs", fn.col("nodes") * fn.col("centres")), self.options.allow_pairs
            )
        joined = _star_pairs(never, centres, "x > c")
        if self.members is not None and self._gone:
            # A class of articles whose first article is a duplicate may begin before a new canonical node and
            # end after it. Later articles of the class may be copies of this node, so compare both nodes.
            gone = self.steps.tables(self._gone, FATE).where("out").select("node", _as("round", "gone"))
            late = self.members.where("id = node").select("node", "last").join(gone, "node")
            joined = joined.union(
                _star_pairs(self.groups.join(late, "node"), centres, "x < c AND last > c AND gone < since")
            )
        edges = self._scored(number, "star", joined, about)
        known = self._nodes_of(self._gone, [canonical])

        def out() -> DataFrame:
            found = edges.where("duplicate").select(_as("b", "node")).distinct()
            return _fate(found.join(known, "node", "left_anti"), True, number)

        name = self._name(number, "star-out")
        self.steps.table(name, out, FATE)
        return name

    def _nodes_of(self, gone: Sequence[str], canonical: Sequence[str]) -> DataFrame:
        """Return the nodes that the steps in `gone` took out, and all nodes of the steps in `canonical`."""
        out = self.steps.tables(gone, FATE).where("out").select("node")
        return out.union(self.steps.tables(canonical, ELIGIBLE).select("node"))

    def _name(self, number: int, part: str) -> str:
        return f"round-{number:04}-{part}"


def _placed(groups: DataFrame) -> DataFrame:
    order = Window.partitionBy("kind", "key").orderBy("node")
    return groups.withColumn("place", fn.row_number().over(order))


def _star_pairs(others: DataFrame, centres: DataFrame, condition: str) -> DataFrame:
    """Return the pairs of a canonical node (a centre) and another node of the same key."""
    both = others.withColumnRenamed("node", "x").join(centres, ["kind", "key"]).where(condition)
    before = fn.col("c") < fn.col("x")
    return both.select(
        "kind",
        "key",
        fn.least("c", "x").alias("a"),
        fn.when(before, fn.col("packed_c")).otherwise(fn.col("packed")).alias("packed_a"),
        fn.greatest("c", "x").alias("b"),
        fn.when(before, fn.col("packed")).otherwise(fn.col("packed_c")).alias("packed_b"),
    )


def _fate(nodes: DataFrame, out: bool, number: int) -> DataFrame:
    return nodes.select("node", fn.lit(out).alias("out"), fn.lit(number).alias("round"))


def _as(name: str, other: str) -> Any:
    return fn.col(name).alias(other)


WORST_SHOWN = 5  # number of keys in the message about too many pairs

# The filter below multiplies, but `rules.pairs` divides, so rounding may differ. Pairs that miss a threshold
# by less than this margin pass the filter, and `rules.pairs` decides about them.
MARGIN = 1e-9


def key_sizes(groups: DataFrame) -> DataFrame:
    """Count the nodes of each key; columns kind, key, nodes."""
    return groups.groupBy("kind", "key").agg(fn.count("*").alias("nodes"))


def histogram_of(sizes: DataFrame) -> dict[int, int]:
    """Return a map from each number of nodes to the number of keys with that many nodes."""
    return {row[0]: row[1] for row in sizes.groupBy("nodes").agg(fn.count("*")).collect()}


def check_allowed(joined: DataFrame, allowed: int) -> None:
    """Raise a WorkError that names the keys with most pairs, if `joined` has more pairs than allowed."""
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
    """Count the shared keys of each pair, and return the pairs that may be related; schema `PAIR`."""
    # Signatures are large. `score_pairs` joins them later, only to the pairs that this function returns.
    counted = joined.groupBy("a", "b").agg(
        fn.sum(fn.when(fn.col("kind") == SENTENCE, 1).otherwise(0)).cast("int").alias("shared"),
        fn.bit_or(fn.expr("shiftleft(1, kind)")).alias("kinds"),
        fn.max("packed_a").alias("packed_a"),
        fn.max("packed_b").alias("packed_b"),
    )
    return counted.where(_possible(settings))


def _possible(settings: Settings) -> Column:
    """Return a condition that is false if a pair shares only sentences, and too few to be related."""
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
    """Return the related pairs; `pairs` has the schema `PAIR`, the result `EDGE`."""
    for end in ("a", "b"):
        columns = (
            fn.col("node").alias(end),
            *(fn.col(n).alias(f"{n}_{end}") for n in ("content", "signature", "published")),
            fn.size("sentence_hashes").alias(f"sentences_{end}"),
        )
        pairs = pairs.join(nodes.withColumnRenamed("content_hash", "content").select(*columns), end)
    # The secret hash key stays on the driver, because executors need no key to compare numbers.
    score = partial(related, settings=replace(settings, hash_key=""))
    return pairs.mapInArrow(score, EDGE)
