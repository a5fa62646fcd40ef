"""Cut JSON that is not one object per line into the bytes of its articles, which `jsonl.py` reads as lines.

Such a file is an array of articles, the answer of a service that holds one, or objects over several lines.
It is cut by counting brackets outside of strings. So a bad article costs no other, one that is too long is
never held, and a refused one can be shown as it was. A streaming parser such as ijson stops at the first
byte that is not JSON, which dumps contain, and builds a value whatever its size.
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
"""Keys under which services list articles."""

LOOKED_AT_BYTES = 65_536  # From the beginning of a file. Services give a few numbers before the articles
ENDLESS_BYTES = 4_096  # A file that begins with this many bytes and no line end may be one line

NO_LIST = "a value of the file has no list of articles where the first one has it"
ENDS_EARLY = "the JSON ends within an article or a list of them: the rest of the file is missing"

Path = tuple[str, ...]  # The keys down to the list of articles; () if the file is the list

_KEY_BYTES = 200  # Kept from before a bracket, to find its key
_OPENING, _CLOSING, _BETWEEN = (b"{", b"["), (b"}", b"]"), b" \t\r\n,"

# Compiled when first used: nearly every file is lines, and every command imports this.
# The last quote is optional: a string that never ends is consumed once, not searched again at each quote.
_PIECE = r'"(?:[^"\\]|\\.)*"?|[\[\]{}:,]'
_TO_BRACKET = rb'(?s)[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+'
_TO_QUOTE = rb'(?s)[^"\\]*+(?:\\.[^"\\]*+)*+'
_KEY = rb'(?s)"((?:[^"\\]|\\.)*)"\s*:\s*[\[{]\Z'


def is_document(source: LineSource, *, named_json: bool) -> tuple[bool, Path | None]:
    """Return whether a file is not lines of JSON, and the path of its articles (None: each value is one)."""
    start = source.start[:LOOKED_AT_BYTES].lstrip()
    first, newline, rest = start.partition(b"\n")
    rest = rest.lstrip()
    is_alone = bool(newline) and first.strip() in (b"{", b"[") and (bool(rest) or source.bytes_total is None)
    is_endless = not newline and len(start) >= ENDLESS_BYTES
    if start[:1] == b"[":
        return named_json or is_alone or is_endless or (bool(rest) and _is_unfinished(first)), ()
    if start[:1] != b"{":
        return False, None
    path = _find_path(start.decode(errors="replace"))
    if is_alone:
        return rest[:1] in (b"", b'"', b"}"), path  # a `{` there would begin the next line of JSONL
    return named_json and ((is_endless and path is not None) or (bool(rest) and _is_unfinished(first))), path


def find_articles(record: dict[str, Any]) -> list[Any] | None:
    """Return the articles that a record holds under a key of `LISTS`, or None."""
    for key, value in record.items():
        inner = value if isinstance(value, dict) else {}
        for name, found in ((key, value), *((name, inner[name]) for name in inner.keys() & LISTS)):
            if name in LISTS and isinstance(found, list) and found and isinstance(found[0], dict):
                return found
    return None


def read_values(source: LineSource, path: Path | None) -> Iterator[tuple[int, bytes | None]]:
    """Yield each article's number and its bytes, or its `Beginning`; mark the source if it breaks off.

    Bytes between articles come too, and None for a value without a list at the path: both are to be refused.
    """
    held, number = Pieces(source.max_line_bytes), 0
    around: list[str | None] = []  # the keys of the brackets that are open around the list
    depth = 0  # brackets that are open within the list
    inside, found = path is None, False
    before = b""  # outside of the list, the bytes before the next bracket
    for piece, bracket in _split_at_brackets(source.chunks):
        if inside:
            held.add(piece)
            if not bracket:
                continue
            closes_list = bracket == b"]" and not depth and path is not None
            if not depth and (bracket in _OPENING or closes_list) and _has_content(between := held.take()):
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
    elif _has_content(rest):
        yield number + 1, rest if inside else None


def _has_content(between: bytes) -> bool:
    # More than spaces and commas. A `Beginning` lacks the rest, which may be something.
    return isinstance(between, Beginning) or bool(between.strip(_BETWEEN))


def _split_at_brackets(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes up to each bracket outside of strings, and the bracket; b"" at the end of a chunk."""
    to_bracket, to_quote = re.compile(_TO_BRACKET).match, re.compile(_TO_QUOTE).match
    in_text, rest = False, b""
    for chunk in chunks:
        piece = rest + chunk
        at, rest = 0, b""
        while at < len(piece):
            reached = (to_quote if in_text else to_bracket)(piece, at)
            assert reached is not None  # both patterns also match the empty string
            end = reached.end()
            mark = piece[end : end + 1]
            if mark == b'"':
                in_text, end, mark = not in_text, end + 1, b""
            elif mark == b"\\":  # the escaped byte is in the next chunk
                rest, mark = piece[end:], b""
                yield piece[at:end], b""
                break
            yield piece[at:end], mark
            at = end + len(mark)
    yield rest, b""


def _is_unfinished(line: bytes) -> bool:
    """Return whether a line is the beginning of a JSON value, and not cut within a string."""
    try:
        text = line.decode().rstrip()
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except (ValueError, RecursionError):  # not UTF-8, for one
        pass
    return False


def _find_path(text: str) -> Path | None:
    """Return the keys to the list of articles in a JSON object, such as `response`, `results`."""
    opened: list[str | None] = []  # the key of each open object, None for a list
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
