"""Submit the entries of a feed one by one, so that a bad entry or page does not affect other entries.

An entry is a new article, or a new version of an article that came from a feed of the same site. An entry may
claim the id of an article of another site. So ids are valid only within the site of the feed (`identity.py`),
and a feed never changes an article that came from elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from dedup.base.article import Article
from dedup.base.errors import AttachedError, DatabaseError, DedupError, InputError, is_about_input
from dedup.base.html import extract
from dedup.base.printable import printable
from dedup.base.verdict import Verdict
from dedup.db.database import Database
from dedup.extras.watch import feeds as store
from dedup.extras.watch.feeds import Seen
from dedup.extras.watch.fetching import Client
from dedup.extras.watch.identity import Ids, ids_of, site_of
from dedup.extras.watch.polled import Entry
from dedup.extras.watch.reaching import FetchError, StoppedError
from dedup.files.record import describe_error, make_article
from dedup.settling.submit import Submissions

AT_ONCE = 300  # Maximum number of entries that are looked up in one statement
MAX_PAGES = 1_000  # Maximum number of pages read in a poll of a feed; the next poll reads the rest

OUTCOMES = ("new", "changed", "known", "refused", "left")

Told = Callable[[Verdict, Article], None]
"""A function that gets each verdict with its article."""

log = logging.getLogger("dedup.watch")


class Submitter:
    """Submit entries; safe for many threads. `told`: called for each submitted article, one at a time."""

    def __init__(
        self, database: Database, client: Client | None, stopped: Callable[[], bool], told: Told | None
    ) -> None:
        self._database, self._submissions = database, Submissions(database)
        self._client, self._stopped, self._told = client, stopped, told
        self._lock = Lock()

    def submit_all(
        self, given: str, feed_id: int, entries: Sequence[Entry]
    ) -> tuple[dict[str, int], list[str]]:
        """Submit new and changed entries; return counts by outcome, and all ids. Raises StoppedError."""
        counts = dict.fromkeys(OUTCOMES, 0)
        ids: list[str] = []
        pages = 0
        for entry, found in known(self._database, given, feed_id, entries):
            ids.append(found.source_id)
            if found.foreign or entry.digest == found.before:
                counts["known"] += 1
                continue
            if self._stopped():
                raise StoppedError("stopped between two entries")
            outcome = "known"
            if entry.digest not in found.others:  # no other feed of the site brought this version
                pages += self._needs_page(entry)
                outcome = "left" if pages > MAX_PAGES else self._submit(entry, given, feed_id, found)
                outcome = "changed" if outcome == "new" and any(found.others) else outcome
            counts[outcome] += 1
            if outcome != "left":
                # Note the entry only after submitting it: after a crash, a repeated submission does no harm.
                with self._database.transaction() as cursor:
                    store.note_entry(cursor, feed_id, found.source_id, entry.digest)
        return counts, ids

    def _needs_page(self, entry: Entry) -> bool:
        return bool(self._client and not entry.full and entry.found.get("url"))

    def _submit(self, entry: Entry, given: str, feed_id: int, seen: KnownEntry) -> str:
        """Submit an entry; return "new", "refused", "known" (article from elsewhere), "left" (for later)."""
        shown = printable(seen.source_id)
        try:
            article = self._article(entry, given, seen.source_id)
        except FetchError:
            return "left"
        except InputError as error:
            log.debug("%s: %s", shown, error, extra={"event": "refused", "id": seen.source_id})
            return "refused"
        with self._database.transaction() as cursor:
            if not store.claim(cursor, feed_id, article.source_id, shared=seen.shared):
                extra = {"event": "foreign", "id": article.source_id}
                log.info("%s: not changed, because the article came from elsewhere", shown, extra=extra)
                return "known"
        try:
            verdict = self._submissions.submit(article, self._database.timeouts.hook)
        except (DatabaseError, AttachedError) as error:
            if not is_about_input(error):
                raise
            # The database works, but refuses this article.
            log.warning("%s: %s", shown, error, extra={"event": "refused", "id": article.source_id})
            return "refused"
        if self._told is not None:
            with self._lock:
                self._told(verdict, article)
        return "new"

    def _article(self, entry: Entry, given: str, source_id: str) -> Article:
        """Return the article of an entry. Raises InputError, or FetchError if a later poll may succeed."""
        found = {**entry.found, "source_id": source_id}
        if self._client and self._needs_page(entry):
            try:
                found["text"] = extract(self._client.page(found["url"], given))
            except FetchError as error:
                log.info("%s", printable(str(error)), extra={"event": "page", "id": source_id})
                if error.passes:
                    raise
            except (StoppedError, MemoryError):
                raise
            except Exception as error:
                # A parser may raise any exception on a bad page; then the article gets the text of the feed.
                reason = error if isinstance(error, InputError) else describe_error(error)
                log.info("%s: %s", printable(found["url"]), reason, extra={"event": "page", "id": source_id})
        try:
            return make_article(found)[0]
        except (DedupError, MemoryError):
            raise
        except Exception as error:
            raise InputError(describe_error(error)) from None


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """The stored facts about an entry, and the id that the article gets."""

    source_id: str
    before: bytes | None  # digest of the last version in this feed that was submitted or refused
    others: frozenset[bytes]  # digests of the article's last version in each feed of the site
    shared: bool  # whether feeds of this site brought the article, so that they share it
    foreign: bool  # the article was stored before the feed listed it, so the feed must not change it


def known(
    database: Database, given: str, feed_id: int, entries: Sequence[Entry]
) -> Iterator[tuple[Entry, KnownEntry]]:
    """Yield each entry with the stored facts about it. `given`: the address that the operator gave."""
    for at in range(0, len(entries), AT_ONCE):
        batch = entries[at : at + AT_ONCE]
        named = [(one, ids_of(given, one.source_id, one.found.get("url"))) for one in batch]
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
    # Older versions of dedup stored articles under the claimed id. Keep the claimed id if the article stored
    # under it surely came from this entry.
    if (old := _own(seen, ids.claimed)) and (old.brought or ids.within_site or old.digest == digest):
        return ids.claimed
    if ids.shared and (ids.shared not in seen or _family(seen, ids.shared, site)):
        return ids.shared
    return ids.own


def _own(seen: Mapping[str, Sequence[Seen]], source_id: str) -> Seen | None:
    return next((one for one in seen.get(source_id, ()) if one.own), None)


def _family(seen: Mapping[str, Sequence[Seen]], source_id: str, site: str | None) -> list[Seen]:
    """Return the stored entries that feeds of the site have for an id."""
    return [one for one in seen.get(source_id, ()) if one.own or site_of(one.address) == site]
