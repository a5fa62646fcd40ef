"""Define `Explanation`, the answer to the question why two articles are related, or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dedup.base.answer import Answer
from dedup.rules.pair import Related, Scores
from dedup.text.alignment import Segment


@dataclass(frozen=True, slots=True)
class ExplainedArticle(Answer):
    """An article of an `Explanation`.

    Attributes:
        time: time by which articles are put in canonical order.
        ignored: uncounted sentences, each with its reason: "common" or "too short".
        correction: phrase by which the article announces that it is a correction.
    """

    id: str
    title: str | None
    publication: str | None
    status: str
    time: datetime
    ignored: tuple[tuple[str, str], ...] = field(repr=False)
    words: int
    shingles: int
    correction: str | None = None


@dataclass(frozen=True, slots=True)
class DifferingSentence(Answer):
    """A sentence that only one of two articles has, and the most similar sentence of the other article, if
    any. Both sentences are cut into segments that show which words differ."""

    earlier: tuple[Segment, ...] | None = field(repr=False)
    later: tuple[Segment, ...] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Explanation(Answer):
    """Result of the comparison of two articles.

    Attributes:
        decision: the result in a line: the relation, the rule that decided, and the scores.
        earlier: the article that comes first in canonical order.
        shared: counted sentences that both have, as written in `earlier`.
        differing: counted sentences that only one article has; for a copy with misread letters: passages.
        letters: conditions of the rule `damaged`, in words, for a copy with misread letters.
        scores: scores; None if one of the texts cannot be read, or the scopes differ.
        related: the relation; None if there is none, or a text cannot be read.
        why_not: reasons why high scores did not make a duplicate, one sentence each.
    """

    decision: str
    earlier: ExplainedArticle
    later: ExplainedArticle
    shared: tuple[str, ...] = field(repr=False)
    differing: tuple[DifferingSentence, ...] = field(repr=False)
    letters: tuple[str, ...]
    scores: Scores | None
    related: Related | None
    why_not: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.earlier.id}, {self.later.id}: {self.decision}"
