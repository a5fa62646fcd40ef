"""Which article an entry of a feed is: one that its feed, or another one of the site, brought, or a new one.

An entry says itself who it is, and may lie. So what it says counts only within the site of its feed
(`../files/identity.py`), and an article that came another way is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dedup.db.database import Database
from dedup.extras.watch import feeds as store
from dedup.extras.watch.feeds import Seen
from dedup.extras.watch.polled import Entry
from dedup.files.identity import Ids, ids_of, site_of

AT_ONCE = 300  # Entries that are looked up in one statement


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """What is known of an entry.

    Attributes:
        source_id: of the article that it is.
        before: digest of the version that its feed had last.
        others: digests that feeds of its site had last.
        shared: another feed of its site brought the article.
        foreign: the article came another way.
    """

    source_id: str
    before: bytes | None
    others: frozenset[bytes]
    shared: bool
    foreign: bool


def known(
    database: Database, given: str, feed_id: int, entries: Sequence[Entry]
) -> Iterator[tuple[Entry, KnownEntry]]:
    """Each entry with what is known of it. `given`: the address that the operator gave."""
    for at in range(0, len(entries), AT_ONCE):
        named = [
            (entry, ids_of(given, entry.source_id, entry.found.get("url")))
            for entry in entries[at : at + AT_ONCE]
        ]
        wanted = {one for _, ids in named for one in (ids.shared, ids.own, ids.claimed) if one}
        with database.transaction() as cursor:
            seen = store.seen(cursor, feed_id, sorted(wanted))
        for entry, ids in named:
            yield entry, _known(ids, site_of(given), entry.digest, seen)


def _known(ids: Ids, site: str | None, digest: bytes, seen: Mapping[str, Sequence[Seen]]) -> KnownEntry:
    source_id = _chosen(ids, site, digest, seen)
    own = _own(seen, source_id)
    family = _family(seen, source_id, site)
    return KnownEntry(
        source_id,
        own.digest if own else None,
        frozenset(one.digest for one in family),
        any(one.brought for one in family),
        own is not None and own.brought is False,
    )


def _chosen(ids: Ids, site: str | None, digest: bytes, seen: Mapping[str, Sequence[Seen]]) -> str:
    for source_id in (ids.shared, ids.own):
        if source_id and _own(seen, source_id):
            return source_id
    # From before an id had to lie within the site of its feed. The migration said which are the feed's.
    if (old := _own(seen, ids.claimed)) and (old.brought or ids.at_home or old.digest == digest):
        return ids.claimed
    if ids.shared and (ids.shared not in seen or _family(seen, ids.shared, site)):
        return ids.shared
    return ids.own


def _own(seen: Mapping[str, Sequence[Seen]], source_id: str) -> Seen | None:
    return next((one for one in seen.get(source_id, ()) if one.own), None)


def _family(seen: Mapping[str, Sequence[Seen]], source_id: str, site: str | None) -> list[Seen]:
    """What feeds of the site know of an id."""
    return [one for one in seen.get(source_id, ()) if one.own or site_of(one.address) == site]
