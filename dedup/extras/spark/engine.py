"""The Spark engine: from articles to marks, step by step (docs/spark.md).

docs/semantics.md defines the marks; `tests/extras/spark/reference.py` shows that the rounds give these marks.
The engine uses only the DataFrame API, so the session may be classic or Spark Connect, of Spark 3.5 or 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from dedup.base.settings import Settings
from dedup.extras.spark import grouping, results, schema
from dedup.extras.spark.fingerprinting import Taken, take
from dedup.extras.spark.options import CorpusState, Options, Pins
from dedup.extras.spark.reading import configured
from dedup.extras.spark.results import Result
from dedup.extras.spark.rounds import Rounds
from dedup.extras.spark.steps import Told
from dedup.text.punkt import PunktModel


def deduplicate(
    df: DataFrame,
    *,
    work: str,
    settings: Settings | None = None,
    pins: Pins | None = None,
    known: DataFrame | None = None,
    models: Mapping[str, PunktModel] | None = None,
    options: Options | None = None,
    mapping: Mapping[str, str] | None = None,
    added_at: datetime | None = None,
    horizon: int | None = None,
    told: Told | None = None,
) -> Result:
    """Return the marks, pairs and common sentences of a corpus.

    Args:
        df: one row per article, with the same column names as in files for `dedup load`.
        work: a folder for this run alone, at any URL that Spark can write to. After a killed run, the same
            call continues with the first unfinished step.
        known: fingerprints of earlier runs (schema `FINGERPRINT`). Articles with the same text keep their
            fingerprints; known articles missing from `df` stay in the corpus.
        models: sentence parameters by language, besides those for English, which are shipped.
        mapping: names of columns by field, for columns that are not named as in files for `dedup load`.
        added_at: the time given to articles without an `added_at`; None: now.
        horizon: articles before this time are refused; microseconds since 1970 in UTC.
        told: called after each step with its name, seconds and rows.

    Raises:
        InputError: columns are missing or of a wrong type.
        WorkError: `work` holds the steps of another run, or `options.allow_pairs` is exceeded.
    """
    corpus = CorpusState(settings or Settings(), pins or Pins(), models or {}, known, horizon)
    options = options or Options()
    with configured(df.sparkSession, options.configuration()):
        taken = take(df, corpus, options, work=work, mapping=mapping, added_at=added_at, told=told)
        return settle(taken, corpus, options)


@dataclass(frozen=True, slots=True)
class GroupedCorpus:
    """Tables made before the rounds; the last four have the schemas `NODE`, `COMMON`, `CARRIED`, `GROUP`."""

    articles: DataFrame  # `id`: the number of an article in canonical order
    members: DataFrame | None  # articles that share a fingerprint; None if there are none
    nodes: DataFrame
    common: DataFrame
    carried: DataFrame
    groups: DataFrame


def grouped(taken: Taken, corpus: CorpusState, options: Options) -> GroupedCorpus:
    """Do the steps that runs and estimates share: from fingerprints to groups of nodes that share a key."""
    steps, settings, pins = taken.steps, corpus.settings, corpus.pins
    order = steps.table(
        "order", lambda: grouping.ordered(taken.fingerprints, settings, options.partitions), schema.ORDERED
    )
    numbered = grouping.numbered(order)
    pinned: DataFrame | None = None
    if pins.pairs:
        pinned = steps.table("pins", lambda: grouping.pinned(numbered, pins.pairs), schema.PINNED)
    members: DataFrame | None = None
    if options.collapse:
        members = steps.table("members", lambda: grouping.members(numbered, pinned), schema.MEMBER)
        if not steps.rows("members"):
            members = None
    classes = steps.table("nodes", lambda: grouping.nodes(numbered, members), schema.NODE)
    counted = steps.table("common", lambda: grouping.common(classes, settings, pins.sentences), schema.COMMON)
    carried = steps.table("carried", lambda: grouping.carried(classes, counted), schema.CARRIED)
    found = steps.table("groups", lambda: grouping.groups(classes, carried, counted, pinned), schema.GROUP)
    return GroupedCorpus(numbered, members, classes, counted, carried, found)


def settle(taken: Taken, corpus: CorpusState, options: Options) -> Result:
    found = grouped(taken, corpus, options)
    steps, settings = taken.steps, corpus.settings
    budget = options.budget_for(steps.rows("groups"))
    decided = Rounds(steps, found.nodes, found.groups, found.members, settings, options, budget).all()
    edges, gone, members = decided.edges, decided.gone, found.members
    own: DataFrame | None = None
    if members is not None:
        # Rounds compare no articles within a node. Copies in the node of their original are scored here.
        own = results.own_scores(found.nodes, found.carried, members, gone, settings)
    originals = steps.table(
        "originals", lambda: results.originals(edges, gone, members, own, settings), schema.ORIGINAL
    )
    best_match = steps.table("best_match", lambda: results.best_match(edges, gone), schema.BEST_MATCH)
    similar = steps.table(
        "similar", lambda: results.similar(edges, gone, best_match, settings), schema.SIMILAR
    )
    marks = steps.table(
        "marks", lambda: results.marks(found.articles, taken.fingerprints, originals, best_match), schema.MARK
    )
    matches = steps.table(
        "matches", lambda: results.matches(found.articles, originals, similar), schema.MATCH
    )
    counted = {"mark": "marks", "match": "matches", "common_sentence": "common", "node": "nodes"}
    sizes = steps.sizes()
    report = {
        **taken.about,
        "rounds": decided.rounds,
        "counts": {name: steps.rows(step) for name, step in counted.items()},
        "steps": {name: asdict(step) | {"bytes": sizes.get(name)} for name, step in steps.done.items()},
    }
    return Result(marks, matches, found.common, taken.fingerprints, taken.refused, report)
