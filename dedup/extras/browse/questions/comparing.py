"""Two articles side by side: why they are related, or not, their texts, and what people said of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Cursor
from dedup.extras.browse.questions.article import PairJudgement, Text, said_of, text_of
from dedup.extras.browse.questions.reading import ArticleLine, lines_of
from dedup.settling.explain import Explanation, explain
from dedup.store import articles, rulebooks
from dedup.store.pins import PairPin


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


def compare(cursor: Cursor, a: str, b: str) -> Compared:
    """Two articles side by side, in canonical order.

    Raises NotFoundError: one of them is not stored. InputError: both are one article.
    """
    if checks.text("source_id", a) == checks.text("source_id", b):
        raise InputError("a pair has two articles; both ids are the same")
    explanation = explain(cursor, rulebooks.load_rulebook(cursor), a, b)
    names = (explanation.earlier.id, explanation.later.id)
    (earlier, earlier_text), (later, later_text) = (_side(cursor, name) for name in names)
    pin, judgements = said_of(cursor, a, b)
    ignored = (*explanation.earlier.ignored, *explanation.later.ignored)
    return Compared(
        explanation=explanation,
        earlier=earlier,
        later=later,
        earlier_text=earlier_text,
        later_text=later_text,
        common=tuple(dict.fromkeys(sentence for sentence, why in ignored if why == "common")),
        pin=pin,
        judgements=judgements,
    )


def _side(cursor: Cursor, source_id: str) -> tuple[ArticleLine, Text]:
    found = articles.find(cursor, source_id)
    if found is None:
        raise NotFoundError.of(source_id)
    return lines_of(cursor, [found.id])[found.id], text_of(cursor, found.id) or Text("", 0)
