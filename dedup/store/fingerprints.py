"""Texts out of the database, fingerprints into it and out again. It neither makes nor compares them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

import numpy as np

from dedup.base.numbers import Flags
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, prefer_indexes
from dedup.db.statements import Statements
from dedup.store import articles
from dedup.store.copy_rows import COLUMNS, copy_data, copy_rows
from dedup.text.fingerprints import Fingerprint, Fingerprints
from dedup.text.tasks import Fingerprinted, TextTask

_sql = Statements("store/fingerprints")

Place = tuple[datetime, int]
"""Where an article stands in the index of unsettled ones: time and id."""


Chunk = list[tuple[int, int]]
"""Articles by their ids, each with the revision that was found."""


Target = Literal["fingerprint", "fingerprint_bulk"]
"""The table that fingerprints are stored in: the one in use, or the one where they wait without an index."""


@dataclass(frozen=True, slots=True)
class Page:
    """Articles whose texts wait to be fingerprinted."""

    articles: Chunk  # their ids and revisions
    sizes: list[int]  # the bytes of their texts
    last: Place | None  # the place of the last one; None where there is none


def waiting_page(cursor: Cursor, after: Place | None, limit: int) -> Page:
    """The next articles whose present text has no fingerprint in any table, near enough in canonical order.
    `after`: the place of the last article
    of the page before; None for the first page. `limit`: so many articles at most.
    """
    prefer_indexes(cursor)
    last_time, last_id = after or (None, None)
    row = cursor.execute(_sql("waiting_page"), {"time": last_time, "id": last_id, "limit": limit}).fetchone()
    if row is None:
        return Page([], [], None)
    ids, revisions, sizes, time, last = row
    return Page(list(zip(ids.tolist(), revisions.tolist(), strict=True)), sizes.tolist(), (time, last))


def waiting_texts(cursor: Cursor, chunk: Chunk, too_long: int) -> list[TextTask]:
    """The texts of some articles, except of those that changed, went or no longer wait. Of an attached table
    the row may have changed and the article not yet: that is noted in the outbox. `too_long`: texts that are
    surely longer than so many characters come without their words.
    """
    ids, revisions = _columns(chunk)
    prefer_indexes(cursor)
    rows = cursor.execute(
        _sql("waiting_texts"), {"ids": ids, "revisions": revisions, "too_long": too_long}
    ).fetchall()
    if len(rows) < len(chunk):
        read = bigints([row[0] for row in rows])
        cursor.execute(_sql("note_moved"), {"ids": ids, "revisions": revisions, "read": read})
    return [TextTask(*row) for row in rows]


def _columns(chunk: Chunk) -> tuple[Bigints, Bigints]:
    columns = np.array(chunk, np.int64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def count_unfingerprinted(cursor: Cursor) -> int:
    return _count(cursor, "count_unfingerprinted")


def count(cursor: Cursor) -> int:
    """About how many fingerprints there are, as the planner knows."""
    return _count(cursor, "count")


def count_unsettled(cursor: Cursor) -> int:
    return _count(cursor, "count_unsettled")


def _count(cursor: Cursor, statement: str) -> int:
    row = cursor.execute(_sql(statement)).fetchone()
    assert row is not None
    return int(row[0])


def store(cursor: Cursor, results: Sequence[Fingerprinted]) -> None:
    """Store a few fingerprints and failures, except of texts that changed or went meanwhile. Needs the settle
    lock: with it nobody is just editing or deleting one of these articles, or changing the settings that the
    fingerprints were made with.
    """
    made = [(r, r.fingerprint) for r in results if r.fingerprint is not None]
    if _insert(cursor, made) < len(made) and _remove_outdated(cursor, [r.article_id for r, _ in made]):
        _insert(cursor, made)
    failed = {(r.article_id, r.revision): r.reason or "" for r in results if r.fingerprint is None}
    if failed:
        _remove_outdated(cursor, [article_id for article_id, _ in failed])
        _fail(cursor, failed)


def _insert(cursor: Cursor, made: Sequence[tuple[Fingerprinted, Fingerprint]]) -> int:
    return sum(cursor.execute(_sql("insert"), _row(r, f)).rowcount for r, f in made)


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
                copy.write(copy_data(rows))
        if self.failed:
            _fail(cursor, self.failed)
        chosen = np.fromiter(map(bool, rows), np.bool_, len(rows))
        stored = Stored(self._ids[chosen], self._revisions[chosen], self._made, chosen)
        return stored, [self._chunk[i][0] for i in gone]

    def _storable(self, cursor: Cursor) -> tuple[set[int], set[int], list[int]]:
        row = cursor.execute(_sql("storable"), {"ids": self._ids, "revisions": self._revisions}).fetchone()
        assert row is not None
        gone, there, outdated = ([] if part is None else part.tolist() for part in row)
        return set(gone), set(there), outdated


def _remove_outdated(cursor: Cursor, ids: Sequence[int]) -> bool:
    """Remove fingerprints of another revision of their article, and have decided again what rests on them. An
    edit removes them. They are here where someone wrote a revision by hand, or restored half a backup.
    """
    rows = cursor.execute(_sql("delete_outdated"), {"ids": bigints(ids)}).fetchall()
    removed = [row[0] for row in rows]
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
    rows = cursor.execute(_sql("read_again"), {"ids": bigints(ids)}).fetchall()
    return [row[0] for row in rows]


def retry(cursor: Cursor, reason: str, limit: int) -> int:
    """Have failed articles read again; returns how many. Needs the settle lock. `reason`: how the reason of
    their failure begins. `limit`: at most so many.
    """
    rows = cursor.execute(_sql("failed"), {"reason": reason, "limit": limit}).fetchall()
    return len(read_again(cursor, [row[0] for row in rows]))


def _fail(cursor: Cursor, failed: Mapping[tuple[int, int], str]) -> None:
    """Mark articles as failed, and take back what was decided by them under an earlier fingerprint. `failed`:
    article and revision to the reason.
    """
    ids, revisions = _columns(list(failed))
    values = {"ids": ids, "revisions": revisions, "reasons": list(failed.values())}
    rows = cursor.execute(_sql("fail"), values).fetchall()
    articles.remove_pairs(cursor, [row[0] for row in rows])


def _row(result: Fingerprinted, fingerprint: Fingerprint) -> dict[str, object]:
    return {
        "article_id": result.article_id,
        "revision": result.revision,
        "version": fingerprint.version,
        "content_hash": fingerprint.content_hash,
        "sentence_hashes": bigints(fingerprint.sentence_hashes),
        "signature": fingerprint.signature.tobytes(),
        "buckets": bigints(fingerprint.buckets),
        "word_count": fingerprint.word_count,
        "shingle_count": fingerprint.shingle_count,
    }


def from_columns(
    version: int,
    content_hash: int,
    sentence_hashes: Bigints,
    signature: bytes,
    buckets: Bigints,
    word_count: int,
    shingle_count: int,
) -> Fingerprint:
    return Fingerprint(
        version,
        content_hash,
        tuple(sentence_hashes.tolist()),
        np.frombuffer(signature, np.uint8),
        tuple(buckets.tolist()),
        word_count,
        shingle_count,
    )
