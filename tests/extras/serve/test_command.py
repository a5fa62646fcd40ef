"""`dedup serve` as a process: it starts, answers over HTTP, and stops."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dedup.base.errors import InputError
from dedup.db.database import URL_VARIABLE, Database
from dedup.extras.serve import sockets
from tests.cli.conftest import HARBOUR
from tests.corpora import wait_until
from tests.extras.serve.conftest import SECONDS

TOKEN = "0123456789abcdef"
PAGE = Path(__file__).parents[3] / "docs" / "http.md"
ARTICLE = {"source_id": "w1", "text": HARBOUR, "published_at": "2026-03-11T08:00Z"}


class Process:
    """A running `dedup serve`, or another command that starts a server."""

    def __init__(self, url: str, *arguments: str, command: str = "serve", **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dedup.cli.main", command, *arguments],
            env={**os.environ, URL_VARIABLE: url, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        wait_until(
            lambda: any("; SIGTERM or" in line for line in self.lines) or self.process.poll() is not None
        )

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    @property
    def address(self) -> str:
        found = re.search(r" at (\S+);", " ".join(self.lines))
        assert found, self.lines
        return found[1]

    def ask(self, path: str, body: Any = None, method: str | None = None, token: str = "") -> Any:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", sent, headers, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code


@contextmanager
def serving(url: str, *arguments: str, command: str = "serve", **environment: str) -> Iterator[Process]:
    """Run a server, and kill it at the end if it still runs."""
    made = Process(url, *arguments, command=command, **environment)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        made._reader.join()
        if made.process.stderr is not None:
            made.process.stderr.close()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_from_start_to_end(database: Database, corpus_url: str, number: int) -> None:
    with serving(corpus_url, "--port", "0") as running:
        assert running.address.startswith("http://127.0.0.1:")
        assert running.ask("/v1/articles", ARTICLE)["status"] == "unique"
        copy = running.ask("/v1/articles", {**ARTICLE, "source_id": "c1", "published_at": "2026-03-12"})
        assert (copy["status"], copy["duplicate_of"]) == ("duplicate", "w1")
        assert running.ask("/v1/articles?source_id=c1")["verdict"]["duplicate_of"] == "w1"
        assert running.ask("/v1/health") == {"status": "ok"}
        assert running.ask("/v1/articles?source_id=c1", method="DELETE") == {"source_id": "c1"}
        assert running.end(number) == 0
        assert running.lines[-1] == "stopped as asked\n"


@pytest.mark.long("dedup", "migrations")
def test_a_request_in_hand_is_finished_and_then_it_ends(database: Database, corpus_url: str) -> None:
    with (
        serving(corpus_url, "--port", "0", DEDUP_TIMEOUT_HOOK="4") as running,
        psycopg.connect(corpus_url) as other,
    ):
        running.ask("/v1/articles", ARTICLE)
        other.execute("UPDATE dedup.article SET title = 'held' WHERE source_id = 'w1'")
        answers: list[Any] = []
        body = {**ARTICLE, "source_id": "c1", "published_at": "2026-03-12"}
        asking = threading.Thread(target=lambda: answers.append(running.ask("/v1/articles", body)))
        asking.start()
        wait_until(lambda: waiting(corpus_url))
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: refuses(running.address))
        assert running.process.poll() is None
        other.commit()
        asking.join(SECONDS)
        assert running.process.wait(10) == 0
        assert answers[0]["status"] == "duplicate"


@pytest.mark.long("dedup", "migrations")
def test_a_request_that_does_not_end_holds_up_the_end_for_less_than_ten_seconds(
    database: Database, corpus_url: str
) -> None:
    with (
        serving(corpus_url, "--port", "0", DEDUP_TIMEOUT_HOOK="60") as running,
        psycopg.connect(corpus_url) as other,
    ):
        running.ask("/v1/articles", ARTICLE)
        other.execute("UPDATE dedup.article SET title = 'held' WHERE source_id = 'w1'")
        statuses: list[int] = []
        asking = threading.Thread(target=lambda: statuses.append(refused(running)))
        asking.start()
        wait_until(lambda: waiting(corpus_url))
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(10) == 0
        asking.join(SECONDS)
        assert statuses == [503]
        assert not [line for line in running.lines if "Traceback" in line]


def refused(running: Process) -> int:
    try:
        running.ask("/v1/articles", {**ARTICLE, "source_id": "c1"})
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def waiting(url: str) -> bool:
    """Return whether a session waits for a lock that another session holds."""
    with psycopg.connect(url) as look:
        row = look.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ).fetchone()
    return bool(row and row[0])


def refuses(address: str) -> bool:
    host, _, port = address.removeprefix("http://").partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (ConnectionRefusedError, ConnectionResetError):  # the port may close during the attempt
        return True
    return False


@pytest.mark.long("dedup", "migrations")
def test_a_token_from_a_file_or_from_the_environment(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    for arguments, environment in (
        (("--token-file", str(file)), {"DEDUP_SERVE_TOKEN": "another-token-altogether"}),
        ((), {"DEDUP_SERVE_TOKEN": TOKEN}),
    ):
        with serving(corpus_url, "--port", "0", "--host", "0.0.0.0", *arguments, **environment) as running:
            with pytest.raises(urllib.error.HTTPError, match="401"):
                running.ask("/v1/articles", ARTICLE)
            assert running.ask("/v1/articles", ARTICLE, token=TOKEN)["source_id"] == "w1"
            assert not [line for line in running.lines if TOKEN in line]


@pytest.mark.long("dedup", "migrations")
def test_a_socket_of_the_file_system_is_its_owners_and_removed_at_the_end(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    with serving(corpus_url, "--unix", str(path)) as running:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(SECONDS)
            client.connect(str(path))
            client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n")
            assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(InputError, match="another server listens"):
            sockets.bind_unix(path)
        assert running.end() == 0
    assert not path.exists()


def test_a_socket_that_was_left_behind_is_replaced_and_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "s"
    sockets.bind_unix(path).close()
    assert path.exists()
    sockets.bind_unix(path).close()
    other = tmp_path / "kept"
    other.write_text("words")
    with pytest.raises(InputError, match="not a socket"):
        sockets.bind_unix(other)
    assert other.read_text() == "words"
    with pytest.raises(InputError, match="cannot listen"):
        sockets.bind_unix(tmp_path / "no" / "such" / "folder")


@pytest.mark.long("dedup", "migrations")
def test_a_database_that_is_not_there_ends_it_with_words(tmp_path: Path) -> None:
    with serving(f"postgresql://me@/news?host={tmp_path}", "--port", "0") as running:
        assert running.process.wait(SECONDS) == 1
        running._reader.join(SECONDS)
        assert "does not answer" in running.lines[-1]


@pytest.mark.long("dedup", "migrations", "docs/http.md")
def test_the_log_as_json(database: Database, corpus_url: str) -> None:
    with serving(corpus_url, "--port", "0", "--log-format", "json", "--log-requests") as running:
        running.ask("/v1/health")
        assert running.end() == 0
        lines = [json.loads(line) for line in running.lines]
        assert all(set(line) == {"time", "level", "logger", "message"} for line in lines)
        first, asked, last = [line["message"] for line in lines]
        assert first.startswith("serving ")
        assert re.fullmatch(r"GET /v1/health 200 \d+ ms", asked)
        assert last == "stopped as asked"


@pytest.mark.long("dedup", "migrations")
def test_what_is_below_the_level_is_not_logged(database: Database, corpus_url: str) -> None:
    with serving(corpus_url, "--port", "0", "--log-level", "warning", "--log-requests") as running:
        running.ask("/v1/health")
        assert running.end() == 0
        assert not [line for line in running.lines if "/v1/health" in line]


@pytest.mark.long("dedup", "migrations")
def test_the_page_shows_what_happens(database: Database, corpus_url: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) > 5
    with serving(corpus_url, "--port", "0", "--texts", DEDUP_SERVE_TOKEN=TOKEN) as running:
        (tmp_path / "token").write_text(TOKEN)
        for step in steps:
            line, _, shown = step.partition("\n")
            typed = line.replace("http://127.0.0.1:8765", running.address)
            found = subprocess.run(
                ["bash", "-euc", typed], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS
            )
            assert found.returncode == 0, (line, found.stderr)
            assert found.stdout.strip() == shown.strip(), line
