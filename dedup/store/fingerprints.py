"""Texts out of the database, fingerprints into it and out again. It neither makes nor compares them.

Many fingerprints are written as rows of COPY in its binary form, made from arrays: psycopg would convert each
value of each row on its own, which costs more than half of what making the fingerprints costs. A row is a
count of columns, then each value after its length in bytes; an array is as `../db/arrays.py` says. Columns of
a fixed width come first, so all of a row but its sentences is one NumPy record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags
from dedup.db.arrays import ELEMENT, INT8, Bigints, bigints
from dedup.db.database import Cursor, one_column, one_row, prefer_indexes
from dedup.db.statements import Statements
from dedup.store import articles
from dedup.text.fingerprint import Fingerprinted, TextTask
from dedup.text.fingerprints import Fingerprint, Fingerprints

_sql = Statements("store/fingerprints")

Place = tuple[datetime, int]
"""Where an article stands in the index of unsettled ones: time and id."""

Chunk = list[tuple[int, int]]
"""Articles by their ids, each with the revision that was found."""

Target = Literal["fingerprint", "fingerprint_bulk"]
"""The table that fingerprints are stored in: the one in use, or the one where they wait without an index."""


@dataclass(frozen=True, slots=True)
class WaitingTexts:
    """Articles whose texts wait to be fingerprinted."""

    articles: Chunk  # their ids and revisions
    sizes: list[int]  # the bytes of their texts
    last: Place | None  # the place of the last one; None where there is none


def waiting_page(cursor: Cursor, after: Place | None, limit: int) -> WaitingTexts:
    """The next articles whose present text has no fingerprint in any table, near enough in canonical order.
    `after`: the place of the last article of the page before; None for the first page.
    """
    prefer_indexes(cursor)
    last_time, last_id = after or (None, None)
    row = cursor.execute(_sql("waiting_page"), {"time": last_time, "id": last_id, "limit": limit}).fetchone()
    if row is None:
        return WaitingTexts([], [], None)
    ids, revisions, sizes, time, last = row
    return WaitingTexts(
        list(zip(ids.tolist(), revisions.tolist(), strict=True)), sizes.tolist(), (time, last)
    )


def waiting_texts(cursor: Cursor, chunk: Chunk, too_long: int) -> list[tuple[TextTask, bool]]:
    """The texts of some articles, except of those that changed, went or no longer wait; and whether they are
    HTML that is to be made `readable`. Of an attached table the row may have changed and the article not yet:
    that is noted in the outbox. `too_long`: texts that are surely longer than so many characters come without
    their words.
    """
    from dedup.base.html import MAX_HTML_CHARACTERS  # a hook does without

    ids, revisions = _columns(chunk)
    prefer_indexes(cursor)
    bounds = {"too_long": too_long, "html": max(too_long, MAX_HTML_CHARACTERS)}
    values = {"ids": ids, "revisions": revisions, **bounds}
    rows = cursor.execute(_sql("waiting_texts", html=articles.html("a")), values).fetchall()
    if len(rows) < len(chunk):
        read = bigints([row[0] for row in rows])
        cursor.execute(_sql("note_moved"), {"ids": ids, "revisions": revisions, "read": read})
    return [(TextTask(*row[:7]), row[7]) for row in rows]


def _columns(chunk: Chunk) -> tuple[Bigints, Bigints]:
    columns = np.array(chunk, np.int64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def count(cursor: Cursor, what: Literal["known", "unfingerprinted", "unsettled"]) -> int:
    """How many fingerprints there are, about, as the planner knows; how many articles wait for one; or how
    many to be settled.
    """
    return int(one_row(cursor, _sql(_COUNTS[what]))[0])


_COUNTS = {"known": "count", "unfingerprinted": "count_unfingerprinted", "unsettled": "count_unsettled"}


def store(cursor: Cursor, results: Sequence[Fingerprinted]) -> None:
    """Store a few fingerprints and failures, except of texts that changed or went meanwhile. Needs the settle
    lock: with it nobody is just editing or deleting one of these articles, or changing the settings that the
    fingerprints were made with.
    """
    cursor.execute(_sql("note_unread"), {"ids": bigints([result.article_id for result in results])})
    made = [(r, r.fingerprint) for r in results if r.fingerprint is not None]
    if _insert(cursor, made) < len(made) and _remove_outdated(cursor, [r.article_id for r, _ in made]):
        _insert(cursor, made)
    failed = {(r.article_id, r.revision): r.reason or "" for r in results if r.fingerprint is None}
    if failed:
        _remove_outdated(cursor, [article_id for article_id, _ in failed])
        _fail(cursor, failed)


def _insert(cursor: Cursor, made: Sequence[tuple[Fingerprinted, Fingerprint]]) -> int:
    stored = 0
    for result, found in made:
        values = {
            "article_id": result.article_id,
            "revision": result.revision,
            "version": found.version,
            "content_hash": found.content_hash,
            "sentence_hashes": bigints(found.sentence_hashes),
            "signature": found.signature.tobytes(),
            "buckets": bigints(found.buckets),
            "word_count": found.word_count,
            "shingle_count": found.shingle_count,
        }
        stored += cursor.execute(_sql("insert"), values).rowcount
    return stored


@dataclass(frozen=True, slots=True)
class Stored:
    """Fingerprints that a transaction has stored.

    Attributes:
        ids, revisions: of their articles, each of shape (n,).
        made: what they were among; chosen: which n of it they are.
    """

    ids: Bigints
    revisions: Bigints
    made: Fingerprints
    chosen: Flags


class Batch:
    """The fingerprints and failures of many texts, made ready before the settle lock is taken. `chunk`: the
    articles, in the order of `made`.
    """

    def __init__(self, chunk: Chunk, made: Fingerprints) -> None:
        self._chunk, self._made = chunk, made
        self._ids, self._revisions = _columns(chunk)
        self._rows = copy_rows(self._ids, self._revisions, made)
        self.failed = {
            article: reason for article, reason in zip(chunk, made.reasons, strict=True) if reason is not None
        }

    def store(self, cursor: Cursor, target: Target = "fingerprint") -> tuple[Stored, list[int]]:
        """Store what can be; needs the settle lock, as the function `store` does. Returns it, and the ids of
        the articles that changed, went or no longer wait.
        """
        gone, there, outdated = self._storable(cursor)
        if outdated:
            _remove_outdated(cursor, outdated)
            gone, there, _ = self._storable(cursor)
        rows = list(self._rows)
        for i in gone | there:
            rows[i] = b""
        if any(rows):
            into = f"COPY dedup.{target} ({COLUMNS}) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(into.encode()) as copy:
                copy.write(b"".join([BEGINNING, *rows, END]))
        if self.failed:
            _fail(cursor, self.failed)
        chosen = np.fromiter(map(bool, rows), np.bool_, len(rows))
        stored = Stored(self._ids[chosen], self._revisions[chosen], self._made, chosen)
        return stored, [self._chunk[i][0] for i in gone]

    def _storable(self, cursor: Cursor) -> tuple[set[int], set[int], list[int]]:
        row = one_row(cursor, _sql("storable"), {"ids": self._ids, "revisions": self._revisions})
        gone, there, outdated = ([] if part is None else part.tolist() for part in row)
        return set(gone), set(there), outdated


def _remove_outdated(cursor: Cursor, ids: Sequence[int]) -> bool:
    """Remove fingerprints of another revision of their article, and have decided again what rests on them. An
    edit removes them. They are here where someone wrote a revision by hand, or restored half a backup.
    """
    removed = one_column(cursor, _sql("delete_outdated"), {"ids": bigints(ids)})
    if removed:
        articles.withdraw(cursor, removed)
        articles.remove_pairs(cursor, removed)
    cursor.execute(_sql("delete_outdated_waiting"), {"ids": bigints(ids)})
    return bool(removed)


def drop(cursor: Cursor, ids: Collection[int]) -> None:
    """Remove fingerprints, and have settled again what rests on them. Needs the settle lock."""
    articles.withdraw(cursor, ids)
    for table in get_args(Target):
        delete(cursor, ids, table)


def delete(cursor: Cursor, ids: Collection[int], target: Target) -> None:
    cursor.execute(_sql("delete", table=target), {"ids": bigints(ids)})


def read_again(cursor: Cursor, ids: Collection[int]) -> list[int]:
    """Have those of these articles that failed read again, but for archived ones; returns them. Needs the
    settle lock.
    """
    return one_column(cursor, _sql("read_again"), {"ids": bigints(ids)})


def retry(cursor: Cursor, reason: str, limit: int) -> int:
    """Have failed articles read again; returns how many. Needs the settle lock. `reason`: how the reason of
    their failure begins. `limit`: at most so many.
    """
    failed = one_column(cursor, _sql("failed"), {"reason": reason, "limit": limit})
    return len(read_again(cursor, failed))


def _fail(cursor: Cursor, failed: Mapping[tuple[int, int], str]) -> None:
    """Mark articles as failed, and take back what was decided by them under an earlier fingerprint. `failed`:
    article and revision to the reason.
    """
    ids, revisions = _columns(list(failed))
    values = {"ids": ids, "revisions": revisions, "reasons": list(failed.values())}
    articles.remove_pairs(cursor, one_column(cursor, _sql("fail"), values))


# --- rows of COPY

COLUMNS = (
    "article_id, version, content_hash, revision, word_count, shingle_count, buckets, signature,"
    " sentence_hashes"
)
"""In the order of the values of a row."""

_PLAIN = {
    **dict.fromkeys(("article_id", "version", "content_hash"), 8),
    **dict.fromkeys(("revision", "word_count", "shingle_count"), 4),
}
"""The columns of a fixed width, and their bytes."""

BEGINNING = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"
_ARRAY = 20
"""Bytes of an array before its elements: dimensions, nulls, element type, length and lower bound."""


def copy_rows(ids: Bigints, revisions: Bigints, made: Fingerprints) -> list[bytes]:
    """The rows of some articles, in their order; a text without a fingerprint has an empty one. `ids`,
    `revisions`: of the articles that `made` is of.
    """
    rows = [b""] * len(made)
    sentences = elements(made.sentence_hashes).tobytes()
    ends = (made.sentence_starts * ELEMENT.itemsize).tolist()
    counts = np.diff(made.sentence_starts)
    readable = np.fromiter((reason is None for reason in made.reasons), np.bool_, len(made))
    signed = made.shingle_count > 0
    for bands in (made.buckets.shape[1], 0):
        for size in (made.signature.shape[1], 0):
            chosen = np.flatnonzero(readable & (made.banded == bool(bands)) & (signed == bool(size)))
            if not len(chosen):
                continue
            record = _record(bands, size)
            table = np.full(len(chosen), record, record.dtype)
            for name in ("version", "content_hash", "word_count", "shingle_count"):
                table[name] = getattr(made, name)[chosen]
            table["article_id"], table["revision"] = ids[chosen], revisions[chosen]
            if bands:
                table["buckets"]["value"] = made.buckets[chosen]
            if size:
                table["signature"] = made.signature[chosen]
            table["sentences_bytes"] = _ARRAY + ELEMENT.itemsize * counts[chosen]
            table["sentences_length"] = counts[chosen]
            fixed, width = table.tobytes(), record.dtype.itemsize
            for start, i in zip(range(0, len(fixed), width), chosen.tolist(), strict=True):
                rows[i] = fixed[start : start + width] + sentences[ends[i] : ends[i + 1]]
    return rows


@cache
def _record(bands: int, size: int) -> npt.NDArray[Any]:
    """All of a row but its sentences and values, for so many buckets and so many values of the signature."""
    fields: list[tuple[Any, ...]] = [("columns", ">i2")]
    for name, width in _PLAIN.items():
        fields += [(f"{name}_bytes", ">i4"), (name, f">i{width}")]
    parts = ("bytes", "dimensions", "nulls", "type", "length", "lower")
    fields += [(f"buckets_{part}", ">i4") for part in parts]
    fields += [("buckets", ELEMENT, bands), ("signature_bytes", ">i4"), ("signature", "u1", size)]
    fields += [(f"sentences_{part}", ">i4") for part in parts]
    row = np.zeros((), np.dtype(fields))
    row["columns"] = len(_PLAIN) + 3
    for name, width in _PLAIN.items():
        row[f"{name}_bytes"] = width
    for name in ("buckets", "sentences"):
        row[f"{name}_dimensions"], row[f"{name}_type"], row[f"{name}_lower"] = 1, INT8, 1
    row["buckets_bytes"] = _ARRAY + ELEMENT.itemsize * bands
    row["buckets_length"] = bands
    row["buckets"]["size"] = 8
    row["signature_bytes"] = size
    return row


def elements(values: Bigints) -> npt.NDArray[Any]:
    """The elements of an array of bigint, as COPY takes them."""
    found = np.empty(len(values), ELEMENT)
    found["size"], found["value"] = 8, values
    return found
