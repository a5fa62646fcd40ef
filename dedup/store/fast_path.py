"""Articles that are new, stored with their mark in one call where they share nothing with others.

Most articles of a scraper are such. What one shares with settled articles is returned, for the program to
decide, and its mark is stored by a second call. Each call is a transaction of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np

from dedup.base.article import Article
from dedup.db.arrays import Bigints, bigints
from dedup.db.statements import Statements
from dedup.rules.marks import Mark, Pair
from dedup.store import articles
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.store.settling import FingerprintRow, order_parameters
from dedup.text.fingerprint import Fingerprint

_sql = Statements("store/fast_path")

MOST_SHARED = 200
"""Articles that are compared with a new one at once."""

Ask = Callable[[bytes, Mapping[str, Any]], list[tuple[Any, ...]]]
"""Executes a statement, a transaction of its own, and returns the rows of its answer; see `Database.ask`."""

Outcome = Literal["stored", "shares", "not plain"]
"""What became of an article: stored; new, and sharing something with a few others; or it is known, or pinned,
or shares something with many, with an unsettled one, or with a copy that may be later."""


@dataclass(frozen=True, slots=True)
class Met:
    """An article as the corpus met it."""

    outcome: Outcome
    told: int | None = None  # a number for all this, where it shares something
    added: datetime | None = None  # when it came, if it does not say so itself
    time: datetime | None = None  # its own in canonical order, where it shares something
    sentences: Bigints = field(default_factory=lambda: bigints([]))  # its own that are not common
    others: Sequence[FingerprintRow] = ()  # the canonical articles that share something with it
    other_sentences: Sequence[Bigints] = ()  # theirs that are not common
    unsettled: int = 0  # articles that are pending or stale


def meet(ask: Ask, rulebook: Rulebook, article: Article, made: Fingerprint) -> Met:
    """Store an article with its mark if it is new and shares nothing with others; else say what it shares.
    `made`: the fingerprint of the article, by this rulebook.

    Raises StaleRulesError: the stored results are of another rulebook.
    """
    rows = _submit(ask, rulebook, article, made)
    outcome: Outcome = rows[-1][0]
    others = [
        FingerprintRow(
            id=row[1],
            order=(row[2], row[3].encode()),
            stored_canonical=True,
            canonical=True,
            settled=True,
            pinned=False,
            content_hash=row[4],
            sentence_hashes=row[5],
            signature=np.frombuffer(row[6], np.uint8),
            buckets=row[7],
            shingle_count=row[8],
            score=row[9],
            reason=row[10],
        )
        for row in rows[:-1]
    ]
    time, sentences, (told, added, unsettled) = rows[-1][2], rows[-1][5], rows[-1][11:]
    theirs = [row.sentence_hashes for row in others]
    return Met(outcome, told, added, time, sentences, others, theirs, unsettled)


def store(
    ask: Ask,
    rulebook: Rulebook,
    article: Article,
    made: Fingerprint,
    met: Met,
    mark: Mark,
    pairs: Sequence[Pair],
    gaining: Collection[int],
) -> bool:
    """Store a new article with its mark and pairs, and give the earlier ones in `gaining`, which it is most
    like, their new marks.

    Returns False, and stores nothing, where it would meet something else than `met` by now.
    Raises StaleRulesError: the stored results are of another rulebook.
    """
    dated = replace(article, added_at=met.added)
    given = {**asdict(mark), "pairs": [asdict(p) | {"best_match": p.other_id in gaining} for p in pairs]}
    rows = _submit(ask, rulebook, dated, made, told=met.told, mark=json.dumps(given))
    return bool(rows[-1][0] == "stored")


def _submit(
    ask: Ask,
    rulebook: Rulebook,
    article: Article,
    made: Fingerprint,
    *,
    told: int | None = None,
    mark: str | None = None,
) -> list[tuple[Any, ...]]:
    state = rulebook.state
    values = {
        "rules": [state.fingerprints, state.rules, str(state.algorithm), state.unicode],
        "most": MOST_SHARED,
        "pairs_kept": rulebook.settings.similar_pairs,
        **articles.sent(article),
        "version": made.version,
        "content_hash": made.content_hash,
        "sentence_hashes": bigints(made.sentence_hashes),
        "signature": made.signature.tobytes(),
        "buckets": bigints(made.buckets),
        "word_count": made.word_count,
        "shingle_count": made.shingle_count,
        **order_parameters(rulebook.settings),
        "told": told,
        "mark": mark,
    }
    rows = ask(_sql("submit"), values)
    if rows[-1][0] == "rules":
        raise StaleRulesError
    return rows
