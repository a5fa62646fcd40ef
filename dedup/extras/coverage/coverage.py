"""`Deduplicator.coverage`: the articles that tell the same event as an article, grouped by origin."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.times import Time
from dedup.db.database import Cursor, Database
from dedup.extras.coverage import finding
from dedup.extras.coverage.defaults import ARTICLES, DAYS, MOST_ARTICLES, MOST_DAYS
from dedup.extras.coverage.finding import AskedText, FoundArticle, Rarity
from dedup.extras.coverage.shared import Mentions, Shared
from dedup.extras.coverage.sources import asked_for
from dedup.store.stories import StoryOrigin, find_origins

# Articles with a lower score share hardly more than a subject. A person read articles of 47 events: all
# articles of the same event had at least this score.
MIN_SCORE = 0.05

NOT_COMPARED = StoryOrigin("not compared", None)

Telling = Literal["copy", "similar", "other words"]
"""Relations of an article to another article of the same event."""


@dataclass(frozen=True, slots=True)
class ToldArticle(Answer):
    """An article that tells the same event.

    Attributes:
        id: source_id of the article.
        relation: the relation to the article or text of the question. Marks tell copies and similar articles.
        score: likeness of words from 0 to 1.
        published_at: time of publication; None if unknown.
    """

    id: str
    relation: Telling
    score: float
    title: str | None
    publication: str | None
    published_at: datetime | None
    shared: Shared


@dataclass(frozen=True, slots=True)
class ToldOrigin(Answer):
    """The articles of an answer that have the same origin, best first.

    Attributes:
        kind: agency, family, outlet or unknown; `not compared` until a backfill settles the articles.
    """

    kind: str
    name: str | None
    articles: tuple[ToldArticle, ...]


@dataclass(frozen=True, slots=True)
class Coverage(Answer):
    """Articles that tell the same event, grouped by origin; the origin with the best article is first.

    Attributes:
        id: source_id of the article of the question; None for a text.
        since: first moment of the window of time; None without a window.
        until: first moment after the window.
    """

    id: str | None
    since: datetime | None
    until: datetime | None
    origins: tuple[ToldOrigin, ...]

    @property
    def articles(self) -> tuple[ToldArticle, ...]:
        """Return all articles, best first."""
        found = [article for origin in self.origins for article in origin.articles]
        return tuple(sorted(found, key=lambda one: (-one.score, one.id)))


def coverage(
    database: Database,
    source_id: str | None,
    text: str | None = None,
    *,
    days: int = DAYS,
    at: Time = None,
    limit: int = ARTICLES,
) -> Coverage:
    """Return the articles that tell the same event as an article or a text; see `Deduplicator`."""
    checks.whole_number("days", days, 0, MOST_DAYS)
    checks.whole_number("limit", limit, 1, MOST_ARTICLES)
    moment = checks.optional(checks.moment, "at", at)
    with database.transaction(seconds=finding.READ_SECONDS) as cursor:
        finding.begin(cursor)
        asked = asked_for(cursor, source_id, text)
        window = finding.around(moment or asked.known_at, days)
        copies = finding.story_of(cursor, asked).keys() - {asked.id}
        others, rarity = finding.find(cursor, asked, without=copies, window=window)
        told, _ = finding.score(cursor, asked, sorted(copies)[:limit])
        near = (one for one in others if one.score >= MIN_SCORE)
        found = sorted([*told, *near], key=finding.best_first)[:limit]
        groups = _grouped(cursor, asked, found, rarity)
    since, until = window or (None, None)
    return Coverage(source_id, since, until, groups)


def _grouped(
    cursor: Cursor, asked: AskedText, found: list[FoundArticle], rarity: Rarity
) -> tuple[ToldOrigin, ...]:
    similar = finding.similar_to(cursor, asked)
    origins = find_origins(cursor, {one.story for one in found}, settled=True)
    own = Mentions(asked.read)
    groups: defaultdict[StoryOrigin, list[ToldArticle]] = defaultdict(list)
    for one in found:
        relation: Telling = "other words"
        if one.story == asked.story:
            relation = "copy"
        elif one.story in similar:
            relation = "similar"
        shared = own.shared_with(Mentions(one.read), rarity)
        label = (one.title, one.publication, one.known_at)
        article = ToldArticle(one.source_id, relation, one.score, *label, shared)
        groups[origins.get(one.story, NOT_COMPARED)].append(article)
    return tuple(ToldOrigin(one.kind, one.name, tuple(articles)) for one, articles in groups.items())
