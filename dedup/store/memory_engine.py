"""What the memory engine reads and writes: a whole corpus as arrays, and marks and pairs by difference.

It decides nothing; see `../settling/memory/`. A page is a range of article ids. While the engine is at work
the state row names its run: hooks then settle nothing, and what people change is noted
(`migrations/sql/fingerprints.sql`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Flags, Shares
from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints, sent_arrays
from dedup.db.connection import Connection, one_column, one_row
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.rules.marks import Status
from dedup.rules.pair import Relation
from dedup.rules.pairs import RULES, Codes
from dedup.store import rulebooks
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.store.settling import PairRows, order_parameters

_sql = Statements("store/memory_engine")

PAGE_ARTICLES = 4_000
"""Fingerprints read at a time: about 3 MB."""

STATUSES = tuple(Status)
"""The statuses; their places stand for them in arrays."""

_NAMES = [rule.value for rule in RULES]
NO_RULE = -1


@dataclass(slots=True)
class FingerprintPage:
    """Some fingerprints as arrays of m rows."""

    id: Bigints
    canonical: Flags
    content_hash: Bigints
    shingle_count: Bigints
    sentence_counts: Bigints  # how many of the flat `sentence_hashes` belong to each
    sentence_hashes: Bigints
    signature: npt.NDArray[np.uint8]  # shape (m, k); rows without shingles are zeros
    bucket_counts: Bigints  # how many of the flat `buckets` belong to each: one per band, or none
    buckets: Bigints


@dataclass(slots=True)
class StoredMarks(Columns):
    """The marks of some articles as they are stored, arrays of m rows."""

    id: Bigints
    takes_part: Flags
    status: Codes  # as its place in `STATUSES`
    duplicate_of: Bigints  # an id, or 0
    score: Shares  # -1 where there is none
    reason: Codes  # a place in `rules.pairs.RULES`, or NO_RULE


# --- the state of the engine


def begin(cursor: Cursor, run: int, *, loading: bool) -> None:
    """Say that the memory engine is at work from now on. Needs the settle lock. Fingerprints that another one
    left behind stay, where they are of the present texts. `loading`: fingerprints are about to wait; nobody
    notes them one by one, so all sentences are counted.
    """
    cursor.execute(_sql("begin"), {"run": run, "loading": loading})
    cursor.execute(_sql("forget_changes"))
    cursor.execute(_sql("delete_outdated"))


def check(cursor: Cursor, rulebook: Rulebook, run: int) -> None:
    """Make sure that this run of the engine is still at work, by this rulebook. Needs the settle lock."""
    rulebook.check(cursor)
    if rulebooks.bulk_run(cursor) != run:
        raise StaleRulesError


def end(cursor: Cursor, run: int) -> None:
    """Say that no memory engine is at work, unless another run took over. Needs the settle lock."""
    if rulebooks.bulk_run(cursor) != run:
        return
    cursor.execute(_sql("end"))
    cursor.execute(_sql("forget_changes"))


def left_behind(cursor: Cursor) -> bool:
    """Whether a memory engine was stopped in the middle of its work."""
    return bool(one_row(cursor, _sql("left_behind"))[0])


def last_change(cursor: Cursor) -> int:
    """The number of the last change that people made since the engine began; 0 where there is none."""
    return int(one_row(cursor, _sql("last_change"))[0])


def changed_since(cursor: Cursor, change: int) -> Bigints:
    return bigints(one_column(cursor, _sql("changed_since"), {"change": change}))


# --- fingerprints that wait


def waiting(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("waiting"))[0])


def flag_waiting(cursor: Cursor, ids: Bigints) -> Bigints:
    """Turn the flags of those of some fingerprints that are not in use yet; returns them."""
    return bigints(one_column(cursor, _sql("flag_waiting"), {"ids": ids}))


def publish(cursor: Cursor) -> None:
    """Put the waiting fingerprints in use, in a moment. Needs the settle lock."""
    cursor.execute(_sql("publish"))


# --- reading


def ids_in_order(cursor: Cursor, settings: Settings) -> tuple[Bigints, Bigints, datetime | None]:
    """The articles with a fingerprint of their present text, in canonical order: their ids and revisions, and
    the time of the last."""
    row = one_row(cursor, _sql("order"), order_parameters(settings))
    return np.asarray(row[0]), np.asarray(row[1]), row[2]


def fingerprints(cursor: Cursor, ids: Bigints) -> Iterator[FingerprintPage]:
    """The fingerprints of articles, page by page, in no order; those that went meanwhile are left out. `ids`:
    ascending.
    """
    for first, last in _ranges(ids):
        row = one_row(cursor, _sql("fingerprints"), {"first": first, "last": last})
        if row[0] is None:
            continue
        id, canonical, content_hash, shingle_count, sentences, buckets, *data = row
        signed = shingle_count > 0
        width = len(data[0]) // max(int(signed.sum()), 1)
        signature = np.zeros((len(id), width), np.uint8)
        signature[signed] = np.frombuffer(data[0], np.uint8).reshape(-1, width) if width else 0
        yield FingerprintPage(
            id,
            canonical > 0,
            content_hash,
            shingle_count,
            sentences,
            sent_arrays(data[1], sentences),
            signature,
            buckets,
            sent_arrays(data[2], buckets),
        )


Rows = TypeVar("Rows", bound=Columns)


def marks(cursor: Cursor, ids: Bigints) -> StoredMarks:
    """The marks of articles, in no order. `ids`: ascending; others in between come too."""
    kinds = (np.int64, np.bool_, np.int8, np.int64, np.float64, np.int8)
    return _rows(cursor, "marks", ids, StoredMarks, kinds, statuses=[status.value for status in STATUSES])


def pairs(cursor: Cursor, ids: Bigints) -> PairRows:
    """The pairs in which these articles are the later one. `ids`: ascending; others in between come too."""
    kinds = (np.int64, np.int64, np.bool_, np.int8, *(np.float64,) * 4, np.bool_)
    return _rows(cursor, "pairs", ids, PairRows, kinds)


def _rows(
    cursor: Cursor, statement: str, ids: Bigints, made: type[Rows], kinds: Sequence[Any], **values: object
) -> Rows:
    """The rows that a statement has of ranges of ids, a column an array of its kind."""
    parts = [made(*(np.empty(0, kind) for kind in kinds))]
    for first, last in _ranges(ids):
        bounds = {"first": first, "last": last, "names": _NAMES}
        row = one_row(cursor, _sql(statement), {**bounds, **values})
        if row[0] is not None:
            parts.append(made(*(column.astype(kind) for column, kind in zip(row, kinds, strict=True))))
    return made.joined(parts)


def unsettled(cursor: Cursor) -> Bigints:
    return np.asarray(one_row(cursor, _sql("unsettled"))[0])


def pinned_pairs(cursor: Cursor) -> list[tuple[int, int, Relation]]:
    """What people have said of pairs of stored articles, by their ids."""
    rows = cursor.execute(_sql("pinned_pairs"))
    return [(row[0], row[1], Relation(row[2])) for row in rows.fetchall()]


def sentences(cursor: Cursor, which: Literal["common", "watched"]) -> Bigints:
    """The sentences that are common; or that are common or pinned, and counted however few carry them."""
    (found,) = one_row(cursor, _sql("common" if which == "common" else "watched_sentences"))
    return np.empty(0, np.int64) if found is None else np.sort(found)


def _ranges(ids: Bigints) -> Iterator[tuple[int, int]]:
    for start in range(0, len(ids), PAGE_ARTICLES):
        yield int(ids[start]), int(ids[min(start + PAGE_ARTICLES, len(ids)) - 1])


# --- writing


def settled_through(cursor: Cursor, time: datetime | None) -> None:
    cursor.execute(_sql("settled_through"), {"time": time})


def write_marks(cursor: Cursor, new: StoredMarks, *, stale: bool) -> None:
    """Write new marks; those that are stale are to be settled again."""
    if len(new):
        new = new[np.argsort(new.id)]
        cursor.execute(
            _sql("write_marks", place="width_bucket(a.id, %(ids)s::bigint[])"),
            {
                "ids": new.id,
                "statuses": new.status.astype(np.int64) + 1,
                "originals": new.duplicate_of,
                "scores": new.score,
                "reasons": new.reason.astype(np.int64) + 1,
                "status_names": [s.value for s in STATUSES],
                "names": _NAMES,
                "stale": stale,
            },
        )


def keep_marks(cursor: Cursor, ids: Bigints, *, stale: bool) -> None:
    """Write of articles that keep their marks only that they take part, and whether they are settled."""
    if len(ids):
        cursor.execute(_sql("keep_marks"), {"ids": ids, "stale": stale})


def vacuum(connection: Connection) -> None:
    """Free the room of old versions of marks, so that the next ones are written there and not at the end.
    Of a role that does not own the table nothing is done, nor where somebody else does it already.
    """
    connection.execute("VACUUM (SKIP_LOCKED, PROCESS_TOAST FALSE) dedup.article_mark")


MARK_INDEXES = ("article_unsettled", "article_mark_pkey")
LOOSE_INDEXES = (*MARK_INDEXES, "fingerprint_pkey")
"""What a first load leaves twice as large as need be: each mark is written twice, and threads write
fingerprints in any order."""


def compact(cursor: Cursor, index: str) -> None:
    """Make an index again: 1 to 2 µs an article, in which nobody writes to its table."""
    cursor.execute(_sql("compact"), {"index": index})


def drop_pairs(cursor: Cursor, articles: Bigints, others: Bigints, *, not_best: bool = False) -> None:
    """Drop pairs. `not_best`: only their flag, of those that no longer are of the best matches."""
    if len(articles):
        statement = _sql("set_not_best_match" if not_best else "drop_pairs")
        cursor.execute(statement, {"articles": articles, "others": others})
