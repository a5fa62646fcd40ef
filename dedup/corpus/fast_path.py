"""Articles that are new, stored with their mark in one call where they share nothing with others.

Most articles of a scraper are such. Who shares something is told, with what decides; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np

from dedup.article import ARTICLE_FIELDS, Article, storable
from dedup.corpus.arrays import Bigints, bigints
from dedup.corpus.rulebooks import Rulebook, StaleRulesError
from dedup.corpus.settling import FingerprintRow, order_parameters
from dedup.corpus.statements import Statements
from dedup.corpus.steps import Ask, Steps
from dedup.rules.marks import Mark
from dedup.text.fingerprint import Fingerprint

_sql = Statements("fast_path")

MOST_SHARED = 200
"""Articles that are compared with a new one at once."""

Outcome = Literal["stored", "shares", "new", "known", "not plain"]
"""What became of an article: stored as unique; new, and sharing something with a few others, or with many;
known or waiting to be stored; or others are unsettled, or it is pinned."""


@dataclass(frozen=True, slots=True)
class Met:
    """What a new article met."""

    outcome: Outcome
    time: datetime | None = None  # its own in canonical order, where it shares something
    sentences: Bigints = field(default_factory=lambda: bigints([]))  # its own that are not common
    others: Sequence[FingerprintRow] = ()  # the canonical articles that share something with it
    other_sentences: Sequence[Bigints] = ()  # theirs that are not common


def meet(rulebook: Rulebook, article: Article, made: Fingerprint, most: int = MOST_SHARED) -> Steps[Met]:
    """Take the settle lock, and store an article with its mark if it is new and shares nothing with others.
    The transaction can go on as any that holds the settle lock. `made`: the fingerprint of the article, by
    this rulebook. `most`: articles that share something with it; of more it is told only that they are many.
    """
    state = rulebook.state
    rules = [state.fingerprints, state.rules, str(state.algorithm), state.unicode]
    rows = yield Ask(_sql("submit"), {**_values(rulebook, article, made), "rules": rules, "most": most})
    first = rows[0]
    if first[0] == "rules":
        raise StaleRulesError
    if first[0] != "shares":
        return Met(first[0])
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
        for row in rows[1:]
    ]
    return Met("shares", first[2], first[5], others, [row.sentence_hashes for row in others])


def store(rulebook: Rulebook, article: Article, made: Fingerprint, mark: Mark) -> Steps[int | None]:
    """Store a new article as unique, or as a duplicate; needs the settle lock. Returns its id; None where
    someone has just stored it.
    """
    verdict = {"original": mark.duplicate_of, "score": mark.score, "reason": mark.reason}
    rows = yield Ask(_sql("store"), {**_values(rulebook, article, made), **verdict})
    return rows[0][0] if rows else None


def _values(rulebook: Rulebook, article: Article, made: Fingerprint) -> dict[str, Any]:
    return {
        **{name: getattr(article, name) for name in ARTICLE_FIELDS},
        "text": storable(article.text),
        "version": made.version,
        "content_hash": made.content_hash,
        "sentence_hashes": bigints(made.sentence_hashes),
        "signature": made.signature.tobytes(),
        "buckets": bigints(made.buckets),
        "word_count": made.word_count,
        "shingle_count": made.shingle_count,
        **order_parameters(rulebook.settings),
    }
