"""Make templates safe for hostile texts: values are escaped, and characters that HTML forbids replaced."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dedup.base.words import FILTERS

# Control characters without a picture of their own, noncharacters, surrogates. And the two overrides of
# direction, U+202D and U+202E: with them a title could turn the rest of its line around.
_UNSHOWN = (*range(0x7F, 0xA0), 0x202D, 0x202E, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000))
_PICTURES = dict.fromkeys(_UNSHOWN, 0xFFFD)
_PICTURES |= {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x0D: 0x0A}


def printable(text: str) -> str:
    """Return a text without characters that HTML forbids: control characters become their pictures."""
    return text.translate(_PICTURES)


def outside(url: str | None) -> str | None:
    """Return the url if it may be a link (http or https, with a host), else None."""
    # `javascript:` would run with the rights of the page; blanks and controls hide what a browser opens.
    if url is None or not re.match(r"https?://", url, re.IGNORECASE) or re.search(r"[\s\x00-\x1f\x7f]", url):
        return None
    try:
        return url if urlsplit(url).hostname else None
    except ValueError:
        return None


@cache
def environment(package: str) -> Environment:
    """Return the templates of a package, with the components of this one beside them."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("dedup.extras.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        # Charts are Markup and were made printable when they were drawn.
        finalize=lambda v: printable(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {**FILTERS, "outside": outside}
    return made
