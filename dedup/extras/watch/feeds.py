"""Store the state of feeds: how and when to poll each feed, and which entries were submitted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dedup.base.errors import InputError
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.watch.sitemaps import MAX_ADDRESS_BYTES

_sql = Statements("extras/watch/feeds")

FORGET_DAYS = 30  # Days until an entry that has left its feed is forgotten; some feeds repeat old entries
MAX_HEADER_CHARACTERS = 1_000  # Maximum length of an ETag or Last-Modified that is stored


@dataclass(frozen=True, slots=True)
class FeedState:
    """The stored state of a feed."""

    id: int
    etag: str | None
    modified: str | None
    not_before: datetime | None
    failures: int
    problem: str | None


def feed(cursor: Cursor, address: str) -> FeedState:
    """Return the state of a feed, and add a new feed. Raises InputError if the address is too long."""
    if len(address.encode()) > MAX_ADDRESS_BYTES:
        raise InputError(f"{address[:60]}… is longer than {MAX_ADDRESS_BYTES:,} bytes")
    row = cursor.execute(_sql("feed"), {"address": address}).fetchone()
    if row is None:
        cursor.execute(_sql("add_feed"), {"address": address})
        row = cursor.execute(_sql("feed"), {"address": address}).fetchone()
    assert row is not None
    return FeedState(*row)


@dataclass(frozen=True, slots=True)
class Seen:
    """A stored entry of a feed."""

    own: bool  # whether this entry belongs to the feed that was given to `seen`
    address: str  # address of the entry's feed
    digest: bytes  # digest of the last version that was submitted or refused
    brought: bool | None  # whether this feed brought the article; None if no article was submitted


def seen(cursor: Cursor, feed: int, ids: Sequence[str]) -> dict[str, list[Seen]]:
    """Return the stored entries with these ids, in this feed and in other feeds, by id."""
    found: dict[str, list[Seen]] = defaultdict(list)
    rows = cursor.execute(_sql("seen"), {"feed": feed, "ids": list(ids)}).fetchall()
    for source_id, own, address, digest, brought in rows:
        found[source_id].append(Seen(own, address, bytes(digest), brought))
    return found


def claim(cursor: Cursor, feed: int, source_id: str, *, shared: bool) -> bool:
    """Return whether a feed may store or edit an article. `shared`: a feed of the site brought it."""
    row = cursor.execute(_sql("claim"), {"feed": feed, "id": source_id, "shared": shared}).fetchone()
    assert row is not None
    return bool(row[0])


def note_entry(cursor: Cursor, feed: int, source_id: str, digest: bytes) -> None:
    cursor.execute(_sql("note_entry"), {"feed": feed, "id": source_id, "digest": digest})


def answered(
    cursor: Cursor, feed: int, ids: Sequence[str], etag: str | None = None, modified: str | None = None
) -> None:
    """Store that a feed answered and its entries were submitted. `etag`, `modified`: HTTP headers."""
    kept = [header if header and _can_be_sent_back(header) else None for header in (etag, modified)]
    cursor.execute(_sql("answered"), {"feed": feed, "etag": kept[0], "modified": kept[1]})
    if ids:
        cursor.execute(_sql("still_there"), {"feed": feed, "ids": list(ids)})
        cursor.execute(_sql("forget_entries"), {"feed": feed, "days": FORGET_DAYS})


def failed(cursor: Cursor, feed: int, problem: str, seconds: float, *, asked: bool = False) -> None:
    """Store that a feed failed, or asked for a pause (`asked`); it is polled again after `seconds`."""
    values = {"feed": feed, "problem": problem, "seconds": seconds, "failures": 0 if asked else 1}
    cursor.execute(_sql("failed"), values)


def _can_be_sent_back(header: str) -> bool:
    return len(header) <= MAX_HEADER_CHARACTERS and header.isascii() and header.isprintable()
