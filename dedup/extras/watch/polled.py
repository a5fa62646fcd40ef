"""Return the entries of a feed or news sitemap, each with a digest, and find feeds that a page names."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from html import unescape
from typing import Any
from urllib.parse import urljoin

from dedup.base.errors import InputError
from dedup.base.times import parse_time
from dedup.extras.watch import sitemaps
from dedup.files import feeds
from dedup.files.dates import Dates
from dedup.files.entries import FeedDocument

DIGEST_BYTES = 16
LOOKED_AT_BYTES = 200_000  # Maximum part of a page that is searched for feeds
FEEDS_NAMED = 5  # Maximum number of a page's feeds that a message names


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a feed."""

    source_id: str
    found: dict[str, Any]  # values by article field
    full: bool  # the feed claims to have the whole text
    digest: bytes  # hash of title, text, address and date, which differs between versions


def entries(document: FeedDocument, publication: str | None, *, fetched: bool) -> list[Entry]:
    """Return the entries that have an id, the oldest first; of entries with the same id, the first is used.

    `publication` replaces the document's outlet. `fetched`: missing texts are read from pages. Then the
    digest of an entry without a full text includes the time of the last change, because the page may have
    changed.
    """
    if document.root == "urlset":
        articles = sitemaps.articles(document)
        listed = [({**found, "source_id": found["url"]}, False, found.get("changed")) for found in articles]
    else:
        listed = list(feeds.read_entries(document))
    dates = Dates()
    dates.scan(found for found, _, _ in listed)
    made: dict[str, Entry] = {}
    # If several entries have the same id, the first of them is usually the newest. Read backwards, so that
    # the first entry replaces the others in `made`.
    for found, full, changed in reversed(listed):
        found.pop("changed", None)
        dates.convert(found)
        if publication:
            found["publication"] = publication
        if source_id := found.get("source_id"):
            seen = changed if fetched and not full else None
            made[source_id] = Entry(source_id, found, full, _digest(found, seen))
    return sorted(made.values(), key=_age)


def feeds_of_page(url: str, body: bytes) -> list[str]:
    """Return the addresses of feeds that a page names in its links."""
    start = body[:LOOKED_AT_BYTES].decode("utf-8", "replace")
    links = re.findall(r"<link\b[^<>]*>", start)
    links = [one for one in links if re.search(r"application/(rss|atom)\+xml", one)]
    found = [re.search(r"""href\s*=\s*["']([^"'<>]+)""", link) for link in links]
    named = []
    for one in found[:FEEDS_NAMED]:
        with suppress(ValueError):
            named += [urljoin(url, unescape(one[1]))] if one else []
    return named


def _digest(found: dict[str, Any], changed: str | None) -> bytes:
    names = ("title", "text", "url", "published_at")
    parts = [str(found.get(name) or "") for name in names] + [changed or ""]
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _age(entry: Entry) -> datetime:
    with suppress(InputError):
        if time := parse_time(entry.found.get("published_at"), "published_at"):
            return time
    return datetime.max.replace(tzinfo=UTC)
