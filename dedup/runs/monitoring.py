"""Read the state of a corpus for a monitor: waiting and failed articles, runs and workers.

A monitor reads the state every minute, so no query reads a whole table. At most `SAMPLE` articles of a kind
are counted. Larger numbers are the planner's estimates, split into pending and stale articles as in the
sample. `dedup status` reads everything, and its numbers are exact (`../store/overview.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from dedup.attach import drift
from dedup.base.answer import Answer
from dedup.base.words import counted
from dedup.db import objects
from dedup.db.database import Cursor, one_row, prefer_indexes
from dedup.db.statements import Statements
from dedup.runs import runs
from dedup.runs.runs import Run, Worker

_sql = Statements("runs/monitoring")

SAMPLE = 10_000  # Maximum number of articles of a kind that are counted, which takes about 20 ms
# If there are workers, an article may wait this long without a run at work. Even under load a worker begins a
# run within a second, and a restart of the server takes less time than this.
WAIT_SECONDS = 900.0
FAILING_RUNS = 2  # A problem is reported after this number of failures with one error, without a success
# Failed articles with these reasons need no repair: photo articles have no text, and articles before the
# horizon are never compared. Every newsroom has such articles every day.
NO_FAULT = ("empty", "archived")
FORGOTTEN_SECONDS = 3_600.0  # A worker gone for longer is not a problem if nothing waits


@dataclass(frozen=True, slots=True)
class Vitals(Answer):
    """The state of a corpus for a monitor."""

    at: datetime  # the time of the server
    articles: int  # number of articles, as the planner estimates
    pending: int  # articles without a mark
    stale: int  # articles whose mark must be settled again
    estimated: bool  # `pending` and `stale` are estimates, since there are more than `SAMPLE`
    waiting_seconds: float | None  # the longest wait of an article; if `estimated`: in the sample
    failed: dict[str, int]  # reason before its colon -> count among the newest `SAMPLE` failed articles
    failed_lately: int  # articles that failed recently (see `load_vitals`), and need a repair
    limits: dict[str, int]  # safety limit -> number of sampled articles that this limit left unsettled
    # Name of a queue -> count of waiting rows, up to `SAMPLE` + 1. "changes" are unread changes of attached
    # tables; a whole table that must be read counts as one change.
    queues: dict[str, int]
    changes_waiting_seconds: float | None  # waiting time of the oldest change in "changes"
    drifted: list[str]  # problems of the schema, of attached tables, and of writing marks into these
    totals: dict[str, float]  # sums over all runs, such as "settled" and "seconds settling"
    quiet_at: datetime | None  # when a run or worker last found that nothing waits
    run: Run | None  # the run at work
    failing: dict[str, int]  # kind of error -> number of runs that failed with it since the last success
    workers: list[Worker]  # workers, alive or gone

    @property
    def waits(self) -> bool:
        return bool(self.pending or self.stale or any(self.queues.values()))

    @property
    def waiting(self) -> str:
        """Numbers of waiting articles and of waiting changes of attached tables, in words."""
        articles = f"{'about ' if self.estimated else ''}{counted(self.pending + self.stale, 'article')}"
        changes = self.queues["changes"]
        also = f" and {counted(changes, 'change')} of attached tables" if changes else ""
        return f"{articles}{also} {'waits' if self.pending + self.stale == 1 and not changes else 'wait'}"

    def problems(self, seconds: float, wait: float | None = None) -> list[str]:
        """Return the problems in words. `seconds`: a longer wait of an article is a problem. `wait`: the same
        while no run is at work. If None, `wait` is `seconds`, but at most `WAIT_SECONDS` with workers."""
        found = [*self.drifted]
        if wait is None:
            wait = min(WAIT_SECONDS, seconds) if self.workers else seconds
        patience = seconds if self.run else wait
        if self.run and self.run.stuck:
            found.append(f"a run is probably stuck {self.run}")
        for error, count in self.failing.items():
            if self.waits and count >= FAILING_RUNS:
                found.append(f"{count:,} runs failed since the last success ({error}): see `dedup runs`")
        since = None if self.quiet_at is None else (self.at - self.quiet_at).total_seconds()
        if (since is None or since > seconds) and not self.run:
            last = "nothing was settled yet" if since is None else f"all was last settled {_hours(since)} ago"
            found.append(f"{last}: make sure that `dedup backfill` or `dedup worker` runs")
        for what, waited in (
            ("an article", self.waiting_seconds),
            ("a change of an attached table", self.changes_waiting_seconds),
        ):
            if waited is not None and waited > patience:
                nobody = "" if self.run else ", and no run is at work"
                found.append(f"{what} has waited for {_hours(waited)}{nobody}")
        if self.failed_lately:
            found.append(f"{counted(self.failed_lately, 'article')} failed lately: `dedup status` says why")
        if self.workers and not any(worker.alive for worker in self.workers):
            gone = max(self.workers, key=lambda worker: worker.seen_at)
            silent = (self.at - gone.seen_at).total_seconds()
            if self.waits or silent < FORGOTTEN_SECONDS:
                found.append(
                    f"the worker on {gone.host}, process {gone.process_id}, is gone; it was last"
                    f" seen {_hours(silent)} ago: start `dedup worker` again"
                )
        return found


def _hours(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def load_vitals(cursor: Cursor, lately: float = 86_400.0) -> Vitals:
    """Return the state of a corpus. `lately`: maximum age in seconds of failures in `failed_lately`."""
    prefer_indexes(cursor)
    sample = one_row(cursor, _sql("unsettled_sample"), {"sample": SAMPLE})
    at, articles, index_rows, seen, pending, oldest, limits = sample
    estimated = seen > SAMPLE
    unsettled = max(seen, int(index_rows)) if estimated else seen
    pending = round(unsettled * pending / seen) if seen else 0
    workers = runs.load_workers(cursor)
    times = [*one_row(cursor, _sql("last_done")), *(worker.idle_at for worker in workers)]
    quiet_at = max((time for time in times if time is not None), default=None)
    waiting = None
    if oldest is not None:
        # A load may give a time of storing in the past. But at `quiet_at` nothing waited.
        since = oldest if quiet_at is None or estimated else max(oldest, quiet_at)
        waiting = max(0.0, (at - since).total_seconds())
    failed = cursor.execute(_sql("failed"), {"lately": lately, "sample": SAMPLE}).fetchall()
    run = runs.find_current(cursor, "backfill")
    failing = cursor.execute(_sql("failing"), {"kinds": list(runs.SETTLING)}).fetchall()
    changes, changes_waiting, deferred, marks = one_row(cursor, _sql("queues"), {"limit": SAMPLE + 1})
    return Vitals(
        at=at.astimezone(UTC),
        articles=articles,
        pending=pending,
        stale=unsettled - pending,
        estimated=estimated,
        waiting_seconds=waiting,
        failed={reason: count for reason, count, _ in failed},
        failed_lately=sum(count for reason, _, count in failed if reason not in NO_FAULT),
        limits=limits,
        queues={"changes": changes, "deferred": deferred, "marks to write": marks},
        changes_waiting_seconds=changes_waiting,
        drifted=[*objects.problems(cursor), *drift.problems(cursor), *drift.list_unwritten(cursor)],
        totals={" ".join(filter(None, key)): value for key, value in runs.load_totals(cursor).items()},
        quiet_at=quiet_at,
        run=None if run and run.gone else run,
        failing=dict(failing),
        workers=workers,
    )
