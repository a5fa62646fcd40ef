"""Yield the entries of a feed, an export or a sitemap in XML, each parsed separately.

A document is cut at the tags of its entries before parsing. So a bad entry does not affect other entries, and
memory holds only one entry of limited size. Nothing before the root is parsed: no document type is read, no
entity is expanded, and no file or address is opened.

Usual faults of feeds are mended: bare `&` and `<`, entities of HTML, tags such as `<br>`, and undeclared
prefixes.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from html.entities import html5
from itertools import chain, islice
from typing import Any
from xml.sax.saxutils import quoteattr

from dedup.base.errors import InputError
from dedup.base.html import paired
from dedup.files.record import (
    MAX_RAW_BYTES,
    MAX_RECORD_BYTES,
    MAX_RECORD_VALUES,
    TOO_MANY_VALUES,
    describe_error,
    describe_size,
    make_beginning,
)
from dedup.files.source import declared_codec

# Root element -> element of an entry. Both names are without a namespace.
ENTRIES = {"rss": "item", "RDF": "item", "feed": "entry", "urlset": "url", "sitemapindex": "sitemap"}
SITEMAPS = ("urlset", "sitemapindex")

# Usual prefixes and their namespaces, for documents that do not declare their prefixes.
NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "excerpt": "http://wordpress.org/export/1.2/excerpt/",
    "feedburner": "http://rssnamespace.org/feedburner/ext/1.0",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "wp": "http://wordpress.org/export/1.2/",
}

MAX_PROLOG_CHARACTERS = 1_000_000  # Maximum length of the text before the root element, such as comments
DECLARED_BYTES = 400  # Number of first bytes that are searched for the declared encoding
LONGEST_MARK = 300  # Maximum length of a tag that is recognised if it is split between two chunks
MAX_NAMESPACES = 200  # Maximum number of namespace declarations read in a document; feeds have 5 to 20
MAX_NAMESPACE_CHARACTERS = 500

NO_XML = "the entry is not XML, and cannot be mended"
CUT_OFF = "the XML ends within this entry: the rest of the file is missing"

# Patterns are compiled when first used: any command may import this module, but few commands read XML.
_ENCODING = rb"""<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']"""
_PROLOG = r"(?is)\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype\b(?:[^\[>]|\[.*?\]\s*(?=>))*>)"
_ROOT = r"\s*<([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)((?:\s[^<>]*)?)>"
_NAMESPACE = r"""\bxmlns(?::([\w.-]+))?\s*=\s*(?:"([^"<]*)"|'([^'<]*)')"""
_CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
_CDATA = r"(?s)(<!\[CDATA\[.*?(?:\]\]>|\Z))"
_AMPERSAND = r"&(?:(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);|([A-Za-z][A-Za-z0-9]{1,31};)?)"
_BARE = r"<(?![A-Za-z_/!?])"
_VOID = r"(?i)<(br|hr|img|input|wbr|source|embed)\b([^<>]*?)/?>"
_PREFIXED = r"[<\s/]([A-Za-z_][\w.-]*):(?=[A-Za-z_])"

# An entry: number of its first line; its bytes in UTF-8; the parsed element, or a str: why parsing failed
Entry = tuple[int, bytes, Any]


@dataclass
class FeedDocument:
    """XML document, whose `entries` can be iterated once."""

    root: str  # local name of the root; a key of ENTRIES
    tag: str  # start tag of the root as written
    head: Any  # element that holds everything before the first entry, such as title, links and language
    entries: Iterator[Entry]
    truncated: bool = False  # whether the end tag of the root is missing; known after the last entry
    refused: list[tuple[int, str]] = field(default_factory=list)  # line and reason of each refused entry


def read_document(
    name: str, chunks: Iterable[bytes], *, charset: str | None = None, max_entry_bytes: int = MAX_RECORD_BYTES
) -> FeedDocument:
    """Read a document up to its first entry. Raises InputError if it is not XML or its root is unknown.

    `name`: name of the file in messages. `charset`: encoding in HTTP, for documents that declare none.
    """
    texts = _decode(chunks, charset)
    text = ""
    for more in texts:
        text += more
        at = 0
        while found := re.compile(_PROLOG).match(text, at):
            at = found.end()
        if (tag := re.compile(_ROOT).match(text, at)) or len(text) > MAX_PROLOG_CHARACTERS:
            break
    else:
        tag = None
    if tag is None:
        raise InputError(f"{name}: not XML; it begins with neither a declaration nor a root element")
    prefix, root = tag[1] or "", tag[2]
    of_entry = "" if root == "RDF" else prefix
    if root not in ENTRIES:
        raise InputError(f"{name}: its root is <{root}>, which is not RSS, Atom or a WordPress export")
    rest = text[tag.end() :]
    cutter = _Cutter(chain([rest], texts), f"{of_entry}{ENTRIES[root]}", f"{prefix}{root}", max_entry_bytes)
    cutter.line += text.count("\n", 0, tag.end())
    pieces = cutter.pieces()
    _, head, _ = next(pieces)
    opening = _make_opening(f"{tag[3]} {head[: head.find('>')] if 'xmlns' in head[:2_000] else ''}")
    document = FeedDocument(root, tag[0], _parse(opening, head), iter(()))

    def entries() -> Iterator[Entry]:
        for line, piece, length in pieces:
            raw = piece.encode("utf-8", "replace")
            if length > len(piece) or len(raw) > max_entry_bytes:
                length = max(length, len(raw))
                yield line, make_beginning(raw, length, 0), describe_size(length, max_entry_bytes)
            elif raw.count(b"<") > MAX_RECORD_VALUES:
                yield line, raw, TOO_MANY_VALUES
            elif cutter.cut:
                document.truncated = True
                yield line, raw, CUT_OFF
            else:
                try:
                    found = _parse(opening, piece)
                except Exception as error:  # any error of the parser refuses only this entry
                    yield line, raw, describe_error(error)
                    continue
                yield line, raw, NO_XML if found is None or not len(found) else found[0]
        document.truncated |= not cutter.closed

    document.entries = entries()
    return document


class _Cutter:
    """Cutter that splits the text of a document at the tags of its entries."""

    def __init__(self, texts: Iterable[str], entry: str, root: str, most: int) -> None:
        self.line = 1  # line number at the start of the text in memory
        self.closed = False  # whether the end tag of the root was found
        self.cut = False  # whether the last piece is an entry without its end tag
        self._texts, self._most = texts, most
        self._entry, self._root = entry, root

    def pieces(self) -> Iterator[tuple[int, str, int]]:
        """Yield (line number, text, full length) for the head, then each entry. Long texts are cut off."""
        entry, root = re.escape(self._entry), re.escape(self._root)
        mark = re.compile(rf"<!\[CDATA\[|<!--|<{entry}(?=[\s/>])|</{entry}\s*>|</{root}\s*>")
        held, at = "", 0  # text in memory, and the position up to which it was searched
        start, begun = 0, False  # start of the current piece, and whether the piece is an entry
        first, lost = "", 0  # if a piece is too long: its beginning, and the number of dropped characters
        within = ""  # end of the open CDATA section or comment: "]]>" or "-->"
        is_head = True
        counted = 0  # position up to which lines were counted
        for more in self._texts:
            held += more
            while True:
                if within:
                    end = held.find(within, at)
                    if end < 0:
                        at = max(at, len(held) - len(within) + 1)
                        break
                    at, within = end + len(within), ""
                found = mark.search(held, at)
                if found is None:
                    tail = held.rfind("<", max(at, len(held) - LONGEST_MARK))
                    at = tail if tail >= 0 else len(held)
                    break
                tag, at = found[0], found.end()
                # A tag within CDATA or a comment is text: an article that quotes XML must not be cut.
                if tag.startswith("<!"):
                    within = "]]>" if tag[2] == "[" else "-->"
                    continue
                opens = not tag.startswith("</")
                if begun or is_head:  # an entry without an end tag ends at the next entry
                    end = found.start() if opens or is_head else found.end()
                    self.line += held.count("\n", counted, start)
                    counted = start
                    yield self.line, first or held[start:end], lost + end - start
                self.closed |= not opens and found[0][2:].rstrip("> \t\r\n") == self._root
                start, begun, is_head, first, lost = found.start(), opens, False, "", 0
            if not begun and not is_head:
                start = at
            elif at - start > self._most:
                first = first or held[start : start + MAX_RAW_BYTES]
                lost += at - start
                start = at
            self.line += held.count("\n", counted, start)
            held, at, start, counted = held[start:], at - start, 0, 0
        self.cut = begun
        if begun or is_head:
            yield self.line, first or held, lost + len(held)


def _make_opening(tag: str) -> str:
    """Return a start tag that declares the prefixes of the document and the usual prefixes."""
    names: dict[Any, str] = {**NAMESPACES}
    for found in islice(re.finditer(_NAMESPACE, tag), MAX_NAMESPACES):
        if len(found[0]) <= MAX_NAMESPACE_CHARACTERS:
            names[found[1]] = found[2] or found[3] or ""
    return f"<root{''.join(_declare(name, uri) for name, uri in names.items())}>"


def _declare(prefix: str | None, uri: str) -> str:
    return f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(unescape(uri))}"


def _parse(opening: str, text: str) -> Any:
    """Parse a text within a root element, and mend it if necessary. Return the root, or None on failure."""
    from lxml import etree

    # `huge_tree` allows long texts. This is safe, since entries have a size limit and no entities expand.
    safe: dict[str, Any] = {
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "huge_tree": True,
    }
    text = paired(re.sub(_CONTROL, "", text))
    try:
        return etree.fromstring(f"{opening}{text}</root>".encode(), etree.XMLParser(**safe))
    except etree.XMLSyntaxError:
        pass
    parts = re.split(_CDATA, text)
    mended = "".join(part if at % 2 else _mend(part) for at, part in enumerate(parts))
    unknown = {*re.findall(_PREFIXED, mended)} - {*re.findall(r"xmlns:([\w.-]+)=", opening), "xml", "xmlns"}
    others = "".join(_declare(prefix, f"urn:undeclared:{prefix}") for prefix in sorted(unknown))
    try:
        parser = etree.XMLParser(recover=True, **safe)
        return etree.fromstring(f"{opening[:-1]}{others}>{mended}</root>".encode(), parser)
    except etree.XMLSyntaxError:
        return None


def _mend(text: str) -> str:
    text = re.sub(_AMPERSAND, _mend_ampersand, text)
    text = re.sub(_BARE, "&lt;", text)
    return re.sub(_VOID, r"<\1\2/>", text)


def _mend_ampersand(found: re.Match[str]) -> str:
    if found[1]:
        number = found[1][1:]
        if found[1][0] != "#":
            return found[0]
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        return "" if code > sys.maxunicode or re.match(_CONTROL, chr(code)) else f"&#{code};"
    if found[2] in html5:
        return "".join(f"&#{ord(character)};" for character in html5[found[2]])
    return f"&amp;{found[2] or ''}"


def _decode(chunks: Iterable[bytes], charset: str | None) -> Iterator[str]:
    """Yield the text of a document; invalid bytes in UTF-8 are read as Windows-1252."""
    chunks = iter(chunks)
    start = b""
    for chunk in chunks:
        start += chunk
        if len(start) >= DECLARED_BYTES:
            break
    encoding = _find_encoding(start, charset)
    codecs.register_error("dedup.windows", _decode_windows)
    errors = "dedup.windows" if encoding == "utf-8-sig" else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for chunk in chain(filter(None, chain([start], chunks)), [b""]):
        try:
            text = decoder.decode(chunk, final=not chunk)
        except ValueError:
            raise InputError(f"its bytes cannot be read as {encoding}") from None
        if text:
            yield text


def _find_encoding(start: bytes, charset: str | None) -> str:
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32")):
        if start.startswith(mark):
            return encoding
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if start.startswith((b"<\0", b"\0<")):
        return "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
    start = start[:DECLARED_BYTES]
    declared = re.search(_ENCODING, start)
    name = declared_codec(declared[1].decode() if declared else charset or "utf-8", start) or "utf-8"
    return {"ascii": "utf-8-sig", "utf-8": "utf-8-sig", "iso8859-1": "cp1252"}.get(name, name)


def _decode_windows(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end
