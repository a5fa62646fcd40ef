"""Canonical order, and the mark of an article given what it is related to (docs/semantics.md, section 5).

Pure. `order_key` has a set-wise twin in the database, the SQL function `dedup.canonical_time`; `decide` and
the pairs that are kept have one over arrays, in `decide.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dedup.base.settings import Settings
from dedup.rules.pair import Related, Rule

OrderKey = tuple[datetime, bytes]  # Canonical order: time, then source_id byte by byte

FUTURE_TOLERANCE = timedelta(hours=24)
"""A published_at later than added_at by more than this is a wrong date; time zones explain less."""


class Status(StrEnum):
    """The status of an article."""

    PENDING = "pending"
    UNIQUE = "unique"
    SIMILAR = "similar"
    DUPLICATE = "duplicate"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one article.

    Attributes:
        status: see `Status`.
        duplicate_of: the id of its canonical article, for duplicates only.
        score: with duplicate_of, or the highest among similar articles; from 0 to 1.
        reason: the rule that decided, or why the article failed.
    """

    status: Status
    duplicate_of: int | None = None
    score: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of `match`: a later article and an earlier canonical one."""

    article_id: int
    other_id: int
    relation: str
    rule: str
    score: float
    sentence_jaccard: float
    signature_jaccard: float
    containment: float

    @classmethod
    def of(cls, article_id: int, other_id: int, related: Related) -> Pair:
        scores = related.scores
        return cls(
            article_id,
            other_id,
            related.relation.value,
            related.rule.value,
            scores.score,
            scores.sentence_jaccard,
            scores.signature_jaccard,
            scores.containment,
        )


def order_key(
    settings: Settings, published_at: datetime | None, added_at: datetime, source_id: str
) -> OrderKey:
    """The place of an article in canonical order.

    Both times are in UTC. A `published_at` that cannot be true counts as missing.
    """
    plausible = (
        settings.canonical_order == "published"
        and published_at is not None
        and published_at.year >= settings.earliest_year
        and published_at - added_at <= FUTURE_TOLERANCE
    )
    return published_at if plausible and published_at else added_at, source_id.encode()


Partner = tuple[OrderKey, int, Related]
"""An article that another one is related to: its order, its id, the relation."""


def kept_originals(originals: Iterable[Partner], settings: Settings) -> list[Partner]:
    """Of the earlier canonical articles that an article duplicates, those whose pairs with it are kept.

    The best are those that `decide` would choose, one after the other. A pinned pair is always kept.
    """
    return _kept(sorted(originals, key=_closeness), settings)


def kept_similar(earlier: Iterable[Partner], settings: Settings) -> list[Partner]:
    """Of the earlier canonical articles that a canonical one is similar to, those whose pairs it keeps.

    Besides these, each article keeps the pair with its `best_match` of all. A pinned pair is always kept.
    """
    return _kept(sorted(earlier, key=_likeness), settings)


def best_match(similar: Iterable[Partner]) -> Partner | None:
    """Of all canonical articles, earlier or later, that a canonical one is similar to, the most similar."""
    return min(similar, key=_likeness, default=None)


def _kept(ranked: list[Partner], settings: Settings) -> list[Partner]:
    return [
        partner
        for place, partner in enumerate(ranked)
        if place < settings.similar_pairs or partner[2].rule is Rule.PINNED
    ]


def _closeness(original: Partner) -> tuple[float, OrderKey]:
    return -original[2].scores.score, original[0]


def _likeness(partner: Partner) -> tuple[float, str, OrderKey]:
    return -partner[2].scores.score, partner[2].rule.value, partner[0]


def decide(originals: Iterable[Partner], similar: Iterable[Related]) -> Mark:
    """The mark of an article.

    Args:
        originals: the earlier canonical articles that it duplicates.
        similar: its relations to the canonical articles that are similar to it, earlier or later.

    Returns:
        A duplicate of the original with the highest score, the earliest of equals. Without originals:
        similar, with the highest score and, of the rules of that score, the first by name; or unique.
    """
    best = min(originals, key=_closeness, default=None)
    if best:
        _, original, related = best
        return Mark(Status.DUPLICATE, original, related.scores.score, related.rule.value)
    found = min(similar, key=lambda related: (-related.scores.score, related.rule.value), default=None)
    if found:
        return Mark(Status.SIMILAR, None, found.scores.score, found.rule.value)
    return Mark(Status.UNIQUE)
