"""Cut JSON that is not one object per line into pieces, one per article, which `jsonl.py` then parses.

Such files hold an array of articles, an answer of a web service that contains such an array, or objects that
span several lines. The articles are cut out by counting brackets outside strings. So a bad article does not
affect other articles, memory never holds an article that is too long, and a refused article can be shown as
read. A streaming parser such as ijson stops at the first invalid byte, and builds values of any size.
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
"""Keys under which the JSON answers of web services hold their lists of articles."""

LOOKED_AT_BYTES = 65_536  # The list of articles must begin within these first bytes of the file
ENDLESS_BYTES = 4_096  # If the first 4,096 bytes have no line end, the file may be a single line of JSON

NO_LIST = "this JSON value has no list of articles under the same keys as the first JSON value of the file"
ENDS_EARLY = "the JSON ends within an article or a list of articles: the rest of the file is missing"

Path = tuple[str, ...]  # Keys that lead to the list of articles; () if the file itself is the list

_KEY_BYTES = 200  # Number of bytes before a bracket that are searched for the key of its value
_OPENING, _CLOSING, _BETWEEN = (b"{", b"["), (b"}", b"]"), b" \t\r\n,"

# Patterns are compiled when first used: every command imports this module, but nearly all files are JSONL.
# The closing quote is optional. If it were required, an unclosed string would take quadratic time.
_PIECE = r'"(?:[^"\\]|\\.)*"?|[\[\]{}:,]'
# The maxima {0,99} and {0,999} below limit the memory of a match. The groups before them are not possessive
# (no `+` after `}`), because Python before 3.11.5 matches possessive groups wrongly (CPython issue 106052).
_TO_BRACKET = rb'(?s)[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+){0,99}"[^"\[\]{}]*+){0,99}'
_TO_QUOTE = rb'(?s)[^"\\]*+(?:\\.[^"\\]*+){0,999}'
_KEY = rb'(?s)"((?:[^"\\]|\\.)*)"\s*:\s*[\[{]\Z'


def is_document(source: LineSource, *, named_json: bool) -> tuple[bool, Path | None]:
    """Return whether a file is JSON but not JSONL, and the path to its list of articles (None: no list)."""
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
        return rest[:1] in (b"", b'"', b"}"), path  # if the second line begins with `{`, this is JSONL
    return named_json and ((is_endless and path is not None) or (bool(rest) and _is_unfinished(first))), path


def find_articles(record: dict[str, Any]) -> list[Any] | None:
    """Return the list of articles in a record, found under one of the keys `LISTS`; None without a list."""
    for key, value in record.items():
        inner = value if isinstance(value, dict) else {}
        for name, found in ((key, value), *((name, inner[name]) for name in inner.keys() & LISTS)):
            if name in LISTS and isinstance(found, list) and found and isinstance(found[0], dict):
                return found
    return None


def read_values(source: LineSource, path: Path | None) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number and bytes of each article; set `source.truncated` if the end of the file is missing.

    If an article is too long, yield only its first bytes, as a `Beginning`. The caller must refuse two other
    results: bytes that are between articles, and None for a top-level JSON value without a list at `path`.
    """
    held, number = Pieces(source.max_line_bytes), 0
    around: list[str | None] = []  # key before each open bracket, up to the list's own; None without a key
    depth = 0  # number of open brackets within the list
    inside, found = path is None, False
    before = b""  # bytes after the previous bracket (at most the last `_KEY_BYTES`); not used in the list
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
        if len(around) < 2:  # the end of a top-level value that should have held the list
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
    # Spaces and commas are not content. A `Beginning` counts as content, since its dropped bytes are unknown.
    return isinstance(between, Beginning) or bool(between.strip(_BETWEEN))


def _split_at_brackets(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Split at brackets outside strings. Yield each piece with the bracket after it, or b"" at the end."""
    to_bracket, to_quote = re.compile(_TO_BRACKET).match, re.compile(_TO_QUOTE).match
    in_text, rest = False, b""
    for chunk in chunks:
        piece = rest + chunk
        at, rest = 0, b""
        while at < len(piece):
            reached = (to_quote if in_text else to_bracket)(piece, at)
            assert reached is not None  # both patterns also match an empty string
            end = reached.end()
            mark = piece[end : end + 1]
            if mark == b'"':
                in_text, end, mark = not in_text, end + 1, b""
            elif mark == b"\\":
                mark = b""
                if end + 1 == len(piece):  # the escaped byte is in the next chunk
                    rest = piece[end:]
                    yield piece[at:end], b""
                    break
            yield piece[at:end], mark
            at = end + len(mark)
    yield rest, b""


def _is_unfinished(line: bytes) -> bool:
    """Return whether the JSON of a line continues after the line; False if the line ends within a string."""
    try:
        text = line.decode().rstrip()
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except (ValueError, RecursionError):  # for example, the line is not UTF-8
        pass
    return False


def _find_path(text: str) -> Path | None:
    """Return the keys that lead to the list of articles in a JSON object, such as `response`, `results`."""
    opened: list[str | None] = []  # for each open object, the key that leads to it; for each open list, None
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
