"""The corpus in Postgres as the lab sees it: its newest articles, their stories, and the pairs people judged.

Reads the database and writes nothing to it. The lab works in memory, so it takes the newest articles only; a
random share of them would tear stories apart. Read next: `../../corpus/judgements.py`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dedup.corpus import articles, judgements, rulebooks, snapshots
from dedup.corpus.database import Cursor, Database
from dedup.corpus.judgements import Judged, Pick
from dedup.errors import InputError
from dedup.lab import bulk
from dedup.lab.documents import Corpus, Document
from dedup.lab.evaluation.compare import Source, compare, measure
from dedup.lab.evaluation.results import Result
from dedup.lab.judging.estimate import Design, Quality, quality
from dedup.lab.judging.sampling import draw, permanent_numbers, stratify
from dedup.lab.judging.tuning import JudgedPair
from dedup.lab.method import Groups, Method, pair_keys, pairs_of
from dedup.lab.methods.product import Product
from dedup.rules.pair import Profile, score
from dedup.settings import Settings

NEWEST_ARTICLES = 20_000
"""Articles that the lab takes from the database by default: a few minutes of work, and under 2 GB."""


def read(database: Database, count: int = NEWEST_ARTICLES) -> Corpus:
    """The newest articles.

    Raises:
        InputError: there is none.
    """
    with database.transaction() as cursor:
        found = articles.newest(cursor, count)
    if not found:
        raise InputError("the corpus is empty: `dedup load FILE` first")
    return Corpus([Document.of(article) for article in found])


def find_pairs(database: Database, corpus: Corpus, methods: Sequence[Method]) -> list[Result]:
    """What the product's own rule, with the settings of the database, and other methods find.

    The other methods get the articles through a file in a temporary folder, which is removed at the end.
    Methods that fail or are too slow are left out.
    """
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
    settings = rulebook.settings
    product = Product(settings.duplicate_signature_jaccard, settings=settings, models=rulebook.models)
    own = measure(product, corpus)
    with tempfile.TemporaryDirectory(prefix="dedup-lab-") as folder:
        file = Path(folder) / "articles.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for document in corpus:
                lines.write(json.dumps(_row(document)) + "\n")
        others = compare(Source(file), methods, Path(folder) / "results")
    return [own, *(result for result in others if result.done)]


def _row(document: Document) -> dict[str, str | None]:
    time = document.published_at.isoformat() if document.published_at else None
    return {"id": document.id, "text": document.text, "language": document.language, "published_at": time}


def picks(corpus: Corpus, results: Sequence[Result], settings: Settings, total: int, seed: int) -> list[Pick]:
    """A stratified sample of everything that the methods found.

    Args:
        results: the first is that of the product's own rule.
        total: pairs wanted.

    Raises:
        InputError: no method found a pair, or fewer are wanted than there are strata.
    """
    keys = np.unique(np.concatenate([pair_keys(result.pairs, len(corpus)) for result in results]))
    if not len(keys):
        raise InputError("no method finds a pair in this corpus: there is nothing to judge")
    pairs = pairs_of(keys, len(corpus))
    scores = np.full((len(results), len(keys)), np.nan, np.float32)
    opinions = np.zeros((len(keys), len(results)), np.bool_)
    for row, result in enumerate(results):
        place = np.searchsorted(keys, pair_keys(result.pairs, len(corpus)))
        scores[row, place] = result.scores
        opinions[place, row] = result.accepted
    strata = stratify(scores[0], opinions, settings)
    ids = [document.id for document in corpus]
    drawn = draw(strata, total, permanent_numbers(ids, pairs, seed))
    return [
        Pick(
            ids[pairs[row, 0]],
            ids[pairs[row, 1]],
            name,
            int(size),
            len(rows),
            {r.label: _plain(scores[i, row]) for i, r in enumerate(results)},
        )
        for name, size, rows in zip(strata.names, strata.sizes, drawn, strict=True)
        for row in rows
    ]


def _plain(value: np.float32) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def judged_pairs(cursor: Cursor, judged: Sequence[Judged]) -> list[JudgedPair]:
    """The judged pairs with the scores that the rule gives them now, unless an article has none."""
    profiles = _profiles(cursor, judged)
    return [
        JudgedPair(
            pair.verdict,
            pair.stratum,
            score(profiles[pair.id], profiles[pair.other_id]),
            min(profiles[pair.id].shingle_count, profiles[pair.other_id].shingle_count),
        )
        for pair in judged
        if not pair.stale and pair.id in profiles and pair.other_id in profiles
    ]


def _profiles(cursor: Cursor, judged: Sequence[Judged]) -> dict[str, Profile]:
    names = {name for pair in judged for name in (pair.id, pair.other_id)}
    known = [found.id for name in names if (found := articles.find(cursor, name))]
    common = snapshots.common_sentences(cursor)
    return {
        stored.source_id: Profile.of(stored.fingerprint, common)
        for stored in snapshots.load(cursor, rulebooks.load_settings(cursor).canonical_order, known)
        if stored.fingerprint
    }


@dataclass(frozen=True, slots=True)
class Change:
    """What other settings would do to the newest articles.

    Attributes:
        articles: how many were looked at.
        duplicates, duplicates_then: duplicates under the present settings, and under the others.
        joined: articles that would become duplicates; left: that would no longer be.
        moved: duplicates that would be those of another article.
    """

    articles: int
    duplicates: int
    duplicates_then: int
    joined: int
    left: int
    moved: int


def what_would_change(cursor: Cursor, present: Settings, other: Settings, count: int) -> Change:
    """Compare the stories of the newest articles under two settings that differ in thresholds only."""
    ids = articles.newest_ids(cursor, count)
    stored = [s for s in snapshots.load(cursor, present.canonical_order, ids) if s.fingerprint]
    scorer = bulk.Scorer([s.fingerprint for s in stored], set(snapshots.common_sentences(cursor)))
    scored = scorer.score(scorer.candidates())
    orders = [s.order for s in stored]
    now, then = (bulk.stories(orders, scored, scored.duplicates(s)) for s in (present, other))
    alone = np.arange(len(stored))
    was, becomes = now != alone, then != alone
    return Change(
        len(stored),
        int(was.sum()),
        int(becomes.sum()),
        int((becomes & ~was).sum()),
        int((was & ~becomes).sum()),
        int((was & becomes & (now != then)).sum()),
    )


def marked_stories(database: Database) -> tuple[dict[str, int], Groups]:
    """The number of every article's source_id, and the story that its mark puts it in.

    Raises:
        InputError: articles are pending, so that the marks are not those of the corpus.
    """
    with database.transaction() as cursor:
        if not rulebooks.nothing_pending(cursor):
            raise InputError("articles are pending: run `dedup backfill` first")
    marks = {row["id"]: row["duplicate_of"] or row["id"] for row in articles.export(database, articles.MARKS)}
    numbers = {name: number for number, name in enumerate(marks)}
    return numbers, np.array([numbers[original] for original in marks.values()], np.int32)


def judged_quality(database: Database) -> Quality:
    """How good the marks are by what people judged: two articles of one story are called duplicates.

    Raises:
        InputError: nobody judged a pair yet.
    """
    numbers, stories = marked_stories(database)
    with database.transaction() as cursor:
        judged = [
            j
            for j in judgements.listed(cursor)
            if not j.stale and j.verdict != "unsure" and j.id in numbers and j.other_id in numbers
        ]
        sizes = judgements.strata(cursor)
    if not judged:
        raise InputError("no pair is judged yet: `dedup lab pairs`, then `dedup lab review`; or give --truth")
    design = Design.of([j.stratum for j in judged], sizes)
    found = np.array([stories[numbers[j.id]] == stories[numbers[j.other_id]] for j in judged])
    return quality(design, found, np.array([j.verdict == "duplicate" for j in judged]))
