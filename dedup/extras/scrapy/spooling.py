"""Submitting through an outage: what the database cannot take now is kept on disk and delivered later.

docs/reliability.md, promise 10. `dedup.scrapy` is built on it.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Lock
from typing import Self

from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import ClosedError, DatabaseError, SpoolError, is_about_input
from dedup.base.schema import chosen
from dedup.base.timeouts import Timeouts
from dedup.base.verdict import Verdict
from dedup.extras.scrapy.spool import MAX_BYTES, Spool

__all__ = ["SpoolingDeduplicator"]

RETRY_SECONDS = 5.0  # While the database is down it is tried again no sooner than this

log = logging.getLogger("dedup.spooling")


class SpoolingDeduplicator:
    """A `Deduplicator` for programs that must go on when the database is down. For any number of threads.

        with SpoolingDeduplicator(spool="articles.jsonl") as dd:
            verdict = dd.submit(Article(source_id="a1", text="…"))
            print(verdict or "kept for later")

    An outage is logged once, when it begins, and once when it is over. When it is over the spool is
    delivered first: what comes meanwhile goes to its end, so that no version of an article overtakes another.

    Args:
        url, schema, timeouts: as of `Deduplicator`. It is opened when it is needed.
        spool: the file; see `Spool`.
        max_bytes: how large that file may become.
        retry_seconds: while the database is down it is tried again no sooner than this.

    Attributes:
        delivered: how many articles have left the spool through this object.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        spool: str | Path,
        max_bytes: int = MAX_BYTES,
        schema: str | None = None,
        timeouts: Timeouts | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.spool = Spool(spool, max_bytes)
        self.delivered = 0
        self._url, self._timeouts, self._retry_seconds = url, timeouts, retry_seconds
        self._schema = chosen(schema)
        self._corpus: Deduplicator | None = None
        self._up = self._closed = self._warned = False
        self._next_try = 0.0
        self._trying = Lock()
        self._gate = Lock()
        """Held to change `_up`, and to add to the spool: nothing is added once it is delivered."""

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, article: Article) -> Verdict | None:
        """The verdict on an article; None where it was kept for later.

        Raises SpoolError: the database is down, and the spool is full or cannot be written. The article is
        lost; ClosedError: `close` was called.
        """
        while True:
            if self.connect() and self._corpus is not None:
                try:
                    return self._corpus.submit(article)
                except DatabaseError as error:
                    if is_about_input(error):
                        log.warning("%s; the article is kept in %s", error, self.spool.refused)
                        self.spool.refuse(article)
                        return None
                    self._went_down(error)
            with self._gate:
                if not self._up:
                    self.spool.add(article)
                    return None

    def connect(self) -> bool:
        """Have the database take articles, and first those of the spool, if it is time to try.

        Returns whether it takes articles.
        """
        if self._closed:
            raise ClosedError("this SpoolingDeduplicator is closed; open another one")
        if self._up:
            return True
        # One thread tries; the others go on.
        if time.monotonic() < self._next_try or not self._trying.acquire(blocking=False):
            return False
        try:
            return self._come_up()
        finally:
            self._trying.release()

    def close(self) -> None:
        """Deliver what waits, if the database takes it now, and close the connections."""
        if self._closed:
            return
        with self._trying:
            if not self._up and self.spool:
                self._come_up()
        self._closed = True
        if self._corpus is not None:
            self._corpus.close()

    def _come_up(self) -> bool:
        try:
            if self._corpus is None:
                self._corpus = Deduplicator(self._url, schema=self._schema, timeouts=self._timeouts)
            before = self.delivered
            # What an interrupted delivery has sent is still in the spool, and is sent again.
            self.delivered += self.spool.deliver(self._corpus.submit)
            with self._gate:
                # What came since; nothing can come now.
                self.delivered += self.spool.deliver(self._corpus.submit)
                self._up = not self.spool  # unless another process is delivering
        except (DatabaseError, SpoolError) as error:
            self._went_down(error)
            return False
        if self._up and self._warned:
            log.info("the database takes articles again: %d were delivered", self.delivered - before)
            self._warned = False
        if not self._up:
            self._next_try = time.monotonic() + self._retry_seconds
        return self._up

    def _went_down(self, error: Exception) -> None:
        with self._gate:
            self._up = False
            self._next_try = time.monotonic() + self._retry_seconds
            if not self._warned:
                self._warned = True
                log.warning("%s; until then articles are kept in %s", error, self.spool.path)
