"""Loading order decides which copy represents a story, but changes no figure of views, pages or frames."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from dedup import Article, Deduplicator
from dedup.db.database import Database
from dedup.extras.browse import report
from dedup.extras.browse.questions.reading import ArticleLine
from dedup.extras.frames import frames
from tests.conftest import empty
from tests.corpora import START, code, rows, text, window
from tests.extras.browse.conftest import Document, opened

OUTLETS = ("Courier", "Herald", "Wire", None)
STORIES, ARTICLES, SEEDS = 8, 30, 4

QUERIES = {
    "mark": "SELECT source_id, published_at, status = 'failed', archived FROM dedup.mark",
    "shared_article": "SELECT m.source_id, s.publication, was_first"
    " FROM dedup.shared_article s JOIN dedup.mark m USING (id)",
    "duplicate": "SELECT delay, times_known, count(*) FROM dedup.duplicate GROUP BY 1, 2",
    "story": "SELECT articles, copies, copied_by, first_at, last_at, times_known, title FROM dedup.story",
    "also_in": "SELECT title, name FROM dedup.story CROSS JOIN LATERAL (SELECT DISTINCT name FROM"
    " unnest(also_in || publication) AS name) AS names WHERE name IS NOT NULL",
    "story_article": "SELECT source_id, appeared_at, delay, times_known, archived FROM dedup.story_article",
    "publication_overlap": "SELECT * FROM dedup.publication_overlap",
    "daily_mark": "SELECT * FROM dedup.daily_mark",
    "story_version": "SELECT title, version, times_known FROM dedup.story_version",
    "alteration": "SELECT times_known FROM dedup.alteration GROUP BY 1",
    "quote": "SELECT sentence_hash, outlets, stories, articles, common, publication, appeared_at,"
    " first_known, source_id FROM dedup.quote",
    "publication_credit": "SELECT * FROM dedup.publication_credit",
    "question 5": "SELECT m.publication, count(*), count(*) FILTER (WHERE s.id IS NULL OR s.was_first),"
    " count(*) FILTER (WHERE s.was_first IS NOT FALSE) FROM dedup.mark m LEFT JOIN dedup.shared_article s"
    " USING (id) GROUP BY 1",
}
"""Columns of each public view that do not depend on the article that represents a story."""


def corpus(seed: int, *, dated: float) -> list[Article]:
    """Return versions of some stories; versions of a story are duplicates. `dated`: share of dated
    versions."""
    dice = random.Random(seed)
    made = []
    for number in range(ARTICLES):
        story = dice.randrange(STORIES)
        codes = window(story * 20, 5, ring=10_000)
        last = code(5_000 + story * 10 + dice.randrange(3))
        time = START + timedelta(days=dice.randrange(2), hours=dice.choice((0, 0, 6, 12)))
        made.append(
            Article(
                f"n{number:02}", text([*codes, last]), f"Story {story}", publication=dice.choice(OUTLETS),
                published_at=time if dice.random() < dated else None, added_at=START + timedelta(days=5),
            )
        )  # fmt: skip
    return made


def loaded(dd: Deduplicator, given: list[Article], seed: int) -> None:
    """Load the articles one by one in a random order, with a day between their `added_at`."""
    order = random.Random(seed).sample(given, len(given))
    empty(dd._database)
    for place, one in enumerate(order):
        dd.load([replace(one, added_at=START + timedelta(days=5 + place))])
    dd.backfill(workers=0)
    dd.keep_sentences(outlets=2)


def figures_of(dd: Deduplicator) -> dict[str, Any]:
    """Return all figures of views, pages and frames that must not depend on the order of loading."""
    said: dict[str, Any] = {
        name: Counter(map(str, rows(dd._database, query))) for name, query in QUERIES.items()
    }
    day = dd.browsing.day()
    said["day"] = [day.marks, day.undated, day.hours, day.no_hour, day.outlets, day.languages, day.periods]
    said["most"] = sorted((story.original.title, story.copies, story.outlets) for story in day.biggest)
    said["fastest"] = [(story.original.title, story.reached) for story in day.fastest]
    said["bounded"] = dd.browsing.day(START.date(), START.date() + timedelta(days=100)).marks
    said["newest day"] = dd.browsing.newest_day()
    said["outlets"] = dd.browsing.outlets()
    for name in OUTLETS[:3]:
        page = dd.browsing.outlet(name or "")
        said[f"outlet {name}"] = replace(page, biggest=())
        for other in OUTLETS[:3]:
            said[f"copied {name} {other}"] = len(dd.browsing.copied(name or "", other or "").copies)
    said["stories"] = sorted((s.title, s.copies, s.copied_by, s.times_known) for s in dd.stories(100))
    said["frame of marks"] = {row["source_id"]: row["was_first"] for row in frames.marks(dd).to_pylist()}
    said["frame of duplicates"] = Counter(row["delay_seconds"] for row in frames.duplicates(dd).to_pylist())
    said["frame of stories"] = sorted(
        (row["title"], row["copies"], row["copied_by"], row["times_known"])
        for row in frames.stories(dd).to_pylist()
    )
    return said


@pytest.mark.long("dedup", "migrations")
def test_undated_articles_give_equal_figures_in_any_order_of_loading(
    database: Database, corpus_url: str
) -> None:
    pytest.importorskip("pyarrow")
    represented = set()
    with Deduplicator(corpus_url) as dd, opened() as opening:
        for seed in range(SEEDS):
            given, found, pages = corpus(seed, dated=0), [], []
            for order in (1, 2):
                loaded(dd, given, order)
                represented.add(str(rows(database, "SELECT source_id FROM dedup.story ORDER BY 1")))
                found.append(figures_of(dd))
                browser = opening(corpus_url)
                addresses = ("/outlets", *(f"/outlet?publication={name}" for name in OUTLETS[:3]))
                pages.append([Document(browser.page(address)).words for address in addresses])
                first = rows(database, "SELECT min(source_id) FROM dedup.story WHERE copies > 0")[0][0]
                assert "First in this corpus:" not in report.of_story(dd, first)
            for name, figures in found[0].items():
                assert figures == found[1][name], (seed, name)
            assert pages[0] == pages[1]
            assert found[0]["outlets"].shared
    assert len(represented) == 2 * SEEDS  # the order of loading did change the representatives


def times_of(one: Article) -> tuple[datetime, datetime] | None:
    """Return the first and the last moment at which an article may have appeared; None: unknown."""
    time = one.published_at
    if not isinstance(time, datetime):
        return None
    return (time, time + timedelta(days=1) - timedelta.resolution) if time.hour == 0 else (time, time)


def before(one: Article, other: Article) -> bool:
    early, late = times_of(one), times_of(other)
    return early is not None and late is not None and early[1] < late[0]


def first_of(stories: Iterable[list[Article]]) -> dict[str, bool | None]:
    """Return for each article with duplicates whether it was first (None: unknown), by comparing all
    pairs."""
    found: dict[str, bool | None] = {}
    for story in stories:
        maybe = [one for one in story if not any(before(other, one) for other in story)]
        for one in story if len(story) > 1 else ():
            found[one.source_id] = False if one not in maybe else True if len(maybe) == 1 else None
    return found


@pytest.mark.long("dedup", "migrations")
def test_an_article_was_first_if_it_was_before_all_others(database: Database, corpus_url: str) -> None:
    query = "SELECT m.source_id, was_first FROM dedup.shared_article JOIN dedup.mark m USING (id)"
    seen = set()
    with Deduplicator(corpus_url) as dd:
        for seed in range(SEEDS):
            given = corpus(seed, dated=0.9)
            stories: dict[str | None, list[Article]] = defaultdict(list)
            for one in given:
                stories[one.title].append(one)
            wanted = first_of(stories.values())
            seen |= set(wanted.values())
            for order in (1, 2):
                loaded(dd, given, order)
                assert dict(rows(database, query)) == wanted, (seed, order)
    assert seen == {True, False, None}


def test_a_date_without_an_hour_is_at_no_hour_and_an_undated_article_in_no_day(
    database: Database, corpus_url: str
) -> None:
    noon = START + timedelta(hours=12)
    times = {"a": START, "b": noon, "c": None}
    with Deduplicator(corpus_url) as dd:
        dd.load(
            [
                Article(name, text(window(20 * n, 6, ring=100)), published_at=time, added_at=noon)
                for n, (name, time) in enumerate(times.items())
            ]
        )
        dd.backfill(workers=0)
        day = dd.browsing.day(START.date())
        assert (day.marks.articles, day.no_hour, sum(day.hours), day.hours[12]) == (2, 1, 1, 1)
        assert (day.undated.articles, dd.browsing.day().undated.articles) == (0, 1)
        assert dd.browsing.newest_day() == START.date()
        (line,) = (found.article for found in dd.browsing.search(source_id="c").found)
        assert isinstance(line, ArticleLine)
        assert not line.published
        assert dd.story("c").original.time is None
    days = rows(database, "SELECT day, articles FROM dedup.daily_mark ORDER BY day")
    assert days == [(START.date(), 2), (None, 1)]
