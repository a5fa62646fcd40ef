"""List loads and feeds, and remove the articles that they brought: `Deduplicator.loads`.

The tables `load` and `load_part` say which articles a load had, and which of these were new. An article stays
if it was stored before, if another load or a feed had it too, or if somebody else changed its text since. The
next backfill settles the remaining articles without the removed ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import psycopg

from dedup.api import OfCorpus, checks, transacted
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.progress import Progress, SilentProgress
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, retry
from dedup.db.statements import Statements

_sql = Statements("extras/loads/loads")

CHUNK_ARTICLES = 250  # Maximum articles per transaction; meanwhile the settle lock makes every submit wait

Span = tuple[int, int]  # A range of ids: the first id, and the id after the last


@dataclass(frozen=True, slots=True)
class Load(Answer):
    """A load of articles from a file or a program. The removal of a feed is listed as a load, too.

    Attributes:
        source: the file as it was named, or the address of the feed; None: a program.
        loaded_by: database user.
        new: articles that the load stored first.
        known: articles of the load that were stored before.
        stored: new articles that are still stored.
        removed_at: when the load was removed; None: never.
    """

    number: int
    source: str | None
    feed: bool
    loaded_by: str
    loaded_at: datetime
    new: int
    known: int
    stored: int
    removed_by: str | None
    removed_at: datetime | None


@dataclass(frozen=True, slots=True)
class WatchedFeed(Answer):
    """A feed that `dedup watch` polls, or polled.

    Attributes:
        stored: articles that the feed brought and that are stored.
    """

    address: str
    answered_at: datetime | None
    stored: int


@dataclass(frozen=True, slots=True)
class Removal(Answer):
    """Result of a removal or its preview; most fields are numbers of articles.

    Attributes:
        articles: articles that are removed, or would be.
        older: articles that stay, because they were stored before; edits by the loads stay, too.
        elsewhere: articles that stay, because another load or feed had them too.
        edited: articles that stay, because somebody else changed their text since.
        copies: other articles that lose their original, so that their mark changes.
        related: other articles that are settled again, so that their mark may change.
        stopped: true if the caller ended the removal early; the same call continues it.
    """

    loads: tuple[int, ...]
    articles: int
    older: int
    elsewhere: int
    edited: int
    copies: int
    related: int
    stopped: bool = False


def list_loads(cursor: Cursor, limit: int = 20) -> list[Load]:
    """Return the newest loads, the newest first."""
    checks.whole_number("limit", limit, 1)
    rows = cursor.execute(_sql("list"), {"limit": limit}).fetchall()
    return [Load(*row) for row in rows]


def list_feeds(cursor: Cursor) -> list[WatchedFeed]:
    """Return the feeds that `dedup watch` polls or polled."""
    return [WatchedFeed(*row) for row in cursor.execute(_sql("feeds")).fetchall()]


class Loads(OfCorpus):
    """Loads of one corpus. A load is named by its number, a feed by its address."""

    list = transacted(list_loads)
    feeds = transacted(list_feeds)

    def preview(self, names: Sequence[int | str], *, progress: Progress | None = None) -> Removal:
        """Count the articles that `remove` would delete, and marks that may change; change nothing.

        `related` counts the articles that have a stored pair with a removed article. Marks of other articles
        change only if a sentence becomes common, or is no longer common. Raises InputError: as `remove`.
        """
        shown = progress or SilentProgress()
        counts = Counter[str]()
        gone: set[int] = set()
        depending: dict[bool, set[int]] = {True: set(), False: set()}
        with self._database.transaction() as cursor, cursor.connection.transaction() as savepoint:
            chosen = _Chosen.of(cursor, names)
            chunks = [*_chunks(chosen.spans(cursor))]
            shown.start("counting", sum(map(_size, chunks)))
            for chunk in chunks:
                removed = chosen.outcomes(cursor, chunk, counts)
                gone.update(removed)
                for id, copy in cursor.execute(_sql("depending"), {"ids": bigints(removed)}).fetchall():
                    depending[copy].add(id)
                shown.advance(_size(chunk))
            # `_Chosen.of` stored a load for each feed. Undo this, because a preview changes nothing.
            raise psycopg.Rollback(savepoint)
        copies = depending[True] - gone
        related = depending[False] - gone - copies
        return _removal(chosen.stored_loads, counts, copies=len(copies), related=len(related))

    def remove(
        self,
        names: Sequence[int | str],
        *,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Removal:
        """Delete the articles that came with loads (numbers) or feeds (addresses); settle nothing.

        An article that only these loads and feeds had is removed, even if several of them had it. Pins and
        judgements stay. The transactions are short; after an error or a stop the same call continues.
        `progress`: receives the number of ids that are done. `stop`: called between transactions. In the
        result `copies` and `related` are 0. Raises InputError: there is no such load or feed, or a load was
        removed already.
        """
        shown = progress or SilentProgress()
        counts = Counter[str]()
        with self._database.transaction() as cursor:
            chosen = _Chosen.of(cursor, names)
            chunks = [*_chunks(chosen.spans(cursor))]
        shown.start("removing", sum(map(_size, chunks)))
        for chunk in chunks:
            if stop():
                return _removal(chosen.loads, counts, stopped=True)

            def attempt(chunk: Sequence[Span] = chunk) -> Counter[str]:
                found = Counter[str]()
                with self._database.transaction(settling=True) as cursor:
                    if removed := chosen.outcomes(cursor, chunk, found):
                        cursor.execute(_sql("delete"), {"ids": bigints(removed)})
                return found

            counts += retry(attempt)
            shown.advance(_size(chunk))
        with self._database.transaction() as cursor:
            cursor.execute(_sql("end"), {"loads": chosen.loads})
        return _removal(chosen.loads, counts)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Loads and feeds to be removed together. For each feed, a load with the feed's articles is stored."""

    loads: list[int]  # numbers of all loads
    feeds: list[int]  # ids of the feeds
    of_feeds: frozenset[int]  # numbers of the loads that `of` stored for the feeds

    @property
    def stored_loads(self) -> list[int]:
        return [load for load in self.loads if load not in self.of_feeds]

    @classmethod
    def of(cls, cursor: Cursor, names: Sequence[int | str]) -> _Chosen:
        """Find loads by number and feeds by address; for each feed, store a load with the feed's articles.

        Raises InputError, as `Loads.remove`.
        """
        if not names:
            raise InputError("name a load or a feed; `dedup loads` lists them")
        numbers = [name for name in dict.fromkeys(names) if not isinstance(name, str)]
        for number in numbers:
            checks.whole_number("the number of a load", number, 1, 2**31 - 1)
        found = {row[0]: row[1:] for row in cursor.execute(_sql("find"), {"loads": numbers}).fetchall()}
        for number in numbers:
            if number not in found:
                raise InputError(f"there is no load {number}; `dedup loads` lists the loads")
            if found[number][1] is not None:
                raise InputError(f"load {number} was removed already, on {found[number][1]:%Y-%m-%d}")
        feeds = [feed for feed, _ in found.values() if feed is not None]
        made = []
        for name in dict.fromkeys(names):
            if isinstance(name, str):
                values = {"address": checks.text("the address of a feed", name)}
                if (row := cursor.execute(_sql("begin_feed"), values).fetchone()) is None:
                    raise InputError(f"no feed has the address {name!r}; `dedup loads --feeds` lists them")
                load, feed = row
                cursor.execute(_sql("note_feed"), {"load": load, "feed": feed})
                made.append(load)
                feeds.append(feed)
        return cls([*numbers, *made], feeds, frozenset(made))

    def spans(self, cursor: Cursor) -> list[Span]:
        return cursor.execute(_sql("spans"), {"loads": self.loads}).fetchall()

    def outcomes(self, cursor: Cursor, chunk: Sequence[Span], counts: Counter[str]) -> list[int]:
        """Return the ids of the articles to remove. Add numbers of removed and kept articles to `counts`."""
        first, end = np.array(chunk, np.int64).reshape(-1, 2).T.copy()
        values = {"first": first, "end": end, "loads": self.loads, "feeds": self.feeds}
        rows = cursor.execute(_sql("outcomes"), values).fetchall()
        counts.update(outcome for _, outcome in rows)
        return [id for id, outcome in rows if outcome == "articles"]


def _chunks(spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Cut ranges of ids into chunks of at most `CHUNK_ARTICLES` ids."""
    chunk: list[Span] = []
    room = CHUNK_ARTICLES
    for first, end in spans:
        while first < end:
            past = min(end, first + room)
            chunk.append((first, past))
            room -= past - first
            first = past
            if not room:
                yield chunk
                chunk, room = [], CHUNK_ARTICLES
    if chunk:
        yield chunk


def _size(chunk: Sequence[Span]) -> int:
    return sum(end - first for first, end in chunk)


def _removal(
    loads: Sequence[int], counts: Counter[str], *, copies: int = 0, related: int = 0, stopped: bool = False
) -> Removal:
    return Removal(
        tuple(loads),
        *(counts["articles"], counts["older"], counts["elsewhere"], counts["edited"]),
        *(copies, related, stopped),
    )
