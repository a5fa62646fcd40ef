"""Articles in and out: a load keeps, counts and stores articles, whatever their keys and texts are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article, storable
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.store import articles, exports
from dedup.store.articles import LoadCounts
from tests.conftest import empty
from tests.corpora import (
    article,
    assert_right,
    change_settings,
    deduplicator,
    load,
    make_function,
    text,
    unsettled,
    window,
)

pytestmark = pytest.mark.timeout(120)

TEXT = text(window(0, 6))
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
WEIRD = [
    'weird "name',
    "a; drop",
    "a'; DROP TABLE dedup.article; --",
    "%s",
    "%(name)s",
    "{braces}",
    "\\N",
    "back\\slash",
    "tab\tand\nnewline",
    " leading and trailing ",
    "😀👩‍👩‍👧",
    "é",
    "e\u0301",
    "İı",
    "\u202eright to left",
    "null",
    "1",
    "01",
    "x" * 1024,
    "é" * 512,
]
TEXTS = [
    "",
    " \n\t ",
    "Short.",
    "\x01\x02\x7f\ufffe\uffff\U0010ffff",
    "\\x00 \\N {1,2} %s $1 :name ''",
    "a" * 300_000,
    "." * 100_000,
    TEXT * 50,
    "Line\r\nends\rof\u2028all\u2029kinds\x85.",
]


def stored(database: Database) -> dict[str, dict[str, Any]]:
    """Return the fields and the status of every article, by source_id."""
    names = (
        "source_id, url, title, publication, published_at, added_at, language, text, revision, status, stale"
    )
    with database.transaction() as cursor:
        rows = cursor.execute(f"SELECT {names} FROM dedup.marked_article".encode()).fetchall()
    return {row[0]: dict(zip(names.split(", "), row, strict=True)) for row in rows}


def test_new_changed_and_same(database: Database) -> None:
    first = [Article(str(i), f"{TEXT} {i}", title="T") for i in range(4)]
    assert load(database, *first) == LoadCounts(new=4)
    assert load(database, *first) == LoadCounts(same=4)
    edited = Article("1", "Another text.", title="T")
    assert load(database, first[0], edited, Article("new", TEXT)) == LoadCounts(new=1, changed=1, same=1)
    assert load(database, Article("2", first[2].text, title="Other")) == LoadCounts(changed=1)


def test_nothing_to_load(database: Database) -> None:
    assert load(database) == LoadCounts()


def test_of_one_key_given_twice_the_last_counts(database: Database) -> None:
    found = load(database, Article("a", "First."), Article("b", "B."), Article("a", "Last."))
    assert found == LoadCounts(new=2, superseded=1)
    assert stored(database)["a"]["text"] == "Last."
    found = load(database, Article("a", "Third."), Article("a", "Last."))
    assert found == LoadCounts(same=1, superseded=1)
    found = load(database, Article("a", "Last."), Article("a", "Fourth."))
    assert found == LoadCounts(changed=1, superseded=1)
    assert stored(database)["a"]["text"] == "Fourth."


KEYS = st.sampled_from(["a", "b", "é", "e\u0301", "A"])
FIELD = st.none() | st.sampled_from(["x", "y"])
GIVEN = st.builds(
    Article, source_id=KEYS, text=st.sampled_from(["One.", "Two."]), title=FIELD, language=FIELD
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=st.lists(GIVEN, max_size=12), cuts=st.lists(st.integers(0, 12), max_size=3))
def test_batches_of_any_size_store_and_count_the_same(
    database: Database, given: list[Article], cuts: list[int]
) -> None:
    """Store articles singly and in batches: rows and counts are equal, also if a later line lacks a field."""
    singly = LoadCounts()
    for one in given:
        found = load(database, one)
        singly.new += found.new
        singly.changed += found.changed
        singly.same += found.same
    wanted = {key: {**row, "revision": 0, "added_at": None} for key, row in stored(database).items()}
    assert singly.new + singly.changed + singly.same == len(given)
    empty(database)
    bounds = [0, *sorted(cuts), len(given)]
    counts = [load(database, *given[a:b]) for a, b in pairwise(bounds)]
    found_rows = {key: {**row, "revision": 0, "added_at": None} for key, row in stored(database).items()}
    assert found_rows == wanted
    assert sum(c.new for c in counts) == singly.new == len(wanted)
    assert sum(c.new + c.changed + c.same + c.superseded for c in counts) == len(given)
    empty(database)


def test_what_is_not_given_stays(database: Database) -> None:
    full = Article("a", TEXT, "Title", "https://x.example", "Courier", NOON, NOON + timedelta(hours=1), "en")
    load(database, full)
    before = stored(database)["a"]
    assert load(database, Article("a", TEXT)) == LoadCounts(same=1)
    assert stored(database)["a"] == before
    assert load(database, Article("a", TEXT, publication="Herald")) == LoadCounts(changed=1)
    assert stored(database)["a"] == before | {"publication": "Herald"}


def test_added_at_is_now_unless_it_is_given(database: Database) -> None:
    load(database, Article("now", TEXT), Article("then", TEXT, added_at=NOON))
    found = stored(database)
    assert abs(found["now"]["added_at"] - datetime.now(UTC)) < timedelta(minutes=5)
    assert found["then"]["added_at"] == NOON
    load(database, Article("now", "Edited."))
    assert stored(database)["now"]["added_at"] == found["now"]["added_at"]


def test_times_of_any_zone_are_the_same_moment(database: Database) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    load(database, Article("a", TEXT, published_at=NOON.astimezone(zone)))
    assert load(database, Article("a", TEXT, published_at=NOON)) == LoadCounts(same=1)
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    load(database, Article("first", TEXT, published_at=first), Article("last", TEXT, published_at=last))
    backfill(database, workers=0, factory=make_function)
    # An impossible date counts as missing: `added_at`, which is now, takes its place.
    marks = {"a": "unique", "first": "duplicate:a", "last": "duplicate:a"}
    assert assert_right(database).status() == marks
    change_settings(database, earliest_year=1)
    backfill(database, workers=0, factory=make_function)
    marks = {"first": "unique", "a": "duplicate:first", "last": "duplicate:first"}
    assert assert_right(database).status() == marks


@pytest.mark.parametrize("column", ["published_at", "added_at"])
@pytest.mark.parametrize("time", ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01"])
def test_times_that_python_cannot_hold_are_refused(database: Database, column: str, time: str) -> None:
    """Plain SQL cannot insert a time that would stop every backfill."""
    with pytest.raises(Exception, match="23514"), database.transaction() as cursor:
        cursor.execute(
            f"INSERT INTO dedup.article (source_id, text, {column}) VALUES ('a', 'x', '{time}')".encode()
        )


def test_only_an_edit_of_what_counts_unsettles(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(0, 6), 1))
    backfill(database, workers=0, factory=make_function)
    load(database, Article("a", TEXT, title="New", url="https://x.example", publication="Courier"))
    assert {row["status"] for row in stored(database).values()} == {"unique", "duplicate"}
    assert unsettled(database) == set()
    load(database, Article("b", TEXT, published_at=NOON))
    found = stored(database)["b"]
    assert (found["status"], found["stale"], found["revision"]) == ("duplicate", True, 0)
    load(database, Article("b", TEXT, language="en-GB"))
    found = stored(database)["b"]
    assert (found["status"], found["stale"], found["revision"]) == ("pending", False, 1)


def test_a_title_counts_only_with_a_short_text(database: Database) -> None:
    load(database, Article("short", "Comment now.", title="Old"), Article("long", TEXT, title="Old"))
    backfill(database, workers=0, factory=make_function)
    load(database, Article("short", "Comment now.", title="New"), Article("long", TEXT, title="New"))
    assert unsettled(database) == {"short"}
    assert stored(database)["short"]["revision"] == 1
    load(database, Article("never fingerprinted", TEXT, title="Old"))
    load(database, Article("never fingerprinted", TEXT, title="New"))
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


def test_weird_keys(database: Database) -> None:
    given = [Article(name, f"{TEXT} {name}", title=name, url=name, publication=name) for name in WEIRD]
    assert load(database, *given) == LoadCounts(new=len(WEIRD))
    found = stored(database)
    assert set(found) == set(WEIRD)
    assert all(found[name]["title"] == name for name in WEIRD)
    backfill(database, workers=0, factory=make_function)
    assert_right(database)
    corpus = deduplicator(database)
    for name in WEIRD:
        assert corpus.submit(Article(name, TEXT)).id == name
    assert sorted(corpus.delete_many(WEIRD)) == sorted(WEIRD)
    assert stored(database) == {}


def test_weird_texts(database: Database) -> None:
    given = [Article(str(i), body) for i, body in enumerate(TEXTS)]
    load(database, *given)
    found = stored(database)
    assert [found[str(i)]["text"] for i in range(len(TEXTS))] == TEXTS
    backfill(database, workers=0, factory=make_function)
    assert_right(database)
    corpus = deduplicator(database)
    for body in TEXTS:
        assert corpus.submit(Article("hook", body)).status != "pending"
    assert_right(database)


anything = st.text(st.characters() | st.sampled_from("\0\ud800\udfff\ufeff"), max_size=60)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.lists(anything, min_size=1, max_size=20), title=anything)
def test_any_text_comes_back_as_it_was(database: Database, bodies: list[str], title: str) -> None:
    load(database, *(Article(str(i), body, title=title) for i, body in enumerate(bodies)))
    found = stored(database)
    for i, body in enumerate(bodies):
        assert (found[str(i)]["text"], found[str(i)]["title"]) == (storable(body), storable(title))


def test_deleting_tells_what_was_known(database: Database) -> None:
    load(database, *(Article(name, TEXT) for name in "abc"))
    with database.transaction() as cursor:
        assert sorted(articles.delete(cursor, ["a", "c", "x"])) == ["a", "c"]
    assert list(stored(database)) == ["b"]
    assert deduplicator(database).delete("x") is False


def test_export_goes_page_by_page(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PAGE", 3)
    load(database, *(article(f"a{i}", window(0, 6), i) for i in range(8)))
    backfill(database, workers=0, factory=make_function)
    rows = list(exports.marks(database))
    assert [row["id"] for row in rows] == [f"a{i}" for i in range(8)]
    assert rows[1] == {
        "id": "a1",
        "status": "duplicate",
        "duplicate_of": "a0",
        "score": 1.0,
        "reason": "content",
        "stale": False,
    }
    assert [(row["a"], row["b"]) for row in exports.matches(database)] == [
        (f"a{i}", "a0") for i in range(1, 8)
    ]
