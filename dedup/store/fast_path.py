"""Articles that are new, stored with their mark in one call where they share nothing with others.

Most articles of a scraper are such. What shares something is returned, for the program to decide; its mark is
stored by a second call. Each call is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np

from dedup.base.article import Article
from dedup.db.arrays import Bigints, bigints
from dedup.db.statements import Statements
from dedup.rules.marks import Mark
from dedup.rules.pair import Related
from dedup.store import articles
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.store.settling import FingerprintRow, order_parameters
from dedup.text.fingerprint import Fingerprint

_sql = Statements("store/fast_path")

MOST_SHARED = 200
"""Articles that are compared with a new one at once."""

Ask = Callable[[bytes, Mapping[str, Any]], list[tuple[Any, ...]]]
"""Executes a statement, a transaction of its own, and returns the rows of its answer; see `Database.ask`."""

_NO_MARK: dict[str, Any] = {
    **dict.fromkeys(("told", "original", "score", "reason")),
    "others": bigints([]),
    **{name: [] for name in ("other_rules", "scores", "sentences", "signatures", "containments")},
}

Outcome = Literal["stored", "shares", "not plain"]
"""What became of an article: stored; new, and sharing something with a few others; or it is known, or pinned,
or shares something with many, or others are unsettled."""


@dataclass(frozen=True, slots=True)
class Met:
    outcome: Outcome
    told: int | None = None  # a number for all this, where it shares something
    added: datetime | None = None  # when it came, if it does not say so itself
    time: datetime | None = None  # its own in canonical order, where it shares something
    sentences: Bigints = field(default_factory=lambda: bigints([]))  # its own that are not common
    others: Sequence[FingerprintRow] = ()  # the canonical articles that share something with it
    other_sentences: Sequence[Bigints] = ()  # theirs that are not common


def meet(ask: Ask, rulebook: Rulebook, article: Article, made: Fingerprint) -> Met:
    """Store an article with its mark if it is new and shares nothing with others; else say what it shares.
    `made`: the fingerprint of the article, by this rulebook.

    Raises StaleRulesError: the stored results are of another rulebook.
    """
    rows = _submit(ask, rulebook, article, made)
    outcome: Outcome = rows[-1][0]
    if outcome != "shares":
        return Met(outcome)
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
        )
        for row in rows[:-1]
    ]
    *_, time, _, _, sentences, _, _, _, told, added = rows[-1]
    return Met("shares", told, added, time, sentences, others, [row.sentence_hashes for row in others])


def store(
    ask: Ask,
    rulebook: Rulebook,
    article: Article,
    made: Fingerprint,
    met: Met,
    mark: Mark,
    pairs: Sequence[tuple[int, Related]],
) -> bool:
    """Store a new article with a mark, and a duplicate with its pairs: the ids of others and what they are to
    it. False, and nothing is stored, where it would meet something else than `met` by now.

    Raises StaleRulesError: the stored results are of another rulebook.
    """
    related = [one for _, one in pairs]
    rows = _submit(
        ask,
        rulebook,
        replace(article, added_at=met.added),
        made,
        told=met.told,
        original=mark.duplicate_of,
        score=mark.score,
        reason=mark.reason,
        others=bigints([other for other, _ in pairs]),
        other_rules=[one.rule.value for one in related],
        scores=[one.scores.score for one in related],
        sentences=[one.scores.sentence_jaccard for one in related],
        signatures=[one.scores.signature_jaccard for one in related],
        containments=[one.scores.containment for one in related],
    )
    return bool(rows[-1][0] == "stored")


def _submit(
    ask: Ask, rulebook: Rulebook, article: Article, made: Fingerprint, **mark: Any
) -> list[tuple[Any, ...]]:
    state = rulebook.state
    values = {
        "rules": [state.fingerprints, state.rules, str(state.algorithm), state.unicode],
        "most": MOST_SHARED,
        **articles.sent(article),
        "version": made.version,
        "content_hash": made.content_hash,
        "sentence_hashes": bigints(made.sentence_hashes),
        "signature": made.signature.tobytes(),
        "buckets": bigints(made.buckets),
        "word_count": made.word_count,
        "shingle_count": made.shingle_count,
        **order_parameters(rulebook.settings),
        **_NO_MARK,
        **mark,
    }
    rows = ask(_sql("submit"), values)
    if rows[-1][0] == "rules":
        raise StaleRulesError
    return rows
