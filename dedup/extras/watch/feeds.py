"""What `dedup watch` remembers of feeds: how to ask for what is new, when, and which entries were submitted.

It is written entry by entry, right after each was submitted. Whoever is killed in between submits one entry
again, which changes nothing.
"""

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

FORGET_DAYS = 30  # Entries that have not been in their feed for so long; some feeds show an old one again
MAX_HEADER_CHARACTERS = 1_000  # Of an ETag or a time that is kept


@dataclass(frozen=True, slots=True)
class FeedState:
    """What is known of a feed; of a new one nothing."""

    id: int
    etag: str | None
    modified: str | None
    not_before: datetime | None
    failures: int
    problem: str | None


def feed(cursor: Cursor, address: str) -> FeedState:
    """What is known of a feed, remembered from now on. Raises InputError: its address is too long."""
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
    """What is known of an id in a feed.

    Attributes:
        own: it is the feed that was asked about.
        address: of the feed.
        digest: of the version that was submitted last.
        brought: the feed brought the article; False: it came another way; None: none was submitted.
    """

    own: bool
    address: str
    digest: bytes
    brought: bool | None


def seen(cursor: Cursor, feed: int, ids: Sequence[str]) -> dict[str, list[Seen]]:
    """What is known of entries by their ids, in all feeds."""
    found: dict[str, list[Seen]] = defaultdict(list)
    rows = cursor.execute(_sql("seen"), {"feed": feed, "ids": list(ids)}).fetchall()
    for source_id, own, address, digest, brought in rows:
        found[source_id].append(Seen(own, address, bytes(digest), brought))
    return found


def claim(cursor: Cursor, feed: int, source_id: str, *, shared: bool) -> bool:
    """Whether the feed may store or edit the article: it came no other way. `shared`: a feed of its site
    brought it.
    """
    row = cursor.execute(_sql("claim"), {"feed": feed, "id": source_id, "shared": shared}).fetchone()
    assert row is not None
    return bool(row[0])


def note_entry(cursor: Cursor, feed: int, source_id: str, digest: bytes) -> None:
    cursor.execute(_sql("note_entry"), {"feed": feed, "id": source_id, "digest": digest})


def answered(
    cursor: Cursor, feed: int, ids: Sequence[str], etag: str | None = None, modified: str | None = None
) -> None:
    """A feed answered with these entries, which are all submitted; `etag`, `modified`: of that answer."""
    kept = [header if header and _can_be_sent_back(header) else None for header in (etag, modified)]
    cursor.execute(_sql("answered"), {"feed": feed, "etag": kept[0], "modified": kept[1]})
    if ids:
        cursor.execute(_sql("still_there"), {"feed": feed, "ids": list(ids)})
        cursor.execute(_sql("forget_entries"), {"feed": feed, "days": FORGET_DAYS})


def failed(cursor: Cursor, feed: int, problem: str, seconds: float, *, asked: bool = False) -> None:
    """A feed failed, or `asked` for a pause; it is asked again after so many seconds."""
    values = {"feed": feed, "problem": problem, "seconds": seconds, "failures": 0 if asked else 1}
    cursor.execute(_sql("failed"), values)


def _can_be_sent_back(header: str) -> bool:
    return len(header) <= MAX_HEADER_CHARACTERS and header.isascii() and header.isprintable()
