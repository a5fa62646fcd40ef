"""Make templates safe for hostile texts: escape all values, and replace characters that HTML forbids."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dedup.base.words import FILTERS

# Characters that become U+FFFD: control characters without a symbol in Unicode, noncharacters, surrogates,
# U+202D and U+202E. The last two override the direction of writing, so a title could reverse text after it.
_UNSHOWN = (*range(0x7F, 0xA0), 0x202D, 0x202E, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000))
_PICTURES = dict.fromkeys(_UNSHOWN, 0xFFFD)
_PICTURES |= {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x0D: 0x0A}


def printable(text: str) -> str:
    """Replace characters that HTML forbids: a control character becomes its symbol, such as ␀, or U+FFFD."""
    return text.translate(_PICTURES)


def outside(url: str | None) -> str | None:
    """Return the url if it is safe to link to (http or https, with a host), else None."""
    # `javascript:` would run with the page's rights; blanks and control characters hide the real target.
    if url is None or not re.match(r"https?://", url, re.IGNORECASE) or re.search(r"[\s\x00-\x1f\x7f]", url):
        return None
    try:
        return url if urlsplit(url).hostname else None
    except ValueError:
        return None


@cache
def environment(package: str) -> Environment:
    """Return an environment with the templates of `package`, and shared templates of `dedup.extras.pages`."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("dedup.extras.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        # Charts are Markup; `charts.py` has already made their texts printable.
        finalize=lambda v: printable(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {**FILTERS, "outside": outside}
    return made
