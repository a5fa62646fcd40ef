"""Extract the text of an article from HTML, with trafilatura or the plug-in that `DEDUP_EXTRACTOR` names."""

from __future__ import annotations

import html as entities
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from dedup.base import config, plugins
from dedup.base.errors import InputError
from dedup.base.extras import installing

# The longest news pages that we saw have 2,000,000 characters, mostly scripts.
MAX_HTML_CHARACTERS = 5_000_000
# A news page has 500 to 5,000 tags. Tags after this maximum are dropped; their text is kept.
MAX_TAGS = 20_000
# lxml fails at 256 levels of nested elements; news pages have 20 to 40.
MAX_DEPTH = 200
MAX_ATTRIBUTES = 30
# Longer values of attributes are cut, since most are encoded pictures without text.
MAX_ATTRIBUTE_CHARACTERS = 300
LOOKED_AT_CHARACTERS = 100_000  # Characters at the beginning of a text that are tested for HTML

_DOCUMENT = re.compile(
    r"\s*(?:<!--.{0,1000}?-->\s*)?(?:<\?xml[^<>]*>\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_PAGE = re.compile(r"<(?:html|head|body|header|footer|nav|main|article)\b", re.I)
"""Tags that only a whole page has. HTML without these tags is an article body, and all its text is kept."""
_BLOCKS = (
    "address|article|aside|blockquote|br|caption|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|"
    "li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul"
)
_BLOCK = re.compile(_BLOCKS)
_REAL_TAG = re.compile(
    rf"</?(?:{_BLOCKS}|a(?=\s+[a-z]|>)|abbr|audio|b|em|i|iframe|img|object|picture|script|small|span|strong|style|sub|sup|svg|u|"
    r"video)"
    r"(?:\s[^<>]*)?/?>",
    re.I,
)
_INLINES = (
    "abbr|b|bdi|big|center|cite|code|del|dfn|em|font|i|img|ins|kbd|mark|nobr|q|s|samp|script|small|span|strike|"
    "strong|style|sub|sup|time|title|tt|u|var|wbr"
)
_BLOCK_TAG = rf"(?i)</?(?:{_BLOCKS})(?:\s[^<>]*)?/?>"
_INLINE_TAG = rf"(?i)</?(?:{_INLINES}|a(?=\s+[a-z]+\s*=|>))(?:\s[^<>]*)?/?>"
# The `;` is required: `AT&T`, and `&copy` in a web address, are not entities.
_ENTITY = r"&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});"
# At each character only one alternative fits, so matching takes linear time. Possessive quantifiers would be
# wrong: up to Python 3.11.4 a possessive group whose parts backtrack matches too little.
_WITHOUT_WORDS = re.compile(
    rf"""(?:\s|<!--(?:[^-]|-(?!->))*-->|</?[a-z](?:[^<>"']|"[^"]*"|'[^']*')*>|{_ENTITY})+""", re.I
)
"""A text of nothing but tags, comments and entities, such as a body that is only a picture."""
# Prose about HTML may mention two tags. So two tags prove HTML only if the text begins with a tag.
_TAGS_AT_START, _TAGS_ANYWHERE = 2, 3
_SURROGATES = re.compile(
    r"&#(?:[xX][dD][89abAB][0-9a-fA-F]{2}|5(?:5[3-9]\d\d|6[0-3]\d\d));"
    r"&#(?:[xX][dD][c-fC-F][0-9a-fA-F]{2}|5(?:6[3-9]\d\d|7[0-3]\d\d));"
)
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]{0,30}")
_NO_TAG = re.compile(r"<+(?![a-zA-Z/!?])|<")
_SKIP = re.compile(r"[\s/]*")
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]*)))?""")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "wbr")
)
_RAW = frozenset(("script", "style", "textarea", "noscript", "iframe", "title"))
"""Elements whose content is not part of the article's text."""
_ENDS = {name: re.compile(rf"</{name}\b", re.I) for name in _RAW}
_SELF_CLOSING = frozenset(("p", "li", "td", "th", "tr", "dt", "dd", "option"))


def looks_like_html(text: str) -> bool:
    """Return whether a text is a page or a fragment of HTML, not prose that mentions a tag."""
    if "<" not in text and "&" not in text:
        return False
    if _DOCUMENT.match(text) or _WITHOUT_WORDS.fullmatch(text):
        return True
    start = text[:LOOKED_AT_CHARACTERS]
    tags = list(islice(_REAL_TAG.finditer(start), _TAGS_ANYWHERE))
    at_start = bool(tags) and not start[: tags[0].start()].strip()
    return len(tags) >= (_TAGS_AT_START if at_start else _TAGS_ANYWHERE)


def extract(html: str) -> str:
    """Return the article's text from a page of HTML, or all the text of a fragment.

    Raises InputError: trafilatura is not installed, or the page is longer than MAX_HTML_CHARACTERS or has no
    text. The message quotes no part of the page.
    """
    extractor = need_extractor()
    if len(html) > MAX_HTML_CHARACTERS:
        raise InputError(f"the HTML is longer than {MAX_HTML_CHARACTERS:,} characters")
    html = paired(html.replace("\0", "").encode("utf-8", "ignore").decode("utf-8"))
    found: Any = None
    # The extractor drops text before the first block, as if it were a menu. So it gets only whole pages.
    if _PAGE.search(html):
        # Hostile HTML can cause any exception in a parser. All the text of the page is used in that case.
        with suppress(Exception):
            # lxml takes minutes for a tag with 100,000 attributes, so tags and attributes are limited first.
            found = extractor(_rewritten(_tokens(html)))
    text = (found or "").strip() or _all_text(_tokens(html))
    if not text:
        raise InputError("the HTML has no text")
    return text


def paired(text: str) -> str:
    """Replace two HTML entities (numbers of UTF-16 units) by one character: `&#55357;&#56832;` by 😀."""
    return _SURROGATES.sub(_one, text) if "&#" in text else text


def _one(pair: re.Match[str]) -> str:
    numbers = (half.strip("&#;") for half in pair[0].split(";")[:2])
    halves = [int(number[1:], 16) if number[0] in "xX" else int(number) for number in numbers]
    made = "".join(map(chr, halves)).encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return made if len(made) == 1 else pair[0]


def readable(body: str) -> str:
    """Return the text of a stored body, which may be HTML; an empty string if the HTML has no text.

    A body above MAX_HTML_CHARACTERS is returned unchanged. Raises InputError: no extractor is installed.
    """
    if not looks_like_html(body) or len(body) > MAX_HTML_CHARACTERS:
        return body
    need_extractor()
    try:
        return extract(body)
    except InputError:  # The HTML has no text
        return ""


def plain_title(title: str) -> str:
    """Return a title on one line, without HTML tags, and with HTML entities unescaped once.

    A title such as `AT&T <Live>` is unchanged: HTML has no tag `<Live>`, and an entity ends in `;`.
    """
    if "<" not in title and "&" not in title:
        return title
    untagged = re.sub(_BLOCK_TAG, " ", paired(title))
    untagged = re.sub(_INLINE_TAG, "", untagged)
    plain = re.sub(_ENTITY, lambda entity: entities.unescape(entity[0]), untagged)
    return title if plain == title else _SPACE.sub(" ", plain).strip()


def take_out(found: dict[str, Any], page: str | None) -> None:
    """Set `text` in `found` to the text of an HTML page, if given; remove HTML from `title` in `found`."""
    if page is not None:
        found["text"] = extract(page)
    if isinstance(title := found.get("title"), str):
        found["title"] = plain_title(title)


def need_extractor() -> Callable[[str], Any]:
    """Return the function that extracts the text of a page. Raises InputError: no extractor is installed."""
    if choice := config.find("extractor"):
        name = choice.value
        found: Callable[[str], Any] | None = plugins.loaded("extractors", name)
        if found:
            return found
        known = ", ".join(plugins.declared("extractors")) or "none"
        raise InputError(f"{choice.source} is {name}, but no plug-in has this extractor; known: {known}")
    try:
        import trafilatura
    except ImportError:
        raise InputError(f"HTML needs trafilatura: run `{installing('html')}`") from None
    for name in ("trafilatura", "htmldate", "courlan", "justext"):
        logger = logging.getLogger(name)
        # These libraries log every broken page. Silence them, unless the program has set the logger's level.
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL + 1)
    return partial(trafilatura.extract, output_format="txt", favor_recall=True, include_comments=False)


Token = tuple[str, str, str]
"""Part of a page: ("text", "", text), ("open", tag, attributes), ("close", tag, "") or ("data", "", JSON)."""


def _tokens(html: str) -> Iterator[Token]:
    # An unclosed tag or comment ends at the end of the page. If it ended earlier, each of many unclosed tags
    # would cause another search through the rest of the page, which takes quadratic time.
    position = 0
    while (at := html.find("<", position)) >= 0:
        if at > position:
            yield "text", "", html[position:at]
        name = _NAME.match(html, at + 1)
        if name:
            position, attributes = _attributes(html, name.end())
            tag = name[0].lower()
            yield "open", tag, attributes
            if tag in _RAW:
                end = _ENDS[tag].search(html, position)
                content = html[position : end.start() if end else len(html)]
                if tag == "script" and "ld+json" in attributes:
                    yield "data", "", content
                position = end.start() if end else len(html)
        elif html.startswith("</", at) and (name := _NAME.match(html, at + 2)):
            yield "close", name[0].lower(), ""
            position = _after(html, ">", name.end())
        elif html.startswith("<!--", at):
            position = _after(html, "-->", at + 4)
        elif html.startswith(("<!", "<?", "</"), at):
            position = _after(html, ">", at)
        else:
            ends = _NO_TAG.match(html, at)
            position = ends.end() if ends else at + 1
            yield "text", "", "&lt;" * (position - at)
    if position < len(html):
        yield "text", "", html[position:]


def _after(html: str, mark: str, start: int) -> int:
    found = html.find(mark, start)
    return found + len(mark) if found >= 0 else len(html)


def _attributes(html: str, position: int) -> tuple[int, str]:
    """Return the position after a tag, and at most MAX_ATTRIBUTES attributes of the tag as HTML."""
    kept: list[str] = []
    while True:
        skipped = _SKIP.match(html, position)
        position = skipped.end() if skipped else position
        if position >= len(html):
            return position, " ".join(kept)
        if html[position] == ">":
            return position + 1, " ".join(kept)
        found = _ATTRIBUTE.match(html, position)
        if found is None:  # A stray quote or sign is skipped; a `<` begins the next tag
            if html[position] == "<":
                return position, " ".join(kept)
            position += 1
            continue
        position = found.end()
        if html[position : position + 1] in ('"', "'") and found.group(4) == "":
            return len(html), " ".join(kept)  # The value's quotation mark is never closed
        if len(kept) < MAX_ATTRIBUTES and found[1].isascii() and len(found[1]) <= MAX_ATTRIBUTE_CHARACTERS:
            value = next((value for value in found.groups()[1:] if value is not None), "")
            plain = entities.unescape(value[:MAX_ATTRIBUTE_CHARACTERS])
            kept.append(f'{found[1]}="{entities.escape(plain)}"')


def _rewritten(tokens: Iterator[Token]) -> str:
    """Return the page as HTML with at most MAX_TAGS tags and MAX_DEPTH nested elements."""
    written: list[str] = []
    opened: list[str] = []
    tags = 0
    for kind, name, value in tokens:
        if kind == "text":
            written.append(value.replace(">", "&gt;"))
        elif kind == "data":
            written.append(value)
        elif tags >= MAX_TAGS:
            written.append(" ")
        elif kind == "close":
            if name in opened:
                tags += 1
                while opened.pop() != name:
                    pass
                written.append(f"</{name}>")
        else:
            if name in _SELF_CLOSING and opened and opened[-1] == name:
                opened.pop()
            if len(opened) >= MAX_DEPTH:
                written.append(" ")
                continue
            tags += 1
            written.append(f"<{name} {value}>" if value else f"<{name}>")
            if name not in _VOID:
                opened.append(name)
    written.extend(f"</{name}>" for name in reversed(opened))
    return "".join(written)


def _all_text(tokens: Iterator[Token]) -> str:
    """Return the text between the tags, one line for each block element."""
    written = []
    for kind, name, value in tokens:
        if kind == "text":
            written.append(_SPACE.sub(" ", entities.unescape(value)))
        elif kind != "data" and _BLOCK.fullmatch(name):
            written.append("\n")
    lines = (line.strip() for line in "".join(written).split("\n"))
    return "\n".join(line for line in lines if line)
