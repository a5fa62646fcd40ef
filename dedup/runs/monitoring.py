"""What a monitor asks every minute, cheaply at any size: what waits, for how long, what failed, who works.

Nothing here reads a table as a whole. Up to `SAMPLE` articles of a kind are counted; above that the number of
unsettled ones is the planner's estimate, and how they divide is taken from the sample. What `dedup status`
shows is exact, and reads everything (`../store/overview.py`).
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

SAMPLE = 10_000  # Articles of a kind that are looked at: about 20 ms

WAIT_SECONDS = 900.0
"""How long anything may wait with nobody at work, where there are workers: they take what comes within a
second, so a quarter of an hour is no matter of load, and shorter than a restart of a server it is not."""

FAILING_RUNS = 2
"""After so many runs that failed in the same way, and none that ended well, the next one will fail too."""

NO_FAULT = ("empty", "archived")
"""Beginnings of the reasons of articles that failed and give nothing to repair. An article of pictures has no
text, and one from before the horizon is compared with nothing: every newsroom has both, every day."""

FORGOTTEN_SECONDS = 3_600.0
"""A worker that is gone for so long is no problem any more if nothing waits: who ended it wanted that."""


@dataclass(frozen=True, slots=True)
class Vitals(Answer):
    """The state of a corpus as a monitor sees it."""

    at: datetime  # the time of the server
    articles: int  # about how many there are, as the planner knows
    # pending, stale: articles without a mark, and with one that is to be settled again
    pending: int
    stale: int
    estimated: bool  # pending and stale are estimates, since there are more than `SAMPLE`
    # for how long the oldest of them has waited, at most; where they are estimates, at least
    waiting_seconds: float | None
    failed: dict[str, int]  # reason, without its numbers, to articles; of the last `SAMPLE` at most
    # of these, the articles that failed within the time that was asked for and are a fault: their text is too
    # long, or cannot be read
    failed_lately: int
    limits: dict[str, int]  # safety limit to unsettled articles that it left, of `SAMPLE` at most
    # name to the rows that wait, `SAMPLE` + 1 at most; "changes" are changed rows of attached tables that
    # were not read yet, of the first `SAMPLE` + 1 notes, a whole table being one
    queues: dict[str, int]
    changes_waiting_seconds: float | None  # for how long the oldest of those changes has waited
    # what of the schema is not as it should be, what owners did to attached tables that a person must see to,
    # and rows that take no marks
    drifted: list[str]
    totals: dict[str, float]  # what all runs did, as in `runs.totals`: "settled", "seconds settling"
    quiet_at: datetime | None  # when last nothing waited, as far as anyone looked; None: never
    run: Run | None  # at work
    failing: dict[str, int]  # kind of error to the runs that it ended since one ended well
    workers: list[Worker]  # those there are, alive or gone

    @property
    def waits(self) -> bool:
        return bool(self.pending or self.stale or any(self.queues.values()))

    @property
    def waiting(self) -> str:
        """What waits, for people: articles, and changes of attached tables where there are any."""
        articles = f"{'about ' if self.estimated else ''}{counted(self.pending + self.stale, 'article')}"
        changes = self.queues["changes"]
        also = f" and {counted(changes, 'change')} of attached tables" if changes else ""
        return f"{articles}{also} {'waits' if self.pending + self.stale == 1 and not changes else 'wait'}"

    def problems(self, seconds: float, wait: float | None = None) -> list[str]:
        """What is wrong, in words; nothing if all is well. `seconds`: how old the last success may be, and
        how long anything may wait. `wait`: how long it may wait with nobody at work; None: `WAIT_SECONDS`
        where there are workers, alive or gone, and `seconds` where there are none.
        """
        found = [*self.drifted]
        if wait is None:
            wait = min(WAIT_SECONDS, seconds) if self.workers else seconds
        patience = seconds if self.run else wait
        if self.run and self.run.stuck:
            found.append(f"a run is probably stuck {self.run}")
        for error, count in self.failing.items():
            if self.waits and count >= FAILING_RUNS:
                found.append(f"{count:,} runs failed since one ended well ({error}): see `dedup runs`")
        since = None if self.quiet_at is None else (self.at - self.quiet_at).total_seconds()
        if (since is None or since > seconds) and not self.run:
            last = "nothing was settled yet" if since is None else f"all was last settled {_hours(since)} ago"
            found.append(f"{last}: is `dedup backfill` or `dedup worker` still run?")
        for what, waited in (
            ("an article", self.waiting_seconds),
            ("a change of an attached table", self.changes_waiting_seconds),
        ):
            if waited is not None and waited > patience:
                nobody = "" if self.run else ", and nobody is at work"
                found.append(f"{what} has waited for {_hours(waited)}{nobody}")
        if self.failed_lately:
            found.append(f"{counted(self.failed_lately, 'article')} failed lately: `dedup status` says why")
        if self.workers and not any(worker.alive for worker in self.workers):
            gone = max(self.workers, key=lambda worker: worker.seen_at)
            silent = (self.at - gone.seen_at).total_seconds()
            if self.waits or silent < FORGOTTEN_SECONDS:
                found.append(
                    f"the worker on {gone.host}, process {gone.process_id}, is gone; its last word was"
                    f" {_hours(silent)} ago: start `dedup worker` again"
                )
        return found


def _hours(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def vitals(cursor: Cursor, lately: float = 86_400.0) -> Vitals:
    """Return the answers for a monitor that asks every minute: cheap at any size, and partly an estimate.
    `lately`: seconds; failures within them count as `failed_lately`, except for the reasons in `NO_FAULT`.
    """
    prefer_indexes(cursor)
    sample = one_row(cursor, _sql("unsettled_sample"), {"sample": SAMPLE})
    at, articles, index_rows, seen, pending, oldest, limits = sample
    estimated = seen > SAMPLE
    unsettled = max(seen, int(index_rows)) if estimated else seen
    pending = round(unsettled * pending / seen) if seen else 0
    workers = runs.workers(cursor)
    times = [*one_row(cursor, _sql("last_done")), *(worker.idle_at for worker in workers)]
    quiet_at = max((time for time in times if time is not None), default=None)
    waiting = None
    if oldest is not None:
        # Since when an edited article waits is not known; but not since before nothing waited.
        since = oldest if quiet_at is None or estimated else max(oldest, quiet_at)
        waiting = max(0.0, (at - since).total_seconds())
    failed = cursor.execute(_sql("failed"), {"lately": lately, "sample": SAMPLE}).fetchall()
    run = runs.current(cursor, "backfill")
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
        drifted=[*objects.problems(cursor), *drift.problems(cursor), *drift.unwritten(cursor)],
        totals={" ".join(filter(None, key)): value for key, value in runs.totals(cursor).items()},
        quiet_at=quiet_at,
        run=None if run and run.gone else run,
        failing=dict(failing),
        workers=workers,
    )
