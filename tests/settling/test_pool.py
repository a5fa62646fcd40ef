"""The fingerprinting pool: stored results, stops, and failures of single texts.

See docs/reliability.md, promises 4, 6 and 14. The pool bounds every wait, so every test ends.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dedup.base.errors import BusyError, MachineError, UnreachableError
from dedup.base.settings import Settings
from dedup.base.timeouts import Timeouts
from dedup.db.database import Database
from dedup.settling import pool
from dedup.settling.backfill import backfill
from dedup.settling.pool import FingerprintFunction, FingerprintPool, make_function
from dedup.store import fingerprints, rulebooks
from dedup.store.fingerprints import Chunk, count, waiting_page
from dedup.store.overview import overview
from dedup.text.fingerprint import Fingerprint, Fingerprinted, Fingerprinter, TextTask, fingerprint_task
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel
from tests.conftest import Server, empty
from tests.corpora import answer, article, assert_right, blocked, change_settings, load, wait_until, window

pytestmark = pytest.mark.timeout(60)


def short_of_memory(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """Make fingerprints as usual, but raise MemoryError if a text begins with FULL."""
    real = make_function(settings, models)

    def function(given: Sequence[TextTask]) -> Fingerprints:
        if any(task.text.startswith("FULL") for task in given):
            raise MemoryError
        return real(given)

    return function


def tasks(database: Database, count: int, poison: Mapping[int, str] | None = None) -> Chunk:
    """Store `count` articles in order; the texts in `poison` begin with a word that makes the pool fail."""
    body = article("a", window(0, 6)).text
    words = poison or {}
    return stored(database, [f"{words.get(i, '')} {body}".strip() for i in range(count)])


def stored(database: Database, texts: Sequence[str]) -> Chunk:
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text, added_at)"
            " SELECT 't' || n, text, now() + n * interval '1 second'"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS t (text, n)",
            [list(texts)],
        )
        return waiting_page(cursor, None, 10_000).articles


def chunked(given: Chunk, size: int = 50) -> list[Chunk]:
    return [given[start : start + size] for start in range(0, len(given), size)]


def made_by(database: Database, workers: int, *more: Any) -> FingerprintPool:
    """Return a pool for the waiting articles of a database."""
    with database.transaction() as cursor:
        return FingerprintPool(database, rulebooks.load_rulebook(cursor), workers, *more)


@dataclass
class Found:
    """Results of a pool, by the id of the article.

    Attributes:
        made: ids of articles with a fingerprint.
    """

    made: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)


def answers(workers: FingerprintPool, chunks: Iterable[Chunk], found: Found | None = None) -> Found:
    found = found or Found()
    for part in workers.run(chunks):
        ids = {article_id for article_id, _ in part.articles}
        assert not ids & found.made, "no article may be reported twice"
        found.failed |= part.failed
        found.gone |= set(part.gone)
        found.made |= ids - part.failed.keys() - set(part.gone)
        assert part.made == len(ids - part.failed.keys() - set(part.gone))
    return found


def rows(database: Database) -> list[tuple[Any, ...]]:
    """Return the stored fingerprints, without ids, and the failures."""
    with database.transaction() as cursor:
        return [
            tuple(value.tolist() if hasattr(value, "tolist") else value for value in row)
            for row in cursor.execute(
                "SELECT a.source_id, a.status, a.reason, f.revision, f.version, f.content_hash,"
                " f.sentence_hashes, f.signature, f.buckets, f.word_count, f.shingle_count, f.canonical"
                " FROM dedup.marked_article a LEFT JOIN dedup.fingerprint f ON f.article_id = a.id"
                " ORDER BY a.added_at, a.id"
            )
        ]


TEXTS = [
    "Zażółć gęślą jaźń. 漢字 🙂\u2028\r\n\t\x01 “end” " * 20,
    "",
    "Court.",
    "Enough words for a long text, but no stop word of any kind. " * 5,
    "supercalifragilistic " * 40,
    "very long " * 410_000,
    "A plain one, and another sentence that counts. " * 9,
]


def test_a_thread_stores_what_the_caller_would_store(database: Database) -> None:
    given = stored(database, TEXTS)
    workers = made_by(database, 1)
    found = answers(workers, [given])
    by_worker = rows(database)
    empty(database)
    given_here = stored(database, TEXTS)
    workers = made_by(database, 0)
    here = answers(workers, [given_here])
    assert rows(database) == by_worker
    assert list(found.failed.values()) == list(here.failed.values())
    assert len(found.failed) == 2
    fingerprinter = Fingerprinter(Settings())
    for row, text in zip(by_worker, TEXTS, strict=True):
        if row[1] == "failed":
            continue
        made = fingerprinter.fingerprint(text)
        assert row[4:] == (
            made.version,
            made.content_hash,
            list(made.sentence_hashes),
            made.signature.tobytes(),
            list(made.buckets),
            made.word_count,
            made.shingle_count,
            True,
        )


@pytest.mark.parametrize("workers", [0, 1])
def test_what_changed_or_went_meanwhile_is_gone(database: Database, workers: int) -> None:
    given = tasks(database, 4)
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET text = text || ' More.' WHERE id = %s", [given[0][0]])
        cursor.execute("DELETE FROM dedup.article WHERE id = %s", [given[1][0]])
    readers = made_by(database, workers)
    found = answers(readers, [given])
    assert answers(readers, [given]).made == found.made, "no fingerprint may be stored twice"
    assert found.gone == {given[0][0], given[1][0]}
    assert found.made == {given[2][0], given[3][0]}


def in_table(database: Database, table: str) -> list[tuple[Any, ...]]:
    """Return the articles and revisions of the fingerprints in a table."""
    with database.transaction() as cursor:
        query = f"SELECT article_id, revision FROM dedup.{table} ORDER BY article_id"
        return cursor.execute(query.encode()).fetchall()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("workers", [0, 1])
def test_fingerprints_that_wait_without_an_index_are_those_that_would_be_in_use(
    database: Database, workers: int
) -> None:
    given = stored(database, TEXTS)
    readers = made_by(database, workers, make_function, lambda: False, "fingerprint_bulk")
    found = answers(readers, [given])
    assert in_table(database, "fingerprint") == []
    assert {row[0] for row in in_table(database, "fingerprint_bulk")} == found.made
    assert len(found.failed) == 2
    with database.transaction() as cursor:
        assert not waiting_page(cursor, None, 100).articles, (
            "these articles have a fingerprint and must not wait for one"
        )
        assert overview(cursor).unfingerprinted == count(cursor, "unfingerprinted") == 0
    assert answers(readers, [given]).made == found.made, "no fingerprint may be stored twice"
    readers = made_by(database, 0)
    answers(readers, [given])
    assert in_table(database, "fingerprint") == []
    with database.transaction(settling=True) as cursor:
        cursor.execute("INSERT INTO dedup.fingerprint SELECT * FROM dedup.fingerprint_bulk")
    moved = rows(database)
    with database.transaction(settling=True) as cursor:
        cursor.execute("DELETE FROM dedup.fingerprint")
        cursor.execute("DELETE FROM dedup.fingerprint_bulk")
    readers = made_by(database, 0)
    answers(readers, [given])
    assert rows(database) == moved


def test_a_waiting_fingerprint_of_an_older_text_is_replaced(database: Database) -> None:
    given = tasks(database, 2)
    more: list[Any] = [make_function, lambda: False, "fingerprint_bulk"]
    here = made_by(database, 0, *more)
    answers(here, [given])
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET text = text || ' More.' WHERE id = %s", [given[0][0]])
        again = waiting_page(cursor, None, 100).articles
    assert again == [(given[0][0], 1)]
    assert answers(here, [given]).gone == {given[0][0]}, "the waiting fingerprint is of an older text"
    assert answers(here, [again]).made == {given[0][0]}
    assert in_table(database, "fingerprint_bulk") == [(given[0][0], 1), given[1]]


def test_waiting_fingerprints_of_other_settings_are_dropped(database: Database) -> None:
    given = tasks(database, 2)
    more: list[Any] = [make_function, lambda: False, "fingerprint_bulk"]
    here = made_by(database, 0, *more)
    answers(here, [given])
    change_settings(database, stop_word_length=3)
    with database.transaction(settling=True) as cursor:
        rulebooks.adopt(cursor)
    assert in_table(database, "fingerprint_bulk") == []
    with pytest.raises(rulebooks.StaleRulesError):
        answers(here, [given])
    assert in_table(database, "fingerprint_bulk") == []


class _Raising(Fingerprinter):
    error: type[BaseException] = ValueError

    def fingerprint(self, text: str, *more: object) -> Fingerprint:
        raise self.error(text)


def test_a_text_that_raises_is_failed_without_its_words() -> None:
    result = fingerprint_task(_Raising(Settings()), TextTask(1, 0, None, None, "a secret text"))
    assert result == Fingerprinted(1, 0, None, "unreadable: ValueError")


def test_a_lack_of_memory_is_the_machines_and_held_against_no_text(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Raising, "error", MemoryError)
    with pytest.raises(MemoryError):
        fingerprint_task(_Raising(Settings()), TextTask(1, 0, None, None, "a text"))
    given = tasks(database, 2, {1: "FULL"})
    for workers in (0, 2):
        found = Found()
        with pytest.raises(MachineError, match="out of memory; nothing was lost and no article is to blame"):
            answers(made_by(database, workers, short_of_memory), [given[:1], given[1:]], found)
        assert not found.failed
        assert not found.gone
    assert answers(made_by(database, 1), [given]).made == {article_id for article_id, _ in given}


def test_threads_that_cannot_be_had_are_one_clear_error(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    with pytest.raises(MachineError, match="no more threads; nothing was lost"):
        answers(made_by(database, 2), chunked(tasks(database, 100)))


def sessions(database: Database) -> int:
    """Count the sessions of this program in the database, except the session that counts."""
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'dedup' AND pid <> pg_backend_pid()"
        ).fetchone()
    return int(row[0]) if row else 0


def readers() -> list[str]:
    """Return the names of the pools' threads."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("dedup-fingerprints")]


def test_threads_and_their_sessions_end_with_the_run(database: Database) -> None:
    given = tasks(database, 100)
    before = sessions(database)
    run = made_by(database, 2).run(chunked(given))
    assert next(run).made == 50
    assert readers()
    assert sessions(database) > before
    assert sum(part.made for part in run) == 50
    assert not readers()
    wait_until(lambda: sessions(database) <= before)


def test_who_takes_no_more_results_ends_the_work(database: Database) -> None:
    run = made_by(database, 2).run(chunked(tasks(database, 500), 10))
    next(run)
    run.close()  # type: ignore[attr-defined]
    assert not readers()


def test_told_to_stop_what_is_in_hand_is_stored_and_told(database: Database) -> None:
    given, stop = tasks(database, 500), threading.Event()
    found: set[int] = set()
    for part in made_by(database, 2, make_function, stop.is_set).run(chunked(given, 10)):
        found |= {article_id for article_id, _ in part.articles}
        stop.set()
    assert 0 < len(found) < 500
    assert {row[0] for row in in_table(database, "fingerprint")} == found


def test_the_pool_stops_soon_while_others_hold_what_it_waits_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "STOP_SECONDS", 0.1)
    given, stop = tasks(database, 60), threading.Event()
    # No other limit may end the wait before the test does.
    patient = Database(database.url, Timeouts(lock=3_600))
    with psycopg.connect(database.url) as other:
        other.execute("SELECT dedup.settle_lock()")

        def tell() -> None:
            wait_until(lambda: blocked(database))
            stop.set()

        threading.Thread(target=tell).start()
        found = answers(made_by(patient, 2, make_function, stop.is_set), chunked(given, 10))
    assert not found.made
    assert not readers()
    patient.close()


def test_an_error_of_one_thread_ends_what_the_others_wait_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, real = tasks(database, 20), fingerprints.waiting_texts

    def fail(cursor: Any, chunk: Chunk, too_long: int) -> list[tuple[TextTask, bool]]:
        if chunk == given[10:]:
            wait_until(lambda: blocked(database))
            raise KeyError
        return real(cursor, chunk, too_long)

    monkeypatch.setattr(fingerprints, "waiting_texts", fail)
    patient = Database(database.url, Timeouts(lock=3_600))
    with psycopg.connect(database.url) as other:
        other.execute("SELECT dedup.settle_lock()")
        with pytest.raises(KeyError):
            answers(made_by(patient, 2), [given[:10], given[10:]])
    assert not readers()
    patient.close()


# Tests of database errors, which are no text's fault.


@pytest.mark.parametrize("workers", [0, 1])
def test_a_settle_lock_that_others_hold_is_an_error_in_the_end(database: Database, workers: int) -> None:
    given = tasks(database, 3)
    hasty = Database(database.url, Timeouts(lock=0.3))
    with psycopg.connect(database.url) as other:
        other.execute("SELECT dedup.settle_lock()")
        with pytest.raises(BusyError, match="another transaction holds a lock that is needed"):
            answers(made_by(hasty, workers), [given])
    hasty.close()


def test_a_settle_lock_held_for_a_while_is_waited_for(database: Database) -> None:
    given = tasks(database, 1)
    with psycopg.connect(database.url) as other:
        other.execute("SELECT dedup.settle_lock()")

        def let_go() -> None:
            wait_until(lambda: blocked(database))
            other.rollback()

        free = threading.Thread(target=let_go)
        free.start()
        found = answers(made_by(database, 1), [given])
        free.join()
    assert found.made == {given[0][0]}


def test_a_session_that_is_ended_is_an_error_of_the_database(database: Database) -> None:
    given = tasks(database, 100)
    found = Found()

    def chunks() -> Iterator[Chunk]:
        yield given[:50]
        wait_until(lambda: len(in_table(database, "fingerprint")) == 50)
        with database.transaction() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                " AND datname = current_database() AND application_name = 'dedup'"
            )
        yield given[50:]

    with pytest.raises(UnreachableError):
        answers(made_by(database, 1), chunks(), found)
    assert not found.failed
    assert len(in_table(database, "fingerprint")) == 50


def test_more_threads_than_connections_share_those_there_are(database: Database, server: Server) -> None:
    role = f"dedup_few_{os.getpid()}"
    with psycopg.connect(server.url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN IN ROLE CURRENT_USER CONNECTION LIMIT 3".encode())
    given = tasks(database, 400)
    few = Database(make_conninfo(database.url, user=role))
    try:
        with few.transaction() as cursor:
            cursor.execute("SELECT 1")
    except UnreachableError:
        pytest.skip("this server does not let a new role in")
    else:
        assert len(answers(made_by(few, 6), chunked(given, 10)).made) == 400
    finally:
        few.close()
        with psycopg.connect(server.url, autocommit=True) as owner:
            owner.execute(f"DROP ROLE {role}".encode())


def test_retry_makes_failed_articles_pending_again(database: Database) -> None:
    load(database, article("good", window(0, 6), 0), article("bad", window(3, 6), 1))
    reason = "unreadable: ValueError"
    with database.transaction(settling=True) as cursor:
        (failing,) = [i for i, _ in waiting_page(cursor, None, 9).articles][1:]
        fingerprints.store(cursor, [Fingerprinted(failing, 0, None, reason)])
    backfill(database, workers=0)
    assert answer(database).marks["bad"][3] == reason
    with database.transaction(settling=True) as cursor:
        assert fingerprints.retry(cursor, "empty", 9) == 0
        assert fingerprints.retry(cursor, "unreadable", 9) == 1
    backfill(database, workers=0)
    assert_right(database)


def test_a_text_that_is_too_long_is_never_sent_anywhere(database: Database) -> None:
    stored(database, ["very long " * 410_000, article("good", window(0, 6)).text])
    with database.transaction() as cursor:
        waiting = waiting_page(cursor, None, 9).articles
        texts = [task.text for task, _ in fingerprints.waiting_texts(cursor, waiting, 10**6)]
    assert max(len(text) for text in texts) < 1_000
    backfill(database, workers=1)
    assert answer(database).marks["t1"][3] == "too long: 4,100,000 characters, the limit is 1,000,000"
    assert_right(database)
