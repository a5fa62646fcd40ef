"""Messages to systemd: ready, status, watchdog and stopping. The test's socket plays the service manager."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from dedup.cli import systemd
from dedup.cli.signals import StopFlag
from dedup.cli.systemd import Notifier, notifying
from dedup.db.database import URL_VARIABLE, Database
from tests.corpora import article, load, wait_until, window

SECONDS = 30.0


class Manager:
    """A service manager: a socket, and the lines that it has received."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"\0{address[1:]}" if address[0] == "@" else address)
        self.lines: list[str] = []

    def read(self) -> list[str]:
        """Return all lines received so far."""
        while True:
            try:
                self.lines += self.socket.recv(4096, socket.MSG_DONTWAIT).decode().split("\n")
            except BlockingIOError:
                return self.lines


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    """A manager with a socket in the file system, or with an abstract socket."""
    path = str(tmp_path / "notify")
    found = Manager(path if request.param == "file" else f"@{path}")
    with found.socket:
        yield found


@pytest.fixture
def notifier(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notifier]:
    """The notifier of a loop. With a watchdog time of zero, every turn of the loop answers the watchdog."""
    monkeypatch.setattr(systemd, "STATUS_SECONDS", 0.0)
    monkeypatch.setenv("NOTIFY_SOCKET", manager.address)
    monkeypatch.setenv("WATCHDOG_USEC", "0")
    with notifying(StopFlag()) as found:
        yield found


def test_a_loop_is_ready_after_its_first_turn_and_tells_its_end(manager: Manager, notifier: Notifier) -> None:
    assert not notifier.is_set()
    assert manager.read() == []
    assert not notifier.is_set()
    assert manager.read() == ["READY=1", "WATCHDOG=1"]
    assert not notifier.is_set()
    assert manager.read()[2:] == ["WATCHDOG=1"]
    notifier.set()
    assert notifier.is_set()
    assert manager.read()[3:] == ["STOPPING=1", "STATUS=stopping", "WATCHDOG=1"]
    notifier.close()
    assert manager.read().count("STOPPING=1") == 1


def test_only_the_loop_and_its_progress_answer_the_watchdog(manager: Manager, notifier: Notifier) -> None:
    for _ in range(2):
        notifier.is_set()
    before = len(manager.read())
    for call in (notifier.is_set, partial(notifier.advance, 1), partial(notifier.start, "a", 1)):
        other = threading.Thread(target=call)
        other.start()
        other.join()
    assert len(manager.read()) == before, "another thread may live on while the loop hangs"
    notifier.advance(1)
    assert len(manager.read()) > before


def test_the_status_is_the_last_event_or_stage(
    manager: Manager, notifier: Notifier, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("dedup.worker")
    caplog.set_level(logging.INFO, "dedup.worker")
    for _ in range(2):
        notifier.is_set()
    log.info("GET /v1/health 200 1 ms")
    notifier.is_set()
    assert not [line for line in manager.read() if line.startswith("STATUS")]
    log.info("standing by:\nREADY=0", extra={"event": "standing by"})
    notifier.is_set()
    assert "STATUS=standing by: READY=0" in manager.read()
    log.warning("the database is away")
    notifier.is_set()
    notifier.start("settling", 5)
    assert manager.read()[-4:] == [
        "STATUS=the database is away",
        "WATCHDOG=1",
        "STATUS=settling",
        "WATCHDOG=1",
    ]


def test_the_watchdog_is_answered_after_half_of_its_time(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", manager.address)
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    now = [1_000.0]
    monkeypatch.setattr("dedup.cli.systemd.time.monotonic", lambda: now[0])
    notifier = Notifier(StopFlag())
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & os.environ.keys(), (
        "child processes do not get these variables"
    )
    for seconds, answers in ((0, 0), (0, 1), (29, 1), (1, 2), (29, 2), (1, 3)):
        now[0] += seconds
        notifier.is_set()
        assert manager.read().count("WATCHDOG=1") == answers
    notifier.close()


@pytest.mark.parametrize("address", ["", "relative", "/no/such/socket", "@nobody listens here"])
def test_without_a_manager_the_loop_goes_on(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with notifying(StopFlag()) as notifier:
        assert [notifier.is_set() for _ in range(3)] == [False] * 3
        notifier.set()
        assert notifier.is_set()


@contextmanager
def service(manager: Manager, url: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command under a manager with a watchdog time of 0.1 s; kill the command at the end."""
    given = {URL_VARIABLE: url, "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "100000"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dedup.cli.main", *arguments],
        env={**os.environ, **given},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


COMMANDS = {
    "worker": ("STATUS=waiting for articles", ["worker"]),
    "watch": ("STATUS=watching 1 feed", ["watch", "http://127.0.0.1:9/feed", "--every", "1h"]),
    "serve": ("STATUS=serving", ["serve", "--port", "0"]),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("serve", "watch")
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("manager", ["abstract"], indirect=True)
def test_a_service_from_start_to_end(
    name: str, manager: Manager, database: Database, corpus_url: str
) -> None:
    status, arguments = COMMANDS[name]
    load(database, article("a", window(0, 6)))
    with service(manager, corpus_url, *arguments) as process:
        wait_until(lambda: any(line.startswith(status) for line in manager.read()), SECONDS)
        assert manager.lines[0] == "READY=1"
        seen = len(manager.lines)
        wait_until(lambda: manager.read()[seen:].count("WATCHDOG=1") >= 3, SECONDS)
        process.terminate()
        assert process.wait(SECONDS) == 0
        assert manager.read().count("STOPPING=1") == 1


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("manager", ["file"], indirect=True)
def test_a_worker_waits_ready_for_a_database_and_a_refused_login_is_never_ready(
    manager: Manager, corpus_url: str, tmp_path: Path
) -> None:
    stranger = psycopg.conninfo.make_conninfo(corpus_url, user="nobody_of_that_name")
    with service(manager, stranger, "worker") as refused:
        assert refused.wait(SECONDS) == 1
    assert "READY=1" not in manager.read()
    with service(manager, f"host={tmp_path} dbname=none", "worker") as waiting:
        wait_until(lambda: any(line.endswith("; waiting for it") for line in manager.read()), SECONDS)
        assert "READY=1" in manager.lines
        waiting.terminate()
        assert waiting.wait(SECONDS) == 0
