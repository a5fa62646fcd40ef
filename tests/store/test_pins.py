"""Pins: stored under the callers' keys, and obeyed."""

from __future__ import annotations

import pytest

from dedup.base.errors import BusyError, DatabaseError, InputError
from dedup.db.database import Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.store import pins
from tests.corpora import (
    article,
    assert_right,
    code,
    deduplicator,
    load,
    make_function,
    unsettled,
    window,
)

NAMES = ("é", "z", "Z", "10", "9", "ß", "\U0001f600", "\uffee")


def test_a_pair_is_one_pair_in_either_order(database: Database) -> None:
    with database.transaction() as cursor:
        for a in NAMES:
            for b in NAMES:
                if a != b:
                    pins.pin_pair(cursor, a, b, Relation.SIMILAR, a, b)
        found = pins.pair_pins(cursor)
        assert len(found) == len(NAMES) * (len(NAMES) - 1) // 2
        assert all(pin.id.encode() < pin.other_id.encode() for pin in found)
        assert pins.unpin_pair(cursor, "z", "é")
        assert not pins.unpin_pair(cursor, "é", "z")


def test_an_article_is_no_pair(database: Database) -> None:
    with database.transaction() as cursor, pytest.raises(InputError, match="two articles"):
        pins.pin_pair(cursor, "a", "a", Relation.SIMILAR)


def test_plain_sql_must_keep_the_order(database: Database) -> None:
    with pytest.raises(DatabaseError, match="23514"), database.transaction() as cursor:
        cursor.execute("INSERT INTO dedup.pair_pin VALUES ('b', 'a', 'similar')")


def test_a_pin_outlives_its_articles(database: Database) -> None:
    given = [article("a", window(0, 6), 0), article("b", window(0, 6), 1)]
    load(database, *given)
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "a", "b", Relation.UNRELATED)
        cursor.execute("DELETE FROM dedup.article")
    load(database, *given)
    backfill(database, workers=0, factory=make_function)
    assert assert_right(database).status() == {"a": "unique", "b": "unique"}


def test_a_pin_unsettles_its_two_articles_and_no_others(database: Database) -> None:
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abcd")))
    backfill(database, workers=0, factory=make_function)
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "a", "c", Relation.DUPLICATE)
    assert unsettled(database) == {"a", "c"}
    backfill(database, workers=0, factory=make_function)
    assert assert_right(database).marks["c"][:2] == ("duplicate", "a")


def test_renaming_an_article_takes_it_from_its_pin(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(0, 6), 1))
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "a", "b", Relation.UNRELATED)
    backfill(database, workers=0, factory=make_function)
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET source_id = 'c' WHERE source_id = 'b'")
    backfill(database, workers=0, factory=make_function)
    assert assert_right(database).status() == {"a": "unique", "c": "duplicate:a"}


def test_a_pinned_duplicate_is_found_when_its_original_comes_late(database: Database) -> None:
    """The pin alone relates the two articles, and the duplicate already belongs to another original."""
    load(database, article("z", window(0, 6), 5), article("y", window(0, 6), 6))
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "x", "y", Relation.DUPLICATE)
    backfill(database, workers=0, factory=make_function)
    assert assert_right(database).status() == {"z": "unique", "y": "duplicate:z"}
    with deduplicator(database) as dd:
        dd.submit(article("x", [code(100 + i) for i in range(6)], 1))
    assert ("y", "x") in assert_right(database).pairs


@pytest.mark.long("dedup", "migrations")
def test_both_articles_of_a_pin_are_settled_at_once_where_that_is_asked_for(database: Database) -> None:
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abcd")))
    backfill(database, workers=0, factory=make_function)
    dd = deduplicator(database)
    dd.pins.set("a", "b", "unrelated")
    first, second = dd.pins.settle("a", "b")
    assert (first.verdict.status, second.verdict.duplicate_of) == ("similar", None)
    assert not unsettled(database) & {"a", "b"}
    backfill(database, workers=0, factory=make_function)
    marks = assert_right(database).marks
    assert dd.pins.remove("a", "b")
    dd.pins.settle("b", "a")
    backfill(database, workers=0, factory=make_function)
    assert assert_right(database).marks["b"][:2] == ("duplicate", "a")
    assert marks["b"][:2] != ("duplicate", "a")
    assert dd.pins.settle("b", "nobody")[0].article.source_id == "b"


def test_who_cannot_have_the_corpus_in_time_is_told(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(0, 6), 1))
    dd = deduplicator(database)
    with database.transaction(settling=True), pytest.raises(BusyError):
        dd.pins.settle("a", "b", timeout=0.1)
    with pytest.raises(InputError, match="timeout"):
        dd.pins.settle("a", "b", timeout=0)
