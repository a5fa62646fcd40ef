"""Read records from JSONL, with one object per line, or from the pieces of JSON that `document.py` cuts.

A line that is not an object, is not UTF-8, repeats a key or is too large becomes a record with a reason to
refuse the line; then reading continues. A line with a list of articles becomes a record for each article.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

from dedup.files.document import ENDS_EARLY, NO_LIST, find_articles, is_document, read_values
from dedup.files.naming import Shapes, extract_values
from dedup.files.record import (
    MAX_RECORD_KEYS,
    MAX_RECORD_VALUES,
    NO_MEMORY,
    TOO_MANY_VALUES,
    Beginning,
    Plan,
    Record,
    Refusal,
    describe_size,
)
from dedup.files.report import Understanding
from dedup.files.source import UTF8, LineSource

BLANK = "the line is blank"

# Keys of the objects with which MongoDB exports values that JSON lacks, such as dates.
_TYPED = ("$oid", "$date", "$numberLong")


class _RepeatedKeys(dict[str, Any]):
    """JSON object in which a key appears twice; the module json would silently keep the last value."""

    names: frozenset[str]


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _RepeatedKeys(found)
    repeated.names = frozenset(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return repeated


# `strict=False` allows unescaped control characters, such as tabs, in strings.
_decoder = json.JSONDecoder(strict=False, object_pairs_hook=_make_object)
_scan = cast(Any, _decoder).scan_once


def read_jsonl(
    source: LineSource, plan: Plan, understood: Understanding | None = None, *, every_line: bool = False
) -> Iterator[Record]:
    """Yield a record for each article; with `every_line`, a record for each line, even for a blank line."""
    understood = understood or Understanding(source.file, "jsonl")
    understood.encoding = source.encoding if source.encoding != UTF8 else None
    lines: Iterable[tuple[int, bytes | None]] = source.lines()
    if not every_line:
        cut, path = is_document(source, named_json=understood.format == "json")
        understood.format = "json" if cut else "jsonl"
        if cut:
            lines = read_values(source, path)
    shapes = Shapes(plan, understood)
    what = "line" if understood.format == "jsonl" else "value"

    def records() -> Iterator[Record]:
        number = 0
        for number, line in lines:
            if line is None:
                yield number, None, NO_LIST
                continue
            # Check for a `Beginning` first: it may hold only spaces, although the whole line is not blank.
            if isinstance(line, Beginning):
                most = source.max_line_bytes
                yield number, line, describe_size(line.length, most) if line.length > most else NO_MEMORY
                continue
            if not line or line.isspace():
                if every_line:
                    yield number, line, BLANK
                continue
            content, reason = parse_json(line, what, source.encoding)
            if reason:
                yield number, line, reason
            elif isinstance(content, dict):
                found = extract_object(content, shapes, understood)
                if isinstance(found, SeveralArticles) and not every_line:
                    yield from read_each(number, found.articles, shapes, understood)
                else:
                    yield number, line, found
            elif isinstance(content, list) and content and isinstance(content[0], dict) and not every_line:
                yield from read_each(number, content, shapes, understood)
            else:
                yield number, line, f"{what} is not a JSON object"
        if source.truncated:
            number = number if understood.format == "json" else source.line
            yield number + 1, source.partial or None, source.ends_early if source.packing else ENDS_EARLY

    return records()


def read_each(number: int, found: list[Any], shapes: Shapes, understood: Understanding) -> Iterator[Record]:
    """Yield a record for each article of a list, all with the number of the line that holds the list."""
    for one in found:
        made = extract_object(one, shapes, understood) if isinstance(one, dict) else "it is not a JSON object"
        if isinstance(made, SeveralArticles):
            yield from read_each(number, made.articles, shapes, understood)
        else:
            yield number, None, made


class SeveralArticles(str):
    """Reason to refuse an object because it holds several articles."""

    articles: list[Any]


def extract_object(
    content: dict[str, Any], shapes: Shapes, understood: Understanding
) -> dict[str, Any] | str:
    """Return the values of an object by field, or the reason to refuse it."""
    hit = content.get("_source")
    if isinstance(hit, dict):  # the object is a hit of Elasticsearch, which contains the article
        content = {"_id": content["_id"], **hit} if "_id" in content else hit
    if len(content) > MAX_RECORD_KEYS:
        return f"the record has {len(content):,} keys, the limit is {MAX_RECORD_KEYS:,}"
    shape = shapes.find(content)
    found = extract_values(content, shape, understood)
    for field, value in found.items():
        while type(value) is dict and len(value) == 1 and (inner := next(iter(value))) in _TYPED:
            found[field] = value = value[inner]
    if isinstance(content, _RepeatedKeys) and content.names & shape.used:
        keys = {option.key for field, options in shape.fields if field == "source_id" for option in options}
        known = None if keys & content.names else found.get("source_id")
        return Refusal(f"key '{min(content.names & shape.used)}' appears twice", known)
    if "text" not in found and "source_id" not in found and (articles := find_articles(content)):
        several = SeveralArticles("it holds several articles; give each its own line")
        several.articles = articles
        return several
    return found


def _parse(text: str) -> Any:
    try:
        content, end = _scan(text, 0)
    except StopIteration:
        end = -1
    # `_scan` is fast, but does not skip spaces and raises no useful error. `decode` does both.
    return content if end == len(text) else _decoder.decode(text)


def parse_json(raw: bytes, what: str, encoding: str = UTF8) -> tuple[Any, str | None]:
    """Return the parsed value and None, or None and the reason to refuse `raw`. `what`: "line" or "value"."""
    # A short line cannot have too many values, so its values are not counted.
    if len(raw) > MAX_RECORD_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MAX_RECORD_VALUES:
        return None, TOO_MANY_VALUES
    try:
        return _parse(raw.decode()), None
    except MemoryError:
        return None, NO_MEMORY
    except UnicodeDecodeError:
        return None, f"{what} is not {encoding}"
    except json.JSONDecodeError as error:
        return None, f"broken JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return None, "JSON is nested too deeply"
    except ValueError:  # CPython refuses integers of more than 4,300 digits
        return None, "a number in the JSON has too many digits"
