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
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dedup.corpus.connection import prefer_indexes
from dedup.corpus.database import Cursor
from dedup.corpus.known_times import delay, known
from dedup.numbers import Flags

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
class Table:
    """What is read together."""

    columns: Mapping[str, Kind]  # name of each to its kind
    key: tuple[str, ...]  # columns by which rows are ordered and found; bigint, and unique together
    source: str  # the rows of a page. `${after}`, `${since}` and `${limit}` stand for its bounds
    count: str  # how many rows there are at most; `${since}` as above
    since: str  # the condition on the time


_SINCE = " AND coalesce(published_at, added_at) >= %(since)s"
_MARK: dict[str, Kind] = {
    "source_id": "text",
    "url": "text",
    "title": "text",
    "publication": "word",
    "language": "word",
    "published_at": "time",
    "added_at": "time",
}

TABLES: Mapping[TableName, Table] = {
    "marks": Table(
        {
            **_MARK,
            "status": "word",
            "stale": "bool",
            "story_source_id": "text",
            "original_source_id": "text",
            "score": "float",
            "reason": "word",
            "marked_at": "time",
            "archived": "bool",
        },
        ("id",),
        "SELECT *, coalesce(original_source_id, source_id) AS story_source_id FROM dedup.mark"
        " WHERE ${after}${since} ORDER BY id LIMIT ${limit}",
        "SELECT count(*) FROM dedup.mark WHERE true${since}",
        _SINCE,
    ),
    "duplicates": Table(
        {
            "source_id": "text",
            "title": "text",
            "publication": "word",
            "published_at": "time",
            "original_source_id": "text",
            "original_title": "text",
            "original_publication": "word",
            "original_published_at": "time",
            "delay_seconds": "float",
            "times_known": "bool",
            "stale": "bool",
            "score": "float",
            "reason": "word",
            "sentence_jaccard": "float",
            "signature_jaccard": "float",
            "containment": "float",
            "archived": "bool",
        },
        ("id",),
        "SELECT *, extract(epoch FROM delay)::double precision AS delay_seconds FROM dedup.duplicate d"
        " WHERE ${after}${since} ORDER BY id LIMIT ${limit}",
        "SELECT count(*) FROM dedup.duplicate d WHERE true${since}",
        # The view has no added_at.
        f" AND EXISTS (SELECT FROM dedup.mark WHERE mark.id = d.id{_SINCE})",
    ),
    "matches": Table(
        {
            "source_id": "text",
            "other_source_id": "text",
            "relation": "word",
            "rule": "word",
            "score": "share",
            "sentence_jaccard": "share",
            "signature_jaccard": "share",
            "containment": "share",
        },
        ("article_id", "other_id"),
        "SELECT * FROM dedup.scored_pair p WHERE ${after}${since}"
        " ORDER BY article_id, other_id LIMIT ${limit}",
        "SELECT count(*) FROM dedup.scored_pair p WHERE true${since}",
        f" AND EXISTS (SELECT FROM dedup.mark WHERE mark.id = p.article_id{_SINCE})",
    ),
    "stories": Table(
        {
            "source_id": "text",
            "url": "text",
            "title": "text",
            "publication": "word",
            "language": "word",
            "status": "word",
            "first_at": "time",
            "last_at": "time",
            "articles": "int",
            "copies": "int",
            "copied_by": "texts",
            "copy_source_ids": "texts",
            "also_in": "texts",
            "times_known": "bool",
            "archived": "bool",
        },
        ("id",),
        # As dedup.story, which would count the copies of all stories for each page.
        f"""
        SELECT c.*, d.copies, 1 + d.copies AS articles, d.copied_by, d.also_in, d.copy_source_ids,
               CASE WHEN coalesce(d.times_known, true) THEN greatest(c.first_at, d.last_at) END AS last_at,
               coalesce(d.times_known, c.first_at IS NOT NULL) AS times_known
        FROM (SELECT c.*, {known("c")} AS first_at
              FROM (SELECT * FROM dedup.mark c WHERE status <> 'duplicate' AND ${{after}}${{since}}
              ORDER BY id LIMIT ${{limit}}) AS c) AS c
        CROSS JOIN LATERAL (
            SELECT count(*) AS copies, max(at) AS last_at, bool_and(delay IS NOT NULL) AS times_known,
                   coalesce(array_agg(DISTINCT publication ORDER BY publication)
                            FILTER (WHERE publication IS NOT NULL AND delay IS NOT NULL), '{{}}')
                       AS copied_by,
                   coalesce(array_agg(DISTINCT publication ORDER BY publication)
                            FILTER (WHERE publication IS NOT NULL AND delay IS NULL), '{{}}') AS also_in,
                   coalesce(array_agg(source_id ORDER BY coalesce(published_at, added_at), source_id), '{{}}')
                       AS copy_source_ids
            FROM (SELECT m.*, at, {delay("at", "c.first_at")} AS delay
                  FROM dedup.mark m CROSS JOIN LATERAL (SELECT {known("m")} AS at) AS k
                  WHERE duplicate_of = c.id) AS m) AS d
        """,
        "SELECT count(*) FROM dedup.mark c WHERE status <> 'duplicate'${since}",
        " AND (coalesce(published_at, added_at) >= %(since)s OR EXISTS (SELECT FROM dedup.mark d"
        " WHERE d.duplicate_of = c.id AND coalesce(d.published_at, d.added_at) >= %(since)s))",
    ),
}
"""The tables. What `since` is compared with is the time of the article; of a pair that of the later one, of a
story that of any of its articles. Where the publication time is unknown it is that of storing."""


def count(cursor: Cursor, name: TableName, since: datetime | None = None) -> int:
    table = TABLES[name]
    query = table.count.replace("${since}", table.since if since else "")
    row = cursor.execute(query.encode(), {"since": since}).fetchone()
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
    query = _query(table, since is not None, rows).encode()
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


def _query(table: Table, since: bool, rows: int) -> str:
    """The statement that reads a page as one row."""
    key = ", ".join(table.key)
    after = f"({key}) > ({', '.join(f'%({name})s' for name in table.key)})"
    source = table.source.replace("${after}", after).replace("${limit}", str(rows))
    source = source.replace("${since}", table.since if since else "")
    texts = [name for name, kind in table.columns.items() if kind in ("text", "word")]
    sizes = [f"coalesce(octet_length({name}), 0)" for name in texts]
    joined = [_joined(f"int8send({name})") for name in table.key]
    for name, kind in table.columns.items():
        joined += _sent(name, kind)
    return f"""
        SELECT count(*), {", ".join(joined)}
        FROM (SELECT *, sum({" + ".join(sizes)}) OVER (ORDER BY {key} ROWS BETWEEN UNBOUNDED PRECEDING
                         AND 1 PRECEDING) AS bytes_before
              FROM ({source}) AS page ORDER BY {key}) AS sized
        WHERE bytes_before IS NULL OR bytes_before < %(page_bytes)s
    """


_SEND = {
    "bool": "boolsend({})",
    "int": "int8send({})",
    "float": "float8send({})",
    "share": "float8send({})",
    "time": "timestamptz_send({})",
}
_NULLABLE = ("float", "time")


def _joined(sent: str) -> str:
    return f"string_agg({sent}, '')"


def _lengths(value: str) -> str:
    return f"int4send(coalesce(octet_length({value}), -1))"


def _sent(name: str, kind: Kind) -> list[str]:
    match kind:
        case "text" | "word":
            return [_joined(_lengths(name)), _joined(f"textsend({name})")]
        case "texts":
            of = f"CASE WHEN cardinality({name}) > 0 THEN (SELECT {{}} FROM unnest({name}) AS one) END"
            parts = (of.format(_joined(sent)) for sent in (_lengths("one"), "textsend(one)"))
            return [_joined(f"int4send(cardinality({name}))"), *map(_joined, parts)]
        case _:
            there = [_joined(f"boolsend({name} IS NOT NULL)")] if kind in _NULLABLE else []
            return [*there, _joined(_SEND[kind].format(name))]


_TYPES = {"bool": np.dtype(np.bool_), "int": np.dtype(">i8"), "time": np.dtype(">i8")}


def _column(kind: Kind, parts: Iterator[bytes | None]) -> Column:
    if kind in ("text", "word"):
        return _texts(parts)
    if kind == "texts":
        counts = _integers(next(parts))
        return Lists(counts, _texts(parts))
    there = np.frombuffer(next(parts) or b"", np.bool_) if kind in _NULLABLE else None
    sent = np.frombuffer(next(parts) or b"", _TYPES.get(kind, np.dtype(">f8")))
    found = sent.astype(sent.dtype.newbyteorder("="))
    if there is None:
        return Values(None, found)
    values = np.zeros(len(there), found.dtype)
    values[there] = found + EPOCH if kind == "time" else found
    return Values(there, values)


def _texts(parts: Iterator[bytes | None]) -> Texts:
    return Texts(_integers(next(parts)), next(parts) or b"")


def _integers(sent: bytes | None) -> npt.NDArray[np.int32]:
    return np.frombuffer(sent or b"", ">i4").astype(np.int32)
