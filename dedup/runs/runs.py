"""Store runs and workers of a corpus, with one row for each, which heartbeats keep up to date.

A killed run does not write its end. So the next run checks whether the database session of the killed run
still exists, since a session ends with its process. Without a visible session, the last heartbeat decides.
Two runs at the same time do no harm, because everything is written under the settle lock.
A worker that waits updates its own row; while it settles, the row of its run shows that the worker is alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from dedup.base.answer import Answer
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements

_sql = Statements("runs/runs")

LEASE_SECONDS = 60.0  # A run is considered gone if its last heartbeat is older than this
STUCK_SECONDS = 600.0  # A live run is probably stuck if it has made no progress for this time
FORGOTTEN_SECONDS = 3_600.0  # A worker that is gone for longer than this is no problem if nothing waits
KEPT = 1_000  # Maximum number of rows in `dedup.run`; older rows are deleted
SETTLING = ("backfill", "worker", "import")  # Kinds of runs that settle; only one is alive at a time

_LEASE = {"lease": LEASE_SECONDS}

Session = tuple[int, datetime | None]  # Id of a server process, and its start; None if the start is hidden


@dataclass(frozen=True, slots=True)
class Owner:
    """Process of a run. `backend_...`: database session of its heartbeat; None behind a pooler."""

    host: str
    process_id: int
    backend_pid: int | None
    backend_start: datetime | None


@dataclass(frozen=True, slots=True)
class Run(Answer):
    """A run without a stored end: alive, or gone before it could store its end.

    Attributes:
        done: number of items of this stage that are done.
        quiet_seconds: seconds since the last heartbeat.
        still_seconds: seconds since the last progress.
        gone: true if the session of the run ended, or the last heartbeat is older than the lease.
        what: kind of the run, such as "backfill".
    """

    id: int
    host: str
    process_id: int
    started_at: datetime
    stage: str
    done: int
    total: int
    quiet_seconds: float
    still_seconds: float
    gone: bool
    what: str

    @property
    def kind(self) -> str:
        return f"{'an' if self.what[0] in 'aeiou' else 'a'} {self.what}"

    @property
    def state(self) -> str:
        return f"running {self}" if self.what == "backfill" else f"{self.kind} is running {self}"

    @property
    def stuck(self) -> bool:
        return not self.gone and self.still_seconds > STUCK_SECONDS

    def __str__(self) -> str:
        progress = f", {self.done:,} of {self.total:,}" if self.total else ""
        return (
            f"since {self.started_at:%Y-%m-%d %H:%M} UTC on {self.host}, process {self.process_id}"
            f" ({self.stage}{progress})"
        )


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Counts and times to be added to the columns of `dedup.run` with the same names."""

    fingerprinted: int
    settled: int
    failed: int
    seconds: Mapping[str, float]  # seconds by stage


@dataclass(frozen=True, slots=True)
class PastRun(Answer):
    """A row of `dedup.run_history`: a run that ended, or the current run."""

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


def find_current(cursor: Cursor, what: str) -> Run | None:
    """Return the unfinished run, alive or gone, of a kind that may not run at the same time as `what`."""
    kinds = list(SETTLING) if what in SETTLING else [what]
    row = cursor.execute(_sql("current"), {**_LEASE, "kinds": kinds}).fetchone()
    return Run(*row) if row else None


def claim(cursor: Cursor, what: str, owner: Owner) -> int | None:
    """Begin a run; return its id, or None if another run is alive. The caller holds the settle lock."""
    other = find_current(cursor, what)
    if other and not other.gone:
        return None
    if other:
        end(cursor, other.id, "taken over", None)
    cursor.execute(_sql("delete_old"), {"kept": KEPT - 1})
    return int(one_row(cursor, _sql("begin"), {"what": what, **asdict(owner)})[0])


def beat(
    cursor: Cursor, run: int, owner: Owner, stage: str, done: int, total: int, still_seconds: float
) -> bool:
    """Store a heartbeat and the progress of a run; return False if another run replaced this run."""
    values = {"run": run, "stage": stage, "done": done, "total": total, "still": still_seconds}
    if cursor.execute(_sql("beat"), {**values, **asdict(owner)}).rowcount:
        return True
    # If the row still exists, another run replaced this run. If not, a person deleted it: continue, because
    # dedup deletes only rows of runs that ended long ago.
    return cursor.execute(_sql("find"), {"run": run}).fetchone() is None


def end(cursor: Cursor, run: int, outcome: str, error: str | None) -> None:
    """End a run, unless its row has an end. `outcome`: "done", "stopped", "failed" or "taken over".

    `error`: the kind of error, never its message, which could quote an article.
    """
    cursor.execute(_sql("end"), {"run": run, "outcome": outcome, "error": error})
    if cursor.fetchone():
        _add_totals(cursor, [(f"runs {outcome}", "", 1.0)])


def add_counts(cursor: Cursor, run: int, counts: RunCounts) -> None:
    """Add counts and times to a run, and to the totals of all runs."""
    numbers = {name: getattr(counts, name) for name in ("fingerprinted", "settled", "failed")}
    cursor.execute(_sql("add"), {**numbers, "stages": Jsonb(dict(counts.seconds)), "run": run})
    values = [(name, "", float(number)) for name, number in numbers.items()]
    _add_totals(cursor, values + [("seconds", stage, float(time)) for stage, time in counts.seconds.items()])


def _add_totals(cursor: Cursor, values: list[tuple[str, str, float]]) -> None:
    # Two transactions that update the same rows in different orders would deadlock, so rows are sorted.
    found = sorted(value for value in values if value[2])
    names, stages, amounts = ([value[i] for value in found] for i in range(3))
    cursor.execute(_sql("add_totals"), {"names": names, "stages": stages, "values": amounts})


def load_totals(cursor: Cursor) -> dict[tuple[str, str], float]:
    rows = cursor.execute(_sql("totals")).fetchall()
    return {(name, stage): value for name, stage, value in rows}


def load_history(cursor: Cursor, limit: int) -> list[PastRun]:
    """Return the newest runs. For roles that see sessions, runs that ended without notice are "lost"."""
    rows: list[Any] = cursor.execute(_sql("history"), {"limit": limit}).fetchall()
    found = [PastRun(*row) for row in rows]
    # Lost runs are recognized by their sessions, which are only in the table of runs. Roles such as analyst
    # may read only a view without the sessions.
    if any(run.outcome == "running" for run in found) and one_row(cursor, _sql("may_see_sessions"))[0]:
        lost = {row[0] for row in cursor.execute(_sql("lost"), _LEASE).fetchall()}
        found = [replace(run, outcome="lost") if run.id in lost else run for run in found]
    return found


def find_session(cursor: Cursor) -> Session:
    process_id, started_at = one_row(cursor, _sql("session"))
    return process_id, started_at


@dataclass(frozen=True, slots=True)
class Worker(Answer):
    """A worker that is alive, or that ended without notice.

    Attributes:
        idle_at: time when the worker last found nothing to do.
        alive: true if the worker was seen within the lease or is at work, and its session still exists.
    """

    host: str
    process_id: int
    started_at: datetime
    seen_at: datetime
    idle_at: datetime | None
    alive: bool


def begin_worker(cursor: Cursor, host: str, process_id: int) -> int:
    """Delete the rows of workers that are gone, add a row for a new worker, and return its id."""
    _delete_gone_workers(cursor)
    return int(one_row(cursor, _sql("begin_worker"), {"host": host, "process_id": process_id})[0])


def see_worker(cursor: Cursor, worker: int, *, idle: bool, session: Session | None = None) -> bool:
    """Store the heartbeat of a worker, and delete gone workers; return False if the worker has no row.

    `idle`: no work was found. `session`: a session that ends with the worker; None behind a pooler.
    """
    _delete_gone_workers(cursor, besides=worker)
    backend_pid, backend_start = session or (None, None)
    values = {"worker": worker, "idle": idle, "backend_pid": backend_pid, "backend_start": backend_start}
    return cursor.execute(_sql("see_worker"), values).rowcount == 1


def forget_workers(cursor: Cursor) -> None:
    """Delete the rows of workers that are gone, and silent for `FORGOTTEN_SECONDS`.

    Call this only if nothing waits to be settled.
    """
    _delete_gone_workers(cursor, silent=FORGOTTEN_SECONDS)


def _delete_gone_workers(cursor: Cursor, *, besides: int | None = None, silent: float = 0.0) -> None:
    cursor.execute(_sql("delete_gone_workers"), {**_LEASE, "besides": besides, "silent": silent})


def end_worker(cursor: Cursor, worker: int) -> None:
    cursor.execute(_sql("end_worker"), {"worker": worker})


def load_workers(cursor: Cursor) -> list[Worker]:
    rows: list[Any] = cursor.execute(_sql("workers"), _LEASE).fetchall()
    return [Worker(*row) for row in rows]
