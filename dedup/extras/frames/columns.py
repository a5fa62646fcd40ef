"""Read rows of the views as Arrow batches, without changing anything.

The server sends rows as CSV with COPY, and pyarrow parses the CSV. An index finds the first row of each page,
so a page of a large table takes no longer than a page of a small table. Only one batch is in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.csv

from dedup.base.answer import Rows
from dedup.base.verdict import Representative
from dedup.db.connection import prefer_indexes
from dedup.db.database import Cursor, Database
from dedup.db.statements import Statements
from dedup.store import exports
from dedup.store.stories import delay, known, representing

_sql = Statements("extras/frames/columns")

PAGE_ROWS = 16_384  # Maximum number of rows per statement
BATCH_BYTES = 2_000_000  # A batch ends with the row that reaches this number of bytes of CSV

_TYPES: Mapping[str, pa.DataType] = {
    "text": pa.string(),
    "word": pa.dictionary(pa.int32(), pa.string()),  # A column of texts with few different values
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "time": pa.timestamp("us", "UTC"),
    "texts": pa.list_(pa.string()),
}

TableName: TypeAlias = Literal["stories", "duplicates", "additions", "matches", "marks"]
"""The tables that can be read."""

TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)


def _schema(columns: str) -> pa.Schema:
    listed = (column.split() for column in columns.split(", "))
    return pa.schema([(column, _TYPES[kind]) for column, kind in listed])


SCHEMAS: Mapping[TableName, pa.Schema] = {
    "marks": _schema(
        "source_id text, url text, title text, publication word, language word, published_at time,"
        " added_at time, status word, stale bool, story_source_id text, original_source_id text,"
        " score float, reason word, marked_at time, archived bool, byline text,"
        " was_first bool, credits texts, correction word, kept text, times_known bool",
    ),
    "duplicates": _schema(
        "source_id text, title text, publication word, published_at time, original_source_id text,"
        " original_title text, original_publication word, original_published_at time,"
        " delay_seconds float, times_known bool, stale bool, score float, reason word,"
        " sentence_jaccard float, signature_jaccard float, containment float, archived bool",
    ),
    "additions": _schema(
        "source_id text, title text, publication word, published_at time, original_source_id text,"
        " original_publication word, words int, words_added int, sentences_added int, numbers_added int,"
        " share_in_original float, adds_nothing bool, sentences texts, numbers texts, times_known bool,"
        " stale bool, archived bool",
    ),
    "matches": _schema(
        "source_id text, other_source_id text, relation word, rule word, score float,"
        " sentence_jaccard float, signature_jaccard float, containment float, times_known bool",
    ),
    "stories": _schema(
        "source_id text, url text, title text, publication word, language word, status word,"
        " first_at time, last_at time, articles int, copies int, copied_by texts,"
        " copy_source_ids texts, also_in texts, times_known bool, archived bool, byline text,"
        " credits texts, correction word, representative_source_id text",
    ),
}
"""Columns of each table. `since` selects articles by time of publication (if unknown, of storing), pairs by
their later article, and stories that have at least one selected article. Url, title, publication, language,
byline and correction of a story belong to the article that represents the story."""

SUMMARIES: Mapping[str, pa.Schema] = {
    "origins": _schema("kind word, name text, articles int, stories int, outlets int"),
    "panel": _schema(
        "month time, outlet text, family text, articles int, own int, copied int, agency int,"
        " first_unknown int, not_compared int, diversity float, times_known bool"
    ),
    "network": _schema(
        "original_outlet text, outlet text, copies int, agency_copies int, median_delay_seconds float,"
        " times_known bool"
    ),
    "credits": _schema(
        "publication text, articles int, credited int, agency_copy int, share float, settled int, own int,"
        " own_at_most int"
    ),
}
"""Columns of the tables that are computed anew for each call, and have few rows."""

# Keys of the tables whose key is not `id`.
_KEYS: Mapping[TableName, tuple[str, ...]] = {"matches": ("article_id", "other_id")}

# SQL for the id of the article whose scope is asked for.
_SCOPED: Mapping[TableName, str] = {"marks": "m.id", "matches": "p.article_id", "stories": "c.id"}

_COUNTS: Mapping[TableName, str] = {
    "marks": "count_marks",
    "duplicates": "count_duplicates",
    "additions": "count_additions",
    "matches": "count_matches",
    "stories": "count_stories",
}


def count(cursor: Cursor, name: TableName, since: datetime | None = None) -> int:
    query = _sql(_COUNTS[name], **_unasked(name, since))
    row = cursor.execute(query, {"since": since}).fetchone()
    return int(row[0]) if row else 0


def batches(
    cursor: Cursor,
    name: TableName,
    since: datetime | None = None,
    *,
    representative: Representative = "first",
    scope: str | None = None,
    rows: int = PAGE_ROWS,
    size: int = BATCH_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in the order in which articles were stored.

    `cursor`: must belong to a snapshot transaction. `since`: see `SCHEMAS`. `rows`: maximum rows per page.
    `representative`: the article that represents a story in the table stories. `scope`: only rows of
    articles of this scope.
    """
    schema, key = SCHEMAS[name], _KEYS.get(name, ("id",))
    prefer_indexes(cursor)
    # Plans with bitmap scans or sorts would read all remaining rows again for each page.
    cursor.execute("SET LOCAL enable_bitmapscan = off")
    cursor.execute("SET LOCAL enable_sort = off")
    asked = page(name, since, rows, representative, scope)
    written = b"COPY (" + asked + b") TO STDOUT (FORMAT csv, NULL '\\N')"
    given = {"since": since, "scope": scope}
    described = pa.schema([*schema, *((column, _TYPES["int"]) for column in key)])
    before, last = None, [-1] * len(key)
    # `last` is the key of the last row read. If a page does not change it, the page was empty: stop.
    while last != before:
        before = last
        with cursor.copy(written, {**dict(zip(key, last, strict=True)), **given}) as copied:
            for block in _blocks(copied, size):
                batch = _parsed(block, described)
                last = [batch.column(column)[-1].as_py() for column in key]
                yield batch.select(schema.names)


def panel(database: Database, since: datetime | None = None) -> Rows[dict[str, Any]]:
    """Return the panel. `since`: only months from the month of this time on."""
    unasked = {"from_month": ""} if since is None else {}
    return exports.lazily(database, _sql("panel", **unasked), since=since)


def network(database: Database) -> Rows[dict[str, Any]]:
    """Return each pair of outlets that share stories."""
    return exports.lazily(database, _sql("network"))


def page(
    name: TableName,
    since: datetime | None,
    rows: int,
    representative: Representative = "first",
    scope: str | None = None,
) -> bytes:
    """Return the statement that reads a page; the columns of the key come last."""
    parts = {"first_at": known("c"), "at": known("m"), "delay": delay("at", "c.first_at"), "limit": str(rows)}
    parts["representative"] = representing("c.id", representative)
    if representative == "first":
        parts["shown"] = "(SELECT c.*)"  # the story's original, whose row has been read already
    parts |= {"in_scope": ""} if scope is None else {"article": _SCOPED.get(name, "d.id")}
    source = _sql(name, **parts, **_unasked(name, since)).decode()
    # pyarrow cannot read lists from CSV, so lists are sent as JSON.
    columns = [f"to_json({one.name})" if pa.types.is_list(one.type) else one.name for one in SCHEMAS[name]]
    key = _KEYS.get(name, ("id",))
    return _sql("page", columns=", ".join([*columns, *key]), source=source, key=", ".join(key))


def _unasked(name: TableName, since: datetime | None) -> dict[str, str]:
    # Without `since`, the conditions in columns.sql, such as `${marks_since}`, are replaced by nothing.
    return {f"{name}_since": ""} if since is None else {}


def _blocks(rows: Iterable[Any], size: int) -> Iterator[bytes]:
    block = bytearray()
    for row in rows:
        block += row
        if len(block) >= size:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


def _parsed(block: bytes, schema: pa.Schema) -> pa.RecordBatch:
    # Lists are first read as dictionary-encoded texts, so each distinct list is parsed as JSON only once.
    types = {one.name: _TYPES["word"] if pa.types.is_list(one.type) else one.type for one in schema}
    (batch,) = pyarrow.csv.read_csv(
        pa.BufferReader(block),
        pyarrow.csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=schema.names),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=types,
            null_values=["\\N"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    ).to_batches()
    columns = [
        pa.array(map(json.loads, found.dictionary.to_pylist()), one.type).take(found.indices)
        if pa.types.is_list(one.type)
        else found
        for one, found in zip(schema, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, schema=schema)
