"""The rules of settling, one by one, by their effects on the marks."""

from __future__ import annotations

from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.machine import BATCH_ARTICLES
from dedup.db.database import Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.settling.settle import settle
from dedup.store import articles, pins, rulebooks
from tests.corpora import (
    answer,
    article,
    assert_right,
    at,
    change_settings,
    code,
    deduplicator,
    fingerprint_waiting,
    load,
    settle_waiting,
    window,
)


def run(database: Database, batch: int = BATCH_ARTICLES) -> dict[str, str]:
    """Run a backfill and check it by the oracle; return marks as `id: status` or `id: duplicate:original`."""
    backfill(database, workers=0, batch=batch)
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
    # Each article is a duplicate of the article before it; articles at distance 2 are only similar.
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


def similar_pairs(database: Database) -> set[tuple[str, str]]:
    return {pair for pair, row in answer(database).pairs.items() if row[0] == "similar"}


def member(name: str, number: int, minute: float) -> Article:
    """Return a member of a family: half of its sentences are shared, and half are new."""
    return article(name, window(0, 4) + [code(100 + 10 * number + i) for i in range(4)], minute)


def test_an_article_keeps_its_best_pair_with_earlier_ones_and_its_best_of_all(database: Database) -> None:
    change_settings(database, similar_pairs=1, common_stories=1_000)
    load(database, *(member(f"a{i}", i, i) for i in range(12)))
    run(database)
    found = similar_pairs(database)
    assert 11 <= len(found) < 24
    assert all(sum(later == f"a{i}" for later, _ in found) >= 1 for i in range(1, 12))
    # `near` is later than a0, but is a0's best match, so the pair is kept.
    near = [*window(0, 4), code(100), code(900), code(901), code(902)]
    load(database, article("near", near, 99))
    run(database)
    assert ("near", "a0") in similar_pairs(database)
    with deduplicator(database) as dd:
        dd.delete("near")
    run(database)
    assert similar_pairs(database) == found


def test_a_hook_in_a_large_family_has_no_other_article_settled_again(database: Database) -> None:
    change_settings(database, similar_pairs=2, common_stories=1_000)
    load(database, *(member(f"a{i:02}", i, i) for i in range(39)))
    run(database)
    with database.transaction(settling=True) as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
        new = member("new", 39, 39)
        articles.store(cursor, [new])
        fingerprint_waiting(cursor)
        settled = settle(cursor, rulebook.settings, limit=10)
    assert (len(settled.ids), settled.unsettled) == (1, frozenset())
    assert_right(database)


def test_an_early_article_is_paired_with_settled_ones_without_settling_them_again(database: Database) -> None:
    load(
        database,
        *(
            article(f"a{i}", window(0, 4) + [code(100 + 10 * i + j) for j in range(4)], 10 + i)
            for i in range(9)
        ),
    )
    run(database)
    load(database, member("early", 40, 0))
    assert backfill(database, workers=0).settled == 1
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("max_work", [0, 30, 200, 10**9])
def test_the_work_of_a_transaction_does_not_matter(database: Database, max_work: int) -> None:
    load(database, *(article(f"a{i}", window(i * 5 % 14, 6), i * 7 % 11) for i in range(40)))
    with database.transaction(settling=True) as cursor:
        fingerprint_waiting(cursor)
        settled = 0
        while done := settle_waiting(cursor, 1_000, max_work):
            settled += done
            assert max_work or done == 1
            assert done < 40 or max_work > 200
    assert settled >= 40
    run(database)


def test_the_same_time_is_ordered_by_the_bytes_of_the_source_id(database: Database) -> None:
    names = ["é", "z", "Z", "a", "10", "9"]
    load(database, *(article(name, window(0, 6), 0) for name in names))
    marks = run(database)
    assert min(names, key=str.encode) == "10"
    assert marks["10"] == "unique"
    assert {marks[name] for name in names if name != "10"} == {"duplicate:10"}


@pytest.mark.long("dedup", "migrations")
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
        row = cursor.execute("SELECT reason FROM dedup.marked_article WHERE source_id = 'x'").fetchone()
    assert row == ("pinned",)


def test_an_original_over_the_length_limit_fails_until_the_limit_is_raised(database: Database) -> None:
    body = article("a", window(0, 6)).text
    load(
        database, Article("a", body + " " * 1_000, published_at=at(0)), Article("b", body, published_at=at(1))
    )
    assert run(database) == {"a": "unique", "b": "duplicate:a"}
    change_settings(database, text_max_characters=1_000)
    assert run(database) == {"a": "failed", "b": "unique"}
    change_settings(database, text_max_characters=None)
    assert run(database) == {"a": "unique", "b": "duplicate:a"}


def test_a_changed_threshold_settles_again_without_reading_texts(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(1, 6), 1))
    assert run(database)["b"] == "duplicate:a"
    with database.transaction() as cursor:
        # Make the counts wrong: a fingerprint that is made again would have the right count.
        cursor.execute("UPDATE dedup.fingerprint SET word_count = word_count + 1")
    change_settings(database, duplicate_sentence_jaccard=0.9, duplicate_signature_jaccard=0.95)
    report = backfill(database, workers=0)
    assert (report.fingerprinted, report.settled) == (0, 2)
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT status FROM dedup.marked_article").fetchall()
    assert rows == [("similar",), ("similar",)]


@pytest.mark.long("dedup", "migrations")
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
    asked: list[object] = []
    execute = psycopg.Cursor.execute

    def counted(cursor: psycopg.Cursor, query: Any, *values: Any, **options: Any) -> Any:
        asked.append(query)
        return execute(cursor, query, *values, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    assert backfill(database, workers=0).settled == 0
    assert len(asked) < 40
