"""What the views show, as columns: a page of rows is one row of bytes, whatever it holds. Read-only.

The server joins the values of a column into one string of bytes, in the form in which Postgres sends them,
and their lengths, or which of them are there, into another. NumPy reads both as they are, so no value becomes
a Python object. A page begins after the key of the last one and is found by an index, so a table of any size
costs the same per row. Pages end by rows or by bytes, whichever comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags
from dedup.db.connection import prefer_indexes
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store.stories import delay, known

_sql = Statements("extras/frames/columns")

PAGE_ROWS = 16_384
"""Rows of a page: of real news about 4 MB."""

PAGE_BYTES = 32_000_000
"""Of texts in a page, more or less: a row that crosses it is the last. Postgres joins up to 1 GB."""

Kind = Literal["text", "word", "bool", "int", "float", "share", "time", "texts"]
"""What a column holds: a `word` is a text of which there are few, a `share` a float. No value is missing in
those of `bool`, `int`, `share` and `texts`, nor within a list of `texts`."""

TableName = Literal["stories", "duplicates", "matches", "marks"]
TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)

EPOCH = 946_684_800_000_000
"""Microseconds from 1970, where others begin, to 2000, where Postgres does."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts, one after the other."""

    lengths: npt.NDArray[np.int32]  # bytes of UTF-8 of each; -1 for null
    data: bytes


@dataclass(frozen=True, slots=True)
class Values:
    """Numbers, flags, or times in microseconds since 1970, as arrays of m rows."""

    there: Flags | None  # false for null, whose value is 0; None where nothing is
    values: npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of texts: how many each has, and all of them, one after the other."""

    counts: npt.NDArray[np.int32]
    texts: Texts


Column: TypeAlias = Texts | Values | Lists


@dataclass(frozen=True, slots=True)
class ArrowTable:
    columns: Mapping[str, Kind]  # name of each to its kind
    key: tuple[str, ...]  # columns by which rows are ordered and found; bigint, and unique together
    # source, count, since: the statements of its rows after a key and of how many there are at most, and what
    # both say about the time
    source: str
    count: str
    since: str


def _columns(listed: str) -> dict[str, Kind]:
    pairs = (column.split() for column in listed.split(", "))
    return {name: cast("Kind", kind) for name, kind in pairs}


TABLES: Mapping[TableName, ArrowTable] = {
    "marks": ArrowTable(
        _columns(
            "source_id text, url text, title text, publication word, language word, published_at time,"
            " added_at time, status word, stale bool, story_source_id text, original_source_id text,"
            " score float, reason word, marked_at time, archived bool, byline text,"
            " credits texts, kept text"
        ),
        ("id",),
        *("marks", "count_marks", "marks_since"),
    ),
    "duplicates": ArrowTable(
        _columns(
            "source_id text, title text, publication word, published_at time, original_source_id text,"
            " original_title text, original_publication word, original_published_at time,"
            " delay_seconds float, times_known bool, stale bool, score float, reason word,"
            " sentence_jaccard float, signature_jaccard float, containment float, archived bool"
        ),
        ("id",),
        *("duplicates", "count_duplicates", "duplicates_since"),
    ),
    "matches": ArrowTable(
        _columns(
            "source_id text, other_source_id text, relation word, rule word, score share,"
            " sentence_jaccard share, signature_jaccard share, containment share"
        ),
        ("article_id", "other_id"),
        *("matches", "count_matches", "matches_since"),
    ),
    "stories": ArrowTable(
        _columns(
            "source_id text, url text, title text, publication word, language word, status word,"
            " first_at time, last_at time, articles int, copies int, copied_by texts,"
            " copy_source_ids texts, also_in texts, times_known bool, archived bool, byline text,"
            " credits texts"
        ),
        ("id",),
        *("stories", "count_stories", "stories_since"),
    ),
}
"""The tables. What `since` is compared with is the time of the article; of a pair that of the later one, of a
story that of any of its articles. Where the publication time is unknown it is that of storing."""


def count(cursor: Cursor, name: TableName, since: datetime | None = None) -> int:
    table = TABLES[name]
    parts = {table.since: ""} if since is None else {}  # what asks for the time, where no time is asked for
    row = cursor.execute(_sql(table.count, **parts), {"since": since}).fetchone()
    return int(row[0]) if row else 0


def pages(
    cursor: Cursor,
    name: TableName,
    since: datetime | None = None,
    *,
    rows: int = PAGE_ROWS,
    bytes: int = PAGE_BYTES,
) -> Iterator[tuple[int, dict[str, Column]]]:
    """The rows of a table in the order in which articles were stored, page by page, as columns. `cursor`: of
    a transaction that sees one moment. `since`: see `TABLES`. `rows`, `bytes`: of a page at most; one row is
    always taken. Yields the number of rows, and each column by its name.
    """
    table = TABLES[name]
    query = _query(table, since, rows)
    last = [-1] * len(table.key)
    prefer_indexes(cursor)
    # These would read, and sort, all that is left for each page.
    cursor.execute("SET LOCAL enable_bitmapscan = off")
    cursor.execute("SET LOCAL enable_sort = off")
    while True:
        given = {**dict(zip(table.key, last, strict=True)), "since": since, "page_bytes": bytes}
        row = cursor.execute(query, given).fetchone()
        assert row is not None
        found, *parts = row
        if not found:
            return
        last = [int(np.frombuffer(parts.pop(0), ">i8")[-1]) for _ in table.key]
        each = iter(parts)
        yield found, {name: _column(kind, each) for name, kind in table.columns.items()}


def _query(table: ArrowTable, since: datetime | None, rows: int) -> bytes:
    """The statement that reads a page as one row."""
    parts = {"first_at": known("c"), "at": known("m"), "delay": delay("at", "c.first_at"), "limit": str(rows)}
    if since is None:
        parts[table.since] = ""
    texts = [name for name, kind in table.columns.items() if kind in ("text", "word")]
    sent = [f"int8send({name})" for name in table.key]
    for name, kind in table.columns.items():
        sent += _sent(name, kind)
    return _sql(
        "page",
        joined=", ".join(_JOINED.format(value) for value in sent),
        sizes=" + ".join(f"coalesce(octet_length({name}), 0)" for name in texts),
        key=", ".join(table.key),
        source=_sql(table.source, **parts).decode(),
    )


_SEND = {
    "bool": "boolsend({})",
    "int": "int8send({})",
    "float": "float8send({})",
    "share": "float8send({})",
    "time": "timestamptz_send({})",
}
_NULLABLE = ("float", "time")


_JOINED, _LENGTH = "string_agg({}, '')", "int4send(coalesce(octet_length({}), -1))"


def _sent(name: str, kind: Kind) -> list[str]:
    """What is sent of a value, to be joined over the rows."""
    match kind:
        case "text" | "word":
            return [_LENGTH.format(name), f"textsend({name})"]
        case "texts":
            of = f"CASE WHEN cardinality({name}) > 0 THEN (SELECT {_JOINED} FROM unnest({name}) AS one) END"
            return [
                f"int4send(cardinality({name}))",
                of.format(_LENGTH.format("one")),
                of.format("textsend(one)"),
            ]
        case _:
            there = [f"boolsend({name} IS NOT NULL)"] if kind in _NULLABLE else []
            return [*there, _SEND[kind].format(name)]


_TYPES = {"bool": np.dtype(np.bool_), "int": np.dtype(">i8"), "time": np.dtype(">i8")}


def _column(kind: Kind, parts: Iterator[bytes | None]) -> Column:
    if kind in ("text", "word", "texts"):
        sent = (next(parts) or b"" for _ in range(2 if kind == "texts" else 1))
        *counts, lengths = (np.frombuffer(part, ">i4").astype(np.int32) for part in sent)
        texts = Texts(lengths, next(parts) or b"")
        return Lists(counts[0], texts) if counts else texts
    there = np.frombuffer(next(parts) or b"", np.bool_) if kind in _NULLABLE else None
    numbers = np.frombuffer(next(parts) or b"", _TYPES.get(kind, np.dtype(">f8")))
    found = numbers.astype(numbers.dtype.newbyteorder("="))
    if there is None:
        return Values(None, found)
    values = np.zeros(len(there), found.dtype)
    values[there] = found + EPOCH if kind == "time" else found
    return Values(there, values)
