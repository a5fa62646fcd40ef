"""Views while all articles are settled again: no row is missing or doubled.

See docs/semantics.md, sections 5 and 6: a mark stays until the next mark is there. Another connection reads
the views after every transaction of a backfill.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dedup.db.database import Cursor, Database, Session
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.store import pins
from tests.corpora import (
    article,
    assert_right,
    change_settings,
    code,
    deduplicator,
    load,
    make_function,
    sentence_hash,
    unsettled,
    window,
)

pytestmark = pytest.mark.timeout(120)

MARKED = {"unique", "similar", "duplicate"}


class Reader:
    """A reader of the views at any moment.

    Args:
        exempt: articles that may lose their mark: edited articles, and duplicates of deleted articles.
    """

    def __init__(self, database: Database) -> None:
        self._database, self.looks, self.exempt = database, 0, set[str]()
        self._marked = {name for name, status in self._statuses().items() if status in MARKED}

    def look(self) -> None:
        """Check that each article is in exactly one of the two views, has a story, and keeps a mark."""
        self.looks += 1
        statuses = self._statuses()
        assert None not in statuses.values()
        canonical = self._column("SELECT source_id FROM dedup.canonical_article")
        duplicates = self._column("SELECT source_id FROM dedup.duplicate")
        assert sorted(canonical + duplicates) == sorted(statuses)
        assert sorted(self._column("SELECT source_id FROM dedup.story_article")) == sorted(statuses)
        stories = self._column("SELECT unnest(source_id || copy_source_ids) FROM dedup.story")
        originals = self._column(
            "SELECT DISTINCT duplicate_of::text FROM dedup.marked_article WHERE status = 'duplicate'"
        )
        assert len(originals) <= len(statuses)
        assert set(stories) <= set(statuses)
        assert len(stories) == len(set(stories))
        lost = {name for name in self._marked & statuses.keys() if statuses[name] not in MARKED}
        assert lost <= self.exempt

    def everything(self) -> list[Any]:
        """Return all rows of the views that show marks."""
        with self._database.transaction() as cursor:
            return [
                cursor.execute(f"SELECT * FROM dedup.{view} ORDER BY 1, 2".encode()).fetchall()
                for view in (
                    "canonical_article",
                    "duplicate",
                    "story",
                    "story_article",
                    "similar_pair",
                    "match",
                )
            ]

    def _statuses(self) -> dict[str, str]:
        with self._database.transaction() as cursor:
            return dict(cursor.execute("SELECT source_id, status FROM dedup.marked_article").fetchall())

    def _column(self, query: str) -> list[str]:
        with self._database.transaction() as cursor:
            return [row[0] for row in cursor.execute(query.encode()).fetchall()]


class Watched:
    """A database that has a reader look at the views after every transaction."""

    def __init__(self, database: Database, reader: Reader) -> None:
        self._database, self._reader = database, reader
        self.location, self.connect, self.timeouts = database.location, database.connect, database.timeouts
        self.schema = database.schema

    @contextmanager
    def session(self) -> Iterator[Any]:
        with self._database.session() as session:
            yield _WatchedSession(session, self._reader)

    @contextmanager
    def transaction(self, *, settling: bool = False, async_commit: bool = False) -> Iterator[Cursor]:
        with self._database.transaction(settling=settling, async_commit=async_commit) as cursor:
            yield cursor
        self._reader.look()


class _WatchedSession:
    def __init__(self, session: Session, reader: Reader) -> None:
        self._session, self._reader = session, reader

    @contextmanager
    def transaction(self, **how: bool) -> Iterator[Cursor]:
        with self._session.transaction(**how) as cursor:
            yield cursor
        self._reader.look()


@pytest.fixture
def newsroom(database: Database) -> Database:
    """Store chains, copies, similar articles, an unreadable text, and a sentence that is nearly common."""
    ring = [article(f"ring {i:02}", window(i % 14, 6), i) for i in range(20)]
    byline = [
        article(f"by {i:02}", [*window(100 + 20 * i, 5, ring=1_000), code(1_500)], 30 + i) for i in range(10)
    ]
    copies = [
        article(f"copy {i}", [*window(100 + 20 * i, 5, ring=1_000), code(1_500)], 50 + i) for i in range(3)
    ]
    load(database, *ring, *byline, *copies, article("empty", [], 1))
    backfill(database, workers=0, factory=make_function)
    return database


def settle_watched(database: Database, reader: Reader, least: int = 10) -> None:
    """Run a backfill in small steps, and look at the views after each transaction."""
    reader.look()
    watched: Any = Watched(database, reader)
    backfill(watched, batch=2, workers=0, factory=make_function)
    assert reader.looks > least
    assert unsettled(database) == set()
    assert_right(database)


RULES = {
    "duplicate_sentence_jaccard": 0.75,
    "duplicate_signature_jaccard": 0.9,
    "similar_sentence_jaccard": 0.2,
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "change",
    [
        RULES,
        {"canonical_order": "added"},
        {"earliest_year": 2025},
        {"common_stories": 5},
        {"stop_word_length": 3},
        {"sentence_min_characters": 60},
        {"hash_key": "salt"},
        {"text_min_words": 90},
        {"bands": 8} | RULES,
    ],
    ids=lambda change: "+".join(change),
)
def test_a_change_of_settings(newsroom: Database, change: dict[str, Any]) -> None:
    reader = Reader(newsroom)
    before = reader.everything()
    change_settings(newsroom, **change)
    assert reader.everything() == before
    assert unsettled(newsroom) == set()
    settle_watched(newsroom, reader, 20)


@pytest.mark.long("dedup", "migrations")
def test_a_hook_while_a_setting_waits_goes_on_under_the_old_ones(newsroom: Database) -> None:
    change_settings(newsroom, **RULES)
    with deduplicator(newsroom) as hook:
        told = hook.submit(article("new", window(201, 6, ring=1_000), 90))
        copy = hook.submit(article("new 2", window(202, 6, ring=1_000), 91))
    assert (told.provisional, copy.duplicate_of, copy.provisional) == (False, "new", False)
    reader = Reader(newsroom)
    settle_watched(newsroom, reader, 20)


@pytest.mark.long("dedup", "migrations")
def test_a_sentence_that_becomes_common(newsroom: Database) -> None:
    reader = Reader(newsroom)
    for i in range(3):
        load(newsroom, article(f"one more {i}", [*window(700 + 9 * i, 5, ring=1_000), code(1_500)], 70))
    settle_watched(newsroom, reader)
    with newsroom.transaction() as cursor:
        row = cursor.execute("SELECT count(*) FROM dedup.common_sentence").fetchone()
    assert row == (1,)


@pytest.mark.long("dedup", "migrations")
def test_a_sentence_that_stops_being_common(newsroom: Database) -> None:
    with newsroom.transaction() as cursor:
        pins.pin_sentence(cursor, sentence_hash(code(3)), True, None)
    settle_watched(newsroom, Reader(newsroom))
    with newsroom.transaction() as cursor:
        pins.unpin_sentences(cursor, [sentence_hash(code(3))])
    settle_watched(newsroom, Reader(newsroom))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("minute", [-10, 200])
def test_an_edit_of_dates(newsroom: Database, minute: int) -> None:
    reader = Reader(newsroom)
    for name in ("ring 00", "ring 07", "by 01"):
        number = int(name[-2:])
        codes = (
            window(number, 6) if name[0] == "r" else [*window(100 + 20 * number, 5, ring=1_000), code(1_500)]
        )
        load(newsroom, article(name, codes, minute + number))
        reader.look()
    assert unsettled(newsroom)
    settle_watched(newsroom, reader)


@pytest.mark.long("dedup", "migrations")
def test_the_deletion_of_an_original(newsroom: Database) -> None:
    reader = Reader(newsroom)
    with newsroom.transaction() as cursor:
        rows = cursor.execute(
            "SELECT source_id FROM dedup.duplicate WHERE original_source_id IN ('ring 00', 'by 01')"
        ).fetchall()
        reader.exempt = {row[0] for row in rows}
        cursor.execute("DELETE FROM dedup.article WHERE source_id IN ('ring 00', 'by 01')")
    assert reader.exempt
    settle_watched(newsroom, reader)


@pytest.mark.long("dedup", "migrations")
def test_the_edit_of_an_original(newsroom: Database) -> None:
    """The duplicates keep their stale marks until they get new marks."""
    reader = Reader(newsroom)
    reader.exempt = {"ring 00", "by 01"}
    load(newsroom, article("ring 00", window(500, 6, ring=1_000), 0), article("by 01", [], 31))
    settle_watched(newsroom, reader)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("relation", Relation)
def test_a_pin(newsroom: Database, relation: Relation) -> None:
    reader = Reader(newsroom)
    for a, b in (("ring 00", "ring 01"), ("by 01", "copy 1"), ("ring 05", "by 03"), ("empty", "by 03")):
        with newsroom.transaction() as cursor:
            pins.pin_pair(cursor, a, b, relation)
        reader.look()
    settle_watched(newsroom, reader)
