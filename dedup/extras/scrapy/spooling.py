"""Submit articles even during an outage, with a spool on disk (docs/reliability.md, promise 10)."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Lock
from typing import Self

from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import AttachedError, ClosedError, DatabaseError, SpoolError, is_about_input
from dedup.base.schema import chosen
from dedup.base.timeouts import Timeouts
from dedup.base.verdict import Verdict
from dedup.extras.scrapy.spool import MAX_BYTES, Spool

__all__ = ["SpoolingDeduplicator"]

RETRY_SECONDS = 5.0  # Default time between two attempts to reach a database that is down

log = logging.getLogger("dedup.spooling")


class SpoolingDeduplicator:
    """A `Deduplicator` for programs that must continue while the database is down; safe for many threads.

        with SpoolingDeduplicator(spool="articles.jsonl") as dd:
            verdict = dd.submit(Article(source_id="a1", text="…"))
            print(verdict or "kept for later")

    The beginning and the end of an outage are logged. After an outage the spool is delivered first. New
    articles go into the spool until it is empty, so that no article is stored before an older version of
    itself.

    `url`, `schema` and `timeouts` are as for `Deduplicator`, which is opened when it is first needed; `spool`
    and `max_bytes` are as for `Spool`. `retry_seconds`: time between two attempts to reach the database.
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
        self.delivered = 0  # number of articles that this object delivered from the spool
        self._url, self._timeouts, self._retry_seconds = url, timeouts, retry_seconds
        self._schema = chosen(schema)
        self._corpus: Deduplicator | None = None
        self._up = self._closed = self._warned = False
        self._next_try = 0.0
        self._trying = Lock()
        # Held to change `_up`, and to spool an article, so that nothing is spooled after the last delivery.
        self._gate = Lock()

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, article: Article) -> Verdict | None:
        """Return the verdict on an article, or None if it was kept in the spool or in `spool.refused`.

        Raises SpoolError if the article is lost because the spool is full or fails; ClosedError if closed.
        """
        while True:
            if self.connect() and self._corpus is not None:
                try:
                    return self._corpus.submit(article)
                except (DatabaseError, AttachedError) as error:
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
        """Return whether the database is up. If a retry is due, connect to it and deliver the spool first."""
        if self._closed:
            raise ClosedError("this SpoolingDeduplicator is closed; open another one")
        if self._up:
            return True
        # One thread tries to connect; other threads do not wait for the result.
        if time.monotonic() < self._next_try or not self._trying.acquire(blocking=False):
            return False
        try:
            return self._come_up()
        finally:
            self._trying.release()

    def close(self) -> None:
        """Deliver the spool if the database is up, and close the connections."""
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
            self.delivered += self.spool.deliver(self._corpus.submit)
            with self._gate:
                # Deliver articles that were spooled during the delivery. No thread can spool more now.
                self.delivered += self.spool.deliver(self._corpus.submit)
                # If another process delivers the spool, `deliver` does nothing, and the spool is not empty.
                self._up = not self.spool
        except (DatabaseError, SpoolError) as error:
            self._went_down(error)
            return False
        if self._up and self._warned:
            log.info("the database takes articles again: %d sent from the spool", self.delivered - before)
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
                log.warning("%s; during the outage articles are kept in %s", error, self.spool.path)
