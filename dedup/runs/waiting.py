"""Whether anything waits to be settled: what a worker asks every second, so it must cost nothing.

Each source of work is one query that an index answers. A new source is one more query in `waiting.sql`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedup.attach import drift
from dedup.base.article import MAX_SOURCE_ID_BYTES
from dedup.db.database import Cursor, prefer_indexes
from dedup.db.statements import Statements

_sql = Statements("runs/waiting")


@dataclass(frozen=True, slots=True)
class Waiting:
    """What there is to do."""

    settling: bool  # articles wait, or changed settings. A changed program is noticed by the first round only
    counting: bool  # sentences are to be counted, after which articles may wait

    def __bool__(self) -> bool:
        return self.settling or self.counting


def look(cursor: Cursor) -> Waiting:
    """What there is to do now."""
    prefer_indexes(cursor)
    row = cursor.execute(_sql("look"), {"longest": MAX_SOURCE_ID_BYTES}).fetchone()
    assert row is not None
    return Waiting(row[0] or drift.unseen(cursor), row[1])
