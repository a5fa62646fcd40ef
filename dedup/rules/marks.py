"""Order articles canonically, and decide marks by relations (docs/semantics.md, section 5).

In SQL, `dedup.canonical_time` returns the same time as `order_key`. `decide.py` decides marks with arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dedup.base import times
from dedup.base.settings import Settings
from dedup.rules.pair import Related, Rule

OrderKey = tuple[datetime, bytes]  # Canonical order: by time, then by the bytes of source_id

# A `published_at` that is later than `added_at` by more than this is wrong; time zones explain smaller gaps.
FUTURE_TOLERANCE = timedelta(hours=24)


class Status(StrEnum):
    PENDING = "pending"
    UNIQUE = "unique"
    SIMILAR = "similar"
    DUPLICATE = "duplicate"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one article.

    Attributes:
        duplicate_of: id of the original, for duplicates only.
        score: score of the pair with duplicate_of, or the highest score of the similar pairs; from 0 to 1.
        reason: the rule that decided, or why the article failed.
    """

    status: Status
    duplicate_of: int | None = None
    score: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of the table `match`: a later article and an earlier original."""

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
    """Return the canonical sort key of an article; an implausible `published_at` counts as missing."""
    plausible = (
        settings.canonical_order == "published"
        and published_at is not None
        and published_at.year >= settings.earliest_year
        and published_at - added_at <= FUTURE_TOLERANCE
    )
    return published_at if plausible and published_at else added_at, source_id.encode()


def published_second(settings: Settings, time: datetime, published_at: datetime | None) -> int:
    """Return the time of publication in whole seconds since 1970.

    Return 0 if canonical order does not use this time: the time is unknown or implausible, or the setting
    `canonical_order` is `added`. `time`: the time that `order_key` returned for the article.
    """
    if settings.canonical_order != "published" or time != published_at:
        return 0
    return times.microseconds(time) // 1_000_000


Partner = tuple[OrderKey, int, Related]
"""A related article: its sort key, its id, and the relation."""


def kept_originals(originals: Iterable[Partner], settings: Settings) -> list[Partner]:
    """Return the pairs to store for a duplicate: its best pairs and its pinned pairs with originals."""
    return _kept(sorted(originals, key=_closeness), settings)


def kept_similar(earlier: Iterable[Partner], settings: Settings) -> list[Partner]:
    """Return the pairs to store for an original: its best pairs and its pinned pairs with earlier originals.

    The caller also stores the pair with the `best_match`.
    """
    return _kept(sorted(earlier, key=_likeness), settings)


def best_match(similar: Iterable[Partner]) -> Partner | None:
    """Return the most similar original, whether earlier or later in order; None if `similar` is empty."""
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
    """Return the mark of an article: duplicate, similar or unique.

    Args:
        originals: earlier originals that the article duplicates; the highest score wins, then the earliest.
        similar: relations to similar originals, earlier or later; the highest score wins, then the
            alphabetically first rule.
    """
    best = min(originals, key=_closeness, default=None)
    if best:
        _, original, related = best
        return Mark(Status.DUPLICATE, original, related.scores.score, related.rule.value)
    found = min(similar, key=lambda related: (-related.scores.score, related.rule.value), default=None)
    if found:
        return Mark(Status.SIMILAR, None, found.scores.score, found.rule.value)
    return Mark(Status.UNIQUE)
