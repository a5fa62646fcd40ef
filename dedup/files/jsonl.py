"""Lines become records: one JSON object per line.

A line that is no object, is not UTF-8, says a key twice or is too large is a record with a reason, and the
reading goes on. It does not look into the values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from dedup.base.errors import InputError
from dedup.files.conversion import why_not_lines, why_not_one
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
from dedup.files.source import GZIP_ENDS_EARLY, LineSource
from dedup.files.understanding import Understanding

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
        why = why_not_lines(source.file, source.start, packed=source.packed, is_pipe=is_pipe)
        if why:
            raise InputError(why)
    return _jsonl_records(source, plan, understood or Understanding(source.file, "jsonl"), every_line)


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
        yield number, line, _values_in(line, shapes, understood)
    if source.truncated:
        yield source.line + 1, source.partial or None, GZIP_ENDS_EARLY


def _values_in(line: bytes, shapes: Shapes, understood: Understanding) -> dict[str, Any] | str:
    content, reason = json_value(line, "line")
    if reason:
        return reason
    if not isinstance(content, dict):
        return "line is not a JSON object"
    return values_of_object(content, shapes, understood)


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


def json_value(raw: bytes, what: str) -> tuple[Any, str | None]:
    """A value of JSON, or None and the reason, in which it is called `what`."""
    # What has fewer bytes has fewer values, and need not be looked through.
    if len(raw) > MAX_RECORD_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MAX_RECORD_VALUES:
        return None, TOO_MANY_VALUES
    try:
        return _parsed(raw.decode()), None
    except MemoryError:
        return None, NO_MEMORY
    except UnicodeDecodeError:
        return None, f"{what} is not UTF-8"
    except json.JSONDecodeError as error:
        return None, f"broken JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return None, "JSON is nested too deeply"
    except ValueError:  # CPython reads no integer of more than 4,300 digits
        return None, "a number in the JSON has too many digits"
