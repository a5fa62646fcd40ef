"""A failure prints one line with the next step, without secrets or tracebacks; its exit code is right."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from tests.cli.conftest import HARBOUR, Dedup, Result


def _one_line(result: Result, code: int = 1) -> str:
    assert result.code == code
    assert "Traceback" not in result.err
    lines = result.err.strip().splitlines()
    assert len(lines) == 1, lines
    assert HARBOUR[:30] not in lines[0]
    return lines[0]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        ("postgresql://me:hidden@127.0.0.1:1/news", 1, "does not answer"),
        ("postgresql+psycopg://me:hidden@nowhere.invalid/news", 1, "does not answer"),
        ("host=127.0.0.1 port=1 password=hidden dbname=news", 1, "does not answer"),
        ("mysql://me:hidden@localhost/news", 2, "not a Postgres address"),
    ],
)
def test_a_database_that_is_not_there(
    dedup: Dedup, monkeypatch: pytest.MonkeyPatch, url: str, code: int, words: str
) -> None:
    monkeypatch.setenv(URL_VARIABLE, url)
    for command in (["status"], ["backfill"], ["init"], ["check", "-"]):
        line = _one_line(dedup(*command), code)
        assert words in line
        assert "hidden" not in line


@pytest.mark.long("dedup", "migrations")
def test_a_full_disk_loses_nothing(dedup: Dedup, database: Database, news: Path) -> None:
    dedup("load", str(news))
    for table in ("fingerprint", "match"):
        with _failing(database, table, "53100"):
            line = _one_line(dedup("backfill", "--workers", "0"))
        assert "disk full" in line
        assert "run it again" in line
    assert dedup("backfill", "--workers", "0").code == 0
    assert dedup("marks").lines[0]["duplicate_of"] == "first"
    assert dedup("verify").code == 0


def test_a_full_disk_on_load_keeps_what_was_committed(dedup: Dedup, database: Database, news: Path) -> None:
    with _failing(database, "article", "53100"):
        assert "disk full" in _one_line(dedup("load", str(news)))
    assert dedup("load", str(news)).code == 0
    assert len(dedup("marks").lines) == 3


def test_an_unexpected_error_shows_no_text(dedup: Dedup, monkeypatch: pytest.MonkeyPatch, news: Path) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError(HARBOUR)

    monkeypatch.setattr("dedup.store.articles.store", explode)
    assert "unexpected RuntimeError" in _one_line(dedup("load", str(news)))


def test_wrong_usage(dedup: Dedup, tmp_path: Path) -> None:
    assert dedup("frobnicate").code == 2
    assert dedup("marks", "--format", "xml").code == 2
    assert "no such file" in _one_line(dedup("load", "absent.jsonl"), 2)
    (tmp_path / "x.doc").write_text("")
    assert "unknown format" in _one_line(dedup("load", "x.doc"), 2)
    assert "text" in _one_line(dedup("load", "absent.csv", "--map", "body=text"), 2)


def test_refused_lines_are_kept_with_number_and_reason(dedup: Dedup, tmp_path: Path) -> None:
    bad = [
        b"{broken",
        b'{"id": "n"}',
        b'{"id": ["x"], "text": "a"}',
        b'{"id": "", "text": "a"}',
        b'{"id": "t", "text": "a", "date": "yesterday"}',
        b'{"id": "u", "text": "\xff\xfe"}',
        b'{"id": "twice", "text": "a", "text": "b"}',
        b'{"id": "' + b"x" * 2000 + b'", "text": "a"}',
        b"[1, 2]",
    ]
    good = [
        {"id": "nul", "text": HARBOUR + "\0", "title": "tab\tbell\x07"},
        {"id": "surrogate", "text": HARBOUR + "\ud800"},
        {"id": "empty", "text": ""},
        {"id": "blank", "text": " \n\t "},
    ]
    lines = bad + [json.dumps(article).encode() for article in good]
    (tmp_path / "mixed.jsonl").write_bytes(b"\n".join(lines))
    loaded = dedup("load", "--lose-dates", "mixed.jsonl")
    assert loaded.code == 0
    assert "read 13 lines: 5 new, 0 changed, 0 same, 0 superseded, 8 refused, 1 date lost" in loaded.err
    assert "each refused or repaired line: see mixed.jsonl.rejects.jsonl" in loaded.err
    rejects = [json.loads(line) for line in (tmp_path / "mixed.jsonl.rejects.jsonl").read_text().splitlines()]
    assert [reject["line"] for reject in rejects] == list(range(1, 10))
    assert all(reject["reason"] for reject in rejects)
    assert [reject["line"] for reject in rejects if reject["outcome"] == "repaired"] == [5]
    dedup("backfill", "--workers", "0")
    marks = {mark["id"]: (mark["status"], mark["reason"]) for mark in dedup("marks").lines}
    assert marks["empty"] == marks["blank"] == ("failed", "empty: the text has no words")
    assert {marks["nul"][0], marks["surrogate"][0]} == {"unique", "duplicate"}
    assert "\x07" not in dedup("show", "nul").out


def test_a_truncated_file_is_loaded_as_far_as_it_goes(dedup: Dedup, news: Path, tmp_path: Path) -> None:
    packed = gzip.compress(news.read_bytes() * 50)
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    result = dedup("load", "cut.jsonl.gz")
    assert result.code == 1
    assert "damaged and ends early" in result.err
    assert dedup("marks").lines


@pytest.mark.long("dedup", "migrations")
@pytest.mark.timeout(120)
def test_monstrous_texts_are_verdicts(dedup: Dedup, tmp_path: Path) -> None:
    texts = {
        "dots": "." * 900_000,
        "word": "x" * 900_000,
        "long word": "x" * 10_000_000,
        "spaces": " " * 900_000,
        "quotes": '"' * 900_000,
        "huge": HARBOUR * 20_000,
    }
    with (tmp_path / "monsters.jsonl").open("w") as target:
        for name, text in texts.items():
            target.write(json.dumps({"id": name, "text": text}) + "\n")
    assert dedup("load", "monsters.jsonl").code == 0
    assert dedup("backfill", "--workers", "1").code == 0
    marks = {mark["id"]: mark for mark in dedup("marks").lines}
    assert marks["long word"]["reason"].startswith("too long")
    assert marks["huge"]["reason"].startswith("too long")
    assert marks["dots"]["reason"] == marks["spaces"]["reason"] == "empty: the text has no words"
    assert all(mark["status"] in ("failed", "unique") for mark in marks.values())


LOSES_ITS_CONNECTION = """
import sys
import psycopg
from dedup.cli import main
from dedup.store import exports

def losing(database, *given):
    for row in export(database, *given):
        yield row
        with psycopg.connect(database.url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE application_name = 'dedup' AND state = 'idle in transaction'"
                " AND datname = current_database()"
            )

export, exports.rows, exports.PAGE = exports.rows, losing, 1
sys.exit(main.run(sys.argv[1:]))
"""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("format_", ["jsonl", "csv", "table"])
def test_a_connection_lost_in_mid_export_is_one_line(
    dedup: Dedup, corpus_url: str, news: Path, format_: str
) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    # Run the command in a separate process, because the messages of libraries go to its stderr, too.
    done = subprocess.run(
        [sys.executable, "-c", LOSES_ITS_CONNECTION, "marks", "--format", format_],
        env={**os.environ, URL_VARIABLE: corpus_url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "run it again" in _one_line(Result(done.returncode, done.stdout, done.stderr))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("command", ["load", "backfill", "check", "verify", "marks"])
def test_ctrl_c_ends_every_command_in_one_line(
    dedup: Dedup, monkeypatch: pytest.MonkeyPatch, news: Path, command: str
) -> None:
    dedup("load", str(news))
    place = {
        "load": "dedup.store.articles.store",
        "backfill": "dedup.settling.backfill.settle",
        "check": "dedup.settling.hook.submit",
        "verify": "dedup.store.snapshots.load",
        "marks": "dedup.cli.output.write_jsonl",
    }[command]
    if command == "verify":
        dedup("backfill", "--workers", "0")
    with monkeypatch.context() as patched:
        patched.setattr(place, _interrupt)
        file = [str(news)] if command in ("load", "check") else []
        line = _one_line(dedup(command, *file), main.INTERRUPTED)
    assert line.startswith("interrupted: finished work is kept; run the same command again")
    assert dedup("backfill", "--workers", "0").code == 0
    assert dedup("verify").code == 0


@pytest.mark.long("dedup", "migrations")
def test_sigterm_finishes_the_batch_and_says_that_work_is_left(
    dedup: Dedup, corpus_url: str, tmp_path: Path
) -> None:
    with (tmp_path / "many.jsonl").open("w") as target:
        for i in range(3_000):
            target.write(
                json.dumps({"id": f"a{i}", "text": f"Number {i}. {HARBOUR} It is number {i}."}) + "\n"
            )
    dedup("load", "many.jsonl")
    running = subprocess.Popen(
        [sys.executable, "-m", "dedup.cli.main", "backfill", "--batch", "5"],
        env={**os.environ, URL_VARIABLE: corpus_url},
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_until(lambda: json.loads(dedup("status", "--json").out)["counts"].get("duplicate", 0) > 0)
    running.send_signal(signal.SIGTERM)
    _, words = running.communicate(timeout=10)
    assert running.returncode == 143, words
    assert "stopped as asked" in words
    assert dedup("backfill", "--workers", "0").code == 0
    assert json.loads(dedup("status", "--json").out)["counts"] == {"unique": 1, "duplicate": 2_999}


@pytest.mark.long("dedup", "migrations")
def test_output_to_a_closed_pipe_is_no_failure(dedup: Dedup, corpus_url: str, news: Path) -> None:
    dedup("load", str(news))
    head = subprocess.Popen(
        [sys.executable, "-m", "dedup.cli.main", "marks"],
        env={**os.environ, URL_VARIABLE: corpus_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert head.stdout is not None
    head.stdout.close()
    assert head.stderr is not None
    assert head.stderr.read() == b""
    head.stderr.close()
    assert head.wait(20) == 0


def test_debug_shows_where(dedup: Dedup) -> None:
    assert "Traceback" in dedup("--debug", "show", "nobody").err


@pytest.mark.long("dedup", "migrations")
def test_ctrl_c_of_a_running_process(dedup: Dedup, corpus_url: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "dedup.cli.main", "check"],
        env={**os.environ, URL_VARIABLE: corpus_url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(json.dumps({"id": "a", "text": HARBOUR}) + "\n")
    running.stdin.flush()
    assert json.loads(running.stdout.readline())["status"] == "unique"  # the command now waits for more lines
    running.send_signal(signal.SIGINT)
    _, words = running.communicate(timeout=20)
    assert running.returncode == main.INTERRUPTED
    assert words.startswith("interrupted: ")


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def _wait_until(condition: Callable[[], bool]) -> None:
    import time

    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold within a minute"


class _failing:  # noqa: N801 - used like a function
    """Make inserts into a table fail with an SQLSTATE within the block."""

    def __init__(self, database: Database, table: str, state: str) -> None:
        self._database, self._table, self._state = database, table, state

    def __enter__(self) -> None:
        with self._database.transaction() as cursor:
            cursor.execute(
                "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '{self._state}'; END $$".encode()
            )
            cursor.execute(
                f"CREATE TRIGGER fail BEFORE INSERT ON dedup.{self._table}"
                " FOR EACH ROW EXECUTE FUNCTION public.fail()".encode()
            )

    def __exit__(self, *_: object) -> None:
        with self._database.transaction() as cursor:
            cursor.execute("DROP FUNCTION public.fail() CASCADE")


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    """Restore the handlers of signals, also after a test that fails midway."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)
