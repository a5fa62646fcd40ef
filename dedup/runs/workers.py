"""The workers there are: a row of `dedup.worker` each, kept fresh while it waits.

While a worker settles, its run says that it lives (`runs.py`). Both name a session of the server, which goes
with the process: a worker that is killed is noticed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dedup.base.answer import Answer
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.runs.runs import LEASE_SECONDS

_sql = Statements("runs/runs")

_LEASE = {"lease": LEASE_SECONDS}


@dataclass(frozen=True, slots=True)
class Worker(Answer):
    """A worker."""

    host: str
    process_id: int
    started_at: datetime
    seen_at: datetime
    idle_at: datetime | None  # when it last found nothing to do
    alive: bool  # it said so within the last minute, or is at work, and its session of the server is there


Session = tuple[int, datetime | None]
"""A server process, and when it began; see `runs.session`."""


def begin(cursor: Cursor, host: str, process_id: int) -> int:
    """A worker begins; returns its number. The rows of those that are gone go."""
    cursor.execute(_sql("delete_gone_workers"), {**_LEASE, "besides": None})
    row = cursor.execute(_sql("begin_worker"), {"host": host, "process_id": process_id}).fetchone()
    assert row is not None
    return int(row[0])


def see(cursor: Cursor, worker: int, *, idle: bool, session: Session | None = None) -> bool:
    """Say that a worker lives; False if its row is gone. `idle`: it has just found nothing to do. `session`:
    that of its own which is open as long as it lives; None: it has none, or a pooler hides it.
    """
    cursor.execute(_sql("delete_gone_workers"), {**_LEASE, "besides": worker})
    backend_pid, backend_start = session or (None, None)
    values = {"worker": worker, "idle": idle, "backend_pid": backend_pid, "backend_start": backend_start}
    return cursor.execute(_sql("see_worker"), values).rowcount == 1


def end(cursor: Cursor, worker: int) -> None:
    cursor.execute(_sql("end_worker"), {"worker": worker})


def everyone(cursor: Cursor) -> list[Worker]:
    rows = cursor.execute(_sql("workers"), _LEASE).fetchall()
    return [Worker(*row) for row in rows]
