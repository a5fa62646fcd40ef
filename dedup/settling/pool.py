"""Texts become fingerprints on all cores: threads, each of which reads a chunk, fingerprints and stores it.

The compiled kernel lets go of the interpreter while it works, and so does the driver while it waits. Without
a kernel one core makes the fingerprints, while the others read and store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from time import monotonic

from dedup.base.errors import MachineError
from dedup.base.machine import threads
from dedup.db.database import Database
from dedup.settling.reader import Factory, Part, Reader, make_function
from dedup.store.fingerprints import Chunk, Target
from dedup.store.rulebooks import Rulebook

CHUNKS_AHEAD = 4  # Handed out per thread: enough that none waits while the next page of ids is read

LOOK_SECONDS = 0.2  # How often a wait looks whether the work is to stop

STOP_SECONDS = 3.0  # For the chunks in hand, once the work is to stop


class FingerprintPool:
    """Threads that fingerprint texts and store the fingerprints.

    Args:
        database: where the texts are, and the fingerprints go.
        rulebook: what fingerprints are made with; none is stored once another one is in force.
        workers: threads; None for one more than cores; 0 for none but the caller's.
        factory: makes the function that fingerprints, which all threads share.
        stop: asked all the while; when it says so, chunks in hand are finished, and no other is begun.
        target: the table that fingerprints go to.
    """

    def __init__(
        self,
        database: Database,
        rulebook: Rulebook,
        workers: int | None = None,
        factory: Factory = make_function,
        stop: Callable[[], bool] = lambda: False,
        target: Target = "fingerprint",
    ) -> None:
        self._workers = threads() if workers is None else workers
        self._database, self._rulebook, self._target = database, rulebook, target
        self._function, self._stop = factory(rulebook.settings, rulebook.models), stop

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Part]:
        """Have the texts of chunks fingerprinted and stored; says what became of them, in any order.

        Pulls chunks as needed.

        Raises:
            MachineError: there is no memory or no thread to be had; what was stored is kept.
            DatabaseError: the server refused or went away.
            StaleRulesError: the settings changed meanwhile.
        """
        reader = Reader(self._database, self._rulebook, self._function, self._target, self._workers)
        try:
            yield from self._shared_out(reader, chunks) if self._workers else map(reader.read, chunks)
        except MemoryError:
            raise _machine_error("out of memory") from None
        finally:
            reader.close()

    def _shared_out(self, reader: Reader, chunks: Iterable[Chunk]) -> Iterator[Part]:
        waiting: set[Future[Part]] = set()
        with ThreadPoolExecutor(self._workers, "dedup-fingerprints") as executor:
            try:
                for chunk in chunks:
                    waiting.add(_submitted(executor, reader.read, chunk))
                    while len(waiting) >= CHUNKS_AHEAD * self._workers and not self._stop():
                        yield from _finished(waiting)
                    if self._stop():
                        break
                while waiting and not self._stop():
                    yield from _finished(waiting)
                yield from _stopped(reader, waiting)
            except BaseException:
                for future in waiting:
                    future.cancel()
                reader.cancel()
                raise


def _submitted(executor: ThreadPoolExecutor, work: Callable[[Chunk], Part], chunk: Chunk) -> Future[Part]:
    try:
        return executor.submit(work, chunk)
    except RuntimeError:
        raise _machine_error("no more threads") from None


def _finished(waiting: set[Future[Part]]) -> Iterator[Part]:
    """The results that there are, taken out of those that are waited for; none if there are none soon."""
    done, _ = wait(waiting, LOOK_SECONDS, FIRST_COMPLETED)
    for future in done:
        waiting.remove(future)
        yield future.result()


def _stopped(reader: Reader, waiting: set[Future[Part]]) -> Iterator[Part]:
    """Finish what is in hand, but do not wait for long for what others hold."""
    in_hand = {future for future in waiting if not future.cancel()}
    deadline = monotonic() + STOP_SECONDS
    while in_hand and monotonic() < deadline:
        yield from _finished(in_hand)
    if in_hand:
        reader.cancel()
        wait(in_hand)


def _machine_error(what: str) -> MachineError:
    return MachineError(
        f"{what}; nothing was lost and no article is to blame: see that this machine has memory and threads"
        " to spare (`ulimit -a`), or give it fewer with --workers, then run `dedup backfill` again"
    )
