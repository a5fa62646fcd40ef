"""Read news sitemaps, which list addresses, titles and dates of articles without texts, and sitemap indexes.

Only addresses with the element `news:news` are read, because a plain sitemap lists every page of a site.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urldefrag, urlsplit

from dedup.base.errors import InputError
from dedup.base.times import parse_time
from dedup.files.entries import FeedDocument

MAX_CHILDREN = 20  # Maximum number of sitemaps of an index that are read, the newest first
MAX_ADDRESS_BYTES = 2_000  # Maximum length of the address of a feed or a sitemap
RECENT = timedelta(days=3)  # Maximum age of a sitemap that is read; news sitemaps cover two days


def children(document: FeedDocument, now: datetime | None = None) -> list[str]:
    """Return the addresses of recent sitemaps in an index, the newest first, each once."""
    since = (now or datetime.now(UTC)) - RECENT
    found: list[tuple[bool, datetime, str]] = []
    for _, _, entry in document.entries:
        values = {} if isinstance(entry, str) else _values(entry)
        if (address := values.get("loc")) and _is_address(address):
            changed = None
            with suppress(InputError):
                changed = parse_time(values.get("lastmod"), "lastmod")
            found.append(("news" in address.lower(), changed or since, address))
    if any(news for news, _, _ in found):
        found = [one for one in found if one[0]]
    recent = sorted((one for one in found if one[1] >= since), key=lambda one: one[1], reverse=True)
    return list(dict.fromkeys(urldefrag(address)[0] for _, _, address in recent))


def articles(document: FeedDocument) -> Iterator[dict[str, str]]:
    """Yield the values of each article by field; `changed` is the time of the last change."""
    for _, _, entry in document.entries:
        values = {} if isinstance(entry, str) else _values(entry)
        if "news" not in values or "loc" not in values:
            continue
        named = {
            "url": values["loc"],
            "title": values.get("title"),
            "published_at": values.get("publication_date"),
            "publication": values.get("name"),
            "language": values.get("language"),
            "changed": values.get("lastmod"),
        }
        yield {name: value for name, value in named.items() if value}


def _is_address(given: str) -> bool:
    with suppress(ValueError):
        usable = given.isprintable() and len(given.encode()) <= MAX_ADDRESS_BYTES
        return usable and urlsplit(given).scheme in ("http", "https")
    return False


def _values(entry: Any) -> dict[str, str]:
    """Return the texts of all elements by local name; of elements with the same name, the first counts."""
    found: dict[str, str] = {}
    for element in entry.iter():
        if isinstance(element.tag, str):
            name = element.tag.rpartition("}")[2]
            found.setdefault(name, (element.text or "").strip())
    return found
