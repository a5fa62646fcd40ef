"""`dedup backfill` beside another run, with few open files, and with stuck workers."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dedup.db.database import URL_VARIABLE, Database
from dedup.runs import runs
from dedup.runs.heartbeat import Heartbeat
from tests.cli.conftest import HARBOUR, Dedup, lines
from tests.corpora import wait_until

pytestmark = pytest.mark.timeout(120)


def many(path: Path, count: int) -> Path:
    return lines(path, [{"id": f"a{i}", "text": f"Number {i}. {HARBOUR}"} for i in range(count)])


def start(corpus_url: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dedup.cli.main", "backfill", *arguments],
        env={**os.environ, URL_VARIABLE: corpus_url},
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.long("dedup", "migrations")
def test_a_second_backfill_ends_well_and_says_who_runs(dedup: Dedup, database: Database) -> None:
    beating = Heartbeat(database, "backfill")
    try:
        assert beating.claim()
        beating.start("settling", 40)
        wait_until(lambda: "settling" in dedup("status", "--json").out)
        status = dedup("status").out
        second = dedup("backfill", "--workers", "0")
        beating.end("done")
    finally:
        beating.close()
    who = f"on {socket.gethostname()}, process {os.getpid()} (settling, 0 of 40)"
    assert second.code == 0
    assert "a backfill is running already, since 2" in second.err
    assert who in second.err
    assert f"process {os.getpid()}" in " ".join(status.split())
    assert "a backfill is running" not in dedup("backfill", "--workers", "0").err


@pytest.mark.long("dedup", "migrations")
def test_a_backfill_that_is_stuck_fails_the_next_and_is_named(dedup: Dedup, database: Database) -> None:
    beating = Heartbeat(database, "backfill")
    try:
        assert beating.claim()
        with database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.run SET progress_at = now() - make_interval(secs => %s)",
                [runs.STUCK_SECONDS + 60],
            )
        second = dedup("backfill", "--workers", "0")
        assert second.code == 1
        assert f"`kill {os.getpid()}` on {socket.gethostname()}" in second.err
        assert "probably stuck" in dedup("status").err
        beating.end("done")
    finally:
        beating.close()


@pytest.mark.long("dedup", "migrations")
def test_the_next_backfill_takes_over_from_one_that_was_killed_and_says_so(
    dedup: Dedup, corpus_url: str, tmp_path: Path
) -> None:
    dedup("load", str(many(tmp_path / "many.jsonl", 3_000)))
    running = start(corpus_url, "--batch", "5")
    wait_until(lambda: json.loads(dedup("status", "--json").out)["counts"].get("duplicate", 0) > 0)
    running.kill()
    running.communicate()
    next_one = dedup("backfill", "--workers", "0")
    assert next_one.code == 0
    assert f"took over from a backfill that is gone: since 2" in next_one.err  # noqa: F541
    assert f"process {running.pid}" in next_one.err


def test_retry(dedup: Dedup, database: Database, tmp_path: Path) -> None:
    dedup("load", str(lines(tmp_path / "x.jsonl", [{"id": "a", "text": HARBOUR}, {"id": "b", "text": ""}])))
    dedup("backfill", "--workers", "0")
    with database.transaction(settling=True) as cursor:
        cursor.execute(
            "UPDATE dedup.article_mark SET status = 'failed', takes_part = false,"
            " reason = 'unreadable: TypeError'"
            " WHERE id = (SELECT id FROM dedup.article WHERE source_id = 'a')"
        )
    assert "next, after you removed the cause: dedup retry" in dedup("status").err
    assert "1 failed article is pending again; next: dedup backfill" in dedup("retry").err
    assert "no failed article has a reason that begins with 'unreadable'" in dedup("retry").err
    assert json.loads(dedup("retry", "--failed", "empty", "--json").out) == {"pending": 1}
    counts = json.loads(dedup("status", "--json").out)["counts"]
    assert counts == {"pending": 2}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("descriptors", [16, pytest.param(12, marks=pytest.mark.torture)])
def test_a_backfill_with_hardly_any_open_files_ends_with_a_clear_error(
    dedup: Dedup, database: Database, corpus_url: str, tmp_path: Path, descriptors: int
) -> None:
    """A backfill without this error ran for ever, held its lock and ignored SIGTERM."""
    dedup("load", str(many(tmp_path / "many.jsonl", 300)))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    started = time.monotonic()
    running = start(corpus_url, preexec_fn=limited)
    _, words = running.communicate(timeout=60)
    assert time.monotonic() - started < 60
    assert "Traceback" not in words
    if running.returncode:
        line = words.strip().splitlines()[-1]  # earlier lines report progress
        assert line.startswith("dedup: ")
        assert "unexpected" not in line
    with database.transaction(settling=True) as cursor:
        locks = cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    assert locks == (0,)
    again = dedup("backfill", "--workers", "0")
    assert again.code == 0
    assert "running already" not in again.err
    assert json.loads(dedup("status", "--json").out)["counts"].get("pending") is None


@pytest.mark.long("dedup", "migrations")
def test_sigterm_while_others_hold_what_the_threads_wait_for(
    dedup: Dedup, database: Database, corpus_url: str, tmp_path: Path
) -> None:
    dedup("load", str(many(tmp_path / "many.jsonl", 3_000)))
    with psycopg.connect(corpus_url) as other:
        other.execute("LOCK TABLE dedup.fingerprint IN EXCLUSIVE MODE")
        running = start(corpus_url, "--workers", "2", "--engine", "postgres")
        wait_until(lambda: "fingerprinting" in dedup("status", "--json").out and bool(locked(database)))
        running.send_signal(signal.SIGTERM)
        started = time.monotonic()
        _, words = running.communicate(timeout=30)
        assert time.monotonic() - started < 10
    assert running.returncode == 143, words
    assert "stopped as asked" in words
    assert dedup("backfill").code == 0
    assert json.loads(dedup("status", "--json").out)["counts"].get("pending") is None


def locked(database: Database) -> list[tuple[int]]:
    """Return the process ids of the sessions that wait for a lock."""
    with database.transaction() as cursor:
        return cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchall()


def test_a_backfill_ends_with_what_was_found(dedup: Dedup, tmp_path: Path) -> None:
    title = "The harbour road of Port Marlow is to be closed for six weeks, says the council"
    rows = [
        {"id": "first", "text": HARBOUR, "title": title, "date": "2026-03-11"},
        {"id": "second", "text": HARBOUR, "date": "2026-03-12"},
        {"id": "third", "text": HARBOUR, "date": "2026-03-13"},
    ]
    dedup("load", str(lines(tmp_path / "news.jsonl", rows[:1])))
    assert "no article is a duplicate of another" in dedup("backfill", "--workers", "0").err
    dedup("load", str(lines(tmp_path / "news.jsonl", rows)))
    said = dedup("backfill", "--workers", "0").err
    assert (
        '2 duplicates in 1 story; the most reprinted: "The harbour road of Port Marlow is to be closed'
        ' for six wee…" (first, 2 copies)'
    ) in said
    assert "everything was settled already\n" in dedup("backfill", "--workers", "0").err
