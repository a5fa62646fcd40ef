"""The rules of settling, one by one, by what happens to the marks."""

from __future__ import annotations

import pytest

from dedup.article import Article
from dedup.corpus import pins
from dedup.corpus.database import Database
from dedup.engine.backfill import backfill
from dedup.rules.pair import Relation
from tests.corpora import (
    article,
    assert_right,
    at,
    change_settings,
    code,
    deduplicator,
    load,
    settle_waiting,
    window,
)


def run(database: Database, **options: int) -> dict[str, str]:
    """Backfill; the marks, which must be the oracle's, as `id: status`, or `duplicate:` and of what."""
    backfill(database, workers=0, **options)
    return assert_right(database).status()


def test_an_earlier_article_that_comes_late_takes_the_place_of_the_original(database: Database) -> None:
    load(database, article("copy", window(0, 6), 10), article("second copy", window(0, 6), 20))
    assert run(database)["second copy"] == "duplicate:copy"
    load(database, article("first", window(0, 6), 5))
    assert run(database) == {
        "first": "unique",
        "copy": "duplicate:first",
        "second copy": "duplicate:first",
    }


def test_without_its_original_the_first_copy_is_the_original(database: Database) -> None:
    load(database, *(article(name, window(0, 6), minute) for minute, name in enumerate("abc")))
    run(database)
    with deduplicator(database) as dd:
        dd.delete("a")
    assert run(database) == {"b": "unique", "c": "duplicate:b"}


def test_a_chain_near_the_threshold_makes_no_giant_story(database: Database) -> None:
    load(database, *(article(f"a{i}", window(i, 6), i) for i in range(6)))
    marks = run(database)
    # Each is a duplicate:the one before; those at distance 2 are only similar.
    assert marks["a1"] == "duplicate:a0"
    assert marks["a2"] == "similar"
    assert marks["a3"] == "duplicate:a2"


def test_an_article_belongs_to_the_original_it_is_most_like(database: Database) -> None:
    load(
        database,
        article("early", window(0, 6), 0),
        article("late", window(2, 6), 1),
        article("between", [*window(2, 6)[:5], code(1)], 2),
    )
    assert run(database)["between"] == "duplicate:late"


def test_similar_pairs_come_and_go(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(3, 6), 1))
    assert run(database) == {"a": "similar", "b": "similar"}
    load(database, article("b", window(8, 6), 1))
    assert run(database) == {"a": "unique", "b": "unique"}


def test_the_same_time_is_ordered_by_the_bytes_of_the_source_id(database: Database) -> None:
    names = ["é", "z", "Z", "a", "10", "9"]
    load(database, *(article(name, window(0, 6), 0) for name in names))
    marks = run(database)
    assert min(names, key=str.encode) == "10"
    assert marks["10"] == "unique"
    assert {marks[name] for name in names if name != "10"} == {"duplicate:10"}


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_the_size_of_batches_does_not_matter(database: Database, size: int) -> None:
    load(database, *(article(f"a{i}", window(i * 5 % 14, 6), i * 7 % 11) for i in range(40)))
    run(database, batch=size)


def test_settling_in_any_order_ends_in_the_same_marks(database: Database) -> None:
    load(database, article("late", window(0, 6), 9))
    run(database)
    load(database, article("early", window(1, 6), 1), article("middle", window(0, 6), 5))
    while settled := _settle_one(database):
        assert settled
    assert_right(database)


def _settle_one(database: Database) -> int:
    from tests.corpora import fingerprint_waiting

    with database.transaction(settling=True) as cursor:
        fingerprint_waiting(cursor)
        return settle_waiting(cursor, 1)


def test_of_similar_pairs_of_one_score_the_first_rule_by_name_is_the_reason(
    database: Database,
) -> None:
    load(
        database, article("x", window(0, 6), 0), article("y", window(2, 6), 1), article("z", window(2, 6), 2)
    )
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "y", "z", Relation.UNRELATED)
        pins.pin_pair(cursor, "x", "z", Relation.SIMILAR)
    assert run(database) == {"x": "similar", "y": "similar", "z": "similar"}
    with database.transaction() as cursor:
        row = cursor.execute("SELECT reason FROM dedup.article WHERE source_id = 'x'").fetchone()
    assert row == ("pinned",)


def test_what_can_no_longer_be_read_gives_up_its_place_and_gets_it_back(database: Database) -> None:
    body = article("a", window(0, 6)).text
    load(
        database, Article("a", body + " " * 1_000, published_at=at(0)), Article("b", body, published_at=at(1))
    )
    assert run(database) == {"a": "unique", "b": "duplicate:a"}
    change_settings(database, text_max_characters=1_000)
    assert run(database) == {"a": "failed", "b": "unique"}
    change_settings(database, text_max_characters=None)
    assert run(database) == {"a": "unique", "b": "duplicate:a"}


def test_a_changed_threshold_settles_anew_without_reading_texts(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(1, 6), 1))
    assert run(database)["b"] == "duplicate:a"
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.fingerprint SET word_count = word_count + 1")  # would be made anew
    change_settings(database, duplicate_sentence_jaccard=0.9, duplicate_signature_jaccard=0.95)
    report = backfill(database, workers=0)
    assert (report.fingerprinted, report.settled) == (0, 2)
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT status FROM dedup.article").fetchall()
    assert rows == [("similar",), ("similar",)]


def test_a_changed_fingerprint_setting_has_the_texts_fingerprinted_again(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(0, 6), 1))
    run(database)
    change_settings(database, sentence_min_characters=30)
    assert backfill(database, workers=0).fingerprinted == 2
    assert_right(database)


def test_what_could_not_be_read_takes_part_after_an_edit(database: Database) -> None:
    load(database, article("empty", [], 0), article("a", window(0, 6), 1))
    assert run(database) == {"empty": "failed", "a": "unique"}
    load(database, article("empty", window(0, 6), 0))
    assert run(database) == {"empty": "unique", "a": "duplicate:empty"}


def test_plain_sql_is_as_good_as_the_program(database: Database) -> None:
    load(database, *(article(f"a{i}", window(0, 6), i) for i in range(5)), article("x", window(7, 6), 0))
    run(database)
    with database.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.article WHERE source_id IN ('a0', 'a1')")
    assert run(database)["a2"] == "unique"
    with database.transaction() as cursor:
        cursor.execute(
            "UPDATE dedup.article SET text = (SELECT text FROM dedup.article WHERE source_id = 'x'),"
            " published_at = published_at + interval '1 hour' WHERE source_id IN ('a2', 'a3')"
        )
    assert run(database) == {
        "x": "unique",
        "a2": "duplicate:x",
        "a3": "duplicate:x",
        "a4": "unique",
    }


def test_a_backfill_with_nothing_new_asks_a_fixed_number_of_questions(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(30)))
    run(database)
    asked = []
    execute = psycopg.Cursor.execute

    def counted(cursor: psycopg.Cursor, query: object, *values: object, **options: object) -> object:
        asked.append(query)
        return execute(cursor, query, *values, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    assert backfill(database, workers=0).settled == 0
    assert len(asked) < 40
