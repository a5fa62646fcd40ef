"""Nothing can stop the pool for ever: no text, no process that dies, stands still or does not start.

docs/reliability.md, promises 4, 6 and 14. Every wait of the pool is bounded, so every test here ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dedup.corpus import rulebooks
from dedup.corpus.database import Database
from dedup.corpus.fingerprints import Chunk, count_unfingerprinted, waiting_page
from dedup.engine import pool, supervisor, worker
from dedup.engine.pool import FingerprintFunction, FingerprintPool, Limits
from dedup.engine.reader import Source
from dedup.errors import BusyError, UnreachableError, WorkerError
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, Fingerprinter
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Fingerprinted, TextTask, fingerprint_task
from dedup.timeouts import Timeouts
from tests.conftest import Server, empty
from tests.corpora import article, change_settings, wait_until, window

pytestmark = pytest.mark.timeout(60)

QUICK = Limits(chunk=3, article=2, start_again=(0.1, 0.2, 0.4), stop=1)


def poisoned(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """Fingerprints like the real one, except for the texts that say otherwise."""
    real = pool.make_function(settings, models)

    def function(given: Sequence[TextTask]) -> Fingerprints:
        for task in given:
            if task.text.startswith("HANG"):
                threading.Event().wait()
            if task.text.startswith("DIE"):
                os._exit(9)
            if task.text.startswith("KILL"):
                os.kill(os.getpid(), signal.SIGKILL)
            if task.text.startswith("FULL"):
                raise MemoryError
        return real(given)

    return function


def not_starting(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """Ends the worker before it has read anything."""
    os._exit(4)


def tasks(database: Database, count: int, poison: Mapping[int, str] | None = None) -> Chunk:
    """Stores so many articles in order, some of which begin with a word of poison."""
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
    """A pool for what waits in a database."""
    with database.transaction() as cursor:
        return FingerprintPool(database, rulebooks.load_rulebook(cursor), workers, *more)


@dataclass
class Found:
    """What a pool said of articles, by their place in the corpus.

    Attributes:
        made: ids of articles with a fingerprint; lost: place to reason.
    """

    made: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    lost: dict[int, str] = field(default_factory=dict)


def answers(workers: FingerprintPool, chunks: Iterable[Chunk], found: Found | None = None) -> Found:
    found = found or Found()
    for part in workers.run(chunks):
        lost = {loss.article_id: loss.reason for loss in part.lost}
        ids = {article_id for article_id, _ in part.articles}
        assert not ids & (found.made | found.lost.keys()), "nothing is told twice"
        found.lost |= lost
        found.failed |= part.failed
        found.gone |= set(part.gone)
        found.made |= ids - lost.keys() - part.failed.keys() - set(part.gone)
        assert part.made == len(ids - lost.keys() - part.failed.keys() - set(part.gone))
    return found


def rows(database: Database) -> list[tuple[Any, ...]]:
    """The fingerprints that are stored, without ids, and the failures."""
    with database.transaction() as cursor:
        return [
            tuple(value.tolist() if hasattr(value, "tolist") else value for value in row)
            for row in cursor.execute(
                "SELECT a.source_id, a.status, a.reason, f.revision, f.version, f.content_hash,"
                " f.sentence_hashes, f.signature, f.buckets, f.word_count, f.shingle_count, f.canonical"
                " FROM dedup.article a LEFT JOIN dedup.fingerprint f ON f.article_id = a.id"
                " ORDER BY a.added_at, a.id"
            )
        ]


def processes() -> list[psutil.Process]:
    """The worker processes of this one."""
    return [child for child in psutil.Process().children() if is_worker(child)]


def is_worker(process: psutil.Process) -> bool:
    try:
        return "dedup.engine.worker" in str(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie
        return False


def idle(workers: FingerprintPool) -> bool:
    """Whether its worker has read what it was given."""
    found = workers._supervisor
    assert found
    return not found._tasks and any(w.ready and w.chunk is None for w in found._workers)


def test_poison_stops_nothing(database: Database) -> None:
    given = tasks(database, 500, {120: "HANG", 333: "DIE", 334: "FULL"})
    with made_by(database, 2, poisoned, QUICK) as workers:
        found = answers(workers, chunked(given))
    assert found.lost == {
        given[120][0]: "fingerprinting it took longer than 2 s",
        given[333][0]: "fingerprinting it ended the worker process (exit code 9)",
        given[334][0]: "fingerprinting it ended the worker process (out of memory)",
    }
    assert found.made == {article_id for article_id, _ in given} - found.lost.keys()
    assert sum(row[3] is not None for row in rows(database)) == 497


TEXTS = [
    "Zażółć gęślą jaźń. 漢字 🙂\u2028\r\n\t\x01 “end” " * 20,
    "",
    "Court.",
    "Enough words for a long text, but no stop word of any kind. " * 5,
    "supercalifragilistic " * 40,
    "very long " * 410_000,
    "A plain one, and another sentence that counts. " * 9,
]


def test_a_worker_stores_what_this_process_would_store(database: Database) -> None:
    given = stored(database, TEXTS)
    with made_by(database, 1) as workers:
        found = answers(workers, [given])
    by_worker = rows(database)
    empty(database)
    given_here = stored(database, TEXTS)
    with made_by(database, 0) as workers:
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
    with made_by(database, workers) as readers:
        found = answers(readers, [given])
        assert answers(readers, [given]).made == found.made, "nothing is stored twice"
    assert found.gone == {given[0][0], given[1][0]}
    assert found.made == {given[2][0], given[3][0]}


def in_table(database: Database, table: str) -> list[tuple[Any, ...]]:
    """Articles and revisions of the fingerprints in a table."""
    with database.transaction() as cursor:
        query = f"SELECT article_id, revision FROM dedup.{table} ORDER BY article_id"
        return cursor.execute(query.encode()).fetchall()


@pytest.mark.parametrize("workers", [0, 1])
def test_fingerprints_that_wait_without_an_index_are_those_that_would_be_in_use(
    database: Database, workers: int
) -> None:
    given = stored(database, TEXTS)
    with made_by(database, workers, pool.make_function, None, lambda: False, "fingerprint_bulk") as readers:
        found = answers(readers, [given])
        assert in_table(database, "fingerprint") == []
        assert {row[0] for row in in_table(database, "fingerprint_bulk")} == found.made
        assert len(found.failed) == 2
        with database.transaction() as cursor:
            assert not waiting_page(cursor, None, 100).articles, "they do not wait for a fingerprint"
            assert count_unfingerprinted(cursor) == 0
        assert answers(readers, [given]).made == found.made, "nothing is stored twice"
    with made_by(database, 0) as readers:
        answers(readers, [given])
    assert in_table(database, "fingerprint") == []
    with database.transaction(settling=True) as cursor:
        cursor.execute("INSERT INTO dedup.fingerprint SELECT * FROM dedup.fingerprint_bulk")
    moved = rows(database)
    with database.transaction(settling=True) as cursor:
        cursor.execute("DELETE FROM dedup.fingerprint")
        cursor.execute("DELETE FROM dedup.fingerprint_bulk")
    with made_by(database, 0) as readers:
        answers(readers, [given])
    assert rows(database) == moved


def test_a_waiting_fingerprint_of_an_older_text_is_replaced(database: Database) -> None:
    given = tasks(database, 2)
    more: list[Any] = [pool.make_function, None, lambda: False, "fingerprint_bulk"]
    with made_by(database, 0, *more) as here:
        answers(here, [given])
        with database.transaction() as cursor:
            cursor.execute("UPDATE dedup.article SET text = text || ' More.' WHERE id = %s", [given[0][0]])
            again = waiting_page(cursor, None, 100).articles
        assert again == [(given[0][0], 1)]
        assert answers(here, [given]).gone == {given[0][0]}, "that is no longer its text"
        assert answers(here, [again]).made == {given[0][0]}
    assert in_table(database, "fingerprint_bulk") == [(given[0][0], 1), given[1]]


def test_waiting_fingerprints_of_other_settings_are_dropped(database: Database) -> None:
    given = tasks(database, 2)
    more: list[Any] = [pool.make_function, None, lambda: False, "fingerprint_bulk"]
    with made_by(database, 0, *more) as here:
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


def test_a_lack_of_memory_is_not_held_against_a_text(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Raising, "error", MemoryError)
    with pytest.raises(MemoryError):
        fingerprint_task(_Raising(Settings()), TextTask(1, 0, None, None, "a text"))
    given = tasks(database, 2, {1: "FULL"})
    with made_by(database, 0, poisoned) as here:
        found = answers(here, [given])
    assert found.lost == {given[1][0]: "fingerprinting it ran out of memory"}
    assert found.made == {given[0][0]}


def sessions(database: Database) -> int:
    """Sessions of this program in the database, but for the one that asks."""
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'dedup' AND pid <> pg_backend_pid()"
        ).fetchone()
    return int(row[0]) if row else 0


def test_workers_end_with_the_pool_and_their_sessions_too(database: Database) -> None:
    given = tasks(database, 100)
    before = sessions(database)
    with made_by(database, 2) as workers:
        assert len(answers(workers, chunked(given)).made) == 100
        assert processes()
        assert sessions(database) > before
    assert not processes()
    wait_until(lambda: sessions(database) <= before)


def test_a_worker_that_is_stopped_while_it_is_sent_a_chunk_is_replaced(database: Database) -> None:
    """What is sent is larger than any pipe, so sending it would wait for ever. No text is to blame."""
    given = tasks(database, 21)
    impatient = Database(database.url, Timeouts(lock=0.5))
    with made_by(impatient, 1, pool.make_function, QUICK) as workers:
        stopped = []

        def chunks() -> Iterator[Chunk]:
            yield given[:1]
            wait_until(lambda: idle(workers))
            stopped.extend(processes())
            stopped[0].suspend()
            yield given[1:] + [(-i, 0) for i in range(1, 100_000)]

        found = answers(workers, chunks())
        assert found.made == {article_id for article_id, _ in given}
        assert not found.lost
        assert not stopped[0].is_running()
    impatient.close()


def test_workers_killed_as_soon_as_they_are_there_are_held_against_no_text(database: Database) -> None:
    """As an out-of-memory killer does, for longer than the pauses between two starts."""
    given, enough = tasks(database, 300), threading.Event()

    def kill() -> None:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for child in processes():
                child.kill()
            time.sleep(0.05)
        enough.set()

    killer = threading.Thread(target=kill)
    limits = Limits(start_again=(0.5, 1, 2, 4))
    with made_by(database, 2, pool.make_function, limits) as workers:
        killer.start()
        found = answers(workers, chunked(given))
    killer.join()
    assert enough.is_set()
    assert len(found.made) == 300


@pytest.mark.torture
def test_a_machine_that_kills_every_worker_is_told_and_no_text_blamed_for_good(database: Database) -> None:
    given = tasks(database, 100, dict.fromkeys(range(50, 100), "KILL"))
    found = Found()
    with (
        made_by(database, 1, poisoned, QUICK) as workers,
        pytest.raises(WorkerError, match="8 in a row were ended from outside"),
    ):
        answers(workers, chunked(given), found)
    assert len(found.made) == 50
    assert len(found.lost) < 8
    assert not processes()


def test_workers_that_do_not_start_are_one_clear_error(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, popen = [], subprocess.Popen

    def start(*given: object, **options: object) -> object:
        started.append(given)
        return popen(*given, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", start)
    with (
        pytest.raises(WorkerError, match=r"do not start \(exit code 4\); nothing was lost"),
        made_by(database, 2, not_starting, QUICK) as workers,
    ):
        answers(workers, chunked(tasks(database, 100)))
    assert len(started) <= 2 + len(QUICK.start_again)  # two at first, then one after each pause
    assert not processes()


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError(), RuntimeError("x")])
def test_processes_that_cannot_be_made_are_one_clear_error(
    error: Exception, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with (
        pytest.raises(WorkerError, match="cannot be started"),
        made_by(database, 2, pool.make_function, QUICK) as workers,
    ):
        answers(workers, chunked(tasks(database, 100)))


def test_the_work_goes_on_with_fewer_workers_where_not_all_can_be_started(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen, calls = subprocess.Popen, []

    def refuse_the_second(*given: object, **options: object) -> object:
        calls.append(given)
        if len(calls) > 1:
            raise OSError(24, "Too many open files")
        return popen(*given, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", refuse_the_second)
    with made_by(database, 2, pool.make_function, QUICK) as workers:
        assert len(answers(workers, chunked(tasks(database, 100))).made) == 100


def _explode(*_: object) -> None:
    raise MemoryError


@pytest.mark.parametrize("name", ["encode_chunk", "decode_answer"])
def test_trouble_of_the_supervisor_reaches_the_caller(
    name: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, name, _explode)
    with pytest.raises(MemoryError), made_by(database, 1) as workers:
        answers(workers, chunked(tasks(database, 10)))
    assert not processes()


@pytest.mark.parametrize("stuck", ["HANG", "stopped"])
def test_the_pool_stops_soon_while_workers_are_stuck(stuck: str, database: Database) -> None:
    # No other limit would end it before the test is ended.
    stop, limits = threading.Event(), Limits(stop=1, chunk=3_600, article=3_600, start=3_600)
    given = tasks(database, 60, {0: "HANG"} if stuck == "HANG" else {})
    with made_by(database, 1, poisoned, limits, stop.is_set) as workers:

        def tell() -> None:
            wait_until(lambda: bool(processes()))
            if stuck == "stopped":
                processes()[0].suspend()
            else:
                wait_until(lambda: workers._supervisor.busy > 0)  # type: ignore[union-attr]
            stop.set()

        threading.Thread(target=tell).start()
        answers(workers, chunked(given))
    assert not processes()


SCRIPT = """
import sys
from dedup.corpus import rulebooks
from dedup.corpus.database import Database
from dedup.corpus.fingerprints import waiting_page
from dedup.engine.pool import FingerprintPool
database = Database(sys.argv[1])
with database.transaction() as cursor:
    chunk, rulebook = waiting_page(cursor, None, 10).articles, rulebooks.load_rulebook(cursor)
with FingerprintPool(database, rulebook, 1) as workers:
    for part in workers.run([chunk]):
        print(part.made, flush=True)
    sys.stdin.read()
"""


def test_a_script_without_a_main_guard_works(database: Database, tmp_path: Path) -> None:
    tasks(database, 1)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py", database.url],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=50,
    )
    assert done.stdout == b"1\n", done.stderr


def test_workers_end_when_their_parent_is_killed(database: Database, tmp_path: Path) -> None:
    tasks(database, 1)
    before = sessions(database)
    (tmp_path / "script.py").write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, "script.py", database.url],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout
    assert parent.stdout.readline() == b"1\n"
    children = psutil.Process(parent.pid).children()
    assert children
    parent.kill()
    parent.wait()
    parent.stdin and parent.stdin.close()
    parent.stdout.close()
    wait_until(lambda: not any(_runs(child) for child in children))
    wait_until(lambda: sessions(database) <= before)


def test_a_worker_ends_when_its_parent_does_while_it_waits_for_the_database(database: Database) -> None:
    """Nobody would read its answer, and it would hold what it waits for."""
    given = tasks(database, 1)
    with psycopg.connect(database.url) as other:
        other.execute("SELECT dedup.settle_lock()")

        def waits(process: subprocess.Popen[bytes]) -> None:
            wait_until(lambda: blocked(database))
            assert process.stdin
            process.stdin.close()
            assert process.wait(10) == -signal.SIGUSR1

        _talk(recipe(database), worker.encode_chunk(given, 60), wait=waits)


# The database is no text's fault.


def blocked(database: Database) -> bool:
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock')"
        ).fetchone()
    return bool(row and row[0])


@pytest.mark.parametrize("workers", [0, 1])
def test_a_settle_lock_that_others_hold_is_an_error_in_the_end_and_no_attempt(
    database: Database, workers: int
) -> None:
    given = tasks(database, 3)
    hasty = Database(database.url, Timeouts(lock=0.3))
    with psycopg.connect(database.url) as other, made_by(hasty, workers) as readers:
        other.execute("SELECT dedup.settle_lock()")
        with pytest.raises(BusyError, match="another transaction holds what is needed"):
            answers(readers, [given])
    hasty.close()


def test_a_settle_lock_held_longer_than_a_text_may_take_is_waited_for(database: Database) -> None:
    given = tasks(database, 1)
    with psycopg.connect(database.url) as other:
        other.execute("SELECT dedup.settle_lock()")

        def let_go() -> None:
            wait_until(lambda: blocked(database))
            time.sleep(0.6)  # longer than the limit of a text
            other.rollback()

        free = threading.Thread(target=let_go)
        free.start()
        limits = Limits(chunk=0.3, article=0.3, stop=1)
        with made_by(database, 1, pool.make_function, limits) as workers:
            found = answers(workers, [given])
        free.join()
    assert found.made == {given[0][0]}
    assert not found.lost


def test_a_session_of_a_worker_that_is_ended_is_an_error_of_the_database(database: Database) -> None:
    given = tasks(database, 100)

    def chunks() -> Iterator[Chunk]:
        yield given[:50]
        wait_until(lambda: idle(workers))
        with database.transaction() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                " AND datname = current_database() AND application_name = 'dedup'"
            )
        yield given[50:]

    found = Found()
    with made_by(database, 1) as workers, pytest.raises(UnreachableError):
        answers(workers, chunks(), found)
    assert len(found.made) == 50
    assert not found.lost


def test_more_workers_than_connections_are_fewer_workers(database: Database, server: Server) -> None:
    """The first ones have theirs; the rest do without."""
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
        with made_by(few, 6) as workers:

            def chunks() -> Iterator[Chunk]:
                yield from chunked(given[:200], 10)
                # One session is of this process.
                wait_until(lambda: workers._supervisor._count == len(processes()) == 2)  # type: ignore[union-attr]
                yield from chunked(given[200:], 10)

            assert len(answers(workers, chunks()).made) == 400
    finally:
        few.close()
        with psycopg.connect(server.url, autocommit=True) as owner:
            owner.execute(f"DROP ROLE {role}".encode())


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _talk(first: bytes, *lines: bytes, wait: Callable[[subprocess.Popen[bytes]], None]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "from dedup.engine.worker import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdin
    process.stdin.write(first + b"".join(lines))
    process.stdin.flush()
    try:
        wait(process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        assert process.stdout
        process.stdout.close()


def recipe(database: Database) -> bytes:
    with database.transaction() as cursor:
        state = rulebooks.load_state(cursor)
    source = Source(database.url, database.schema, database.timeouts, state, 1_000_000)
    return worker.encode_recipe(poisoned, Settings(), {}, source)


def test_a_worker_ends_itself_where_a_text_does_not_end(database: Database) -> None:
    """Its parent may stand still, and not kill it."""
    given = tasks(database, 1, {0: "HANG"})

    def ended(process: subprocess.Popen[bytes]) -> None:
        assert process.wait(30) == -signal.SIGALRM

    _talk(recipe(database), worker.encode_chunk(given, 0.2), wait=ended)


def test_a_worker_that_cannot_begin_says_why_without_words_of_others(database: Database) -> None:
    def says(process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        assert process.stdout.readline() == b'"failed with AttributeError"\n'

    _talk(recipe(database).replace(b"poisoned", b"absent"), wait=says)


def test_a_worker_that_cannot_connect_tells_no_password(database: Database) -> None:
    url = make_conninfo(database.url, password="very secret", port="1")
    given = recipe(database).replace(json.dumps(database.url).encode(), json.dumps(url).encode())
    assert b"very secret" in given

    def says(process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        line = process.stdout.readline()
        assert isinstance(worker.decode_answer(line), UnreachableError)
        assert b"secret" not in line
        assert "secret" not in str(psutil.Process(process.pid).cmdline())

    _talk(given, wait=says)
