"""A result that was checked is taken up: fingerprints first, then marks, pairs and counts in one transaction.

What is written was staged by `cluster_checks.py` and compared with the corpus by `cluster_checks.py`, at one
moment. What people have changed since is settled again by the next backfill, as after any change of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.connection import set_values
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store import articles, common_sentences, memory_engine, settling
from dedup.store.cluster_checks import Checked

_sql = Statements("store/cluster")

WORK_MEMORY = "64MB"
"""For each sort and hash of whole tables; with the usual 4 MB those of a million articles go to disk."""


@dataclass(slots=True)
class Written:
    """What was written."""

    marks: int = 0  # that were new, or of articles that were not settled
    pairs: int = 0  # rows of `match` that are new, or have other values
    left: int = 0  # articles that people changed meanwhile, whose marks the next backfill finds


def whole_tables(cursor: Cursor) -> None:
    """For the rest of the transaction: read whole tables and join them, and do not look up row by row."""
    values = dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "on")
    cursor.execute(set_values(values | {"work_mem": WORK_MEMORY}, local=True))


def store_fingerprints(cursor: Cursor) -> None:
    """Have the new fingerprints of a result wait to be put in use; those of an engine that was stopped go.
    Nobody notes them one by one, so that all sentences have to be counted if the work ends here.
    """
    for name in ("recount_all", "forget_waiting", "store_fingerprints"):
        cursor.execute(_sql(name))


def write(
    cursor: Cursor,
    settings: Settings,
    checked: Checked,
    examples: Mapping[int, str],
    since: int,
    taken: Bigints,
    tell: Callable[[int], object],
) -> Written:
    """Write marks, pairs, flags, common sentences and counts. Needs the settle lock. `examples`: of sentences
    that become common, in words. `since`: the last change that people had made when the result was checked.
    `taken`: the changes of sentences that the counts knew of. `tell`: called with 0 now and then: each
    statement may take minutes, and the work goes on.
    """
    whole_tables(cursor)
    changed = memory_engine.changed_since(cursor, since)
    gone, rewritten = _ids(cursor, "gone", changed), _ids(cursor, "rewritten", changed)
    orphans = _ids(cursor, "orphans", gone)
    left = bigints({*changed.tolist(), *orphans.tolist()})
    written = Written(left=len(left))
    written.marks = cursor.execute(_sql("write_marks"), {"left": left}).rowcount
    tell(0)
    cursor.execute(_sql("drop_pairs"))
    written.pairs = cursor.execute(_sql("write_pairs"), {"gone": gone}).rowcount
    tell(0)
    cursor.execute(_sql("write_flags"))
    common_sentences.apply(cursor, checked.changes, (), dict(examples))
    common_sentences.finish(cursor, checked.counts, taken, settings, everything=True)
    # All that the result knows is in use now: what waits was left behind by an engine that was stopped.
    cursor.execute(_sql("forget_waiting"))
    row = cursor.execute(_sql("last_settled")).fetchone()
    memory_engine.settled_through(cursor, row[0] if row else None)
    _take_back(cursor, left, gone, rewritten)
    return written


def _ids(cursor: Cursor, name: str, ids: Bigints) -> Bigints:
    if not len(ids):
        return ids
    return bigints([row[0] for row in cursor.execute(_sql(name), {"ids": ids}).fetchall()])


def _take_back(cursor: Cursor, left: Bigints, gone: Bigints, rewritten: Bigints) -> None:
    """Have settled again what rests on articles that people have changed, as their triggers did before."""
    if not len(left):
        return
    articles.remove_pairs(cursor, rewritten)
    articles.withdraw(cursor, left)
    partners = _ids(cursor, "partners", gone)
    settling.make_stale(cursor, partners.tolist())
    # Fingerprints that were not stored when the sentences were counted: nobody noted that they went.
    unnoted = _ids(cursor, "newly_fingerprinted", bigints({*gone.tolist(), *rewritten.tolist()}))
    if len(unnoted):
        cursor.execute(_sql("recount_all"))
