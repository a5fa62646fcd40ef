"""Who is at work on the corpus: a row for each run, kept alive by a heartbeat, and one for each worker.

A run that is killed ends no row. So the next one asks whether the owner of the row still lives: its heartbeat
is a session of the server, which goes with its process, and a time, which grows old where the session cannot
be seen. Two runs at once do no harm, since all that they write is written under the settle lock.

While a worker settles, its run says that it lives; while it waits, its own row does. Both name a session of
the server, which goes with the process: a worker that is killed is noticed at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from dedup.base.answer import Answer
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements

_sql = Statements("runs/runs")

LEASE_SECONDS = 60.0  # A run whose heartbeat is older is gone, whatever became of it

_LEASE = {"lease": LEASE_SECONDS}

STUCK_SECONDS = 600.0  # A run that lives and came no further for so long is probably stuck

KEPT = 1_000  # Runs kept

SETTLING = ("backfill", "worker", "import")
"""Kinds of runs that exclude each other: each settles the whole corpus."""

Session = tuple[int, datetime | None]
"""A server process, and when it began, which a pooler may hide."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who runs."""

    host: str
    process_id: int
    # backend_pid, backend_start: the server session of its heartbeat; None where a pooler hides it
    backend_pid: int | None
    backend_start: datetime | None


@dataclass(frozen=True, slots=True)
class Run(Answer):
    """A run that has not ended, as far as the table knows."""

    id: int
    host: str
    process_id: int
    started_at: datetime
    stage: str  # with done and total: how far it is
    done: int
    total: int
    quiet_seconds: float  # since its last heartbeat
    still_seconds: float  # since it last came further
    gone: bool  # its session of the server is gone, or its heartbeat is older than the lease
    what: str  # its kind: backfill, worker or import

    @property
    def kind(self) -> str:
        return f"{'an' if self.what[0] in 'aeiou' else 'a'} {self.what}"

    @property
    def state(self) -> str:
        return f"running {self}" if self.what == "backfill" else f"{self.kind} is running {self}"

    @property
    def stuck(self) -> bool:
        """It lives, but came no further for long."""
        return not self.gone and self.still_seconds > STUCK_SECONDS

    def __str__(self) -> str:
        """When, where and how far, for people."""
        progress = f", {self.done:,} of {self.total:,}" if self.total else ""
        return (
            f"since {self.started_at:%Y-%m-%d %H:%M} UTC on {self.host}, process {self.process_id}"
            f" ({self.stage}{progress})"
        )


@dataclass(frozen=True, slots=True)
class Did:
    """What a run did, or a part of it."""

    fingerprinted: int
    settled: int
    failed: int
    seconds: Mapping[str, float]  # stage to how long it took; of the others see the columns of `dedup.run`


@dataclass(frozen=True, slots=True)
class PastRun(Answer):
    """A run of the past, or the present one; see the columns of `dedup.run_history`."""

    id: int
    what: str
    host: str
    started_at: datetime
    ended_at: datetime | None
    seconds: float
    outcome: str
    error: str | None
    fingerprinted: int
    settled: int
    failed: int
    stage_seconds: dict[str, float]


def current(cursor: Cursor, what: str) -> Run | None:
    """The run that has not ended, alive or gone, and so keeps one of this kind from beginning."""
    kinds = list(SETTLING) if what in SETTLING else [what]
    row = cursor.execute(_sql("current"), {**_LEASE, "kinds": kinds}).fetchone()
    return Run(*row) if row else None


def claim(cursor: Cursor, what: str, owner: Owner) -> int | None:
    """Begin a run, unless another one lives; whoever is gone is taken over. Needs the settle lock. Returns
    the number of the run; None where another one lives.
    """
    other = current(cursor, what)
    if other and not other.gone:
        return None
    if other:
        end(cursor, other.id, "taken over", None)
    cursor.execute(_sql("delete_old"), {"kept": KEPT - 1})
    return int(one_row(cursor, _sql("begin"), {"what": what, **asdict(owner)})[0])


def beat(
    cursor: Cursor, run: int, owner: Owner, stage: str, done: int, total: int, still_seconds: float
) -> bool:
    """Say that a run lives, and how far it is; False if it was ended by another one."""
    values = {"run": run, "stage": stage, "done": done, "total": total, "still": still_seconds}
    if cursor.execute(_sql("beat"), {**values, **asdict(owner)}).rowcount:
        return True
    return cursor.execute(_sql("find"), {"run": run}).fetchone() is None


def end(cursor: Cursor, run: int, outcome: str, error: str | None) -> None:
    """End a run, unless it was ended before. `outcome`: "done", "stopped", "failed" or "taken over". `error`:
    the kind of error, never its message.
    """
    cursor.execute(_sql("end"), {"run": run, "outcome": outcome, "error": error})
    if cursor.fetchone():
        _total(cursor, [(f"runs {outcome}", "", 1.0)])


def add(cursor: Cursor, run: int, did: Did) -> None:
    """Add to what a run did, and to what all runs did together."""
    counts = {name: getattr(did, name) for name in ("fingerprinted", "settled", "failed")}
    cursor.execute(_sql("add"), {**counts, "stages": Jsonb(dict(did.seconds)), "run": run})
    values = [(name, "", float(count)) for name, count in counts.items()]
    _total(cursor, values + [("seconds", stage, float(seconds)) for stage, seconds in did.seconds.items()])


def _total(cursor: Cursor, values: list[tuple[str, str, float]]) -> None:
    found = sorted(value for value in values if value[2])  # in one order: others add to the same rows
    names, stages, amounts = ([value[i] for value in found] for i in range(3))
    cursor.execute(_sql("add_totals"), {"names": names, "stages": stages, "values": amounts})


def totals(cursor: Cursor) -> dict[tuple[str, str], float]:
    rows = cursor.execute(_sql("totals")).fetchall()
    return {(name, stage): value for name, stage, value in rows}


def history(cursor: Cursor, limit: int) -> list[PastRun]:
    rows: list[Any] = cursor.execute(_sql("history"), {"limit": limit}).fetchall()
    return [PastRun(*row) for row in rows]


def session(cursor: Cursor) -> Session:
    process_id, started_at = one_row(cursor, _sql("session"))
    return process_id, started_at


@dataclass(frozen=True, slots=True)
class Worker(Answer):
    host: str
    process_id: int
    started_at: datetime
    seen_at: datetime
    idle_at: datetime | None  # when it last found nothing to do
    alive: bool  # it said so within the last minute, or is at work, and its session of the server is there


def begin_worker(cursor: Cursor, host: str, process_id: int) -> int:
    """A worker begins; returns its number. The rows of those that are gone go."""
    cursor.execute(_sql("delete_gone_workers"), {**_LEASE, "besides": None})
    return int(one_row(cursor, _sql("begin_worker"), {"host": host, "process_id": process_id})[0])


def see_worker(cursor: Cursor, worker: int, *, idle: bool, session: Session | None = None) -> bool:
    """Say that a worker lives; False if its row is gone. `idle`: it has just found nothing to do. `session`:
    that of its own which is open as long as it lives; None: it has none, or a pooler hides it.
    """
    cursor.execute(_sql("delete_gone_workers"), {**_LEASE, "besides": worker})
    backend_pid, backend_start = session or (None, None)
    values = {"worker": worker, "idle": idle, "backend_pid": backend_pid, "backend_start": backend_start}
    return cursor.execute(_sql("see_worker"), values).rowcount == 1


def end_worker(cursor: Cursor, worker: int) -> None:
    cursor.execute(_sql("end_worker"), {"worker": worker})


def workers(cursor: Cursor) -> list[Worker]:
    """All there are, alive or gone."""
    rows: list[Any] = cursor.execute(_sql("workers"), _LEASE).fetchall()
    return [Worker(*row) for row in rows]
