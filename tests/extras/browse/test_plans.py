"""Queries of pages read few rows of a large corpus, even if the planner's statistics are wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from dedup.db.database import Cursor, Database
from dedup.extras.browse.questions import article as articles
from dedup.extras.browse.questions import (
    counting,
    health,
    outlets,
    queue,
    reading,
    search,
    sentences,
    story,
)
from dedup.extras.browse.questions import day as days
from dedup.store import verdicts, word_index
from tests.settling.test_plans import ARTICLES, STATISTICS, assert_few, believe, rolled_back, rows_read
from tests.settling.test_plans import large as large  # a fixture

pytestmark = pytest.mark.timeout(300)

DAY = date(2020, 1, 8)
ARTICLES_OF_A_DAY = 24 * 60
FIRST, LAST = date(2020, 1, 1), date(2020, 1, 31)


# Maximum number of rows read for a page: 2 for each counted hit, and 4 for each line of the page.
PAGE_OF_HITS = 2 * search.HITS + 4 * search.SEARCH_PAGE
OUTLET, NONE = "Outlet 7", counting.Marks()


def found(cursor: Cursor, text: str | None = None, **fields: Any) -> int | None:
    """Return the number of articles on a page of a search; None for a full page."""
    page = search.search(cursor, text, **fields)
    return None if page.after and not page.more else len(page.found)


def part(counted: int, ask: Callable[[Cursor], Any]) -> Callable[[Cursor], object]:
    """Return the question `ask`, changed so that it counts at most `counted` articles."""

    def asked(cursor: Cursor) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counting, "COUNTED", counted)
            return ask(cursor)

    return asked


QUESTIONS: dict[str, tuple[Callable[[Cursor], object], int]] = {
    "newest day": (days.newest_day, 5),
    "day": (lambda c: days.day(c, DAY).biggest[0], 4 * ARTICLES_OF_A_DAY),
    "a part of a range": (part(500, lambda c: days.day(c, FIRST, LAST).counted_from), 4 * 500),
    "a part of the whole corpus": (part(500, lambda c: days.day(c).counted_from), 4 * 500),
    "an outlet's day": (part(500, lambda c: days.day(c, publication=OUTLET).outlets[0]), 4 * ARTICLES // 50),
    "a part of an outlet's": (part(50, lambda c: days.day(c, publication=OUTLET).counted_from), 4 * 50 + 10),
    "a language's day": (lambda c: days.day(c, DAY, language="de").marks == NONE, 2 * ARTICLES_OF_A_DAY),
    "a credit's day": (lambda c: days.day(c, DAY, credit="AP").marks == NONE, 2 * ARTICLES_OF_A_DAY),
    "of a credit": (lambda c: found(c, credit="AP") == 0, 2 * search.SCANNED + 10),
    "agencies": (lambda c: "AP" in outlets.agencies(c), 10),
    "outlet": (lambda c: outlets.outlet(c, OUTLET).copied_by[0], 8 * ARTICLES // 50),
    "a part of an outlet": (part(50, lambda c: outlets.outlet(c, OUTLET).copied_by[0]), 8 * 50),
    "names of outlets": (lambda c: len(outlets.names(c)) == 50, 52),
    "languages": (lambda c: outlets.languages(c) == (), outlets.RECENT),
    "story": (lambda c: story.story(c, "synthetic 4711").original, 50),
    "story of a copy": (lambda c: story.story(c, "real 1").copies[0], 50),
    "article": (lambda c: articles.article(c, "synthetic 4711").matches[0], 50),
    "pairs": (lambda c: verdicts.best_pairs(c, 4711), 50),
    "two": (lambda c: articles.compare(c, "real 1", "real 2"), 50),
    "newest": (lambda c: found(c) is None, PAGE_OF_HITS),
    "of a day": (lambda c: found(c, first=DAY, last=DAY) is None, PAGE_OF_HITS),
    "of an outlet": (
        lambda c: found(c, publication=OUTLET) is None,
        PAGE_OF_HITS,
    ),
    "of no outlet": (lambda c: found(c, publication="Outlet") == 0, 10),
    "of a status": (lambda c: found(c, status="failed") == 0, 2 * search.SCANNED + 10),
    "undated": (lambda c: found(c, dated=False) == 0, 2 * search.SCANNED + 10),
    "of a language": (lambda c: found(c, language="de") == 0, 2 * search.SCANNED + 10),
    "of an address": (lambda c: found(c, url="https://example.com/4711") == 1, 10),
    "of an id": (lambda c: found(c, source_id="synthetic 4711") == 1, 10),
    "outlets": (lambda c: outlets.outlets(c, DAY).cells[0], 4 * ARTICLES_OF_A_DAY),
    "copied": (lambda c: outlets.copied(c, "Outlet 8", OUTLET, DAY).copies[0], 500),
    "sentences": (lambda c: sentences.common_sentences(c, "carriers", None).after, 10),
    "sentences by stories": (lambda c: sentences.common_sentences(c, "stories", None).after, 10),
    "sentence": (
        lambda c: sentences.sentence(
            c, sentences.common_sentences(c, "carriers", None).sentences[0].sentence_hash
        ),
        50,
    ),
    "queue": (lambda c: queue.queue(c, "duplicate")[0], 6 * queue.QUEUE_PAIRS),
    "queue of similar": (lambda c: queue.queue(c, "similar")[0], 6 * queue.QUEUE_PAIRS),
    "picked": (lambda c: queue.queue(c, "picked") == (), 10),
    "pins": (lambda c: queue.pins(c, None).after is None, 10),
    "health": (lambda c: health.health(c).sizes["article"], 50),
}
"""Questions, each with the maximum number of articles that it may read. Every answer is truthy."""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_no_page_reads_a_table_from_end_to_end(large: Database, statistics: str) -> None:
    for name, (ask, most) in QUESTIONS.items():
        with rolled_back(large) as cursor:
            believe(cursor, statistics)
            reading.begin(cursor)
            assert ask(cursor), name
            assert_few(cursor, most, name)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_words_are_found_by_their_index(large: Database, statistics: str) -> None:
    with rolled_back(large) as cursor:
        index = f"{word_index.INDEX} ON dedup.article USING gin ({word_index.WORDS})"
        cursor.execute(f"CREATE INDEX {index}".encode())
        built, _ = rows_read(cursor)["article"]
        believe(cursor, statistics)
        reading.begin(cursor)
        # Every article has the word "text". So its searches fill a page (`full`) from the newest days.
        for fields, full in (
            ({"text": "text"}, True),
            ({"text": "text", "first": DAY, "last": DAY}, True),
            ({"text": "text", "publication": OUTLET}, True),
            ({"text": "nothing"}, False),
        ):
            _, before = rows_read(cursor)["article"]
            assert (found(cursor, **fields) is None) == full
            scanned, read = rows_read(cursor)["article"]
            assert scanned == built
            assert read - before <= 2 * search.FEW + 2 * ARTICLES_OF_A_DAY + PAGE_OF_HITS, fields
