"""Reads texts that have no fingerprint yet, and stores fingerprints; other modules compute fingerprints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, one_column, one_row, prefer_indexes
from dedup.db.elements import ELEMENT, INT8
from dedup.db.statements import Statements
from dedup.store import articles
from dedup.text.fingerprint import Fingerprinted, TextTask
from dedup.text.fingerprints import Fingerprint, Fingerprints

_sql = Statements("store/fingerprints")

Place = tuple[datetime, int]
"""Position in the index of unsettled articles: time and id of an article."""

Chunk = list[tuple[int, int]]
"""Articles, each as its id and the revision of its text."""

Target = Literal["fingerprint", "fingerprint_bulk"]
"""Tables of fingerprints: the table in use, and the table where a large backfill collects fingerprints."""


@dataclass(frozen=True, slots=True)
class WaitingTexts:
    """Articles whose texts wait to be fingerprinted."""

    articles: Chunk
    sizes: list[int]  # bytes of each text
    last: Place | None  # position of the last article; None if no article waits


def waiting_page(cursor: Cursor, after: Place | None, limit: int) -> WaitingTexts:
    """Return the next articles whose present text has no fingerprint, roughly in canonical order."""
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
    """Return the texts of articles that still wait for a fingerprint, and whether each text is HTML.

    `too_long`: maximum characters of a text; if a text is longer, return only its length.
    """
    from dedup.base.html import MAX_HTML_CHARACTERS  # imported late: hooks do not need it

    ids, revisions = _columns(chunk)
    prefer_indexes(cursor)
    # HTML may be longer, because markup does not count as text.
    bounds = {"too_long": too_long, "html": max(too_long, MAX_HTML_CHARACTERS)}
    values = {"ids": ids, "revisions": revisions, **bounds}
    rows = cursor.execute(_sql("waiting_texts", html=articles.html_sql("a")), values).fetchall()
    if len(rows) < len(chunk):
        # Rows of attached tables may have changed since the last sync. Note them, so they are read again.
        read = bigints([row[0] for row in rows])
        cursor.execute(_sql("note_moved"), {"ids": ids, "revisions": revisions, "read": read})
    return [(TextTask(*row[:8]), row[8]) for row in rows]


def _columns(chunk: Chunk) -> tuple[Bigints, Bigints]:
    columns = np.array(chunk, np.int64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def count(cursor: Cursor, what: Literal["known", "unfingerprinted", "unsettled"]) -> int:
    """Count unfingerprinted or unsettled articles; for "known", estimate the number of fingerprints."""
    return int(one_row(cursor, _sql(_COUNTS[what]))[0])


_COUNTS = {"known": "count", "unfingerprinted": "count_unfingerprinted", "unsettled": "count_unsettled"}


def store(cursor: Cursor, results: Sequence[Fingerprinted]) -> None:
    """Store a few fingerprints and failures; skip texts that changed meanwhile. Needs the settle lock."""
    # Several statements are safe here: under the lock nobody edits or deletes these articles, or changes the
    # settings of the fingerprints.
    cursor.execute(_sql("note_unread"), {"ids": bigints([result.article_id for result in results])})
    made = [(r, r.fingerprint) for r in results if r.fingerprint is not None]
    # An outdated fingerprint prevents the insert of a new one: remove the outdated one, and insert again.
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
class StoredBatch:
    """The n fingerprints that a transaction stored."""

    ids: Bigints  # ids of the articles, shape (n,)
    revisions: Bigints  # revisions of the texts, shape (n,)
    made: Fingerprints  # all fingerprints of the batch, stored or not
    chosen: Flags  # true for the n fingerprints of `made` that were stored


class Batch:
    """Fingerprints and failures of many texts, prepared for COPY before the settle lock is taken."""

    def __init__(self, chunk: Chunk, made: Fingerprints) -> None:
        self._chunk, self._made = chunk, made
        self._ids, self._revisions = _columns(chunk)
        self._rows = copy_rows(self._ids, self._revisions, made)
        self.failed = {
            article: reason for article, reason in zip(chunk, made.reasons, strict=True) if reason is not None
        }

    def store(self, cursor: Cursor, target: Target = "fingerprint") -> tuple[StoredBatch, list[int]]:
        """Store the batch under the settle lock; return what was stored, and articles that no longer wait."""
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
        stored = StoredBatch(self._ids[chosen], self._revisions[chosen], self._made, chosen)
        return stored, [self._chunk[i][0] for i in gone]

    def _storable(self, cursor: Cursor) -> tuple[set[int], set[int], list[int]]:
        row = one_row(cursor, _sql("storable"), {"ids": self._ids, "revisions": self._revisions})
        gone, there, outdated = ([] if part is None else part.tolist() for part in row)
        return set(gone), set(there), outdated


def _remove_outdated(cursor: Cursor, ids: Sequence[int]) -> bool:
    """Delete fingerprints of earlier revisions, and make the articles stale. Return whether any deleted
    fingerprint was in use."""
    # Normally an edit removes the fingerprint. It remains if someone restored only a part of a backup.
    removed = one_column(cursor, _sql("delete_outdated"), {"ids": bigints(ids)})
    if removed:
        articles.withdraw(cursor, removed)
        articles.remove_pairs(cursor, removed)
    cursor.execute(_sql("delete_outdated_waiting"), {"ids": bigints(ids)})
    return bool(removed)


def drop(cursor: Cursor, ids: Collection[int]) -> None:
    """Remove the fingerprints of articles, and make settled articles stale. Needs the settle lock."""
    articles.withdraw(cursor, ids)
    for table in get_args(Target):
        delete(cursor, ids, table)


def delete(cursor: Cursor, ids: Collection[int], target: Target) -> None:
    cursor.execute(_sql("delete", table=target), {"ids": bigints(ids)})


def read_again(cursor: Cursor, ids: Collection[int]) -> list[int]:
    """Make failed articles pending, unless they are archived; return their ids. Needs the settle lock."""
    return one_column(cursor, _sql("read_again"), {"ids": bigints(ids)})


def retry(cursor: Cursor, reason: str, limit: int) -> int:
    """Make up to `limit` articles that failed for `reason` pending; count them. Needs the settle lock."""
    failed = one_column(cursor, _sql("failed"), {"reason": reason, "limit": limit})
    return len(read_again(cursor, failed))


def _fail(cursor: Cursor, failed: Mapping[tuple[int, int], str]) -> None:
    """Mark articles as failed, and remove the pairs of their earlier revisions. `failed`: the reason by id
    and revision."""
    ids, revisions = _columns(list(failed))
    values = {"ids": ids, "revisions": revisions, "reasons": list(failed.values())}
    articles.remove_pairs(cursor, one_column(cursor, _sql("fail"), values))


# Rows are encoded here: psycopg would convert each value separately, and add half of the fingerprinting time.
# A row is the number of columns, then length and bytes of each value (arrays: `../db/elements.py`). The
# sentences come last, because only their width varies: NumPy can write the columns before them for many rows
# at once.
COLUMNS = (
    "article_id, version, content_hash, revision, word_count, shingle_count, buckets, signature,"
    " sentence_hashes"
)

_PLAIN = {
    **dict.fromkeys(("article_id", "version", "content_hash"), 8),
    **dict.fromkeys(("revision", "word_count", "shingle_count"), 4),
}
"""Columns of a fixed width, with the number of bytes of each."""

BEGINNING = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"
_ARRAY = 20  # Bytes before the elements: dimensions, nulls, element type, length and lower bound


def copy_rows(ids: Bigints, revisions: Bigints, made: Fingerprints) -> list[bytes]:
    """Return one row for binary COPY per fingerprint, in the order of `made`; an empty row for a failure."""
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
    """Return an empty row as template: `bands` buckets, a signature of `size` bytes, no sentences."""
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
    """Return values as the elements of a bigint[] in the binary format of COPY."""
    found = np.empty(len(values), ELEMENT)
    found["size"], found["value"] = 8, values
    return found
