"""JSON that is not one object per line: an array of articles, an answer of a service that holds one,
objects over several lines. Whatever its size, it is cut into the bytes of one article each, which `jsonl.py`
reads as lines.

It counts brackets outside of texts and looks at nothing else. So one bad article costs no other, an article
that is too long is never held, and a refused one can be shown as it was. A streaming parser such as ijson
ends at the first byte that is no JSON, as dumps have them, and builds a value whatever its size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dedup.files.record import Beginning
from dedup.files.source import LineSource, Pieces

LISTS = frozenset(
    (
        "articles", "data", "docs", "documents", "entries", "hits", "items", "news", "posts", "records",
        "results", "rows", "stories",
    )
)  # fmt: skip
"""Keys that services give their articles under, one answer holding many."""

LOOKED_AT_BYTES = 65_536  # Of the beginning. In an answer of a service the articles come after a few numbers

ENDLESS_BYTES = 4_096  # A file that begins with so many and no line end may be one line

NO_LIST = "a value of the file has no list of articles where the first one has it"
ENDS_EARLY = "the JSON ends within an article or a list of them: the rest of the file is missing"

Path = tuple[str, ...]
"""The keys down to the list of articles; () where the file is the list."""

_KEY_BYTES = 200  # Of what is before a bracket, so many are kept for the key
_OPENING, _CLOSING, _BETWEEN = (b"{", b"["), (b"}", b"]"), b" \t\r\n,"

# Compiled when first used: nearly every file is lines, and every command imports this.
_PIECE = r'"(?:[^"\\]|\\.)*"?|[\[\]{}:,]'  # a text that is never closed is not looked through twice
_TO_BRACKET = rb'(?s)[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+'
_TO_QUOTE = rb'(?s)[^"\\]*+(?:\\.[^"\\]*+)*+'
_KEY = rb'(?s)"((?:[^"\\]|\\.)*)"\s*:\s*[\[{]\Z'


def is_document(source: LineSource, *, named_json: bool) -> tuple[bool, Path | None]:
    """Whether a file is no lines of JSON, by its beginning; and where its articles are.

    None in place of a path: each value of the file is an article.
    """
    start = source.start[:LOOKED_AT_BYTES].lstrip()
    first, newline, rest = start.partition(b"\n")
    rest = rest.lstrip()
    is_alone = bool(newline) and first.strip() in (b"{", b"[") and (bool(rest) or source.bytes_total is None)
    is_endless = not newline and len(start) >= ENDLESS_BYTES
    if start[:1] == b"[":
        return named_json or is_alone or is_endless or (bool(rest) and _goes_on(first)), ()
    if start[:1] != b"{":
        return False, None
    path = _path_in(start.decode(errors="replace"))
    if is_alone:
        return rest[:1] in (b"", b'"', b"}"), path  # a `{` there begins a line of its own
    return named_json and ((is_endless and path is not None) or (bool(rest) and _goes_on(first))), path


def articles_within(record: dict[str, Any]) -> list[Any] | None:
    """The articles that a record holds, which is none itself; None if it holds none."""
    for key, value in record.items():
        inner = value if isinstance(value, dict) else {}
        for name, found in ((key, value), *((name, inner[name]) for name in inner.keys() & LISTS)):
            if name in LISTS and isinstance(found, list) and found and isinstance(found[0], dict):
                return found
    return None


def values(source: LineSource, path: Path | None) -> Iterator[tuple[int, bytes | None]]:
    """The bytes of each article with its number; of one that is too long its `Beginning`.

    None stands for a value of the file that has no list at the path; what is between two articles comes as it
    is. Both are for a record to be refused. If the file breaks off, `source.truncated` says so, and
    `source.partial` is the piece that it broke off in.
    """
    held, number = Pieces(source.max_line_bytes), 0
    around: list[str | None] = []  # the keys of the brackets that are open around the list
    depth = 0  # how many are open within it
    inside, found = path is None, False
    before = b""  # around the list, what comes before a bracket
    for piece, bracket in _to_brackets(source.chunks):
        if inside:
            held.add(piece)
            if not bracket:
                continue
            closes_list = bracket == b"]" and not depth and path is not None
            if not depth and (bracket in _OPENING or closes_list) and _is_something(between := held.take()):
                number += 1
                yield number, between
            if not closes_list:
                held.add(bracket)
                depth = depth + 1 if bracket in _OPENING else max(0, depth - 1)
                if not depth:
                    number += 1
                    yield number, held.take()
                continue
            inside = False
        else:
            before = (before + piece)[-_KEY_BYTES:]
            if not bracket:
                continue
            if not around and before.strip(_BETWEEN):
                number += 1
                yield number, None
            if bracket in _OPENING:
                key = re.search(_KEY, before + bracket) if around else None
                around.append(key[1].decode(errors="replace") if key else None)
                inside = bracket == b"[" and around == [None, *(path or ())]
                found, before = found or inside, b""
                continue
        before = b""
        if len(around) < 2:  # the value of the file that the list is in has ended
            if not found:
                number += 1
                yield number, None
            found = False
        around = around[:-1]
    rest = held.take() if inside else before
    if depth or around:
        source.truncated, source.partial = True, rest if inside else b""
    elif _is_something(rest):
        yield number + 1, rest if inside else None


def _is_something(between: bytes) -> bool:
    """Whether there is more than spaces and commas, as far as is known."""
    return isinstance(between, Beginning) or bool(between.strip(_BETWEEN))


def _to_brackets(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The bytes up to each bracket that is outside of texts, and the bracket; b"" where a chunk ends."""
    to_bracket, to_quote = re.compile(_TO_BRACKET).match, re.compile(_TO_QUOTE).match
    in_text, rest = False, b""
    for chunk in chunks:
        piece = rest + chunk
        at, rest = 0, b""
        while at < len(piece):
            reached = (to_quote if in_text else to_bracket)(piece, at)
            assert reached is not None  # both match nothing too
            end = reached.end()
            mark = piece[end : end + 1]
            if mark == b'"':
                in_text, end, mark = not in_text, end + 1, b""
            elif mark == b"\\":  # whatever it escapes is in the next chunk
                rest, mark = piece[end:], b""
                yield piece[at:end], b""
                break
            yield piece[at:end], mark
            at = end + len(mark)
    yield rest, b""


def _goes_on(line: bytes) -> bool:
    """Whether all of a line is the beginning of a JSON value; not if it breaks off within a text."""
    try:
        text = line.decode().rstrip()
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except (ValueError, RecursionError):  # not UTF-8, for one
        pass
    return False


def _path_in(text: str) -> Path | None:
    """The keys to the list of articles in a JSON object that begins so, such as `response`, `results`."""
    opened: list[str | None] = []  # the key of each object we are in, None for a list
    said = key = ""
    for piece in re.finditer(_PIECE, text):
        match piece[0]:
            case ":":
                key = said
            case ",":
                key = ""
            case "{":
                opened.append(key)
                key = ""
            case "[":
                if key in LISTS and None not in opened and text[piece.end() :].lstrip()[:1] == "{":
                    return *(name or "" for name in opened[1:]), key
                opened.append(None)
                key = ""
            case "}" | "]":
                if len(opened) < 2:
                    return None
                opened.pop()
            case string:
                said = string[1:-1]
    return None
