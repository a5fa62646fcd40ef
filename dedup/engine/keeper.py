"""A pool of worker processes that outlives a round of work: to start one takes longer than most rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from dedup.engine.pool import FingerprintPool


class PoolKeeper:
    """Keeps the last pool for the next one who wants the same; to be closed at the end."""

    def __init__(self) -> None:
        self._pool: FingerprintPool | None = None
        self._key: object = None

    @contextmanager
    def lend(self, key: object, make: Callable[[], FingerprintPool]) -> Iterator[FingerprintPool]:
        """A pool at work, another one if `key` is not that of the last. One that met an error is not used
        again."""
        if self._pool is None or self._key != key:
            self.close()
            self._pool, self._key = make().__enter__(), key
        try:
            yield self._pool
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool:
            with suppress(Exception):
                pool.__exit__(None, None, None)
