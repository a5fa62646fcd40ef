"""Originals that arrive after their copies: the verdict names the articles that become copies."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup import Article, AsyncDeduplicator, Copy, Verdict
from dedup.base.verdict import MATCHES_LIMIT
from dedup.db.database import Database
from dedup.settling import hook
from dedup.settling.backfill import backfill
from tests.conftest import empty
from tests.corpora import Answer, answer, article, assert_right, deduplicator, expected, load, window

pytestmark = pytest.mark.timeout(240)


def copies_of(name: str, found: Answer) -> dict[str, Copy]:
    """Return the copies of an article, as the marks name them."""
    return {
        other: Copy(other, reason or "", score or 0)
        for other, (_, original, score, reason) in found.marks.items()
        if original == name
    }


def assert_names(verdict: Verdict, wanted: dict[str, Copy]) -> None:
    assert {copy.id: copy for copy in verdict.copies} == wanted
    assert verdict.copy_count == len(wanted)


@pytest.mark.long("dedup", "migrations")
def test_a_crawl_that_runs_newest_first_names_every_copy_in_the_end(database: Database) -> None:
    # Make twenty stories of three articles each. The oldest article of a story is submitted last.
    given = [article(f"{i}-{k}", window(30 * i, 6, 1_000), 10 * i + k) for i in range(20) for k in range(3)]
    with deduplicator(database) as dd:
        told = dd.submit_many(given[::-1])
    assert [v.status for v in told] == ["unique"] * 60
    assert [v.id for v in told if v.provisional] == []
    named = {copy.id: v.id for v in told for copy in v.copies}
    marks = assert_right(database).marks
    assert named == {name: mark[1] for name, mark in marks.items() if mark[1]}
    assert len(named) == 40


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    starts=st.lists(st.integers(0, 7), min_size=2, max_size=8),
    arrival=st.randoms(use_true_random=False),
)
def test_verdicts_name_at_each_moment_what_the_oracle_says(
    database: Database, starts: list[int], arrival: object
) -> None:
    empty(database)
    given = [article(f"a{i}", window(start, 6, 8), i) for i, start in enumerate(starts)]
    arrival.shuffle(given)  # type: ignore[attr-defined]
    before: Answer = Answer()
    with deduplicator(database) as dd:
        for one in given:
            asked, told = dd.lookup(one), dd.submit(one)
            assert not told.provisional
            wanted = expected(database, common=())
            assert told.duplicate_of == wanted.marks[one.source_id][1]
            assert_names(told, copies_of(one.source_id, wanted))
            # The same article again gives the same verdict, so that a caller who lost the answer can ask
            # again.
            assert dd.submit(one).copies == told.copies
            # A look-up names the former originals that are copies now. It does not look further, to articles
            # that were copies of those originals.
            lost = {name for name, mark in before.marks.items() if not mark[1] and wanted.marks[name][1]}
            named = {copy.id for copy in asked.copies}
            assert asked.is_duplicate == told.is_duplicate
            assert {copy.id for copy in told.copies} & lost <= named <= lost
            before = wanted


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("settled", [False, True], ids=["waiting", "settled"])
def test_copies_that_wait_for_the_backfill_are_named_too(database: Database, settled: bool) -> None:
    later = [article(f"later {i}", window(0, 6), 10 + i) for i in range(3)]
    other = article("other", window(100, 6, 1_000), 1)
    with deduplicator(database) as dd:
        if settled:
            dd.submit_many(later)
        load(database, other)
        first = dd.submit(article("first", window(0, 6), 0))
        assert first.provisional
        if settled:
            assert_names(first, copies_of("first", answer(database)))
            assert first.copy_count == 3
        load(database, *later)
        backfill(database, workers=0)
        again = dd.submit(article("first", window(0, 6), 0))
    assert_names(again, copies_of("first", assert_right(database)))


def test_a_verdict_names_copies_that_a_limit_leaves_to_the_backfill(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [article(f"later {i}", window(2 * i, 6, 12), 10 + i) for i in range(4)]
    with deduplicator(database) as dd:
        dd.submit_many(later[::-1])
        monkeypatch.setattr(hook, "MAX_CASCADE", 1)
        first = dd.submit(article("first", window(0, 6, 12), 0))
        assert (first.status, first.provisional) == ("similar", True)
        assert [copy.id for copy in first.copies] == ["later 0"]
    backfill(database, workers=0)
    assert_right(database)


def test_so_many_are_named_and_all_are_counted(database: Database) -> None:
    copies = [article(f"copy {i:03}", window(0, 6), 10 + i) for i in range(MATCHES_LIMIT + 10)]
    load(database, *copies)
    backfill(database, workers=0)
    with deduplicator(database) as dd:
        told = dd.submit(article("first", window(0, 6), 0))
        stored = dd.get("first")
    assert stored is not None
    assert (len(told.copies), told.copy_count) == (MATCHES_LIMIT, len(copies))
    assert str(told) == "first: unique; its copies: copy 000, copy 001, copy 002 and 57 more"
    assert stored.verdict == told


def test_a_deleted_or_edited_copy_is_named_no_more(database: Database) -> None:
    with deduplicator(database) as dd:
        for minute, name in enumerate(["c", "b", "a"]):
            dd.submit(article(name, window(0, 6), -minute))
        dd.delete("b")
        dd.submit(article("c", window(40, 6, 1_000), 0))
        told = dd.submit(article("a", window(0, 6), -2))
    assert (told.copies, told.copy_count) == ((), 0)


def test_asyncio_names_them_too(database: Database, corpus_url: str) -> None:
    later, earlier = article("later", window(0, 6), 5), article("earlier", window(0, 6), 0)

    async def crawl(*given: Article) -> list[Verdict]:
        async with AsyncDeduplicator(corpus_url) as dd:
            return [await dd.submit(one) for one in given]

    first, second = asyncio.run(crawl(later, earlier))
    assert (first.copies, second.copies) == ((), (Copy("later", "content", 1.0),))
