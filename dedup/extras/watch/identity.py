"""Make ids of entries that belong to the site of the feed, whatever ids the entries claim.

A site is a registrable domain (`courier.co.uk`, `alice.github.io`) by the list in the package `tld`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from urllib.parse import urlsplit

from dedup.base.article import MAX_SOURCE_ID_BYTES, storable, utf8_size

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Ids:
    """The possible ids of an entry."""

    shared: str | None  # an id that all feeds of the site share; None if the entry links to another site
    own: str  # an id that only this feed can have
    claimed: str  # the id in the entry, which older versions of dedup used
    within_site: bool  # the claimed id belongs to the site of the feed


def ids_of(feed: str, claimed: str, link: str | None) -> Ids:
    """Return the possible ids of an entry.

    `feed`: the address that the operator gave. `claimed`: the guid or link of the entry.
    """
    site = site_of(feed)
    within_site = site is not None and _claimed_site(claimed) == site
    shared = None
    if site is not None and link and site_of(link) == site:
        shared = claimed if within_site else f"{site}/{claimed}"
        shared = shared if _usable(shared) else None
    own = f"{feed}#{claimed}"
    if not _usable(own):
        digest = blake2b(f"{feed}\0{claimed}".encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
        own = f"http://{site}/#{digest.hexdigest()}"
    return Ids(shared, own, claimed if _usable(claimed) else own, within_site)


def site_of(address: str) -> str | None:
    """Return the site of an http or https address: the domain, or host and port; None for other addresses."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    return _domain(host) or (f"{host}:{port}" if port else host)


def _claimed_site(claimed: str) -> str | None:
    """Return the site of an id that is an address, or that begins with a host and a slash."""
    if re.match(r"https?:", claimed):
        return site_of(claimed)
    host, slash, _ = claimed.partition("/")
    return site_of(f"http://{host}/") if slash and ("." in host or ":" in host) else None


@lru_cache(maxsize=1_000)
def _domain(host: str) -> str | None:
    """Return the registrable domain of a host; None for an IP address, or a name without a dot."""
    from tld import get_fld

    host = host.rstrip(".")
    try:
        ip_address(host)
    except ValueError:
        pass
    else:
        return None
    if "." not in host:
        return None
    found = get_fld(f"http://{host}/", fail_silently=True, search_private=True)
    return found or ".".join(host.split(".")[-2:])  # the last two labels if `tld` does not know the suffix


def _usable(made: str) -> bool:
    return utf8_size(made) <= MAX_SOURCE_ID_BYTES and storable(made) == made
