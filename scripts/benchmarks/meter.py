"""Measure the cost of a command: seconds, processor seconds, and memory of all its processes. Linux only.

    meter.measure(["dedup", "backfill"], postmaster=4711)

A separate process runs the command and adopts the command's orphans, so that the system adds up the processor
time of every process, including short-lived ones. Memory is sampled: the proportional set size (PSS) of
`/proc/PID/smaps_rollup`, in which a page that n processes share counts 1/n in each. Of Postgres only private
memory is counted there; shared buffers are counted apart.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

SAMPLE_SECONDS = 0.1
"""Least seconds between two samples of memory; a sample of ten processes takes about 10 ms."""

SAMPLE_SHARE = 0.05
"""Largest share of the time that samples take: with large shared buffers the kernel takes 40 ms for each."""

END_SECONDS = 10.0
"""Seconds from the end of a command until the processes that it left running (orphans) are killed."""

LIMIT_SECONDS = 4 * 3600.0
"""Default for the maximum number of seconds that a command may take."""

SET_CHILD_SUBREAPER = 36
"""Option of prctl(2): orphans become children of this process."""

PLAIN_REASONS = ("ModuleNotFoundError", "ImportError", "DedupError")
"""Errors whose messages are shown, because they never quote a text; other errors are shown by name only."""


@dataclass(slots=True)
class Cost:
    """Seconds and megabytes (10^6 bytes).

    Attributes:
        wall: from the start of the command to the end of its last process, including start-up.
        cpu: user and system time of the command and of Postgres.
        cpu_postgres: user and system time of Postgres alone.
        peak_mb: peak of all memory at one moment, with the private memory of Postgres.
        peak_program_mb, peak_postgres_mb: peaks of the program and of Postgres, perhaps at different moments.
        shared_buffers_mb: peak of Postgres' used shared memory.
        failure: the reason why the command did not finish; None if it finished.
    """

    wall: float = 0.0
    cpu: float = 0.0
    cpu_postgres: float = 0.0
    peak_mb: float = 0.0
    peak_program_mb: float = 0.0
    peak_postgres_mb: float = 0.0
    shared_buffers_mb: float = 0.0
    failure: str | None = None


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def measure(
    command: Sequence[str | Path],
    *,
    postmaster: int | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> Cost:
    """Run a command to its end, and return its cost.

    Args:
        postmaster: id of the main process of the Postgres that works for the command, and is measured, too.
        env: variables added to the environment of this process.
        log: a file for the command's output; None drops the output.
        limit_seconds: after this time the command is killed, and counts as failed.
    """
    if sys.platform != "linux":
        return Cost(failure="costs are measured on Linux only")
    with tempfile.TemporaryDirectory(prefix="dedup-meter-") as folder:
        answer = Path(folder) / "cost.json"
        output = log or Path(folder) / "log"
        words = [sys.executable, __file__, answer, str(postmaster or 0), str(limit_seconds), *command]
        with output.open("wb") as file:
            subprocess.run(
                [str(word) for word in words],
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                check=False,
            )
        try:
            cost = Cost(**json.loads(answer.read_bytes()))
        except (OSError, ValueError):
            return Cost(failure="the process that measures was ended from outside")
        if cost.failure and cost.failure.startswith("exit code"):
            cost.failure += reason(output.read_text("utf-8", errors="replace"))
        return cost


def reason(output: str) -> str:
    """Return ": " and the name of the last error in a command's output; "" if there is no error in it."""
    for line in reversed(output.splitlines()):
        if found := re.match(r"([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\b(.*)", line):
            name = found[1].rpartition(".")[2]
            return f": {name}{found[2][:120] if name in PLAIN_REASONS else ''}"
    return ""


class _Memory:
    """Samples, in a thread, the peak memory of a command's processes and of a Postgres."""

    def __init__(self, postmaster: int) -> None:
        self.cost = Cost()
        self._postmaster = postmaster
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def end(self) -> Cost:
        self._done.set()
        self._thread.join()
        return self.cost

    def _sample(self) -> None:
        own = psutil.Process()
        cost = self.cost
        taken = 0.0
        while not self._done.wait(max(SAMPLE_SECONDS, taken / SAMPLE_SHARE)):
            began = time.perf_counter()
            program = sum(pss(child.pid)["Pss"] for child in own.children(recursive=True)) / 1e6
            parts = [pss(process.pid) for process in _postgres(self._postmaster)]
            private = sum(part["Pss_Anon"] for part in parts) / 1e6
            shared = sum(part["Pss_Shmem"] for part in parts) / 1e6
            cost.peak_mb = max(cost.peak_mb, program + private)
            cost.peak_program_mb = max(cost.peak_program_mb, program)
            cost.peak_postgres_mb = max(cost.peak_postgres_mb, private)
            cost.shared_buffers_mb = max(cost.shared_buffers_mb, shared)
            taken = time.perf_counter() - began


def pss(pid: int) -> dict[str, int]:
    """Return the proportional set size of a process in bytes, in total and by kind; 0 if it has ended."""
    found = {"Pss": 0, "Pss_Anon": 0, "Pss_Shmem": 0}
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in found:
                found[name] = 1024 * int(value.split()[0])
    return found


def _postgres(postmaster: int) -> list[psutil.Process]:
    if not postmaster:
        return []
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(postmaster)
        return [process, *process.children(recursive=True)]
    return []


def _cpu(processes: Iterable[psutil.Process]) -> float:
    """Return the processor seconds of processes, and of their children that have ended."""
    total = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _run(command: Sequence[str], postmaster: int, limit_seconds: float) -> Cost:
    """Run the command as a child of this process, and wait for the command's orphans."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _cpu(_postgres(postmaster))
    memory = _Memory(postmaster)
    started = time.perf_counter()
    failure = None
    try:
        child = subprocess.Popen(command)
        if code := child.wait(timeout=limit_seconds):
            failure = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    except subprocess.TimeoutExpired:
        failure = f"not done within {limit_seconds:,.0f} s"
    except OSError as error:
        failure = f"cannot start: {error.strerror}"
    _reap(0.0 if failure else END_SECONDS)
    wall = time.perf_counter() - started
    cost = memory.end()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost.cpu_postgres = _cpu(_postgres(postmaster)) - before
    cost.cpu = used.ru_utime + used.ru_stime + cost.cpu_postgres
    cost.wall, cost.failure = wall, failure
    return cost


def _reap(patience: float) -> None:
    """Wait for all children, so that the system adds up their times; kill them after `patience` seconds."""
    deadline = time.monotonic() + patience
    own = psutil.Process()
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = own.children(recursive=True)
        if not left:
            return
        if time.monotonic() > deadline:
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        time.sleep(SAMPLE_SECONDS / 10)


if __name__ == "__main__":
    answer, postmaster, limit, *command = sys.argv[1:]
    Path(answer).write_text(json.dumps(asdict(_run(command, int(postmaster), float(limit)))))
