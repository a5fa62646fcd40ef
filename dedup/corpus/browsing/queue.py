"""The pairs that are most worth judging: those that a small change of a threshold would decide otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine
from dedup.corpus.pins import PairPin
from dedup.verdict import Match

QueueKind = Literal["duplicate", "similar", "picked"]
"""Near a threshold of duplicates; near one of similar articles; or picked by `dedup judge pick`, first
those of which methods disagree."""

QUEUE_PAIRS = 50
"""Pairs of a queue."""


@dataclass(frozen=True, slots=True)
class DoubtfulPair(Answer):
    """A pair that nobody has pinned or judged.

    Attributes:
        earlier, later: of the pair, in canonical order as far as times tell.
        match: the pair as it is stored; `match.id` is the source_id of `earlier`. None for a picked pair
            without one.
        threshold: name of the setting that is near.
        margin: how far the pair is from it, above 0: it holds. None for a picked pair.
        scores: of the methods of the lab, for a picked pair; empty for others.
    """

    earlier: ArticleLine
    later: ArticleLine
    match: Match | None
    threshold: str | None
    margin: float | None
    scores: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class PinsPage(Answer):
    """What people have said of pairs, the newest first; `after` goes on, None on the last page."""

    pins: tuple[PairPin, ...]
    after: str | None
