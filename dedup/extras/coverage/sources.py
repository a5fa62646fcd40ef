"""`Deduplicator.sources`: the stored articles that a text, such as a rewrite by a machine, may be made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.db.database import Cursor, Database
from dedup.extras.coverage import finding
from dedup.extras.coverage.defaults import CAUTION, MOST_ARTICLES, SOURCES
from dedup.extras.coverage.finding import AskedText, FoundArticle
from dedup.store.stories import delay_between


@dataclass(frozen=True, slots=True)
class TextSource(Answer):
    """A stored article that a text may be made of.

    Attributes:
        id: source_id of the article.
        score: likeness of words from 0 to 1.
        published_at: time of publication; None if unknown.
    """

    id: str
    score: float
    title: str | None
    publication: str | None
    published_at: datetime | None
    caution: str = CAUTION


def sources(
    database: Database, source_id: str | None, text: str | None = None, *, limit: int = SOURCES
) -> list[TextSource]:
    """Return stored articles that an article or a text may be made of; see `Deduplicator`."""
    checks.whole_number("limit", limit, 1, MOST_ARTICLES)
    with database.transaction(seconds=finding.READ_SECONDS) as cursor:
        finding.begin(cursor)
        asked = asked_for(cursor, source_id, text)
        times = finding.story_of(cursor, asked)
        copies = [id for id, at in times.items() if _came_later(at, asked)]
        found, _ = finding.find(cursor, asked, without=copies)
    found.sort(key=lambda one: _came_later(one.known_at, asked))
    return [_source(one) for one in found if one.score > 0][:limit]


def asked_for(cursor: Cursor, source_id: str | None, text: str | None) -> AskedText:
    """Return the article or text of a question. Raises InputError: both or neither are given."""
    if (source_id is None) == (text is None):
        raise InputError("give the source_id of an article, or a text")
    if text is not None:
        if not isinstance(text, str):
            raise InputError(f"the text must be a string, not {type(text).__name__}")
        return finding.asked_text(text)
    return finding.asked_article(cursor, checks.text("source_id", source_id))


def _came_later(at: datetime | None, asked: AskedText) -> bool:
    """Return whether a text is known to be later than the asked text, and so cannot be its source."""
    delay = delay_between(at, asked.known_at)
    return delay is not None and delay > timedelta()


def _source(found: FoundArticle) -> TextSource:
    return TextSource(found.source_id, found.score, found.title, found.publication, found.known_at)
