"""Signals: finished work is kept; the exit code is 128 plus the number of the signal if work is left."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

import psycopg
import pytest
import typer

from dedup.base.errors import BusyError
from dedup.cli import main, output, shared, signals
from dedup.db.database import Database
from tests.cli.conftest import Dedup

WORDS = "interrupted: finished work is kept; run the same command again to continue\n"
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in NUMBERS}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Return a function that runs work as a command of dedup, and returns the exit code and the output."""

    def run(work: Callable[[], None]) -> tuple[int, str]:
        app = typer.Typer(pretty_exceptions_enable=False)
        app.callback()(lambda: None)
        app.command("work")(work)
        monkeypatch.setattr(main, "app", app)
        with pytest.raises(SystemExit) as ended:
            main.main(["work"])
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().err

    return run


Run = Callable[[Callable[[], None]], tuple[int, str]]


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_command_in_one_line_with_its_own_exit_code(run: Run, number: int, code: int) -> None:
    assert run(lambda: send(number)) == (code, WORDS)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_batch_that_is_asked_to_stop_is_finished(run: Run, number: int, code: int) -> None:
    def work() -> None:
        with shared.stopping() as stop:
            for batch in range(5):
                if batch == 2:
                    send(number)
                output.say(f"batch {batch}")
                if stop.is_set():
                    output.say("stopped as asked")
                    signals.unfinished()

    assert run(work) == (code, "batch 0\nbatch 1\nbatch 2\nstopped as asked\n")


def test_work_that_was_complete_when_the_signal_came_is_a_success(run: Run) -> None:
    def work() -> None:
        with shared.stopping() as stop:
            send(signal.SIGTERM)
        assert stop.is_set()

    assert run(work) == (0, "")


def test_a_command_that_fails_after_it_was_asked_to_stop_says_why_and_has_the_code_of_the_signal(
    run: Run,
) -> None:
    def work() -> None:
        with shared.stopping():
            send(signal.SIGTERM)
            raise BusyError("the lock is taken")

    assert run(work) == (143, "dedup: the lock is taken\n")


def test_ctrl_c_ends_also_what_finishes_its_batch(run: Run) -> None:
    def work() -> None:
        with shared.stopping():
            send(signal.SIGTERM)
            send(signal.SIGINT)

    assert run(work) == (130, WORDS)


def test_a_command_that_waits_for_input_ends_although_none_comes(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "STOP_SECONDS", 0.05)
    ours, theirs = os.pipe()

    def work() -> None:
        with shared.stopping():
            send(signal.SIGTERM)
            os.read(ours, 1)

    before = signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)
    assert run(work) == (143, WORDS)
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == (before[0][0] > 0)
    assert signal.getsignal(signal.SIGALRM) == before[1]
    os.close(ours)
    os.close(theirs)


def test_further_signals_do_not_disturb_the_tidying_up(run: Run) -> None:
    tidied: list[str] = []

    def work() -> None:
        with ExitStack() as stack:
            stack.callback(tidied.append, "all")
            stack.callback(send, signal.SIGINT)
            stack.callback(send, signal.SIGTERM)
            send(signal.SIGTERM)

    assert run(work) == (143, WORDS)
    assert tidied == ["all"]


def test_a_signal_is_forgotten_by_the_next_command(run: Run) -> None:
    assert run(lambda: send(signal.SIGTERM))[0] == 143

    def interrupted() -> None:
        raise KeyboardInterrupt

    assert run(interrupted) == (130, WORDS)


@pytest.mark.parametrize("held", [shared.stopping, signals.leaving])
def test_a_second_signal_at_any_line_of_the_first_ones_handler_disturbs_nothing(
    run: Run, held: Callable[[], AbstractContextManager[signals.StopFlag]]
) -> None:
    """The second signal interrupts the handler of the first. A handler that takes a lock would wait for
    ever."""

    def at(line: int) -> int:
        """Send the second signal when the handler of the first has run `line` lines; with 0, send none.
        Return the number of lines that ran."""
        lines = 0

        def traced(_frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal lines
            if event == "line":
                lines += 1
                if lines == line:
                    sys.settrace(None)
                    send(signal.SIGTERM)
            return traced

        def work() -> None:
            with held() as stop:
                sys.settrace(traced)
                send(signal.SIGTERM)
                sys.settrace(None)
                assert stop.is_set()
            signals.unfinished()

        signals.forget()
        before = signal.getitimer(signal.ITIMER_REAL)[0] > 0, signal.getsignal(signal.SIGALRM)
        assert run(work)[0] == 143
        after = signal.getitimer(signal.ITIMER_REAL)[0] > 0, signal.getsignal(signal.SIGALRM)
        assert after == before
        return lines

    lines = at(0)
    assert lines > 5
    for line in range(1, lines + 1):
        at(line)


def test_nohup_keeps_a_command_at_work(run: Run) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def work() -> None:
        with shared.stopping() as stop:
            send(signal.SIGHUP)
            assert not stop.is_set()

    assert run(work) == (0, "")


FINISHES_ITS_BATCH = """
import sys
import time
from pathlib import Path

import typer
from dedup.cli import main, output, signals

def work() -> None:
    with signals.stopping() as stop:
        output.say("at work")
        while not stop.is_set():
            time.sleep(0.01)
        output.say("words to nobody")
        Path(sys.argv[1]).touch()
        signals.unfinished()

main.app = typer.Typer(pretty_exceptions_enable=False)
main.app.callback()(lambda: None)
main.app.command("work")(work)
main.main(["work"])
"""


def test_a_terminal_that_is_closed_costs_no_batch(tmp_path: Path) -> None:
    """Printing fails after the terminal is closed; the work must not fail."""
    finished = tmp_path / "finished"
    master, slave = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", FINISHES_ITS_BATCH, finished],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    assert b"at work" in os.read(master, 1_000)
    os.close(master)
    running.send_signal(signal.SIGHUP)
    assert running.wait(30) == 129
    assert finished.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_waits_for_a_lock_ends_at_once(
    dedup: Dedup, database: Database, number: signal.Signals
) -> None:
    signals.listen()

    def send_when_it_waits() -> None:
        waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database"
        waits += " WHERE datname = current_database())"
        with psycopg.connect(database.url, autocommit=True) as other:
            while not other.execute(waits.encode()).fetchone():
                pass
        send(number)

    with database.transaction() as cursor:
        cursor.execute("LOCK TABLE dedup.article")
        sender = Thread(target=send_when_it_waits)
        sender.start()
        ended = dedup("status")
        sender.join()
    assert (ended.code, ended.err) == (128 + number, WORDS)
