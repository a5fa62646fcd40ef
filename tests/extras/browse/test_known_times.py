"""Known times: views, frames, pages and reports say "first" only where times are known."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from dedup import Article, Deduplicator
from dedup.db.database import Database
from dedup.extras.browse import report
from dedup.extras.frames import frames
from dedup.store.stories import delay_between
from tests.corpora import START, text, window
from tests.extras.browse.conftest import Document, opened

WIRE, HERALD = "Wire", "Herald"
TEXT = text(window(0, 6))
NOON = START + timedelta(hours=12)


def stored(dd: Deduplicator, wire: datetime | None, herald: datetime | None) -> None:
    """Store one text in two outlets, added ten days apart."""
    dd.load(
        [
            Article("w", TEXT, title="A storm", publication=WIRE, published_at=wire, added_at=NOON),
            Article(
                "h", TEXT, title="A storm", publication=HERALD, published_at=herald,
                added_at=NOON + timedelta(days=10),
            ),
        ]
    )  # fmt: skip
    dd.backfill(workers=0)


def said(database: Database, view: str) -> dict[str, object]:
    """Return the row that a view has about the stored duplicate or its story, by column."""
    order = {"story": "copies DESC", "story_article": "(id = story_id)"}.get(view, "1")
    with database.transaction() as cursor:
        cursor.execute(f"SELECT * FROM dedup.{view} ORDER BY {order} LIMIT 1".encode())
        assert cursor.description
        row = cursor.fetchone()
        assert row
        return {column.name: value for column, value in zip(cursor.description, row, strict=True)}


TOLD = re.compile(r"First in this corpus:|after the first [0-9]|\+[0-9]|\bEarlier\b|first [A-Z][a-z]+, last")
"""Pattern of the words in which pages say which article came first, or how much later another one came."""

UNKNOWN = {
    "neither": (None, None),
    "only the first": (NOON, None),
    "only the second": (None, NOON),
    "one to the day": (NOON, START),
    "both to the day": (START, START),
    "at the same time": (NOON, NOON),
    "implausibly late": (NOON, NOON + timedelta(days=400)),
    "implausibly early": (datetime(1200, 1, 1, 5, tzinfo=UTC), NOON),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", UNKNOWN)
def test_where_times_do_not_tell_nothing_says_who_was_first(
    database: Database, corpus_url: str, case: str
) -> None:
    with Deduplicator(corpus_url) as dd:
        stored(dd, *UNKNOWN[case])
        for view in ("duplicate", "story", "story_article", "publication_overlap"):
            row = said(database, view)
            assert row["times_known"] is False, view
            assert row.get("delay") is None, view
            assert row.get("median_delay") is None, view
            assert not row.get("copied_by"), view
        overlap = said(database, "publication_overlap")
        assert (overlap["publication"], overlap["original_publication"]) == (HERALD, WIRE)
        story = said(database, "story")
        assert story["also_in"] in ([HERALD], [WIRE])
        (line,) = dd.stories()
        assert (line.copied_by, line.spread, line.times_known) == ((), None, False)
        assert len(line.also_in) == 1
        pytest.importorskip("pyarrow")
        (row,) = frames.duplicates(dd).to_pylist()
        assert (row["delay_seconds"], row["times_known"]) == (None, False)
        (row,) = (row for row in frames.stories(dd).to_pylist() if row["copies"])
        assert (row["copied_by"], len(row["also_in"]), row["times_known"]) == ([], 1, False)
        assert row["first_at"] == (story["first_at"])
        matrix = dd.browsing.outlets()
        assert not matrix.cells
        assert matrix.undated == matrix.copies == 1
        assert [(tie.copier, tie.original, tie.copies) for tie in matrix.shared] == [(HERALD, WIRE, 1)]
        day = dd.browsing.day()
        assert not day.fastest
        assert (day.marks.shared, day.marks.new, day.marks.duplicate) == (2, 0, 0)
        page = dd.browsing.story("w")
        assert (page.times_known, page.lasted) == (False, None)
        assert [copy.delay for copy in page.copies] == [None]
        pages = {"report": report.of_story(dd, "w")}
    with opened() as opening:
        browser = opening(corpus_url)
        for path in ("/story?id=w", "/compare?a=w&b=h", "/outlets?whole=yes", "/?whole=yes"):
            pages[path] = browser.page(path)
    for path, found in pages.items():
        words = " ".join(Document(found).words.split())
        assert not TOLD.search(words), path


KNOWN = {
    "two times": (NOON, NOON + timedelta(minutes=90), timedelta(minutes=90)),
    "two days": (START, START + timedelta(days=2), timedelta(days=2)),
    "a day and a time": (START, NOON + timedelta(days=1), timedelta(days=1)),
    "a time and a day": (NOON, START + timedelta(days=1), timedelta(days=1)),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", KNOWN)
def test_where_times_tell_they_are_told(database: Database, corpus_url: str, case: str) -> None:
    wire, herald, delay = KNOWN[case]
    with Deduplicator(corpus_url) as dd:
        stored(dd, wire, herald)
        assert said(database, "duplicate")["delay"] == delay
        story = said(database, "story")
        assert (story["copied_by"], story["also_in"], story["times_known"]) == ([HERALD], [], True)
        assert (story["first_at"], story["last_at"]) == (wire, herald)
        overlap = said(database, "publication_overlap")
        assert (overlap["publication"], overlap["median_delay"]) == (HERALD, delay)
        assert overlap["times_known"] is True
        (line,) = dd.stories()
        assert (line.copied_by, line.spread, line.times_known) == ((HERALD,), delay, True)
        page = dd.browsing.story("w")
        assert (page.times_known, page.lasted, page.copies[0].delay) == (True, delay, delay)
        (cell,) = dd.browsing.outlets(START.date(), START.date() + timedelta(days=20)).cells
        assert (cell.copier, cell.median_delay) == (HERALD, delay)
        assert "First in this corpus" in report.of_story(dd, "w")


def test_the_rule_of_two_times() -> None:
    assert delay_between(None, NOON) is None
    assert delay_between(START, START) is None
    assert delay_between(NOON, START) is None
    assert delay_between(NOON, NOON) is None
    assert delay_between(NOON + timedelta(hours=1), NOON) == timedelta(hours=1)
    assert delay_between(NOON + timedelta(days=1), START) == timedelta(days=1)
    assert delay_between(START, NOON + timedelta(days=1)) == timedelta(days=-1)
