"""Show an article with everything stored about it, and two articles side by side with their relation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.base.verdict import Match, Verdict
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions.reading import ArticleLine, lines_of, printed_by
from dedup.settling.explain import explain
from dedup.settling.explanation import Explanation
from dedup.store import articles, rulebooks, verdicts
from dedup.store.articles import extract_text
from dedup.store.pins import PairPin, key
from dedup.store.rulebooks import Rulebook
from dedup.text.additions import Addition, find_addition

_sql = Statements("extras/browse/questions/questions")

TEXT_CHARACTERS = 100_000  # Maximum number of characters of a text that are shown
SAID = 100  # Maximum number of pins shown, and of judgements shown


@dataclass(frozen=True, slots=True)
class Text(Answer):
    """A stored text; a long text is cut."""

    text: str = field(repr=False)  # at most `TEXT_CHARACTERS` characters
    characters: int  # length of the whole text

    @property
    def cut(self) -> bool:
        return len(self.text) < self.characters


@dataclass(frozen=True, slots=True)
class FingerprintFigures(Answer):
    """Counts that describe the fingerprint of an article."""

    words: int
    sentences: int  # distinct sentences that are long enough to count
    common: int  # number of sentences ignored as common
    shingles: int
    short: bool  # the article has too few words to be compared by shingles


@dataclass(frozen=True, slots=True)
class MatchedArticle(Answer):
    """An article in a list, and its match with the article that the page shows."""

    article: ArticleLine
    match: Match
    words: int | None = None  # number of words, only in a list of similar stories


@dataclass(frozen=True, slots=True)
class PairJudgement(Answer):
    """A person's judgement of a pair, used to estimate quality and to tune settings."""

    id: str
    other_id: str
    judged_by: str
    label: str
    note: str | None
    judged_at: datetime
    stale: bool  # a text was edited after the judgement


@dataclass(frozen=True, slots=True)
class ArticlePage(Answer):
    """An article with everything stored about it."""

    line: ArticleLine
    language: str | None
    scope: str | None
    published_at: datetime | None
    added_at: datetime
    marked_at: datetime | None
    text: Text | None  # None if the row in the attached table is gone
    attachment: str | None  # name of the attached table that has the text
    fingerprint: FingerprintFigures | None
    verdict: Verdict
    matches: tuple[MatchedArticle, ...]  # articles related to this article, the best match first
    pins: tuple[PairPin, ...]  # pins of pairs with this article, the newest first
    judgements: tuple[PairJudgement, ...]  # judgements of pairs with this article, the newest first
    limit: str | None  # name of the safety limit that makes the article wait for a backfill
    addition: Addition | None  # new parts of a copy; None if one of the two texts is cut or cannot be read
    printed_by: str | None  # line that names the origin of the story; None as in `StoryPage`


def article(cursor: Cursor, source_id: str) -> ArticlePage:
    """Return an article with everything stored about it, or raise NotFoundError."""
    mark = verdicts.stored_mark(cursor, checks.text("source_id", source_id))
    row = cursor.execute(_sql("article"), {"source_id": source_id}).fetchone()
    if mark is None or row is None:
        raise NotFoundError.of(source_id)
    language, scope, published_at, added_at, marked_at, attachment, limit = row
    number = mark.article_id
    found = verdicts.best_pairs(cursor, number) if mark.status in ("duplicate", "similar") else {}
    lines = lines_of(cursor, [number, *found])
    figures = cursor.execute(_sql("figures"), {"id": number}).fetchone()
    text, addition = text_of(cursor, number), None
    original = articles.find(cursor, mark.duplicate_of) if mark.duplicate_of is not None else None
    if original and text and not text.cut:
        addition = _addition(cursor, rulebooks.load_rulebook(cursor), number, original.id)
    said = {"id": source_id, "limit": SAID}
    pins = cursor.execute(_sql("pins_of_article"), said).fetchall()
    judgements = cursor.execute(_sql("judgements_of_article"), said).fetchall()
    return ArticlePage(
        line=lines[number],
        language=language,
        scope=scope,
        published_at=published_at,
        added_at=added_at,
        marked_at=marked_at,
        text=text,
        attachment=attachment,
        fingerprint=FingerprintFigures(*figures) if figures else None,
        verdict=verdicts.verdict(cursor, source_id, mark, found),
        matches=tuple(MatchedArticle(lines[id], pair) for id, pair in found.items() if id in lines),
        pins=tuple(PairPin(*row) for row in pins),
        judgements=tuple(PairJudgement(*row) for row in judgements),
        limit=limit,
        addition=addition,
        printed_by=printed_by(cursor, number, copied=mark.status == "duplicate" or lines[number].copies > 0),
    )


def _addition(cursor: Cursor, rulebook: Rulebook, copy: int, original: int) -> Addition | None:
    cut = {
        task.id: rulebook.fingerprinter.sentences_of(task)
        for task in articles.load_texts(cursor, [copy, original])
    }
    return find_addition(cut[copy], cut[original]) if len(cut) == 2 else None


def text_of(cursor: Cursor, article_id: int) -> Text | None:
    """Return the text of an article; None if the row in the attached table is gone."""
    row = cursor.execute(_sql("text"), {"characters": TEXT_CHARACTERS, "id": article_id}).fetchone()
    if row is None or row[0] is None or not row[2]:
        return Text(*row[:2]) if row else None
    # The statement does not cut HTML, because cut markup could not be parsed.
    text = extract_text(row[0], html=True)
    return Text(text[:TEXT_CHARACTERS], len(text))


def said_of(cursor: Cursor, a: str, b: str) -> tuple[PairPin | None, tuple[PairJudgement, ...]]:
    """Return the pin of a pair, and the judgements of the pair, the newest first."""
    first, second = key(a, b)
    values = {"a": first, "b": second, "limit": SAID}
    pin = cursor.execute(_sql("pin_of_pair"), values).fetchone()
    rows = cursor.execute(_sql("judgements_of_pair"), values)
    return PairPin(*pin) if pin else None, tuple(PairJudgement(*row) for row in rows.fetchall())


@dataclass(frozen=True, slots=True)
class Compared(Answer):
    """Two articles with their texts, and the explanation of their relation."""

    explanation: Explanation
    earlier: ArticleLine  # the same article as `explanation.earlier`
    later: ArticleLine
    earlier_text: Text
    later_text: Text
    common: tuple[str, ...] = field(repr=False)  # sentences of either text that are ignored as common
    pin: PairPin | None
    judgements: tuple[PairJudgement, ...]  # the newest first
    addition: Addition | None  # what the later article adds, if the earlier one is its original


def compare(cursor: Cursor, a: str, b: str) -> Compared:
    """Compare two articles; raise NotFoundError if one is not stored, InputError if both ids are equal."""
    if checks.text("source_id", a) == checks.text("source_id", b):
        raise InputError("a pair has two articles; both ids are the same")
    rulebook = rulebooks.load_rulebook(cursor)
    explanation = explain(cursor, rulebook, a, b)
    names = (explanation.earlier.id, explanation.later.id)
    (first, earlier, earlier_text), (second, later, later_text) = (_side(cursor, name) for name in names)
    pin, judgements = said_of(cursor, a, b)
    is_copy = later.duplicate_of == earlier.source_id
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
        addition=_addition(cursor, rulebook, second, first) if is_copy else None,
    )


def _side(cursor: Cursor, source_id: str) -> tuple[int, ArticleLine, Text]:
    found = articles.find(cursor, source_id)
    if found is None:
        raise NotFoundError.of(source_id)
    return found.id, lines_of(cursor, [found.id])[found.id], text_of(cursor, found.id) or Text("", 0)
