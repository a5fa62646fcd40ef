"""Lines become records: one JSON object per line.

A line that is no object, is not UTF-8, says a key twice or is too large is a record with a reason, and the
reading goes on. It does not look into the values.

Recognises JSON that is not one object per line, and names the command that converts it. Reads nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from dedup.base.errors import InputError
from dedup.files.naming import Shapes, values_of
from dedup.files.record import (
    MAX_RECORD_VALUES,
    NO_MEMORY,
    TOO_MANY_VALUES,
    Beginning,
    Plan,
    Record,
    refused,
    too_long,
)
from dedup.files.report import Understanding
from dedup.files.source import UTF8, LineSource

LISTS = frozenset(("articles", "data", "docs", "entries", "items", "news", "posts", "results", "stories"))
"""Keys that services give their articles under, one answer holding many."""

LOOKED_AT_BYTES = 65_536  # Of the beginning. In an answer of a service the articles come after a few numbers

# Compiled when first used: nearly every file is lines, and every command imports this.
_PIECE = r'"(?:[^"\\]|\\.)*"?|[\[\]{}:,]'  # a text that is never closed is not looked through twice
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"  # What jq takes after a dot without quotes


def why_not_lines(name: str, start: bytes, *, packed: bool, is_pipe: bool) -> str | None:
    """What is wrong with a file that begins with these bytes, with the way out; None if it may be JSONL."""
    start = start[:LOOKED_AT_BYTES].lstrip()
    first, newline, rest = start.partition(b"\n")
    rest = rest.lstrip()
    is_json = name.lower().removesuffix(".gz").endswith(".json")
    is_alone = bool(newline) and first.strip() in (b"{", b"[") and (bool(rest) or is_pipe)
    may_go_on = rest[:1] in (b"", b'"', b"}")  # behind a bracket; a `{` there begins a line of its own
    file = "FILE (unpacked)" if packed else "FILE"
    if start[:1] == b"[" and (is_json or is_alone):
        return f"{name} holds one JSON array, not one object per line; convert it: {_jq('.[]', file)}"
    if start[:1] == b"{" and (may_go_on if is_alone else is_json and rest and _goes_on(first)):
        path = _path_in(start.decode(errors="replace"))
        command = _jq(f"{path}[]" if path else ".", file)
        return (
            f"{name} holds a JSON object over several lines, not one object per line; convert it: {command}"
        )
    return None


def why_not_one(record: dict[str, Any]) -> str | None:
    """What is wrong with a record that holds many articles, with the way out; None if it does not."""
    for key, value in record.items():
        inner = value if isinstance(value, dict) and _is_plain(key) else {}
        for path, found in ((key, value), *((f"{key}.{name}", inner[name]) for name in inner.keys() & LISTS)):
            holds = isinstance(found, list) and found and isinstance(found[0], dict)
            if holds and path.rpartition(".")[2] in LISTS:
                return f"the line is no article but holds some; convert it: {_jq(f'.{path}[]', 'FILE')}"
    return None


def _jq(filter: str, file: str) -> str:
    return f"jq -c '{filter}' {file} > FILE.jsonl"


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


def _path_in(text: str) -> str | None:
    """The jq path of the list of articles in a JSON object that begins so, such as `.response.results`."""
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
                    names = [name or "" for name in [*opened[1:], key]]
                    return "".join(f".{name}" for name in names) if all(map(_is_plain, names)) else None
                opened.append(None)
                key = ""
            case "}" | "]":
                if len(opened) < 2:
                    return None
                opened.pop()
            case string:
                said = string[1:-1]
    return None


def _is_plain(name: str) -> bool:
    return re.fullmatch(_NAME, name) is not None


BLANK = "the line is blank"


class _Repeated(dict[str, Any]):
    """A JSON object in which a key appears twice; json alone would silently keep the last."""

    names: frozenset[str]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _Repeated(found)
    repeated.names = frozenset(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return repeated


# Not strict: a raw tab, NUL or other control character within a string is text like any other.
_decoder = json.JSONDecoder(strict=False, object_pairs_hook=_object)
_decode_json = _decoder.decode
_scan = cast(Any, _decoder).scan_once


def jsonl_records(
    source: LineSource, plan: Plan, understood: Understanding | None = None, *, every_line: bool = False
) -> Iterator[Record]:
    """One record per line that is not blank. Of several names for a field, the first that has a value counts.

    `every_line` makes a blank line a record with a reason, and refuses no file for its beginning. Raises
    InputError if the file begins like one array, or like an object over several lines.
    """
    if not every_line:
        is_pipe = source.bytes_total is None
        why = why_not_lines(source.file, source.start, packed=source.packing is not None, is_pipe=is_pipe)
        if why:
            raise InputError(why)
    understood = understood or Understanding(source.file, "jsonl")
    understood.encoding = source.encoding if source.encoding != UTF8 else None
    return _jsonl_records(source, plan, understood, every_line)


def _jsonl_records(
    source: LineSource, plan: Plan, understood: Understanding, every_line: bool
) -> Iterator[Record]:
    shapes = Shapes(plan, understood)
    for number, line in source.lines():
        if not line or line.isspace():
            if every_line:
                yield number, line, BLANK
            continue
        if isinstance(line, Beginning):
            too_large = line.length > source.max_line_bytes
            yield number, line, too_long(line.length, source.max_line_bytes) if too_large else NO_MEMORY
            continue
        content, reason = json_value(line, "line", source.encoding)
        if not reason and not isinstance(content, dict):
            reason = "line is not a JSON object"
        yield number, line, reason or values_of_object(content, shapes, understood)
    if source.truncated:
        yield source.line + 1, source.partial or None, source.ends_early


def values_of_object(
    content: dict[str, Any], shapes: Shapes, understood: Understanding
) -> dict[str, Any] | str:
    """The values of an object of `json_value` by field, or the reason why there are none."""
    shape = shapes.of(content)
    found = values_of(content, shape, understood)
    if isinstance(content, _Repeated) and content.names & shape.used:
        keys = {option.key for field, options in shape.fields if field == "source_id" for option in options}
        known = None if keys & content.names else found.get("source_id")
        return refused(f"key '{min(content.names & shape.used)}' appears twice", known)
    if "text" not in found and "source_id" not in found and (why := why_not_one(content)):
        return why
    return found


def _parsed(text: str) -> Any:
    try:
        content, end = _scan(text, 0)
    except StopIteration:
        end = -1
    # Nearly all lines are a value and nothing else, and need no look at the spaces around it.
    return content if end == len(text) else _decode_json(text)


def json_value(raw: bytes, what: str, encoding: str = UTF8) -> tuple[Any, str | None]:
    """A value of JSON, or None and the reason, in which it is called `what`."""
    # What has fewer bytes has fewer values, and need not be looked through.
    if len(raw) > MAX_RECORD_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MAX_RECORD_VALUES:
        return None, TOO_MANY_VALUES
    try:
        return _parsed(raw.decode()), None
    except MemoryError:
        return None, NO_MEMORY
    except UnicodeDecodeError:
        return None, f"{what} is not {encoding}"
    except json.JSONDecodeError as error:
        return None, f"broken JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return None, "JSON is nested too deeply"
    except ValueError:  # CPython reads no integer of more than 4,300 digits
        return None, "a number in the JSON has too many digits"
