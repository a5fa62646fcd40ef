"""Templates that hostile texts cannot harm: every value is escaped, and what cannot be shown is replaced."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dedup.base.words import FILTERS

_UNSHOWN = (*range(0x7F, 0xA0), 0x202D, 0x202E, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000))
"""Control characters without a picture, the two that turn the direction of what follows by force, code
points that are no characters."""

_PICTURES = dict.fromkeys(_UNSHOWN, 0xFFFD)
_PICTURES |= {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x0D: 0x0A}


def printable(text: str) -> str:
    """A text without characters that HTML forbids: control characters become their pictures."""
    return text.translate(_PICTURES)


def outside(url: str | None) -> str | None:
    """The url if it may be a link (web, with a host), else None."""
    if url is None or not re.match(r"https?://", url, re.IGNORECASE) or re.search(r"[\s\x00-\x1f\x7f]", url):
        return None
    try:
        return url if urlsplit(url).hostname else None
    except ValueError:
        return None


@cache
def environment(package: str) -> Environment:
    """The templates of a package, with the components of this one beside them."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("dedup.extras.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        # Of every value of a template; our own charts are markup already.
        finalize=lambda v: printable(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {**FILTERS, "outside": outside}
    return made
