"""Run several methods on one file, each in its own process with its own limits of time and memory.

A method that fails or takes too long does not stop the others. Finished results stay in a folder, so that an
interrupted comparison can continue.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

import numpy as np

from dedup.base.errors import DedupError, InputError
from dedup.base.machine import cores, memory
from dedup.base.numbers import NO_PAIRS
from dedup.base.settings import Settings
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.evaluation.results import MethodResult, load, save
from dedup.extras.lab.method import Method
from dedup.extras.lab.methods import label, make
from dedup.files.packed import open_file
from dedup.text.fingerprint import ALGORITHM_REVISION

REVISION = 1  # raised by one whenever a change of code changes results, so that no older result is reused
LIMIT_SECONDS = 900.0  # maximum time for each method
MEMORY_SHARE = 0.8  # maximum share of the machine's memory for all running methods together


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    fields: tuple[tuple[str, str], ...] = ()
    format: str | None = None
    language: str | None = None

    def read(self) -> DocumentSet:
        corpus = DocumentSet.read(
            self.path, fields=dict(self.fields), format=self.format, language=self.language
        )
        if not len(corpus):
            raise InputError(f"{self.path} holds no article that can be read; try `dedup load` to see why")
        return corpus

    def key(self) -> str:
        """Return the key of stored results, which changes with the file, its options and the program."""
        file, _ = open_file(str(self.path))
        with file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        read = (self.fields, self.format, self.language)
        return f"{REVISION} {ALGORITHM_REVISION} {Settings()} {digest} {read}"


def compare(
    source: Source,
    methods: Sequence[Method],
    folder: Path,
    *,
    jobs: int | None = None,
    limit_seconds: float = LIMIT_SECONDS,
    memory_bytes: int | None = None,
    factory: Callable[[str], Method] = make,
    ended: Callable[[MethodResult], None] = lambda _: None,
) -> list[MethodResult]:
    """Run methods on a file, except methods whose results are already in the folder.

    Returns results in the order of `methods`. A failure is a result, too; the next call tries that method
    again. `ended` is called with every result, including results from the folder. `factory` makes a method
    from its label inside the worker process, so `factory` must be importable by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key = source.key()
    found: dict[str, MethodResult] = {}
    waiting = []
    for method in methods:
        kept = load(label(method), folder, key)
        if kept:
            found[kept.label] = kept
            ended(kept)
        else:
            waiting.append(method)
    count = max(1, min(jobs or cores(), len(waiting)))
    most = memory_bytes or int(memory() * MEMORY_SHARE / count)
    task = partial(_run, factory=factory, source=source, folder=folder, key=key, memory=most)
    at_work: list[_Worker] = []
    try:
        while waiting or at_work:
            while waiting and len(at_work) < count:
                at_work.append(_Worker(waiting.pop(0), task, limit_seconds))
            nearest = min(worker.deadline for worker in at_work)
            wait([worker.process.sentinel for worker in at_work], max(0.0, nearest - time.monotonic()))
            for worker in [w for w in at_work if w.over]:
                at_work.remove(worker)
                result = worker.result(folder, key)
                found[result.label] = result
                ended(result)
    finally:
        for worker in at_work:
            worker.kill()
    return [found[label(method)] for method in methods]


class _Worker:
    def __init__(self, method: Method, task: Callable[..., None], limit_seconds: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.label = label(method)
        self.method = method
        self.limit_seconds = limit_seconds
        self.deadline = time.monotonic() + limit_seconds
        self.answer, theirs = context.Pipe(duplex=False)
        self.process: SpawnProcess = context.Process(target=task, args=(self.label, theirs), daemon=True)
        # Only the parent handles Ctrl-C. A child starts with the signal blocked, so Ctrl-C never reaches it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    @property
    def over(self) -> bool:
        return not self.process.is_alive() or time.monotonic() >= self.deadline

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.answer.close()

    def result(self, folder: Path, key: str) -> MethodResult:
        late = self.process.is_alive()
        reason = None
        # Reading the pipe of a process that was killed raises EOFError.
        with contextlib.suppress(EOFError, OSError):
            reason = self.answer.recv() if self.answer.poll() else None
        self.kill()
        # A process that is killed at the time limit may have saved its result a moment before.
        kept = load(self.label, folder, key)
        if kept:
            return kept
        if late:
            reason = f"not done within {self.limit_seconds:,.0f} seconds"
            return MethodResult.of(self.method, outcome="too slow", reason=reason)
        reason = reason or f"its process ended with code {self.process.exitcode}"
        return MethodResult.of(self.method, outcome="failed", reason=reason)


def _run(
    name: str,
    answer: Connection,
    *,
    factory: Callable[[str], Method],
    source: Source,
    folder: Path,
    key: str,
    memory: int,
) -> None:
    """Run one method in a worker process, which saves the result or sends the reason of a failure."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(ValueError, OSError):  # some systems cannot limit a process
        # The limit counts all reserved address space, and libraries reserve much more than they use. So add
        # the space that is reserved before the method runs.
        limit = memory + _reserved()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        save(measure(factory(name), source.read()), folder, key)
    except MemoryError:
        answer.send(f"it needs more than {memory / 1e9:,.1f} GB of memory")
    except DedupError as error:
        answer.send(str(error))
    except Exception as error:
        answer.send(f"unexpected {type(error).__name__}")  # its message may quote an article


def _end_with_parent() -> None:
    # A child ends with its parent, even if SIGKILL ends the parent: otherwise it could run on for an hour.
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


def measure(method: Method, corpus: DocumentSet) -> MethodResult:
    memory, clock = _peak_memory(), time.process_time()
    method.fit(corpus)
    candidates = 0
    kept_pairs, kept_scores = [NO_PAIRS], [np.empty(0, np.float32)]
    for pairs in method.candidates():
        candidates += len(pairs)
        scores = method.score(pairs)
        kept = scores >= np.float32(method.floor)
        kept_pairs.append(pairs[kept])
        kept_scores.append(scores[kept])
    pairs, scores = np.concatenate(kept_pairs), np.concatenate(kept_scores)
    accepted = method.accepts(pairs, scores)
    groups = method.groups(len(corpus), pairs, accepted)
    return MethodResult.of(
        method,
        outcome="done",
        documents=len(corpus),
        candidates=candidates,
        seconds=time.process_time() - clock,
        memory=_peak_memory() - memory,
        pairs=pairs,
        scores=scores,
        accepted=accepted,
        groups=groups,
    )


def _peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux kilobytes


def _reserved() -> int:
    """Return the address space that this process has reserved, in bytes; 0 if the system does not show it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
