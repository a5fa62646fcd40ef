"""The workers there are: a row of `dedup.worker` each, kept fresh while it waits.

While a worker settles, its run says that it lives (`runs.py`). Both name a session of the server, which goes
with the process: a worker that is killed is noticed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dedup.answer import Answer
from dedup.corpus.database import Cursor
from dedup.corpus.runs import LEASE_SECONDS, SERVED

_ALIVE = f"""
    (w.seen_at > clock_timestamp() - make_interval(secs => %(lease)s) AND {SERVED.format(row="w")} OR EXISTS (
        SELECT FROM dedup.run r WHERE r.ended_at IS NULL AND (r.host, r.process_id) = (w.host, w.process_id)
        AND r.heartbeat_at > clock_timestamp() - make_interval(secs => %(lease)s)
        AND {SERVED.format(row="r")}))
"""
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
    cursor.execute(f"DELETE FROM dedup.worker w WHERE NOT {_ALIVE}".encode(), _LEASE)
    row = cursor.execute(
        "INSERT INTO dedup.worker (host, process_id) VALUES (%s, %s) RETURNING id", [host, process_id]
    ).fetchone()
    assert row is not None
    return int(row[0])


def see(cursor: Cursor, worker: int, *, idle: bool, session: Session | None = None) -> bool:
    """Say that a worker lives; False if its row is gone. `idle`: it has just found nothing to do. `session`:
    that of its own which is open as long as it lives; None: it has none, or a pooler hides it.
    """
    cursor.execute(
        f"DELETE FROM dedup.worker w WHERE w.id <> %(id)s AND NOT {_ALIVE}".encode(), {**_LEASE, "id": worker}
    )
    seen = cursor.execute(
        "UPDATE dedup.worker SET seen_at = clock_timestamp(), backend_pid = %s, backend_start = %s,"
        " idle_at = CASE WHEN %s THEN clock_timestamp() ELSE idle_at END WHERE id = %s",
        [*(session or (None, None)), idle, worker],
    )
    return seen.rowcount == 1


def end(cursor: Cursor, worker: int) -> None:
    cursor.execute("DELETE FROM dedup.worker WHERE id = %s", [worker])


def everyone(cursor: Cursor) -> list[Worker]:
    rows = cursor.execute(
        f"SELECT host, process_id, started_at, seen_at, idle_at, {_ALIVE}"
        " FROM dedup.worker w ORDER BY id".encode(),
        _LEASE,
    ).fetchall()
    return [Worker(*row) for row in rows]
