"""The memory engine beside edits, deletions, pins and submits, and stopped at any moment.

See docs/reliability.md, promises 1 and 6. The conformance suite compares its marks with the oracle's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest

from dedup.base.article import Article
from dedup.base.errors import BusyError, DatabaseError
from dedup.base.machine import EngineName
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, Database
from dedup.rules.pair import Relation
from dedup.settling import choice
from dedup.settling.backfill import BackfillReport, backfill
from dedup.settling.memory import writing
from dedup.settling.memory.snapshot import Cache, Snapshot
from dedup.settling.verify import verify
from dedup.store import common_sentences, key_segments, memory_engine, pins, rulebooks, setting_rows
from dedup.store.fingerprints import StoredBatch
from dedup.store.memory_engine import FingerprintPage
from dedup.text.fingerprints import Fingerprints
from tests.corpora import (
    answer,
    article,
    assert_counted,
    assert_right,
    change_settings,
    deduplicator,
    load,
    make_function,
    unsettled,
    window,
)
from tests.settling import meddling
from tests.settling.test_crash import fill, news

pytestmark = pytest.mark.timeout(300)

STAGES = [
    "fingerprinting",
    "reading fingerprints",
    "counting sentences",
    "comparing in memory",
    "writing keys",
    "writing marks",
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small chunks, so that there are many transactions with events between them."""
    monkeypatch.setattr(writing, "CHUNK_ROWS", 15)


class ChunkMeddling(meddling.Meddling):
    """Progress that also calls its function between two chunks of marks."""

    def advance(self, count: int, total: int | None = None) -> None:
        if self.stages[-1] == "writing marks":
            self.happens("between chunks")


def run(
    database: Database, engine: EngineName = "memory", progress: ChunkMeddling | None = None
) -> BackfillReport:
    return backfill(database, workers=0, factory=make_function, engine=engine, progress=progress)


def test_every_stage_is_told(database: Database) -> None:
    fill(database, news(200))
    told = ChunkMeddling(lambda stage: None)
    report = run(database, progress=told)
    assert told.stages == STAGES
    assert report.engines == ["memory"]
    assert set(report.seconds) >= {"reading", "counting", "comparing", "indexing", "writing"}
    assert_right(database)
    assert_counted(database)


def test_a_story_larger_than_a_chunk_is_written_in_parts(database: Database) -> None:
    """Check that each transaction settles at most a chunk of articles, and each article once."""
    load(database, *(article(f"copy {i}", window(0, 6), i) for i in range(60)))
    load(database, *(article(f"other {i}", window(20 + 10 * i, 6, ring=1_000), 60 + i) for i in range(20)))
    told: list[int] = []

    @dataclass
    class Counting(ChunkMeddling):
        def advance(self, count: int, total: int | None = None) -> None:
            if self.stages[-1] == "writing marks":
                told.append(count)

    run(database, progress=Counting(lambda stage: None))
    assert len(told) > 60 / 15
    assert all(told)
    assert max(told) <= 15
    assert sum(told) == 80
    # A run that was stopped at its very end has nothing left to write.
    with database.transaction(settling=True) as cursor:
        cursor.execute("UPDATE dedup.corpus_state SET bulk_run = 0")
    told.clear()
    assert run(database, "auto", Counting(lambda stage: None)).engines == ["memory"]
    assert told == []
    assert_right(database)


def test_counts_in_arrays_are_those_of_sql(database: Database) -> None:
    fill(database, news(300))
    run(database, "postgres")
    with database.transaction() as cursor:
        settings = setting_rows.load_settings(cursor)
        wanted = {
            (c.sentence_hash, c.carriers, c.pairs) for c in common_sentences.count_all(cursor, settings)
        }
        watched = set(memory_engine.read_sentences(cursor, "watched").tolist())
        told: list[int] = []
        snapshot = Snapshot(cursor, settings, 1 << 30, Cache(0), told.append, told.append)
        found = {(c.sentence_hash, c.carriers, c.pairs) for c in snapshot.counts}
    assert len(wanted) > 3
    assert wanted <= found
    assert {row[0] for row in found - wanted} <= watched


CHANGES = {
    "nothing": None,
    "an edit": "UPDATE dedup.article SET text = text || ' More of it is there now.' WHERE source_id = %s",
    "a deletion": "DELETE FROM dedup.article WHERE source_id = %s",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("change", CHANGES)
def test_a_load_reads_again_what_it_stored_only_after_a_change(
    database: Database, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    fill(database, news(200))
    reads = []
    real = memory_engine.read_fingerprints

    def counted(cursor: Cursor, ids: Bigints) -> Iterator[FingerprintPage]:
        reads.append(len(ids))
        return real(cursor, ids)

    monkeypatch.setattr(memory_engine, "read_fingerprints", counted)

    class Changing(ChunkMeddling):
        def advance(self, count: int, total: int | None = None) -> None:
            if self.stages == ["fingerprinting"] and (statement := CHANGES[change]):
                with database.transaction() as cursor:
                    cursor.execute(statement, [news(200)[7].source_id])

    told = Changing(lambda stage: None)
    run(database, progress=told)
    assert told.stages[:2] == ["fingerprinting", "reading fingerprints"]
    assert bool(reads) == (change != "nothing")
    assert_right(database)
    assert_counted(database)
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
        assert key_segments.count_absent(cursor) == 0
    assert verify(database, rulebook).differences == []


def test_more_than_fits_is_not_kept() -> None:
    ids, revisions = bigints([4, 2, 9]), bigints([0, 3, 1])
    made = Fingerprints.unmade(3, 8, 2)
    for limit, fits in ((3, True), (2, False)):
        kept = Cache(limit)
        kept.add(StoredBatch(ids, revisions, made, np.ones(3, np.bool_)))
        assert (kept.pages(bigints([2, 4, 9]), bigints([3, 0, 1])) is not None) is fits
        for others in ([2, 4, 8], [2, 4]):
            assert kept.pages(bigints(others), bigints([3, 0, 1][: len(others)])) is None
        assert kept.pages(bigints([2, 4, 9]), bigints([3, 0, 2])) is None


@pytest.mark.long("dedup", "migrations")
def test_a_mark_that_stays_is_not_written_again(database: Database) -> None:
    fill(database, news(200))
    run(database)
    with database.transaction() as cursor:
        before = dict(cursor.execute("SELECT id, marked_at FROM dedup.marked_article").fetchall())
        pairs = cursor.execute("SELECT ctid, article_id FROM dedup.match ORDER BY 1").fetchall()
    change_settings(database, similar_sentence_jaccard=0.301)
    run(database)
    assert_right(database)
    with database.transaction() as cursor:
        after = dict(cursor.execute("SELECT id, marked_at FROM dedup.marked_article").fetchall())
        assert cursor.execute("SELECT ctid, article_id FROM dedup.match ORDER BY 1").fetchall() == pairs
    assert after == before


@pytest.mark.long("dedup", "migrations")
def test_few_articles_are_looked_up_and_many_are_settled_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "IN_MEMORY_ARTICLES", 50)
    fill(database, news(100))
    assert run(database, "auto").engines == ["memory"]
    load(database, *(article(f"late {i}", window(i, 6)) for i in range(10)))
    assert run(database, "auto").engines == ["postgres"]
    change_settings(database, similar_sentence_jaccard=0.35)
    assert run(database, "auto").engines == ["memory"]
    change_settings(database, text_min_words=20)
    assert run(database, "auto").engines == ["memory"]
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(25))
def test_whatever_people_do_meanwhile_the_marks_are_right_in_the_end(
    database: Database, corpus_url: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(writing, "CHUNK_ROWS", rng.choice((1, 4, 15)))
    given = news(80, seed)
    fill(database, given[:60])
    if seed % 3:
        run(database, "postgres" if seed % 2 else "memory")
        change_settings(database, duplicate_sentence_jaccard=rng.choice((0.5, 0.6, 0.8)))
        load(database, *given[60:])
    others = Database(corpus_url)
    happened = 0

    def happens(stage: str) -> None:
        nonlocal happened
        if stage in ("fingerprinting", "settling") or rng.random() > (0.15 if "chunk" in stage else 0.5):
            return
        happened += 1
        meddle(others, rng, given)

    try:
        run(database, progress=ChunkMeddling(happens))
    finally:
        others.close()
    assert unsettled(database) == set()
    assert_right(database)
    assert_counted(database)
    with database.transaction() as cursor:
        assert not memory_engine.was_interrupted(cursor)


def meddle(database: Database, rng: random.Random, given: list[Article], *, provisional: bool = True) -> None:
    """Make a random change, as people and scrapers do."""
    one, other = rng.sample(given, 2)
    what = rng.randrange(6)
    if what == 0:
        load(database, article(one.source_id, window(rng.randrange(40) * 3, 6, ring=80), rng.randrange(80)))
    elif what == 1:
        with deduplicator(database) as hook:
            hook.delete(one.source_id)
    elif what == 2:
        with database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article SET published_at = %s WHERE source_id = %s",
                [other.published_at, one.source_id],
            )
    elif what == 3:
        with database.transaction() as cursor:
            pins.pin_pair(cursor, one.source_id, other.source_id, rng.choice(list(Relation)))
    elif what == 4:
        with deduplicator(database) as hook:
            verdict = hook.submit(
                article(f"new {rng.randrange(9)}", window(rng.randrange(40) * 3, 6, ring=80))
            )
        assert verdict.unsettled or not provisional, "while the memory engine works a verdict is provisional"
    else:
        with deduplicator(database) as hook:
            hook.submit(article(one.source_id, window(rng.randrange(40) * 3, 5, ring=80), rng.randrange(80)))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("stage", STAGES)
def test_when_a_stage_fails_hooks_settle_again_and_the_next_run_goes_on(
    database: Database, stage: str
) -> None:
    fill(database, news(60))

    def happens(begun: str) -> None:
        if begun == stage:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(database, progress=ChunkMeddling(happens))
    with deduplicator(database) as hook:
        hook.submit(article("new", window(500, 6, ring=1_000)))
    assert "new" not in unsettled(database)
    run(database)
    assert_right(database)
    assert_counted(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(12))
def test_stopped_at_any_moment_it_loses_no_mark_and_the_next_run_goes_on(
    database: Database, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(writing, "CHUNK_ROWS", rng.choice((1, 4, 15)))
    given = news(120, seed)
    fill(database, given)
    for _ in range(4):
        left = rng.randrange(12)
        marked = {name: mark for name, mark in answer(database).marks.items() if mark[0] != "pending"}

        def happens(stage: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise meddling.Stopped

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dedup.settling.memory.run.MemoryRun.__exit__", lambda *_: None)
            with suppress(meddling.Stopped):
                run(database, progress=ChunkMeddling(happens))
        found = answer(database).marks
        assert {name: found[name] for name in marked} == marked
    run(database, rng.choice(("memory", "auto")))
    assert_right(database)
    assert_counted(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(24))
def test_where_it_stopped_in_the_middle_of_a_story_the_indexes_end_the_work(
    database: Database, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop a run in memory after some chunks, change the corpus, and let the Postgres engine settle the rest.
    A written mark must not depend on a mark that was not written."""
    rng = random.Random(seed)
    monkeypatch.setattr(writing, "CHUNK_ROWS", rng.choice((1, 3, 8)))
    given = news(80, seed)
    rng.shuffle(given)
    fill(database, given[:60])
    if seed % 3:
        run(database)
        load(database, *given[60:])
    if seed % 3 == 1:
        change_settings(database, duplicate_sentence_jaccard=rng.choice((0.5, 0.6, 0.8)))
    left = rng.randrange(1, 40)

    def happens(stage: str) -> None:
        nonlocal left
        left -= "chunk" in stage
        if left < 0:
            raise ZeroDivisionError

    with suppress(ZeroDivisionError):
        run(database, progress=ChunkMeddling(happens))
    for _ in range(6):
        meddle(database, rng, given, provisional=False)
    run(database, "postgres")
    assert unsettled(database) == set()
    assert_right(database)
    assert_counted(database)


@pytest.mark.long("dedup", "migrations")
def test_a_first_load_leaves_tight_indexes(database: Database) -> None:
    def pages() -> list[int]:
        with database.transaction() as cursor:
            return [
                cursor.execute(
                    "SELECT pg_relation_size(%s) / 8192", [f"{database.schema}.{name}"]
                ).fetchall()[0][0]
                for name in memory_engine.LOOSE_INDEXES
            ]

    fill(database, news(600))
    run(database)
    found = pages()
    for name in memory_engine.LOOSE_INDEXES:
        with database.transaction() as cursor:
            memory_engine.compact(cursor, name)
    assert found == pages()


@pytest.mark.long("dedup", "migrations")
def test_whoever_holds_a_table_keeps_its_indexes_as_they_are(database: Database) -> None:
    fill(database, news(50))
    with database.transaction() as holder:
        holder.execute("LOCK TABLE dedup.article_mark IN ROW EXCLUSIVE MODE")
        with pytest.raises(BusyError), database.transaction() as cursor:
            memory_engine.compact(cursor, "article_mark_pkey")
    with pytest.raises(DatabaseError), database.transaction() as cursor:
        memory_engine.compact(cursor, "article_duplicate_of")
