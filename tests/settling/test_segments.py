"""Key segments: every article is found, after merges, kills, edits, and changes of `canonical`."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database
from dedup.settling import segments
from dedup.settling.backfill import backfill
from dedup.settling.verify import Verification, repair, verify
from dedup.store import key_segments, rulebooks
from tests.conftest import empty
from tests.corpora import (
    answer,
    article,
    assert_equal,
    assert_right,
    deduplicator,
    load,
    make_function,
    window,
)

pytestmark = pytest.mark.timeout(120)

EDGES = [-(1 << 63), (1 << 63) - 1, -1, 0, 1, 1 << 33, -(1 << 33), (1 << 33) - 1]
KEYS = st.one_of(
    st.sampled_from(EDGES), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-3, 3).map(lambda n: n << 33)
)
ARTICLES = st.one_of(st.integers(1, 9), st.sampled_from([(1 << 32) - 1, 1 << 31]))
HELD = st.lists(st.tuples(KEYS, ARTICLES, st.booleans()), max_size=40)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks and parts small, so that there are many."""
    monkeypatch.setattr(key_segments, "BLOCK_ENTRIES", 3)
    monkeypatch.setattr(key_segments, "COPY_ENTRIES", 7)
    monkeypatch.setattr(key_segments, "PAGE_ARTICLES", 4)
    monkeypatch.setattr(segments, "SORTED_ENTRIES", 50)


def entry(key: int, article_id: int) -> int:
    return int(key_segments.entries_of(bigints([key]), bigints([article_id]))[0])


@given(key=KEYS, article_id=ARTICLES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_entry_is_the_same_in_the_server_and_here(database: Database, key: int, article_id: int) -> None:
    with database.transaction() as cursor:
        row = cursor.execute("SELECT dedup.entry(%s::bigint, %s::bigint)", [key, article_id]).fetchone()
    assert row == (entry(key, article_id),)
    assert key_segments.articles_of(bigints([entry(key, article_id)])).tolist() == [article_id]


@given(key=KEYS, article_id=ARTICLES, blocks=st.integers(1, 10) | st.integers(1, (1 << 31) - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_block_is_the_same_in_the_server_and_here(
    database: Database, key: int, article_id: int, blocks: int
) -> None:
    with database.transaction() as cursor:
        row = cursor.execute("SELECT dedup.block(%s::bigint, %s::bigint)", [key, blocks]).fetchone()
    made = entry(key, article_id)
    (number,) = key_segments.block_of(bigints([made]), blocks).tolist()
    assert row == (number,)
    assert 0 <= number < blocks
    assert key_segments.first_entry(number, blocks) <= made < key_segments.first_entry(number + 1, blocks)


def written(database: Database, held: list[tuple[int, int, bool]]) -> None:
    with database.transaction() as cursor:
        for flag in (True, False):
            entries = np.unique(bigints([entry(key, i) for key, i, canonical in held if canonical == flag]))
            if len(entries):
                made, blocks = key_segments.next_segment(cursor), key_segments.blocks_for(len(entries))
                key_segments.write(cursor, made, blocks, entries)
                key_segments.use(cursor, key_segments.KeySegment(made, flag, len(entries), blocks))


def holding(database: Database, among: list[bool], keys: list[int]) -> set[tuple[int, int]]:
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT hash, article_id FROM dedup.holding(%s, %s)", [among, bigints(keys)]
        ).fetchall()
    return set(rows)


@pytest.mark.long("dedup", "migrations")
@given(first=HELD, second=HELD, third=HELD, asked=st.lists(KEYS, max_size=5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_that_have_a_key_are_found_and_none_with_other_bits(
    database: Database, first: list[Any], second: list[Any], third: list[Any], asked: list[int]
) -> None:
    with database.transaction() as cursor:
        cursor.execute("TRUNCATE dedup.recent_key, dedup.key_segment, dedup.key_block")
    written(database, first)
    written(database, second)
    with database.transaction() as cursor:
        for i in {i for _, i, _ in third}:
            keys = bigints([key for key, other, _ in third if other == i])
            cursor.execute("INSERT INTO dedup.recent_key (article_id, keys) VALUES (%s, %s)", [i, keys])
    asked = [*{*asked, *(key for key, _, _ in [*first, *second, *third])}]
    recent = {(key, i) for key, i, _ in third}
    for among in ([True], [False], [True, False]):
        wanted = {
            (key, i) for key in asked for other, i, canonical in [*first, *second]
            if canonical in among and key >> 33 == other >> 33
        }  # fmt: skip
        assert holding(database, among, asked) == wanted | recent


def counts(database: Database) -> tuple[int, int, int]:
    """Return the numbers of recent entries, of segments, and of articles that lack an index entry."""
    with database.transaction() as cursor:
        row = cursor.execute("SELECT count(*) FROM dedup.recent_key").fetchone()
        return (row[0] if row else -1, len(key_segments.segments(cursor)), key_segments.count_absent(cursor))


def fill(database: Database, first: int, last: int) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(first, last)))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("engine", ["postgres", "memory"])
def test_what_a_backfill_wrote_is_found_before_and_after_every_merge(database: Database, engine: Any) -> None:
    for first in range(0, 40, 10):
        fill(database, first, first + 10)
        backfill(database, workers=0, factory=make_function, engine=engine)
        assert counts(database)[2] == 0
        before = answer(database)
        segments.merge(database, 0)
        assert counts(database)[0::2] == (0, 0)
        assert_equal(answer(database), before)
        with deduplicator(database) as hook:  # the hook looks keys up in segments
            assert hook.submit(article(f"late {first}", window(3, 6), 100 + first)).status == "duplicate"
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_each_segment_is_more_than_three_times_as_large_as_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MERGED_SIZE", 3)  # so that a few articles make several segments
    for i in range(12):
        load(database, article(f"a{i}", window(9 * i, 6, ring=400), i))
        backfill(database, workers=0, factory=make_function)
        segments.merge(database, 0)
        with database.transaction() as cursor:
            sizes = [s.entries for s in key_segments.segments(cursor) if s.canonical]
        assert all(small * segments.MERGED_SIZE < large for small, large in pairwise(sizes))
    assert counts(database)[2] == 0


def test_merges_leave_behind_what_holds_no_more(database: Database) -> None:
    fill(database, 0, 14)
    backfill(database, workers=0, factory=make_function)
    segments.merge(database, 0)
    with database.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.article WHERE source_id IN ('a1', 'a2', 'a3', 'a4', 'a5', 'a6')")
        cursor.execute("UPDATE dedup.article SET text = text || ' More of it.' WHERE source_id = 'a7'")
    backfill(database, workers=0, factory=make_function)
    fill(database, 20, 40)
    backfill(database, workers=0, factory=make_function)
    segments.merge(database, 0)
    assert counts(database)[0::2] == (0, 0)
    with database.transaction() as cursor:
        total = sum(s.entries for s in key_segments.segments(cursor))
        row = cursor.execute(
            "SELECT sum(cardinality(dedup.keys(sentence_hashes, buckets, content_hash)))"
            " FROM dedup.fingerprint"
        ).fetchone()
    assert row is not None
    assert total <= 1.3 * row[0]
    assert_right(database)


def test_a_change_of_canonical_takes_effect_at_once(database: Database) -> None:
    fill(database, 0, 3)
    backfill(database, workers=0, factory=make_function)
    segments.merge(database, 0)
    for flag in (False, True, False):
        with database.transaction(settling=True) as cursor:
            cursor.execute("UPDATE dedup.fingerprint SET canonical = %s", [flag])
            row = cursor.execute("SELECT sentence_hashes FROM dedup.fingerprint LIMIT 1").fetchone()
            assert row is not None
            found = "SELECT count(*) FROM dedup.sharing(%s, %s)"
            assert cursor.execute(found, [[flag], row[0]]).fetchone() != (0,)
            assert cursor.execute(found, [[not flag], row[0]]).fetchone() == (0,)
        assert counts(database)[2] == 0


@pytest.mark.long("dedup", "migrations")
def test_a_merge_reads_in_proportion_to_what_it_merges(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[dict[str, int]] = []  # rows read since the session began, after each call of `remove`
    real = key_segments.remove

    def remove(cursor: Cursor, some: Collection[int]) -> None:
        real(cursor, some)
        query = (
            "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
            " WHERE schemaname = 'dedup'::regnamespace::text AND relname IN ('fingerprint', 'key_block')"
        )
        counted.append({name: int(count) for name, count in cursor.execute(query).fetchall()})

    monkeypatch.setattr(key_segments, "remove", remove)
    monkeypatch.setattr(segments, "MERGED_SIZE", 2)  # merges of small batches leave large loads alone
    monkeypatch.setattr(segments, "SORTED_ENTRIES", 1_000_000)  # a large load is one segment of each kind
    reads = []
    for first, last in ((0, 100), (100, 1_000)):
        load(database, *(article(f"a{i}", window(6 * i, 6, ring=7_000), i) for i in range(first, last)))
        backfill(database, workers=0, factory=make_function, engine="memory")
        for batch in range(2):  # the second merge also takes the segment of the first merge
            new = (
                article(f"new {last} {batch} {i}", window(last + 9 * i, 6, ring=7_000), last + i)
                for i in range(5)
            )
            load(database, *new)
            backfill(database, workers=0, factory=make_function, engine="postgres")
            counted.clear()
            assert segments.merge(database, 0)
        reads.append({name: count - counted[0].get(name, 0) for name, count in counted[-1].items()})
    # The last merge also takes the segments that the first size left, so it merges twice as many entries.
    assert all(reads[1][name] < 4 * reads[0][name] for name in ("fingerprint", "key_block")), reads
    assert counts(database)[2] == 0


class StoppedError(Exception):
    pass


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("place", ["take_recent", "read", "write", "use", "remove"])
def test_a_merge_that_is_stopped_anywhere_has_changed_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    fill(database, 0, 10)
    backfill(database, workers=0, factory=make_function)
    segments.merge(database, 0)
    fill(database, 10, 20)
    backfill(database, workers=0, factory=make_function)
    before, real, calls = counts(database), getattr(key_segments, place), Calls()

    def stop(*given: Any, **options: Any) -> Any:
        found = real(*given, **options)
        if calls.more(place == "remove"):
            raise StoppedError
        return found

    monkeypatch.setattr(key_segments, place, stop)
    with pytest.raises(StoppedError):
        segments.merge(database, 0)
    assert counts(database) == before
    monkeypatch.undo()
    assert segments.merge(database, 0)
    assert counts(database)[0::2] == (0, 0)


class Calls:
    """A counter of calls. The first call of `remove` does not count: it only tidies up."""

    def __init__(self) -> None:
        self.count = 0

    def more(self, one_more: bool) -> bool:
        self.count += 1
        return self.count > int(one_more)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_a_large_load_leaves_few_segments_where_there_is_memory(
    database: Database, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr(segments, "SORTED_ENTRIES", 20)
    fill(database, 0, 60)
    backfill(database, workers=0, factory=make_function, engine="memory", memory=memory)
    assert (counts(database)[1] > 2 * segments.LOADED_SEGMENTS) is (memory == 1)
    assert counts(database)[2] == 0
    assert_right(database)


def test_what_a_killed_load_has_written_is_not_in_use_and_goes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise StoppedError

    fill(database, 0, 20)
    monkeypatch.setattr(segments, "publish", stop)
    with pytest.raises(StoppedError):
        backfill(database, workers=0, factory=make_function, engine="memory")
    monkeypatch.undo()
    assert counts(database)[1] == 0
    backfill(database, workers=0, factory=make_function, engine="memory")
    with database.transaction() as cursor:
        orphans = cursor.execute(
            "SELECT count(*) FROM dedup.key_block WHERE segment NOT IN (SELECT id FROM dedup.key_segment)"
        ).fetchone()
    assert orphans == (0,)
    assert counts(database)[2] == 0
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("table", ["recent_key", "key_segment", "key_block"])
def test_entries_that_were_lost_are_told_of_and_written_again(database: Database, table: str) -> None:
    fill(database, 0, 10)
    backfill(database, workers=0, factory=make_function, engine="memory")
    with deduplicator(database) as hook:
        hook.submit(article("new", window(60, 6, ring=400), 99))
    with database.transaction() as cursor:
        cursor.execute(f"TRUNCATE dedup.{table}".encode())
    with database.transaction() as cursor:
        assert key_segments.count_absent(cursor) > 0
    found = verified(database)
    assert any("missing some index entries" in line for line in found.differences)
    repair(database, found.repairs)
    assert counts(database)[2] == 0
    assert verified(database).right


def verified(database: Database) -> Verification:
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
    return verify(database, rulebook)


def test_an_empty_corpus_has_no_entries(database: Database) -> None:
    fill(database, 0, 5)
    backfill(database, workers=0, factory=make_function, engine="memory")
    with database.transaction() as cursor:
        cursor.execute("TRUNCATE dedup.article CASCADE")
    assert counts(database) == (0, 0, 0)
    empty(database)
