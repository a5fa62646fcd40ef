"""`Deduplicator.origins`: the independent origins of a set of articles (docs/semantics.md, section 13)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.base.times import range_of_days
from dedup.base.words import counted, line
from dedup.db.database import Database
from dedup.db.statements import Statements
from dedup.store.stories import StoryOrigin, known
from dedup.store.word_index import GIVEN, WORDS, require_index

_sql = Statements("extras/coverage/origins")

LISTED = 100  # Default maximum number of origins in an answer; all are counted
LABEL_CHARACTERS = 300  # Maximum length of a name in an answer; a cut name ends with …


@dataclass(frozen=True, slots=True)
class CountedOrigin(StoryOrigin):
    """An origin, with the numbers of its articles in a set, of their stories, and of their outlets."""

    articles: int
    stories: int
    outlets: int


@dataclass(frozen=True, slots=True)
class Origins(Answer):
    """The independent origins of a set of articles.

    Attributes:
        independent: number of independent origins; all unknown outlets together are one.
        stories: number of different texts.
        outlets: number of known outlets; aliases count once.
        not_compared: number of pending and failed articles, which have no known origin.
        origins: the origins with the most stories first; at most the limit.
    """

    independent: int
    articles: int
    stories: int
    outlets: int
    not_compared: int
    origins: tuple[CountedOrigin, ...]

    def __str__(self) -> str:
        apart = f"; {self.not_compared:,} not compared" if self.not_compared else ""
        return (
            f"{counted(self.articles, 'article')}, {counted(self.outlets, 'outlet')},"
            f" {counted(self.stories, 'text')}:"
            f" {counted(self.independent, 'independent origin')}{apart}"
        )


def origins(
    database: Database,
    source_ids: Iterable[str] | None,
    *,
    words: str | None,
    publication: str | None,
    language: str | None,
    credit: str | None,
    first: date | str | None,
    last: date | str | None,
    limit: int,
) -> Origins:
    """Return the independent origins of the articles that fulfil all conditions."""
    given = {"words": words, "publication": publication, "language": language, "credit": credit}
    values: dict[str, Any] = {
        name: checks.optional(checks.text, name, value) for name, value in given.items()
    }
    named = None if source_ids is None else list(checks.texts("source_id", source_ids))
    days = (checks.optional(checks.day, "first", first), checks.optional(checks.day, "last", last))
    since, until = range_of_days(*days)
    values |= {"since": since, "until": until, "dated": first is not None or last is not None}
    values |= {"source_ids": named, "characters": LABEL_CHARACTERS + 1}
    values |= {"limit": checks.whole_number("limit", limit, 0) + 1}
    if named is not None and words is not None:
        raise InputError("give source_ids or words, not both")
    with database.transaction() as cursor:
        if named is not None:
            if missing := cursor.execute(_sql("missing"), values).fetchone():
                raise NotFoundError.of(missing[0])
            among = _sql("named")
        elif words is not None:
            require_index(cursor)
            among = _sql("with_words", indexed=WORDS, words=GIVEN)
        else:
            among = _sql("whole")
        rows = cursor.execute(_sql("origins", known=known("m"), among=among.decode()), values).fetchall()
    if not rows:
        return Origins(0, 0, 0, 0, 0, ())
    independent, articles, stories, apart, outlets = rows[0][5:]
    told = (CountedOrigin(kind, name and line(name), *counts[:3]) for kind, name, *counts in rows)
    listed = tuple(one for one in told if one.kind != "not compared")[:limit]
    return Origins(independent, articles, stories, outlets, apart, listed)
