"""Keeps the worker processes at work, in one thread that never waits for one of them.

The pipes to the workers do not block, and every worker has a deadline. A worker that dies or takes too long
is replaced, and the texts it had are tried one by one. A text that loses its worker alone is told as lost, if
a new worker then reads a harmless text; otherwise the trouble is the machine's. Workers that cannot be
started, or that are killed again and again, end the work with a WorkerError and are held against no text. So
does a database that refuses, with its own error; and what takes long there is no text's fault either.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from signal import SIGALRM, SIGKILL, Signals
from time import monotonic

from dedup.corpus.fingerprints import Chunk
from dedup.engine.reader import Part
from dedup.engine.worker import MADE, OUT_OF_MEMORY, READY, TEXTS, decode_answer, encode_chunk
from dedup.errors import WorkerError
from dedup.text.tasks import Lost


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the pool waits for what, in seconds.

    Attributes:
        chunk: for the texts of a chunk, which take about 0.1 s; what takes this long holds one that does not
            end.
        article: for a text alone; the largest readable one, a million characters, takes about half a second.
        start: for a new worker, which takes about a second; a machine that swaps takes longer.
        start_again: pauses before a worker is started again, one after each failure in a row. With none left
            the work ends, or goes on with the workers there are.
        stop: for the work in hand, once the work is to stop.
    """

    chunk: float = 120.0
    article: float = 30.0
    start: float = 60.0
    start_again: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0)
    stop: float = 3.0


CHUNKS_AHEAD = 4  # Chunks handed out per worker: enough that none waits while the next page of ids is read

KILLS_IN_A_ROW = 8
"""So many workers ended by others or by a lack of memory, or that got nowhere with the database, and no text
read in between: it is the machine."""

LOOK_SECONDS = 0.2  # How often a wait looks whether it still makes sense

READ_BYTES = 1 << 18


def machine_error(what: str) -> WorkerError:
    """The error of a machine that does not keep workers alive."""
    return WorkerError(
        f"worker processes: {what}; nothing was lost and no article is to blame: see that this machine has"
        " memory, processes and open files to spare (`ulimit -a`), or give it fewer with --workers, then run"
        " `dedup backfill` again"
    )


class _Worker:
    """A worker process, what is on its way to it and from it, and until when it must say something.

    Attributes:
        making: whether it has texts in hand, and nothing to do with the database.
        seconds: how long it may have its texts in hand.
    """

    def __init__(self, recipe: bytes, deadline: float, failures: int) -> None:
        folders = (folder or str(os.getcwd()) for folder in sys.path)  # noqa: PTH109 - as Python means it
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from dedup.engine.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could hold the text of an article
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        )
        assert self._process.stdin
        assert self._process.stdout
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self.outgoing, self._incoming = memoryview(recipe), bytearray()
        self.deadline: float | None = deadline
        self.failures = failures
        self.ready = self.making = False
        self.chunk: Chunk | None = None
        self.seconds = 0.0
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)

    def give(self, chunk: Chunk, seconds: float, patience: float) -> None:
        """Begin to send a chunk.

        Args:
            seconds: how long its texts may take; patience: how long it may take to have them.
        """
        self.chunk, self.seconds, self.deadline = chunk, seconds, monotonic() + patience
        self.outgoing = memoryview(encode_chunk(chunk, seconds + 5))

    def goes_on(self, *, making: bool, seconds: float) -> None:
        """It has come further, and must do so again within these seconds."""
        self.making, self.deadline = making, monotonic() + seconds

    def done(self) -> None:
        """It has answered and waits for the next chunk."""
        self.chunk = self.deadline = None
        self.making = False

    def send(self) -> None:
        """Send as much as the pipe takes.

        Raises:
            OSError: it is gone.
        """
        with suppress(BlockingIOError):
            self.outgoing = self.outgoing[os.write(self.input, self.outgoing) :]

    def receive(self) -> list[bytes]:
        """The lines that it has said since.

        Raises:
            EOFError, OSError: it is gone.
        """
        try:
            data = os.read(self.output, READ_BYTES)
        except BlockingIOError:
            return []
        if not data:
            raise EOFError
        self._incoming += data
        *lines, rest = bytes(self._incoming).split(b"\n")
        self._incoming = bytearray(rest)
        return lines

    def end(self, patience: float = 0.0) -> int | None:
        """Kill it, but let it end by itself before if it does so soon; returns how it ended. Never raises."""
        with suppress(Exception):
            self._close()  # where it still lives, it has nothing left to read and ends
        if patience:
            with suppress(Exception):
                self._process.wait(patience)
        ended = self._process.returncode
        for tidy in (self._process.kill, lambda: self._process.wait(5)):
            with suppress(Exception):
                tidy()
        return ended

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream:
                    stream.close()


class Supervisor(threading.Thread):
    """Keeps the workers at work. All but its queues belongs to its own thread.

    Args:
        patience: seconds that reading the texts of a chunk may take, and storing what was made of them.

    Attributes:
        busy: workers that have a chunk.
        stopping: set to end it, whatever its workers do.
    """

    def __init__(self, count: int, recipe: bytes, limits: Limits, patience: float) -> None:
        super().__init__(daemon=True, name="dedup-workers")
        self._count, self._recipe, self._limits, self._patience = count, recipe, limits, patience
        self._tasks: deque[Chunk] = deque()
        self._results: SimpleQueue[Part] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._suspects: list[Lost] = []
        self._start_at, self._failures, self._kills = 0.0, 0, 0
        self.stopping = False
        self._trouble: BaseException | None = None
        self.busy = 0
        try:
            self._wake_read, self._wake_write = os.pipe()
        except OSError as error:
            raise machine_error(f"no pipe for them ({error.strerror})") from None
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    # What the thread that owns the pool calls.

    def give(self, chunk: Chunk) -> None:
        """Have a chunk read."""
        self._tasks.append(chunk)
        self._wake()

    def is_full(self) -> bool:
        """Whether enough chunks wait to be read."""
        return len(self._tasks) >= CHUNKS_AHEAD * self._count

    def take(self, wait: Callable[[], bool], stop: Callable[[], bool] = lambda: False) -> Part | None:
        """The next results, or None where there are none and no reason to wait, or to wait longer.

        Raises:
            WorkerError, DatabaseError, StaleRulesError: there will be none.
        """
        while True:
            alive = self.is_alive()
            with suppress(Empty):
                return self._results.get_nowait()
            if not alive:
                raise self._trouble or machine_error("their supervisor ended")
            if stop() or not wait():
                return None
            with suppress(Empty):
                return self._results.get(timeout=LOOK_SECONDS)

    def finish(self) -> None:
        """Hand out no more chunks."""
        self._tasks.clear()

    def stop(self) -> None:
        """End the workers, whatever they do, and wait for that."""
        self.stopping = True
        self._wake()
        self.join(10)

    def close(self) -> None:
        """Give back what a supervisor holds that was never started."""
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _wake(self) -> None:
        with suppress(OSError):  # full: it is awake; closed: it has ended
            os.write(self._wake_write, b"x")

    # What its own thread does.

    def run(self) -> None:
        """Work until told to stop, or until it cannot go on; the trouble then is `take`'s to tell."""
        try:
            while not self.stopping:
                self._step()
        except BaseException as error:
            self._trouble = error
        finally:
            for worker in self._workers:
                worker.end()
            self.close()

    def _step(self) -> None:
        self._start_workers()
        for worker in self._workers:
            if worker.ready and worker.chunk is None and (chunk := self._next_chunk()):
                seconds = self._limits.chunk if len(chunk) > 1 else self._limits.article
                worker.give(chunk, seconds, self._patience)
        self.busy = sum(worker.chunk is not None for worker in self._workers)
        happened = self._wait()
        for worker in list(self._workers):
            try:
                if worker.outgoing and worker.input in happened:
                    worker.send()
                lines = worker.receive() if worker.output in happened else []
            except (OSError, EOFError):
                self._died(worker)
                continue
            for line in lines:
                if worker in self._workers:
                    self._said(worker, line)
            if not lines and worker.deadline is not None and monotonic() >= worker.deadline:
                self._late(worker)

    def _next_chunk(self) -> Chunk | None:
        with suppress(IndexError):
            return self._tasks.popleft()
        return None

    def _wait(self) -> set[int]:
        """The pipes at which something happened, or none once a deadline is reached."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        for worker in self._workers:
            poll.register(worker.output, select.POLLIN)
            if worker.outgoing:
                poll.register(worker.input, select.POLLOUT)
        times = [worker.deadline for worker in self._workers if worker.deadline is not None]
        if self._wanted():
            times.append(self._start_at)
        # Not for long in any case: whoever wants it to end may have had no means to wake it.
        seconds = min(times, default=float("inf")) - monotonic()
        happened = {pipe for pipe, _ in poll.poll(min(max(seconds, 0.0), 1.0) * 1000 + 1)}
        if self._wake_read in happened:
            os.read(self._wake_read, READ_BYTES)
        return happened

    def _wanted(self) -> bool:
        """Whether another worker is to be started: after a failure one at a time."""
        if not self._tasks and not self._suspects:
            return False
        if self._failures and any(not worker.ready for worker in self._workers):
            return False
        return len(self._workers) < self._count

    def _start_workers(self) -> None:
        while self._wanted() and monotonic() >= self._start_at:
            try:
                worker = _Worker(self._recipe, monotonic() + self._limits.start, self._failures)
            except Exception as error:
                reason = getattr(error, "strerror", None) or type(error).__name__
                self._not_started(self._failures, f"cannot be started ({reason})")
            else:
                self._workers.append(worker)

    def _not_started(self, failures: int, what: str) -> None:
        """Count a failure to start, unless it belongs to those counted already, and try again later."""
        if failures < self._failures:
            return
        if self._failures < len(self._limits.start_again):
            self._start_at = monotonic() + self._limits.start_again[self._failures]
            self._failures += 1
        elif any(worker.ready for worker in self._workers):
            self._count = len(self._workers)
            self._failures = 0
        else:
            raise machine_error(what)

    def _said(self, worker: _Worker, line: bytes) -> None:
        said = decode_answer(line)
        if isinstance(said, Exception):
            self._refused(worker, said)
        elif not worker.ready:
            if said == READY:
                self._is_ready(worker)
            else:
                self._died(worker, str(said))
        elif said == TEXTS:
            worker.goes_on(making=True, seconds=worker.seconds)
        elif said == MADE:
            worker.goes_on(making=False, seconds=self._patience)
        elif isinstance(said, str):
            self._died(worker, said)
        elif worker.chunk is not None:
            self._kills = 0
            self._results.put(Part(worker.chunk, said.failed, said.gone))
            worker.done()

    def _is_ready(self, worker: _Worker) -> None:
        worker.ready, worker.deadline = True, None
        self._failures = 0
        if self._suspects:
            articles = [(lost.article_id, lost.revision) for lost in self._suspects]
            self._results.put(Part(articles, lost=list(self._suspects)))
            self._suspects.clear()

    def _refused(self, worker: _Worker, error: Exception) -> None:
        """The database let a worker down: the end of the work, unless just one more could not connect."""
        if worker.ready or len(self._workers) == 1:
            raise error
        worker.end()
        self._workers.remove(worker)
        self._count = len(self._workers)

    def _died(self, worker: _Worker, said: str | None = None) -> None:
        ended = worker.end(patience=1.0)
        if ended == -SIGALRM:
            self._late(worker)
            return
        if said is None:
            said = _ending(ended)
        if ended == -SIGKILL or said == OUT_OF_MEMORY:
            self._kills += worker.ready
        self._lost(worker, said, f"fingerprinting it ended the worker process ({said})")
        if self._kills >= KILLS_IN_A_ROW:
            raise machine_error(f"{self._kills} in a row were ended from outside or ran out of memory")

    def _late(self, worker: _Worker) -> None:
        worker.end()
        if worker.ready and not worker.making:
            self._stuck(worker)
            return
        seconds = worker.seconds if worker.ready else self._limits.start
        self._lost(worker, "no answer", f"fingerprinting it took longer than {seconds:.0f} s")

    def _stuck(self, worker: _Worker) -> None:
        """It got nowhere with the database: no text is to blame, and another worker has the same chunk."""
        self._workers.remove(worker)
        if worker.chunk:
            self._tasks.appendleft(worker.chunk)
        self._kills += 1
        if self._kills >= KILLS_IN_A_ROW:
            raise machine_error(f"{self._kills} in a row gave no answer, or were ended from outside")

    def _lost(self, worker: _Worker, what: str, reason: str) -> None:
        """A worker is gone: its texts are tried one by one, and one that was alone is suspected."""
        self._workers.remove(worker)
        if not worker.ready:
            self._not_started(worker.failures, f"do not start ({what})")
        elif worker.chunk and len(worker.chunk) > 1:
            self._tasks.extendleft([task] for task in reversed(worker.chunk))
        elif worker.chunk:
            self._suspects.append(Lost(*worker.chunk[0], reason))


def _ending(code: int | None) -> str:
    """How a process ended, by its return code."""
    if code is None:
        return "it closed its pipe"
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return Signals(-code).name
    return f"signal {-code}"
