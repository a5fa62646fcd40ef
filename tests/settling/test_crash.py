"""Crashes of a backfill at any point: the next run continues, and the marks equal a clean run's.

See docs/reliability.md, promises 1, 6 and 9. A backfill reports its steps, and each kill waits for a report,
so that kills hit every stage; seeds are fixed. `pytest -m torture` runs the long tests.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

import psycopg
import pytest

from dedup.base.article import Article
from dedup.base.errors import DatabaseError
from dedup.db import embedded
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.store import opening
from tests.conftest import Told, empty
from tests.corpora import (
    Answer,
    answer,
    article,
    assert_equal,
    assert_right,
    change_settings,
    code,
    load,
    make_function,
    wait_until,
    window,
)
from tests.settling.processes import DONE, FAILED, STAGES, command, running, start

pytestmark = pytest.mark.timeout(300)


def news(count: int, seed: int = 1) -> list[Article]:
    """Make articles with copies, edited copies, similar articles, late arrivals and common sentences."""
    rng = random.Random(seed)
    found = []
    for i in range(count):
        story = rng.randrange(count // 4)
        codes = [c + rng.choice((0, 0, 0, 1)) for c in window(story * 3, rng.choice((5, 6, 7)), ring=count)]
        if rng.random() < 0.3:
            codes.append(code(10_000 + rng.randrange(5)))
        if rng.random() < 0.02:
            codes = []
        found.append(article(f"article {i}", codes, rng.randrange(count)))
    return found


def fill(database: Database, given: list[Article]) -> None:
    empty(database)
    change_settings(database, common_stories=4)
    load(database, *given)


def clean_run(database: Database, given: list[Article]) -> Answer:
    """Return the marks of an undisturbed run, checked by the oracle."""
    fill(database, given)
    backfill(database, workers=0, factory=make_function)
    found = assert_right(database)
    counts = Counter(mark[0] for mark in found.marks.values())
    assert len(found.common) >= 3
    assert min(counts[status] for status in ("unique", "similar", "duplicate", "failed")) >= 1
    return found


def kill_again_and_again(
    url: str, kills: int, seed: int, workers: int = 0, aims: Iterable[str | None] = ()
) -> Counter[str]:
    """Start backfills and end each with SIGKILL after some steps; return how many kills hit each stage.

    Args:
        aims: for each kill, the stage from which steps are counted; None means the first stage.
    """
    rng = random.Random(seed)
    hit: Counter[str] = Counter()
    for aim in islice(chain(aims, repeat(None)), kills):
        with running(url, workers=workers) as backfilling:
            stage = backfilling.next()
            while aim and stage not in (aim, DONE):
                stage = backfilling.next()
            for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
                if stage != DONE:
                    stage = backfilling.next()
            # Kill anywhere within a step, not only between two steps.
            until = time.perf_counter() + rng.random() * 0.03
            while time.perf_counter() < until:
                pass
            hit[stage] += 1
            backfilling.process.kill()
    return hit


@pytest.mark.long("dedup", "migrations")
def test_kill_9_at_any_moment(database: Database, corpus_url: str) -> None:
    given = news(400)
    clean = clean_run(database, given)
    fill(database, given)
    started = time.monotonic()
    hit = kill_again_and_again(corpus_url, 9, seed=3, aims=sorted(STAGES * 3, key=STAGES.index))
    print(f"seed 3: {dict(hit)}, {time.monotonic() - started:.1f} s")
    assert all(hit[stage] for stage in STAGES), hit
    backfill(database, batch=50, workers=0, factory=make_function)
    assert_equal(answer(database), clean)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_200_kills_of_backfills_with_workers(database: Database, corpus_url: str, told: Told) -> None:
    given = news(2_000)
    clean = clean_run(database, given)
    hit: Counter[str] = Counter()
    started = time.monotonic()
    for seed in range(5):
        fill(database, given)
        hit += kill_again_and_again(corpus_url, 40, seed, workers=4)
        backfill(database, workers=0, factory=make_function)
        assert_equal(answer(database), clean)
    print(f"seeds 0 to 4: {dict(hit)}, {time.monotonic() - started:.1f} s")
    kills = ", ".join(f"{count} while {stage}" for stage, count in hit.most_common())
    told("1, 9", "seeds 0 to 4, 4 workers, 2,000 articles", f"{hit.total()} SIGKILLs: {kills}")


FAULT = """
    CREATE SEQUENCE public.fault;
    CREATE FUNCTION public.fault() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('public.fault') = {at} THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(10);
        END IF;
        RETURN coalesce(NEW, OLD);
    END $$;
"""
FAULTY_TABLES = ("article", "fingerprint", "match", "common_sentence", "run")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.torture)])
def test_a_fault_at_every_write(database: Database, every: int) -> None:
    """A backfill completes the work after a failed write; by default every fourth write fails once."""
    given = news(20, seed=5)
    fill(database, given)
    change_settings(database, common_stories=2)
    backfill(database, workers=0, factory=make_function)
    clean = assert_right(database)
    assert clean.pairs
    assert clean.common
    for fault in range(1, 500, every):
        fill(database, given)
        change_settings(database, common_stories=2)
        with database.transaction() as cursor:
            cursor.connection.execute(FAULT.format(at=fault).encode())
            for table in FAULTY_TABLES:
                cursor.execute(
                    f"CREATE TRIGGER fault BEFORE INSERT OR UPDATE OR DELETE ON dedup.{table}"
                    " FOR EACH ROW EXECUTE FUNCTION public.fault()".encode()
                )
        try:
            backfill(database, batch=5, workers=0, factory=make_function)
            untouched = True
        except DatabaseError:
            untouched = False
        finally:
            with database.transaction() as cursor:
                cursor.execute("DROP FUNCTION public.fault() CASCADE")
                cursor.execute("DROP SEQUENCE public.fault")
        backfill(database, batch=5, workers=0, factory=make_function)
        assert_equal(answer(database), clean)
        if untouched:
            assert fault > 40
            return
    pytest.fail("the run did not end")


@pytest.fixture
def own_server() -> Iterator[Path]:
    """Yield the home folder of an embedded server that a test may crash."""
    home = Path(tempfile.mkdtemp(prefix="dedup-test-"))
    try:
        yield home
    finally:
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)


def crash_server_under_load(home: Path, times: int) -> None:
    """Stop the server at once in the middle of a backfill and start it again, `times` times."""
    rng = random.Random(7)
    url = embedded.start(home)
    database = Database(url)
    opening.initialize(database)
    given = news(400)
    clean = clean_run(database, given)
    fill(database, given)
    for crash in range(times):
        if crash % 5 == 4:
            backfill(database, workers=0, factory=make_function)
            assert_equal(answer(database), clean)
            fill(database, given)
        with running(url) as backfilling:
            for _ in range(rng.choice((1, 2, 3, 5, 8))):
                backfilling.next()
            pid = embedded.status(home).pid
            assert pid
            os.kill(pid, signal.SIGQUIT)  # the signal of `pg_ctl stop -m immediate`
            while backfilling.next() != DONE:
                pass
            backfilling.process.join()
            assert backfilling.process.exitcode == FAILED, "the backfill must fail, not hang or end well"
        assert embedded.start(home) == url
    backfill(database, workers=0, factory=make_function)
    assert_equal(answer(database), clean)
    database.close()


@pytest.mark.long("dedup", "migrations")
def test_the_server_crashes_under_load(own_server: Path) -> None:
    crash_server_under_load(own_server, 3)


@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_the_server_crashes_20_times_under_load(own_server: Path, told: Told) -> None:
    crash_server_under_load(own_server, 20)
    told("1", "seed 7, 400 articles", "20 times the server ended at once")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("table", ["fingerprint", "common_sentence", "match"], ids=STAGES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.one_in(3)
def test_a_signal_ends_the_command_in_every_stage(
    number: signal.Signals, table: str, database: Database, corpus_url: str, tmp_path: Path
) -> None:
    fill(database, news(60))
    change_settings(database, common_stories=2)
    arguments = ["backfill", "--workers", "0", "--batch", "5"]
    with psycopg.connect(corpus_url) as blocker:
        # The command waits when it writes to this table, so its stage is known.
        blocker.execute(f"LOCK TABLE dedup.{table} IN SHARE MODE".encode())
        process = start(command, corpus_url, str(tmp_path / "stderr"), arguments)
        try:
            wait_until(lambda: waiting(database, "dedup." + table) or not process.is_alive())
            assert process.is_alive()
            os.kill(process.pid or 0, number)
            if number == signal.SIGTERM:  # the command finishes its batch first, so let the batch go on
                blocker.rollback()
            process.join(20)
        finally:
            process.kill()
    said = (tmp_path / "stderr").read_text()
    assert process.exitcode == 128 + number, said
    assert "again to continue" in said
    assert "Traceback" not in said
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


def waiting(database: Database, table: str) -> bool:
    """Return whether a session waits for a lock on this table."""
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = %s::regclass)", [table]
        ).fetchone()
    return bool(row and row[0])
