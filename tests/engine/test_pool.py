"""Nothing can stop the pool for ever: no text, no process that dies, stands still or does not start.

docs/reliability.md, promises 4, 6 and 14. Every wait of the pool is bounded, so every test here ends.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from dedup.engine import pool, supervisor, worker
from dedup.engine.pool import FingerprintFunction, FingerprintPool, Limits
from dedup.errors import WorkerError
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, Fingerprinter
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Answer, Fingerprinted, Lost, TextTask, fingerprint_task
from tests.corpora import article, wait_until, window

pytestmark = pytest.mark.timeout(60)

QUICK = Limits(chunk=3, article=2, start_again=(0.1, 0.2, 0.4), stop=1)


def poisoned(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """Fingerprints like the real one, except for the texts that say otherwise."""
    real = pool.make_function(settings, models)

    def function(task: TextTask) -> Fingerprinted:
        if task.text.startswith("HANG"):
            threading.Event().wait()
        if task.text.startswith("DIE"):
            os._exit(9)
        if task.text.startswith("KILL"):
            os.kill(os.getpid(), signal.SIGKILL)
        if task.text.startswith("FULL"):
            raise MemoryError
        return real(task)

    return function


def not_starting(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """Ends the worker before it has read anything."""
    os._exit(4)


def tasks(count: int, poison: Mapping[int, str] | None = None) -> list[TextTask]:
    body = article("a", window(0, 6)).text
    words = poison or {}
    return [TextTask(i, 0, None, None, f"{words.get(i, '')} {body}".strip()) for i in range(count)]


def chunked(given: list[TextTask], size: int = 50) -> list[list[TextTask]]:
    return [given[start : start + size] for start in range(0, len(given), size)]


def answers(workers: FingerprintPool, chunks: list[list[TextTask]]) -> dict[int, Answer]:
    return {answer.article_id: answer for part in workers.run(chunks) for answer in part}


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


def test_poison_stops_nothing() -> None:
    given = tasks(500, {120: "HANG", 333: "DIE", 334: "FULL"})
    with FingerprintPool(Settings(), {}, 2, poisoned, QUICK) as workers:
        found = answers(workers, chunked(given))
    assert len(found) == 500
    assert {i: r.reason for i, r in found.items() if isinstance(r, Lost)} == {
        120: "fingerprinting it took longer than 2 s",
        333: "fingerprinting it ended the worker process (exit code 9)",
        334: "fingerprinting it ended the worker process (out of memory)",
    }
    assert all(r.fingerprint for r in found.values() if isinstance(r, Fingerprinted))


def test_a_worker_gives_what_this_process_would_give() -> None:
    given = [
        *tasks(2),
        TextTask(7, 3, "fr", "Titre", "Court."),
        TextTask(8, 0, None, None, "Zażółć gęślą jaźń. 漢字 🙂\u2028\r\n\t\x01 “end” " * 20),
        TextTask(9, 1, None, None, ""),
        TextTask(10, 1, None, None, "", 2_000_000),
        TextTask(11, 1, None, None, "\ud800 lone surrogate " * 20),
    ]
    with FingerprintPool(Settings(), {}, 1) as workers, FingerprintPool(Settings(), {}, 0) as here:
        assert answers(workers, [given]) == answers(here, [given])


class _Raising(Fingerprinter):
    error: type[BaseException] = ValueError

    def fingerprint(self, text: str, *more: object) -> Fingerprint:  # type: ignore[override]
        raise self.error(text)


def test_a_text_that_raises_is_failed_without_its_words() -> None:
    result = fingerprint_task(_Raising(Settings()), TextTask(1, 0, None, None, "a secret text"))
    assert result == Fingerprinted(1, 0, None, "unreadable: ValueError")


def test_a_lack_of_memory_is_not_held_against_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Raising, "error", MemoryError)
    with pytest.raises(MemoryError):
        fingerprint_task(_Raising(Settings()), TextTask(1, 0, None, None, "a text"))
    with FingerprintPool(Settings(), {}, 0, poisoned) as here:
        found = answers(here, [tasks(2, {1: "FULL"})])
    assert found[1] == Lost(1, 0, "fingerprinting it ran out of memory")
    assert isinstance(found[0], Fingerprinted)


def test_workers_end_with_the_pool() -> None:
    with FingerprintPool(Settings(), {}, 2) as workers:
        assert answers(workers, chunked(tasks(100)))
        assert processes()
    assert not processes()


def test_a_worker_that_is_stopped_while_it_is_sent_a_chunk_is_replaced() -> None:
    """What is sent is larger than any pipe, so sending it would wait for ever."""
    huge = [TextTask(i, 0, None, None, task.text * 300) for i, task in enumerate(tasks(20))]
    assert sum(len(task.text) for task in huge) > 1_500_000
    with FingerprintPool(Settings(), {}, 1, limits=QUICK) as workers:
        stopped = []

        def chunks() -> Iterator[list[TextTask]]:
            yield tasks(1)
            wait_until(lambda: idle(workers))
            stopped.extend(processes())
            stopped[0].suspend()
            yield huge

        found = [answer for part in workers.run(chunks()) for answer in part]
        assert len(found) == 21
        assert all(isinstance(answer, Fingerprinted) for answer in found)
        assert not stopped[0].is_running()


def test_workers_killed_as_soon_as_they_are_there_are_held_against_no_text() -> None:
    """As an out-of-memory killer does, for longer than the pauses between two starts."""
    given, enough = tasks(300), threading.Event()

    def kill() -> None:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for child in processes():
                child.kill()
            time.sleep(0.05)
        enough.set()

    killer = threading.Thread(target=kill)
    limits = Limits(start_again=(0.5, 1, 2, 4))
    with FingerprintPool(Settings(), {}, 2, limits=limits) as workers:
        killer.start()
        found = answers(workers, chunked(given))
    killer.join()
    assert enough.is_set()
    assert len(found) == 300
    assert all(isinstance(answer, Fingerprinted) for answer in found.values())


def test_a_machine_that_kills_every_worker_is_told_and_no_text_blamed_for_good() -> None:
    given = tasks(100, dict.fromkeys(range(50, 100), "KILL"))
    found: list[Answer] = []
    with FingerprintPool(Settings(), {}, 1, poisoned, QUICK) as workers:
        parts = workers.run(chunked(given))
        with pytest.raises(WorkerError, match="8 in a row were ended from outside"):
            found.extend(itertools.chain.from_iterable(parts))
    assert sum(isinstance(answer, Fingerprinted) for answer in found) == 50
    lost = [answer.article_id for answer in found if isinstance(answer, Lost)]
    assert len(lost) == len(set(lost)) < 8
    assert not processes()


def test_workers_that_do_not_start_are_one_clear_error() -> None:
    started = time.monotonic()
    with (
        pytest.raises(WorkerError, match=r"do not start \(exit code 4\); nothing was lost"),
        FingerprintPool(Settings(), {}, 2, not_starting, QUICK) as workers,
    ):
        answers(workers, chunked(tasks(100)))
    assert time.monotonic() - started < 20
    assert not processes()


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError(), RuntimeError("x")])
def test_processes_that_cannot_be_made_are_one_clear_error(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with (
        pytest.raises(WorkerError, match="cannot be started"),
        FingerprintPool(Settings(), {}, 2, limits=QUICK) as workers,
    ):
        answers(workers, chunked(tasks(100)))


def test_the_work_goes_on_with_fewer_workers_where_not_all_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    popen, calls = subprocess.Popen, []

    def refuse_the_second(*given: object, **options: object) -> object:
        calls.append(given)
        if len(calls) > 1:
            raise OSError(24, "Too many open files")
        return popen(*given, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", refuse_the_second)
    with FingerprintPool(Settings(), {}, 2, limits=QUICK) as workers:
        assert len(answers(workers, chunked(tasks(100)))) == 100


def _explode(*_: object) -> None:
    raise MemoryError


@pytest.mark.parametrize("name", ["encode_tasks", "decode_answer"])
def test_trouble_of_the_supervisor_reaches_the_caller(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, name, _explode)
    with pytest.raises(MemoryError), FingerprintPool(Settings(), {}, 1) as workers:
        answers(workers, chunked(tasks(10)))
    assert not processes()


@pytest.mark.parametrize("stuck", ["HANG", "stopped"])
def test_the_pool_stops_soon_while_workers_are_stuck(stuck: str) -> None:
    stop = threading.Event()
    given = tasks(60, {0: "HANG"} if stuck == "HANG" else {})
    with FingerprintPool(Settings(), {}, 1, poisoned, Limits(stop=1), stop.is_set) as workers:

        def tell() -> None:
            wait_until(lambda: bool(processes()))
            if stuck == "stopped":
                processes()[0].suspend()
            else:
                wait_until(lambda: workers._supervisor.busy > 0)  # type: ignore[union-attr]
            stop.set()

        threading.Thread(target=tell).start()
        started = time.monotonic()
        answers(workers, chunked(given))
    assert time.monotonic() - started < 8
    assert not processes()


SCRIPT = """
import sys
from dedup.engine.pool import FingerprintPool
from dedup.settings import Settings
from dedup.text.tasks import TextTask
with FingerprintPool(Settings(), {}, 1) as workers:
    texts = [[TextTask(1, 0, None, None, "A sentence that is long enough to count. " * 9)]]
    for part in workers.run(texts):
        print(len(part), flush=True)
    sys.stdin.read()
"""


def test_a_script_without_a_main_guard_works(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=50
    )
    assert done.stdout == b"1\n", done.stderr


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout
    assert parent.stdout.readline() == b"1\n"
    children = psutil.Process(parent.pid).children()
    assert children
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(_runs(child) for child in children))


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _talk(recipe: bytes, *lines: bytes, wait: Callable[[subprocess.Popen[bytes]], None]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "from dedup.engine.worker import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdin
    process.stdin.write(recipe + b"".join(lines))
    process.stdin.flush()
    try:
        wait(process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        assert process.stdout
        process.stdout.close()


def test_a_worker_ends_itself_where_a_text_does_not_end() -> None:
    """Its parent may be gone, and cannot kill it."""
    recipe = worker.encode_recipe(poisoned, Settings(), {})
    chunk = worker.encode_tasks(tasks(1, {0: "HANG"}), 0.2)

    def ended(process: subprocess.Popen[bytes]) -> None:
        assert process.wait(30) == -signal.SIGALRM

    _talk(recipe, chunk, wait=ended)


def test_a_worker_that_cannot_begin_says_why_without_words_of_others() -> None:
    recipe = worker.encode_recipe(poisoned, Settings(), {}).replace(b"poisoned", b"absent")

    def says(process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        assert process.stdout.readline() == b'"failed with AttributeError"\n'

    _talk(recipe, wait=says)
