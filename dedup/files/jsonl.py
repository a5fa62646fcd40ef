"""Lines become records: one JSON object per line.

A line that is no object, is not UTF-8, says a key twice or is too large is a record with a reason, and the
reading goes on. It does not look into the values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dedup.errors import InputError
from dedup.files.record import (
    MAX_RECORD_VALUES,
    NO_MEMORY,
    TOO_MANY_VALUES,
    Beginning,
    Plan,
    Record,
    too_long,
)
from dedup.files.source import GZIP_ENDS_EARLY, LineSource


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
_decode_json = json.JSONDecoder(strict=False, object_pairs_hook=_object).decode


def jsonl_records(source: LineSource, plan: Plan) -> Iterator[Record]:
    """One record per line that is not blank. Of several names for a field, the first not null counts.

    Raises:
        InputError: a .json file holds one array instead of lines.
    """
    if source.file.lower().removesuffix(".gz").endswith(".json") and source.starts_with == b"[":
        raise InputError(
            f"{source.file} holds one JSON array, not one object per line; convert it: "
            "jq -c '.[]' FILE.json > FILE.jsonl"
        )
    return _jsonl_records(source, tuple(plan.items()))


def _jsonl_records(source: LineSource, plan: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Record]:
    for number, line in source.lines():
        if not line or line.isspace():
            continue
        if isinstance(line, Beginning):
            too_large = line.length > source.max_line_bytes
            yield number, line, too_long(line.length, source.max_line_bytes) if too_large else NO_MEMORY
            continue
        content = _json_object(line)
        if isinstance(content, str):
            yield number, line, content
            continue
        if isinstance(content, _Repeated):
            twice = [name for _, names in plan for name in names if name in content.names]
            if twice:
                yield number, line, f"key '{twice[0]}' appears twice"
                continue
        found = {}
        for field, names in plan:
            for name in names:
                value = content.get(name)
                if value is not None:
                    found[field] = value
                    break
        yield number, line, found
    if source.truncated:
        yield source.line + 1, source.partial or None, GZIP_ENDS_EARLY


def _json_object(line: bytes) -> dict[str, Any] | str:
    # A line with fewer bytes has fewer values, and need not be looked through.
    if len(line) > MAX_RECORD_VALUES and sum(map(line.count, (b",", b"[", b"{"))) > MAX_RECORD_VALUES:
        return TOO_MANY_VALUES
    try:
        content = _decode_json(line.decode())
    except MemoryError:
        return NO_MEMORY
    except UnicodeDecodeError:
        return "line is not UTF-8"
    except json.JSONDecodeError as error:
        return f"broken JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "JSON is nested too deeply"
    except ValueError:  # CPython reads no integer of more than 4,300 digits
        return "a number in the JSON has too many digits"
    if isinstance(content, dict):
        return content
    return "line is not a JSON object"
