"""One article with all that is known of it, and two side by side: why they are related, or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.base.verdict import Match, Verdict
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions.reading import ArticleLine, lines_of
from dedup.settling.explain import Explanation, explain
from dedup.store import articles, rulebooks, verdicts
from dedup.store.articles import extract_text
from dedup.store.pins import PairPin, key

_sql = Statements("extras/browse/questions/questions")

TEXT_CHARACTERS = 100_000
"""Of a text that are shown."""

SAID = 100
"""Pins, and judgements, of an article that are shown."""


@dataclass(frozen=True, slots=True)
class Text(Answer):
    """A text as it is stored. `text`: the first `TEXT_CHARACTERS` of it. `characters`: how many it has."""

    text: str = field(repr=False)
    characters: int

    @property
    def cut(self) -> bool:
        return len(self.text) < self.characters


@dataclass(frozen=True, slots=True)
class FingerprintFigures(Answer):
    """What is kept of a text, in figures. `sentences`: distinct ones that count. common: those of them that
    are ignored as common. `short`: whether the text has too few words to be compared by its parts.
    """

    words: int
    sentences: int
    common: int
    shingles: int
    short: bool


@dataclass(frozen=True, slots=True)
class MatchedArticle(Answer):
    """An article, and the pair that it is with another one. `words`: of the article, for another story; None
    where it has no fingerprint.
    """

    article: ArticleLine
    match: Match
    words: int | None = None


@dataclass(frozen=True, slots=True)
class PairJudgement(Answer):
    """What a person said of a pair, for estimates and tuning. `stale`: a text was edited since."""

    id: str
    other_id: str
    judged_by: str
    label: str
    note: str | None
    judged_at: datetime
    stale: bool


@dataclass(frozen=True, slots=True)
class ArticlePage(Answer):
    """An article.

    Attributes:
        text: None where it is in an attached table and no longer there.
        attachment: the name of the attached table it is a row of, or None.
        fingerprint: None where it has none.
        verdict: its mark, and the pairs behind it.
        matches: the same pairs, with the other articles.
        pins, judgements: of pairs with this article, the newest.
        limit: the safety limit that left it to the next backfill, or None.
    """

    line: ArticleLine
    language: str | None
    published_at: datetime | None
    added_at: datetime
    marked_at: datetime | None
    text: Text | None
    attachment: str | None
    fingerprint: FingerprintFigures | None
    verdict: Verdict
    matches: tuple[MatchedArticle, ...]
    pins: tuple[PairPin, ...]
    judgements: tuple[PairJudgement, ...]
    limit: str | None


def article(cursor: Cursor, source_id: str) -> ArticlePage:
    """An article with all that is known of it. Raises NotFoundError: it is not stored."""
    mark = verdicts.stored_mark(cursor, checks.text("source_id", source_id))
    row = cursor.execute(_sql("article"), {"source_id": source_id}).fetchone()
    if mark is None or row is None:
        raise NotFoundError.of(source_id)
    language, published_at, added_at, marked_at, attachment, limit = row
    number = mark.article_id
    found = verdicts.best_pairs(cursor, number) if mark.status in ("duplicate", "similar") else {}
    lines = lines_of(cursor, [number, *found])
    figures = cursor.execute(_sql("figures"), {"id": number}).fetchone()
    said = {"id": source_id, "limit": SAID}
    pins = cursor.execute(_sql("pins_of_article"), said).fetchall()
    judgements = cursor.execute(_sql("judgements_of_article"), said).fetchall()
    return ArticlePage(
        line=lines[number],
        language=language,
        published_at=published_at,
        added_at=added_at,
        marked_at=marked_at,
        text=text_of(cursor, number),
        attachment=attachment,
        fingerprint=FingerprintFigures(*figures) if figures else None,
        verdict=verdicts.verdict(cursor, source_id, mark, found),
        matches=tuple(MatchedArticle(lines[id], pair) for id, pair in found.items() if id in lines),
        pins=tuple(PairPin(*row) for row in pins),
        judgements=tuple(PairJudgement(*row) for row in judgements),
        limit=limit,
    )


def text_of(cursor: Cursor, article_id: int) -> Text | None:
    """The text of an article; None where it is in an attached table and no longer there."""
    row = cursor.execute(_sql("text"), {"characters": TEXT_CHARACTERS, "id": article_id}).fetchone()
    if row is None or row[0] is None or not row[2]:
        return Text(*row[:2]) if row else None
    text = extract_text(row[0], html=True)
    return Text(text[:TEXT_CHARACTERS], len(text))


def said_of(cursor: Cursor, a: str, b: str) -> tuple[PairPin | None, tuple[PairJudgement, ...]]:
    """What people have said of a pair: its pin, and the judgements, the newest first."""
    first, second = key(a, b)
    values = {"a": first, "b": second, "limit": SAID}
    pin = cursor.execute(_sql("pin_of_pair"), values).fetchone()
    rows = cursor.execute(_sql("judgements_of_pair"), values)
    return PairPin(*pin) if pin else None, tuple(PairJudgement(*row) for row in rows.fetchall())


# --- two


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
