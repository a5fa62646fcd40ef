"""Read the state of a corpus for a monitor: waiting and failed articles, runs and workers.

A monitor reads the state every minute, so no query reads a whole table. At most `SAMPLE` articles of a kind
are counted. Larger numbers are the planner's estimates, split into pending and stale articles as in the
sample. `dedup status` reads everything, and its numbers are exact (`../store/overview.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dedup.attach import drift
from dedup.base.answer import Answer
from dedup.base.errors import MissingRightError
from dedup.base.schema import program
from dedup.base.words import counted
from dedup.db import objects, roles
from dedup.db.database import Cursor, Database, one_row, prefer_indexes
from dedup.db.statements import Statements
from dedup.runs import alarms, runs
from dedup.runs.alarms import Figure, Thresholds
from dedup.runs.runs import Run, Worker

_sql = Statements("runs/monitoring")

SAMPLE = 10_000  # Maximum number of articles of a kind that are counted, which takes about 20 ms


@dataclass(frozen=True, slots=True)
class Vitals(Answer):
    """The state of a corpus for a monitor.

    Attributes:
        at: the time of the server.
        articles: number of articles; an estimate.
        pending: articles without a mark.
        stale: articles whose mark must be settled again.
        estimated: true if `pending` and `stale` are estimates, because there are more than 10,000.
        waiting_seconds: the longest wait of an article; if `estimated`: in the sample.
        failed: count by reason (before its colon) among the newest 10,000 failed articles.
        failed_lately: articles that failed lately, by default in the last 24 hours, and need a repair.
        limits: number of sampled articles that each safety limit left unsettled.
        queues: count of waiting rows by name of the queue, up to 10,001. "changes" are unread changes of
            attached tables, in the first 10,001 notes; a whole table that must be read counts as one change.
        changes_waiting_seconds: waiting time of the oldest change in "changes".
        drifted: problems of the schema.
        unfit: problems of attached tables, and of writing marks into these.
        totals: sums over all runs, such as "settled" and "seconds settling".
        quiet_at: time when a run or worker last found that nothing waits.
        run: the run at work.
        failing: number of runs that failed since the last success, by kind of error.
        workers: workers, alive or gone.
    """

    at: datetime
    articles: int
    pending: int
    stale: int
    estimated: bool
    waiting_seconds: float | None
    failed: dict[str, int]
    failed_lately: int
    limits: dict[str, int]
    queues: dict[str, int]
    changes_waiting_seconds: float | None
    drifted: list[str]
    unfit: list[str]
    totals: dict[str, float]
    quiet_at: datetime | None
    run: Run | None
    failing: dict[str, int]
    workers: list[Worker]

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

    def figures(
        self,
        seconds: float,
        wait: float | None = None,
        chosen: Mapping[str, Thresholds | None] | None = None,
    ) -> list[Figure]:
        """Return the figures of a check, the most urgent first, with their thresholds.

        `seconds`: a longer wait of an article is a problem. `wait`: the same while no run is at work; None:
        `seconds`, but at most `alarms.WAIT_SECONDS` with workers. `chosen`: thresholds of the figures that
        may alarm, by name; None for a figure stands for its thresholds by default.
        """
        return alarms.figures(self, seconds, wait, chosen)

    def problems(self, seconds: float, wait: float | None = None) -> list[str]:
        """Return the problems in words; the arguments are as in `figures`."""
        alarming = [figure for figure in self.figures(seconds, wait) if figure.state]
        return [problem for figure in alarming for problem in figure.problems]


def read_vitals(database: Database, lately: float = 86_400.0, seconds: float | None = None) -> Vitals:
    """Call `load_vitals` in a new transaction. `seconds`: timeout of each lock and statement.

    Raises MissingRightError: the role lacks a right; the message names the kinds of role that have it.
    """
    try:
        with database.transaction(seconds=seconds) as cursor:
            return load_vitals(cursor, lately)
    except MissingRightError:
        with database.transaction(seconds=seconds) as cursor:
            words = roles.advice(
                cursor, "dedup metrics", ("counter", "analyst", "reader", "worker"), program(database.schema)
            )
        if not words:
            raise
        raise MissingRightError(f"{database.location}: {words}") from None


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
        # Nothing waited at `quiet_at`. An earlier `added_at` is a time in the past that a load gave. So the
        # wait began at `quiet_at` or later.
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
        failed_lately=sum(count for reason, _, count in failed if reason not in alarms.NO_FAULT),
        limits=limits,
        queues={"changes": changes, "deferred": deferred, "marks to write": marks},
        changes_waiting_seconds=changes_waiting,
        drifted=objects.problems(cursor),
        unfit=[*drift.problems(cursor), *drift.list_unwritten(cursor)],
        totals={" ".join(filter(None, key)): value for key, value in runs.load_totals(cursor).items()},
        quiet_at=quiet_at,
        run=None if run and run.gone else run,
        failing=dict(failing),
        workers=workers,
    )
