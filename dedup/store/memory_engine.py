"""Reads a whole corpus as arrays for the memory engine, and writes only changed marks and pairs.

`../settling/memory/` decides the marks. A page is a range of article ids. `dedup.corpus_state` has the id of
the present run. Hooks that find an id there settle nothing, and triggers then note which articles change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Flags, Shares
from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.connection import Connection, one_column, one_row
from dedup.db.database import Cursor
from dedup.db.elements import read_arrays
from dedup.db.statements import Statements
from dedup.rules.marks import Status
from dedup.rules.pair import Relation
from dedup.rules.pairs import RULES, Codes
from dedup.store import rulebooks
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.store.settling import PairRows, order_parameters

_sql = Statements("store/memory_engine")

PAGE_ARTICLES = 4_000  # Maximum number of fingerprints per read: about 3 MB

ARRAY_ARTICLES = 1_000_000  # Maximum number of articles per array of Postgres

STATUSES = tuple(Status)
"""Statuses of marks. An array of statuses contains positions in this tuple."""

_NAMES = [rule.value for rule in RULES]
NO_RULE = -1


@dataclass(slots=True)
class FingerprintPage:
    """Fingerprints of m articles, one array per column."""

    id: Bigints
    canonical: Flags
    content_hash: Bigints
    shingle_count: Bigints
    sentence_counts: Bigints  # number of values of each article in `sentence_hashes`
    sentence_hashes: Bigints
    signature: npt.NDArray[np.uint8]  # shape (m, k); rows without shingles are zeros
    bucket_counts: Bigints  # number of values of each article in `buckets`: one per band, or 0
    buckets: Bigints


@dataclass(slots=True)
class StoredMarks(Columns):
    """Stored marks of m articles, one array per column."""

    id: Bigints
    takes_part: Flags
    status: Codes  # status as index in `STATUSES`
    duplicate_of: Bigints  # id of the original, or 0
    score: Shares  # score, or -1
    reason: Codes  # reason as index in `rules.pairs.RULES`, or NO_RULE


def begin(cursor: Cursor, run: int, *, loading: bool) -> None:
    """Record that a run of the memory engine begins. Needs the settle lock. `loading`: the run will store
    fingerprints, whose sentences no trigger notes, so all sentences must be counted again."""
    cursor.execute(_sql("begin"), {"run": run, "loading": loading})
    cursor.execute(_sql("forget_changes"))
    # An interrupted run may have left fingerprints. Only fingerprints of present texts can still be used.
    cursor.execute(_sql("delete_outdated"))


def check(cursor: Cursor, rulebook: Rulebook, run: int) -> None:
    """Raise StaleRulesError if the rulebook changed or `run` was replaced or ended. Needs the settle lock."""
    rulebook.check(cursor)
    if rulebooks.memory_run(cursor) != run:
        raise StaleRulesError


def end(cursor: Cursor, run: int) -> None:
    """Record that the run has ended, unless another run has replaced it. Needs the settle lock."""
    if rulebooks.memory_run(cursor) != run:
        return
    cursor.execute(_sql("end"))
    cursor.execute(_sql("forget_changes"))


def was_interrupted(cursor: Cursor) -> bool:
    """Return whether a run has not recorded its end, or its fingerprints were not put in use."""
    return bool(one_row(cursor, _sql("left_behind"))[0])


def last_change(cursor: Cursor) -> int:
    """Return the id of the last change that triggers noted during the run; 0 without such a change."""
    return int(one_row(cursor, _sql("last_change"))[0])


def find_changed(cursor: Cursor, change: int) -> Bigints:
    return bigints(one_column(cursor, _sql("changed_since"), {"change": change}))


def count_waiting(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("waiting"))[0])


def flag_waiting(cursor: Cursor, ids: Bigints) -> Bigints:
    """Invert the canonical flags of the fingerprints of `ids` that are not in use yet; return the ids of
    these fingerprints."""
    return bigints(one_column(cursor, _sql("flag_waiting"), {"ids": ids}))


def publish(cursor: Cursor) -> None:
    """Put the fingerprints of `dedup.fingerprint_bulk` in use. Needs the settle lock for a short time."""
    cursor.execute(_sql("publish"))


def read_order(cursor: Cursor, settings: Settings) -> tuple[Bigints, Bigints, Bigints, datetime | None]:
    """Return ids, revisions and `marks.published_second`, in canonical order, of all articles that have a
    fingerprint of their present text. Also return the time of the last article."""
    values = {**order_parameters(settings), "most": ARRAY_ARTICLES}
    rows = cursor.execute(_sql("order"), values).fetchall()
    ids, revisions, published = (joined(row[i] for row in rows) for i in range(3))
    return ids, revisions, published, rows[-1][3] if rows else None


def read_fingerprints(cursor: Cursor, ids: Bigints) -> Iterator[FingerprintPage]:
    """Yield the fingerprints of the articles' present texts, page by page, unsorted. `ids`: ascending."""
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
            read_arrays(data[1], sentences),
            signature,
            buckets,
            read_arrays(data[2], buckets),
        )


def joined(arrays: Iterable[Bigints]) -> Bigints:
    return np.concatenate([np.empty(0, np.int64), *arrays])


Rows = TypeVar("Rows", bound=Columns)


def read_marks(cursor: Cursor, ids: Bigints) -> StoredMarks:
    """Return the marks of `ids`, unsorted. `ids` must be ascending.

    Ids are read in ranges. So the result can have more marks, whose id lies between two of `ids`.
    """
    kinds = (np.int64, np.bool_, np.int8, np.int64, np.float64, np.int8)
    return _rows(cursor, "marks", ids, StoredMarks, kinds, statuses=[status.value for status in STATUSES])


def read_pairs(cursor: Cursor, ids: Bigints) -> PairRows:
    """Return the pairs whose later article is in `ids`, which must be ascending.

    Ids are read in ranges. So the result can have more pairs, whose later id lies between two of `ids`.
    """
    kinds = (np.int64, np.int64, np.bool_, np.int8, *(np.float64,) * 4, np.bool_)
    return _rows(cursor, "pairs", ids, PairRows, kinds)


def _rows(
    cursor: Cursor, statement: str, ids: Bigints, rows: type[Rows], kinds: Sequence[Any], **values: object
) -> Rows:
    """Run a statement once per page of ids, and return all rows. `kinds`: the dtypes of the columns."""
    parts = [rows(*(np.empty(0, kind) for kind in kinds))]
    for first, last in _ranges(ids):
        bounds = {"first": first, "last": last, "names": _NAMES}
        row = one_row(cursor, _sql(statement), {**bounds, **values})
        if row[0] is not None:
            parts.append(rows(*(column.astype(kind) for column, kind in zip(row, kinds, strict=True))))
    return rows.joined(parts)


def find_unsettled(cursor: Cursor) -> Bigints:
    return joined(one_column(cursor, _sql("unsettled"), {"most": ARRAY_ARTICLES}))


def read_pinned_pairs(cursor: Cursor) -> list[tuple[int, int, Relation]]:
    """Return the pinned pairs of stored articles, as the ids of both articles."""
    rows = cursor.execute(_sql("pinned_pairs"))
    return [(row[0], row[1], Relation(row[2])) for row in rows.fetchall()]


def read_sentences(cursor: Cursor, which: Literal["common", "watched"]) -> Bigints:
    """Return the common sentences, ascending; if `which` is "watched", also the pinned sentences."""
    # Without any row, array_agg returns NULL.
    (found,) = one_row(cursor, _sql("common" if which == "common" else "watched_sentences"))
    return np.empty(0, np.int64) if found is None else np.sort(found)


def _ranges(ids: Bigints) -> Iterator[tuple[int, int]]:
    for start in range(0, len(ids), PAGE_ARTICLES):
        yield int(ids[start]), int(ids[min(start + PAGE_ARTICLES, len(ids)) - 1])


def note_settled_through(cursor: Cursor, time: datetime | None) -> None:
    cursor.execute(_sql("settled_through"), {"time": time})


def write_marks(cursor: Cursor, new: StoredMarks, *, stale: bool) -> None:
    if len(new):
        # The statement needs sorted ids for its search. Postgres arrays begin at 1, so 1 is added to indexes.
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
    """Change only the flag `stale` of marks, and let their articles take part in comparisons."""
    if len(ids):
        cursor.execute(_sql("keep_marks"), {"ids": ids, "stale": stale})


def vacuum(connection: Connection) -> None:
    """Free the space of dead rows of marks, so that the table does not grow."""
    # Postgres skips the table if the role does not own it, or if a different process holds a lock on it.
    connection.execute("VACUUM (SKIP_LOCKED, PROCESS_TOAST FALSE) dedup.article_mark")


MARK_INDEXES = ("article_unsettled", "article_mark_pkey")
# A first load leaves these indexes twice as large as needed: it writes each mark twice, and threads write
# fingerprints in any order.
LOOSE_INDEXES = (*MARK_INDEXES, "fingerprint_pkey")


def compact(cursor: Cursor, index: str) -> None:
    """Rebuild an index; this blocks writes to the table for 1 to 2 µs per article."""
    cursor.execute(_sql("compact"), {"index": index})


def drop_pairs(cursor: Cursor, articles: Bigints, others: Bigints, *, not_best: bool = False) -> None:
    """Drop pairs. With `not_best`, drop no pair, and only clear the flag `best_match` of each pair."""
    if len(articles):
        statement = _sql("set_not_best_match" if not_best else "drop_pairs")
        cursor.execute(statement, {"articles": articles, "others": others})
