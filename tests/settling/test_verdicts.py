"""Verdicts: a copy is called a copy at every stage of a corpus, or the verdict is provisional.

See docs/semantics.md, section 6. For a verdict, an article is compared with all articles that have a
fingerprint of the present version, settled or not. If some articles have no such fingerprint, the verdict is
provisional.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dedup.base.article import Article
from dedup.base.verdict import Verdict
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.settling.submit import OTHER_PROGRAM
from dedup.store import rulebooks
from tests.corpora import (
    answer,
    article,
    assert_right,
    at,
    change_settings,
    deduplicator,
    fingerprint_waiting,
    load,
    make_function,
    settle,
    settle_waiting,
    sql,
    text,
    unsettled,
    window,
)

pytestmark = pytest.mark.timeout(120)

BRIEF = "The harbour road stays closed on Monday and on Tuesday, said the council of Port Marlow last night."
ORIGINAL = {
    "long": article("first", window(0, 6), 10, added_at=at(10)),
    "brief": Article("first", BRIEF, "Harbour", published_at=at(10), added_at=at(10)),
}
OTHERS = [
    article(f"other {i}", window(100 + 30 * i, 6, ring=1_000), 20 + i, added_at=at(50)) for i in range(4)
]


def fingerprinted(database: Database, count: int = 1_000) -> None:
    with database.transaction(settling=True) as cursor:
        fingerprint_waiting(cursor, count)


def settled(database: Database, count: int) -> None:
    with database.transaction(settling=True) as cursor:
        settle_waiting(cursor, count)


def adopted(database: Database) -> None:
    with database.transaction(settling=True) as cursor:
        rulebooks.adopt(cursor)


Stage = Callable[[Database, Article], None]


def all_settled(database: Database, original: Article) -> None:
    load(database, original, *OTHERS)
    settle(database)


def only_loaded(database: Database, original: Article) -> None:
    load(database, original, *OTHERS)


def only_fingerprinted(database: Database, original: Article) -> None:
    only_loaded(database, original)
    fingerprinted(database)


def original_settled_others_not(database: Database, original: Article) -> None:
    only_fingerprinted(database, original)
    settled(database, 1)


def others_loaded(database: Database, original: Article) -> None:
    load(database, original)
    settle(database)
    load(database, *OTHERS)


def rules_wanted(database: Database, original: Article) -> None:
    all_settled(database, original)
    change_settings(database, similar_sentence_jaccard=0.2)


def rules_adopted(database: Database, original: Article) -> None:
    rules_wanted(database, original)
    adopted(database)


def rules_half_settled(database: Database, original: Article) -> None:
    rules_adopted(database, original)
    settled(database, 2)


def prints_wanted(database: Database, original: Article) -> None:
    all_settled(database, original)
    change_settings(database, stop_word_length=3)


def prints_adopted(database: Database, original: Article) -> None:
    prints_wanted(database, original)
    adopted(database)


def prints_half_made(database: Database, original: Article) -> None:
    prints_adopted(database, original)
    fingerprinted(database, 2)


def prints_half_settled(database: Database, original: Article) -> None:
    prints_half_made(database, original)
    settled(database, 1)


def redated(database: Database, original: Article) -> None:
    all_settled(database, original)
    sql(
        database,
        "UPDATE dedup.article SET published_at = published_at + interval '1 s' WHERE source_id = 'first'",
    )


def its_original_deleted(database: Database, original: Article) -> None:
    load(database, replace(original, source_id="zero", published_at=at(5)), original, *OTHERS)
    settle(database)
    sql(database, "DELETE FROM dedup.article WHERE source_id = 'zero'")


def its_original_edited(database: Database, original: Article) -> None:
    load(database, replace(original, source_id="zero", published_at=at(5)), original, *OTHERS)
    settle(database)
    sql(
        database,
        "UPDATE dedup.article SET text = repeat('It is told again. ', 20) WHERE source_id = 'zero'",
    )


BLIND: list[Stage] = [only_loaded, prints_adopted]
"""Stages at which the original has no fingerprint for a comparison with a copy."""

SEEING: list[Stage] = [
    all_settled,
    only_fingerprinted,
    original_settled_others_not,
    others_loaded,
    rules_wanted,
    rules_adopted,
    rules_half_settled,
    prints_wanted,
    prints_half_made,
    prints_half_settled,
    redated,
    its_original_deleted,
    its_original_edited,
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", ["submit", "lookup"])
@pytest.mark.parametrize("kind", ORIGINAL)
@pytest.mark.parametrize("stage", [*SEEING, *BLIND], ids=lambda stage: stage.__name__)
def test_a_copy_is_never_told_to_be_unique(database: Database, stage: Stage, kind: str, how: str) -> None:
    original = ORIGINAL[kind]
    stage(database, original)
    copy = replace(original, source_id="copy", published_at=at(1_000), added_at=at(1_000))
    waiting = unsettled(database)
    with deduplicator(database) as hook:
        told: Verdict = getattr(hook, how)(copy)
    assert told.provisional or told.is_duplicate
    assert told.unsettled == len(unsettled(database) - {"copy"})
    if stage in SEEING:
        assert (told.status, told.duplicate_of) == ("duplicate", "first")
        assert (told.score, told.reason, told.matches[0].id) == (1.0, "content", "first")
    if how == "submit":
        assert unsettled(database) <= waiting | {"copy"}
        mark = (told.status, told.duplicate_of, told.score, told.reason)
        assert answer(database).marks["copy"] == mark
    else:
        assert unsettled(database) == waiting
        load(database, copy)
    settle(database)
    assert assert_right(database).marks["copy"][0] == "duplicate"
    with deduplicator(database) as hook:
        again = hook.submit(copy)
    assert (again.is_duplicate, again.provisional, again.unsettled) == (True, False, 0)


def test_a_brief_is_a_duplicate_the_second_time(database: Database) -> None:
    assert len(BRIEF.split()) < 24
    with deduplicator(database) as hook:
        first = hook.submit(Article("a", BRIEF, "Harbour", published_at=at(1)))
        second = hook.submit(Article("b", BRIEF, "Harbour", published_at=at(2)))
        other = hook.submit(Article("c", BRIEF, "Another headline", published_at=at(3)))
    assert (first.status, first.provisional) == ("unique", False)
    assert (second.status, second.duplicate_of, second.provisional) == ("duplicate", "a", False)
    assert (other.status, other.provisional) == ("unique", False)
    assert_right(database)


def test_an_earlier_copy_is_no_duplicate_but_its_original_becomes_one(database: Database) -> None:
    load(database, *OTHERS, ORIGINAL["long"])
    fingerprinted(database)
    early = replace(ORIGINAL["long"], source_id="early", published_at=at(0))
    with deduplicator(database) as hook:
        told = hook.submit(early)
    assert (told.status, told.provisional) == ("unique", True)
    settle(database)
    assert assert_right(database).status()["first"] == "duplicate:early"


def test_a_verdict_obeys_a_pin_to_a_waiting_article(database: Database) -> None:
    from dedup.rules.pair import Relation
    from dedup.store import pins

    load(database, *OTHERS)
    fingerprinted(database)
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "other 0", "new", Relation.DUPLICATE)
    given = article("new", window(700, 6, ring=1_000), 99, added_at=at(99))
    with deduplicator(database) as hook:
        assert hook.lookup(given).reason == "pinned"
        told = hook.submit(given)
    assert (told.status, told.duplicate_of, told.reason) == ("duplicate", "other 0", "pinned")
    settle(database)
    assert assert_right(database).status()["new"] == "duplicate:other 0"


@pytest.mark.parametrize("count", [1, 3])
def test_unsettled_articles_are_counted_up_to_a_limit(
    database: Database, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("dedup.settling.lookup.UNSETTLED_LIMIT", 2)
    load(database, *OTHERS[:count])
    with deduplicator(database) as hook:
        told = hook.lookup(ORIGINAL["long"])
    assert (told.unsettled, told.provisional) == (min(count, 2), True)
    assert told.as_dict()["provisional"] is True


def test_settling_finds_later_partners_of_an_article_with_a_provisional_mark(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit leaves `moved`, which has a new date, unsettled. Settling must still find the later article `n`
    that is similar to it."""
    load(database, article("w", window(1, 6), 1), article("n", window(6, 6), 20))
    load(database, article("moved", window(3, 6), 50))
    settle(database)
    load(database, article("y", window(2, 6), 5))  # a duplicate of `w`, and for now the original of `moved`
    fingerprinted(database)
    sql(database, f"UPDATE dedup.article SET published_at = '{at(10)}' WHERE source_id = 'moved'")
    with monkeypatch.context() as patched, deduplicator(database) as hook:
        for limit in ("MANY_CANDIDATES", "MAX_CANDIDATES"):
            patched.setattr(f"dedup.settling.hook.{limit}", 0)
        told = hook.submit(article("moved", window(3, 6), 10))
    assert (told.duplicate_of, told.provisional) == ("y", True)
    settle(database)
    assert ("n", "moved") in assert_right(database).pairs


def test_fingerprints_of_another_program_are_not_compared_with(database: Database) -> None:
    load(database, article("a", window(0, 6), 0))
    backfill(database, workers=0, factory=make_function)
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.corpus_state SET unicode_version = 'another'")
    with deduplicator(database) as dd:
        verdict = dd.submit(article("b", window(0, 6), 1))
        assert (verdict.status, verdict.reason) == ("pending", OTHER_PROGRAM)
        assert dd.lookup(text(window(0, 6))).status == "pending"
        backfill(database, workers=0, factory=make_function)
        assert dd.submit(article("c", window(0, 6), 2)).duplicate_of == "a"
    assert_right(database)
