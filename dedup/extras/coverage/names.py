"""Propose aliases of outlets, and outlets of one owner, from the names of outlets alone.

    www.example.com, feeds.example.com    aliases of example.com
    RSS Courier, Courier - Opinion        aliases of Courier
    Courier (Glasgow)                     an alias of Courier, if no other Courier (…) is there
    TheCourier.com, Courier               aliases of the one with more articles
    boston.example.com                    an outlet of the family example.com

A person reviews the proposals, so a rough rule for domains is enough: no list of public suffixes is needed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from dedup.base.folding import same_word

HOST = re.compile(r"(?:https?://)?((?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z]{2,24})/?", re.IGNORECASE)
"""An internet name, perhaps as an address without a path."""

SAME_OUTLET = re.compile(r"(?:www\d?|feeds?\d?|rss|amp|m|mobile|beta)\.")
"""First labels of a host that name a service of the same outlet."""

SECOND_LEVEL = frozenset(
    ("ac", "co", "com", "edu", "gob", "gouv", "gov", "go", "ne", "net", "nic", "nom", "or", "org")
)
"""Labels below a country's domain under which registries sell names, such as `co` in `bbc.co.uk`."""

HOSTING = frozenset(
    (
        *("blogspot.com", "github.io", "livejournal.com", "medium.com", "over-blog.com", "substack.com"),
        *("tumblr.com", "typepad.com", "weebly.com", "wixsite.com", "wordpress.com"),
    )
)
"""Domains whose subdomains have different owners."""

RSS = re.compile(r"^\s*rss(?: feed)?[\s:|-]+|[\s:|-]rss(?: feed)?\s*$", re.IGNORECASE)
"""The word RSS before or after a name."""

BRACKET = re.compile(r"\([^()]*\)\s*$")
"""A bracket at the end, often with a town or a country; it may tell two outlets apart."""

ADDITION = re.compile(rf"{BRACKET.pattern}|\s[-–—|]\s.*$")
"""A bracket at the end of a name, or everything after a dash."""

SECTIONS = frozenset(
    (
        *("news", "opinion", "opinions", "editorial", "editorials", "column", "comment", "commentary"),
        *("letters", "blog", "blogs", "analysis", "politics", "world", "national", "local", "business"),
        *("economy", "money", "markets", "sport", "sports", "culture", "arts", "entertainment", "lifestyle"),
        *("science", "health", "travel", "online", "web", "website", "digital", "print", "mobile"),
        *("technology", "tech", "daily", "sunday", "weekend", "edition", "top", "latest", "breaking"),
        *("headlines", "stories", "articles", "home", "homepage", "rss", "feed", "feeds", "and"),
        *("nachrichten", "politik", "wirtschaft", "meinung", "kultur", "actualites", "politique", "economie"),
        *("noticias", "politica", "economia", "deportes", "cultura", "portada"),
    )
)
"""Words for a section or an edition of an outlet. Other additions ("- Left") may be part of the name."""


class OutletName(NamedTuple):
    """An outlet's name, and its number of articles."""

    name: str
    articles: int


class Proposed(NamedTuple):
    """A proposal for an outlet: another name of `alias_of`, or an outlet of `family`."""

    name: str
    alias_of: str | None
    family: str | None


def host_of(name: str) -> str | None:
    """Return the host in lower case if a name is an internet name."""
    found = HOST.fullmatch(name.strip())
    return found[1].lower() if found else None


def registrable(host: str) -> str:
    """Return the part of a host that an owner registers: two labels, three below `co.uk` and the like.

    >>> registrable("news.bbc.co.uk"), registrable("feeds.startribune.com"), registrable("ada.blogspot.com")
    ('bbc.co.uk', 'startribune.com', 'ada.blogspot.com')
    """
    labels = host.split(".")
    below = len(labels[-1]) == 2 and len(labels) > 2 and labels[-2] in SECOND_LEVEL
    more = below or ".".join(labels[-2:]) in HOSTING
    return ".".join(labels[-3 if more else -2 :])


def _outlet_key(name: str) -> str:
    """Return a key that names of one outlet share; empty for a name without letters and numbers."""
    if host := host_of(name):
        bare = SAME_OUTLET.sub("", host)
        host = bare if "." in bare else host
        # Outlets are often named like their .com domain: TheBlaze, TheBlaze.com.
        return _letters(host.removesuffix(".com")) if host.count(".") == 1 else host
    bare = RSS.sub("", name)
    added = ADDITION.search(bare)
    if added and SECTIONS.issuperset(re.findall(r"\w+", same_word(added[0]))):
        bare = bare[: added.start()]
    return _letters(bare) or _letters(name)


def _letters(name: str) -> str:
    letters = re.sub(r"[\W_]", "", same_word(name))
    return letters.removeprefix("the") or letters


def propose(names: Sequence[OutletName]) -> list[Proposed]:
    """Return proposals, sorted by name. Names of one outlet become aliases of the name with most articles."""
    groups: dict[str, list[str]] = defaultdict(list)
    keys = {one.name: _outlet_key(one.name) for one in names}
    plain = {name: _outlet_key(BRACKET.sub("", name)) or key for name, key in keys.items()}
    bracketed = Counter(
        bare for bare, key in {(plain[name], key) for name, key in keys.items()} if bare != key
    )
    for one in sorted(names, key=lambda one: (-one.articles, len(one.name), one.name)):
        # "Times (London)" is taken for "Times", unless there are other names such as "Times (Perth)".
        bare = plain[one.name]
        if key := bare if bracketed[bare] == 1 else keys[one.name]:
            groups[key].append(one.name)
    aliases = {name: group[0] for group in groups.values() for name in group[1:]}
    families: dict[str, list[str]] = defaultdict(list)
    for name, *_ in groups.values():
        if host := host_of(name):
            families[registrable(host)].append(name)
    owners = {name: domain for domain, group in families.items() for name in group if len(group) > 1}
    found = [Proposed(name, outlet, None) for name, outlet in aliases.items()]
    return sorted([*found, *(Proposed(name, None, owner) for name, owner in owners.items())])
