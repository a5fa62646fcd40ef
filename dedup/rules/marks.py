"""What a mark is, and how the choice among several originals is made (SEMANTICS section 5).

Pure. The engine and the oracle both call `choose_original`; how they find the candidates differs.
Read next: `oracle.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from dedup.rules.pair import Judgement

OrderKey = tuple[datetime, bytes]
"""Canonical order: time, then source_id byte by byte."""


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
    sentence_jaccard: float
    signature_jaccard: float
    containment: float

    @classmethod
    def of(cls, article_id: int, other_id: int, judgement: Judgement) -> Pair:
        """The row for a judged pair."""
        scores = judgement.scores
        return cls(
            article_id,
            other_id,
            judgement.relation.value,
            scores.sentence_jaccard,
            scores.signature_jaccard,
            scores.containment,
        )


def order_key(policy: str, published_at: datetime | None, added_at: datetime, source_id: str) -> OrderKey:
    """The place of an article in canonical order under the setting `canonical_order`."""
    time = added_at if policy == "added" or published_at is None else published_at
    return time, source_id.encode()


_Key = TypeVar("_Key")


def choose_original(duplicates: Iterable[tuple[OrderKey, _Key, Judgement]]) -> tuple[_Key, Judgement]:
    """Of the earlier canonical duplicates the one with the highest score, the earliest of equals."""
    _, key, judgement = min(duplicates, key=lambda found: (-found[2].scores.score, found[0]))
    return key, judgement
