"""Read records from feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, and WordPress exports (WXR).

The root element shows the kind of a feed. A value has the name of its element, with the usual prefix, such as
`wp:post_id`. Each entry also gets the values `channel title` and `channel language` from the feed's head.

Texts are HTML until `extract_text` makes plain text. In WordPress exports, only published posts and pages are
articles.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

from dedup.base import html as base
from dedup.base.errors import InputError
from dedup.files.entries import NAMESPACES, SITEMAPS, FeedDocument, read_document
from dedup.files.naming import DEFAULT_FIELDS, Shapes, extract_values
from dedup.files.packed import Archive
from dedup.files.record import Plan, Record, describe_error
from dedup.files.report import Understanding, count_name, shorten
from dedup.files.source import LineSource

FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(DEFAULT_FIELDS, ()),
    "source_id": ("guid", "id", "rdf:about", "wp:post_id", "link"),
    "text": ("content:encoded", "content", "description", "summary", "excerpt:encoded"),
    "title": ("title", "dc:title"),
    "url": ("feedburner:origLink", "link"),
    "publication": ("source", "channel title"),
    "published_at": (
        "wp:post_date_gmt", "pubDate", "published", "issued", "dc:date", "updated", "modified",
        "wp:post_date",
    ),
    "language": ("dc:language", "xml:lang", "channel language"),
    "byline": ("dc:creator", "author"),
}  # fmt: skip
"""Names of elements that may hold each field of an article; the first one with a value is used."""

FULL = ("content:encoded", "content")  # Elements that should hold the whole text of an article
CUT = ("…", "...", "[…]", "[...]")  # Endings of a text that show that the rest of the article is missing
POST_TYPES = ("post", "page")  # WordPress types of entries that are articles
UNREAD = ("wp:postmeta", "wp:comment")  # Skipped elements: they are many, and hold no field of an article

_XML = "{http://www.w3.org/XML/1998/namespace}"
_PREFIXES = {uri: prefix for prefix, uri in NAMESPACES.items()}
_BODIES = frozenset(FIELDS["text"])
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_MAIL = r"\S+@\S+\s+\((.+)\)"

# A WordPress shortcode has attributes or an end tag; a plain word in brackets, such as [sic], is text.
_EMBEDDED = r"\[(audio|caption|embed|gallery|playlist|video|wp_caption)\b[^\[\]]*\]"
_ATTRIBUTE = r"""\s+[\w-]+=(?:"[^"\]]*"|'[^'\]]*'|[^\s"'\]]+)"""
_SHORTCODE = rf"\[(?:/[a-zA-Z][\w-]*|[a-zA-Z][\w-]*(?:{_ATTRIBUTE})+\s*/?|gallery|playlist)\]"
_CLOSED = r"\[/([a-zA-Z][\w-]*)\]"
_PARAGRAPHS = r"\n[ \t\r]*\n"

MAX_EMBEDDED_CHARACTERS = 5_000  # Maximum length of the content of a shortcode such as `[caption]`
MAX_SHORTCODES = 100  # Maximum number of different shortcodes with end tags that are removed from a text
MAX_HEAD_CHARACTERS = 4_096  # Maximum length of a value of the head, since it is copied to every entry
MAX_AUTHORS_CHARACTERS = 4_096  # Maximum length of the joined names of an entry's authors


class Feed:
    """Head of a feed: `kind` (`rss`, `atom` or `wxr`), and title, link and language if present."""

    def __init__(self, document: FeedDocument) -> None:
        self.kind = "atom" if document.root == "feed" else "rss"
        if "wordpress.org/export/" in document.tag:
            self.kind = "wxr"
        found: dict[str, str] = {}
        self._authors: dict[str, str] = {}
        head = document.head if document.head is not None else ()
        channel = next((child for child in head if _local_name(child) == "channel"), head)
        for child in channel:
            name = _prefixed_name(child, channel)
            if name == "wp:author":
                names = {_local_name(part): _get_text(part)[:MAX_HEAD_CHARACTERS] for part in child}
                self._authors[names.get("author_login", "")] = names.get("author_display_name", "")
            elif name and (value := _get_address(child) if name == "link" else _get_text(child)):
                found.setdefault(name, value if len(value) <= MAX_HEAD_CHARACTERS else "")
        self.title = found.get("title") or None
        link = found.get("link") or found.get("wp:base_blog_url") or ""
        self.link = resolve_address("", link) or None  # a bad link in the head must not refuse entries
        tagged = re.search(r"""\bxml:lang\s*=\s*["']([\w-]+)""", document.tag)
        self.language = found.get("language") or found.get("dc:language") or (tagged and tagged[1]) or None
        self._site = urlsplit(self.link or "").hostname

    def extract_values(self, entry: Any) -> dict[str, str]:
        """Return the values of an entry by name. Raises InputError if the link of the entry is invalid."""
        found: dict[str, str] = {}
        for child in entry:
            name = _prefixed_name(child, entry)
            if not name or name in UNREAD:
                continue
            if name == "link":
                value = _get_address(child)
            elif name in _BODIES:
                value = _get_body(child)
            else:
                value = _get_person(child)
            if not value or value.startswith("0000-00-00"):  # the date that WordPress gives to drafts
                continue
            if name in ("author", "dc:creator"):
                value = self._authors.get(value) or value
                value = f"{found[name]}, {value}" if name in found else value
                if name not in found or len(value) <= MAX_AUTHORS_CHARACTERS:
                    found[name] = value
            elif found.setdefault(name, value) is value and name == "guid" and _is_address(child, value):
                found.setdefault("link", value)
        self._complete(entry, found)
        return found

    def _complete(self, entry: Any, found: dict[str, str]) -> None:
        """Add values from attributes and from the head. Make links absolute, and ids unique across feeds."""
        of_entry = {
            "rdf:about": entry.get(f"{{{NAMESPACES['rdf']}}}about"),
            "xml:lang": entry.get(f"{_XML}lang"),
            "channel title": self.title,
            "channel language": self.language,
        }
        found.update({name: value for name, value in of_entry.items() if value and name not in found})
        if "link" in found:
            link = resolve_address(self.link or "", found["link"])
            if link is None:
                raise InputError("its link is not a valid address")
            found["link"] = link
        for name in ("guid", "id"):
            if self._site and name in found and not re.match(_SCHEME, found[name]):
                found[name] = f"{self._site}/{found[name]}"
        if self.link and "wp:post_id" in found:
            found["wp:post_id"] = f"{self.link.rstrip('/')}/?p={found['wp:post_id']}"
        if self.kind == "wxr":
            for name in _BODIES & found.keys():
                found[name] = drop_shortcodes(found[name])

    def find_exclusion(self, found: dict[str, str]) -> str | None:
        """Remove WordPress type and status from `found`; return the one that excludes the entry, or None."""
        if self.kind != "wxr":
            return None
        kind, status = found.pop("wp:post_type", "post"), found.pop("wp:status", "publish")
        if kind not in POST_TYPES:
            return kind
        return None if status == "publish" else status


class FeedSource(LineSource):
    """Source of records for an XML file. Raises InputError if the file is not a feed or an export."""

    def __init__(self, path: str, max_record_bytes: int, archive: Archive | None = None) -> None:
        super().__init__(path, max_record_bytes, archive=archive)
        try:
            self._document = read_document(self.file, self.chunks, max_entry_bytes=max_record_bytes)
            if self._document.root in SITEMAPS:
                raise InputError(f"{self.file} is a sitemap without texts; `dedup watch --fetch` reads pages")
        except BaseException:
            self.close()
            raise
        self._feed = Feed(self._document)

    def records(self, plan: Plan, _needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield a record for each entry; WordPress entries that are not articles are only counted."""
        understood.format = self._feed.kind
        shapes = Shapes(plan, understood)
        for line, raw, found in _read_values(self._document, self._feed, understood):
            if isinstance(found, dict):
                yield line, raw, extract_values(found, shapes.find(found), understood)
            else:
                yield line, raw, found
        self.truncated |= self._document.truncated


def _read_values(document: FeedDocument, feed: Feed, understood: Understanding) -> Iterator[Record]:
    """Yield the values of each entry by name, or the reason to refuse the entry.

    Entries that are not articles are counted, but not yielded.
    """
    for line, raw, entry in document.entries:
        try:
            found = entry if isinstance(entry, str) else feed.extract_values(entry)
        except InputError as error:
            found = str(error)
        except Exception as error:
            # A parser may raise anything on bad input; only this entry is refused.
            found = describe_error(error)
        if isinstance(found, dict) and (kind := feed.find_exclusion(found)):
            count_name(understood.left_out, shorten(kind))
        else:
            yield line, raw, found


def read_entries(document: FeedDocument) -> Iterator[tuple[dict[str, Any], bool, str | None]]:
    """Yield for each article: values by field, whether the text is probably complete, time of last change.

    Entries that are unreadable or have no id are added to `document.refused`.
    """
    feed = Feed(document)
    understood = Understanding("", feed.kind)
    shapes = Shapes(FIELDS, understood)
    for line, _, values in _read_values(document, feed, understood):
        if isinstance(values, str):
            document.refused.append((line, values))
            continue
        found = extract_values(values, shapes.find(values), understood)
        if not found.get("source_id"):
            document.refused.append((line, "source_id is missing"))
            continue
        try:
            with suppress(InputError):
                extract_text(found)
        except Exception as error:
            document.refused.append((line, describe_error(error)))
            continue
        full = any(values.get(name) for name in FULL) and not found["text"].rstrip().endswith(CUT)
        yield found, full, values.get("updated") or values.get("modified")


def extract_text(found: dict[str, Any]) -> bool:
    """Turn HTML in title and text into plain text; return whether the text had tags. Raises InputError."""
    body = found.get("text")
    base.take_out(found, body if isinstance(body, str) and "<" in body else None)
    if not isinstance(body, str) or "<" in body:
        return isinstance(body, str)
    found["text"] = html.unescape(base.paired(body)).strip()
    return False


def drop_shortcodes(body: str) -> str:
    """Return a WordPress body without shortcodes, and with paragraph tags instead of blank lines."""
    if "[" in body:
        body = _drop_embedded(body)
        closed = sorted({*re.findall(_CLOSED, body)})[:MAX_SHORTCODES]
        body = re.sub(_SHORTCODE, " ", body)
        if closed:
            body = re.sub(rf"\[(?:{'|'.join(map(re.escape, closed))})\]", " ", body)
    if "<p" not in body and re.search(_PARAGRAPHS, body):
        body = "<p>" + re.sub(_PARAGRAPHS, "</p>\n<p>", body) + "</p>"
    return body


def _drop_embedded(body: str) -> str:
    kept, at = [], 0
    for opening in re.finditer(_EMBEDDED, body):
        if opening.start() < at:
            continue
        closing = f"[/{opening[1]}]"
        end = body.find(closing, opening.end(), opening.end() + MAX_EMBEDDED_CHARACTERS)
        if end >= 0:
            kept.append(body[at : opening.start()])
            at = end + len(closing)
    return " ".join([*kept, body[at:]])


def resolve_address(base: str, address: str) -> str | None:
    """Return an address made absolute with `base`, or None if the address is invalid."""
    try:
        made = urljoin(base, address)
        urlsplit(made)
    except ValueError:
        return None
    return made


def _local_name(element: Any) -> str:
    """Return the name of an element without its namespace; "" for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _prefixed_name(element: Any, parent: Any) -> str:
    """Return an element's name; if its namespace is not its parent's, put the usual prefix before it."""
    if not isinstance(element.tag, str):
        return ""
    uri, _, local = element.tag.rpartition("}")
    if uri == (parent.tag.rpartition("}")[0] if isinstance(parent.tag, str) else ""):
        return str(local)
    uri = uri.removeprefix("{")
    if uri.startswith("http://wordpress.org/export/"):
        prefix = "excerpt" if "/excerpt" in uri else "wp"
    else:
        prefix = _PREFIXES.get(uri) or element.prefix or ""
    return f"{prefix}:{local}" if prefix else str(local)


def _get_text(element: Any) -> str:
    if not isinstance(element.tag, str):  # the element is a comment or a processing instruction
        return ""
    return "".join(element.itertext()).strip()


def _get_person(element: Any) -> str:
    """Return the name of a person or source: from a child element, from `mail (name)`, or the whole text."""
    named = next((child for child in element if _local_name(child) in ("name", "title")), None)
    value = _get_text(element if named is None else named)
    mail = re.fullmatch(_MAIL, value)
    return mail[1] if mail else value


def _get_address(element: Any) -> str:
    href = element.get("href")
    if href is None:
        return _get_text(element)
    # Atom links with a `rel` other than `alternate` lead to comments, enclosures or the feed.
    return str(href).strip() if element.get("rel", "alternate") == "alternate" else ""


def _is_address(guid: Any, value: str) -> bool:
    return guid.get("isPermaLink") != "false" and value.startswith(("http://", "https://"))


def _get_body(element: Any) -> str:
    """Return the body of an entry as HTML; a feed may hold escaped HTML, elements, or plain text."""
    kind = element.get("type") or ""
    atom = "atom" in str(element.tag).rpartition("}")[0].lower()
    plain = kind in ("text", "text/plain") or (atom and not kind)
    if plain or not len(element):
        text = _get_text(element)
        return html.escape(text, quote=False) if plain else text
    from lxml import etree

    for child in element.iter():
        child.tag = _local_name(child) or "span"
    inner = (etree.tostring(child, encoding="unicode", method="html") for child in element)
    return f"{html.escape(element.text or '', quote=False)}{''.join(inner)}".strip()
