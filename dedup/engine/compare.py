"""Two articles side by side: why they are related, or not, and their texts."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.answer import Answer
from dedup.corpus.browsing.article import PairJudgement, Text
from dedup.corpus.browsing.lines import ArticleLine
from dedup.corpus.pins import PairPin
from dedup.engine.explain import Explanation


@dataclass(frozen=True, slots=True)
class Compared(Answer):
    """Two articles side by side.

    Attributes:
        explanation: why they are, or are not, related.
        earlier, later: in canonical order, as in `explanation`.
        common: the common sentences of either, for `pages.comparison`.
        pin: what a person said they are, or None.
        judgements: what people said of the pair, the newest first.
    """

    explanation: Explanation
    earlier: ArticleLine
    later: ArticleLine
    earlier_text: Text
    later_text: Text
    common: tuple[str, ...] = field(repr=False)
    pin: PairPin | None
    judgements: tuple[PairJudgement, ...]
