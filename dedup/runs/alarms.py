"""Compare figures of a corpus with thresholds, as plugins of Nagios do.

A figure alarms if it is above a threshold. States, exit codes and performance data follow the Monitoring
Plugins Development Guidelines, https://www.monitoring-plugins.org/doc/guidelines.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from dedup.base.answer import Answer
from dedup.base.words import counted
from dedup.runs.runs import FORGOTTEN_SECONDS

if TYPE_CHECKING:
    from dedup.runs.monitoring import Vitals

# If there are workers, an article may wait this long without a run at work. Even under load a worker begins a
# run within a second, and a restart of the server takes less time than this.
WAIT_SECONDS = 900.0
FAILING_RUNS = 2  # Failures in a row, with the same error, after which a problem is reported
# Failed articles with these reasons need no repair: photo articles have no text, and articles before the
# horizon are never compared. Every newsroom has such articles every day.
NO_FAULT = ("empty", "archived")


class CheckState(IntEnum):
    """State of a figure or a corpus; the values are the exit codes of plugins of Nagios."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


class Thresholds(NamedTuple):
    """Largest values of a figure that cause no warning, and no critical alarm; None: no limit."""

    warning: float | None = None
    critical: float | None = None


class Meaning(NamedTuple):
    about: str  # the thing that is counted, in words
    listing: str  # command that lists the counted things
    unit: str = ""  # unit of the value: "s" for seconds, "" for a count


FIGURES = {
    "schema": Meaning("incomplete schemas", "dedup init"),
    "attached": Meaning("problems of attached tables", "dedup attachments"),
    "gone_workers": Meaning("workers gone, if no worker is left", "dedup runs"),
    "stuck_runs": Meaning("runs without progress for ten minutes", "dedup runs"),
    "failed_runs": Meaning("runs that failed for the same reason since the last success", "dedup runs"),
    "settled": Meaning("time since all work was done, while no run is at work", "dedup runs", "s"),
    "waiting": Meaning("waiting time of the oldest article", "dedup marks --status pending", "s"),
    "changes_waiting": Meaning(
        "waiting time of the oldest change of an attached table", "dedup attachments", "s"
    ),
    "failed": Meaning("articles that failed lately and need a repair", "dedup marks --status failed"),
    "pending": Meaning("articles without a mark", "dedup marks --status pending"),
    "stale": Meaning("articles to be settled again", "dedup marks"),
    "deferred": Meaning("articles to be stored by a backfill", "dedup status --all"),
    "changes": Meaning("unread changes of attached tables", "dedup attachments"),
}
"""Figures by name, the most urgent first. The last four have no thresholds by default."""


@dataclass(frozen=True, slots=True)
class Figure(Answer):
    """A figure of a corpus with its thresholds.

    Attributes:
        name: one of `FIGURES`.
        value: a count, or seconds; None: unknown, since nothing was settled yet.
        unit: as in `Meaning`.
        problems: sentences that describe an alarm.
        listing: command that lists the counted things.
    """

    name: str
    value: float | None
    unit: str
    warning: float | None
    critical: float | None
    problems: tuple[str, ...]
    listing: str

    @property
    def state(self) -> CheckState:
        """The state of the figure; an unknown value is above every threshold."""
        value = float("inf") if self.value is None else self.value
        for state, most in ((CheckState.CRITICAL, self.critical), (CheckState.WARNING, self.warning)):
            if most is not None and value > most:
                return state
        return CheckState.OK

    @property
    def performance(self) -> str:
        """The figure as performance data: `label=value[unit];warning;critical;minimum`."""
        numbers = ["" if number is None else f"{number:.15g}" for number in (self.warning, self.critical)]
        value = "U" if self.value is None else f"{round(self.value, 3):.15g}{self.unit}"
        return f"{self.name}={value};{';'.join(numbers)};0"


def figures(
    found: Vitals, seconds: float, wait: float | None, chosen: Mapping[str, Thresholds | None] | None
) -> list[Figure]:
    """Return all figures, the most urgent first; see `Vitals.figures`."""
    if wait is None:
        wait = min(WAIT_SECONDS, seconds) if found.workers else seconds
    patience = seconds if found.run else wait
    default = {
        "schema": Thresholds(critical=0),
        **dict.fromkeys(("attached", "gone_workers", "stuck_runs", "failed"), Thresholds(0)),
        "failed_runs": Thresholds(FAILING_RUNS - 1),
        "settled": Thresholds(seconds),
        **dict.fromkeys(("waiting", "changes_waiting"), Thresholds(patience)),
    }
    values, made = _values(found), []
    for name, (about, listing, unit) in FIGURES.items():
        value, *words = values[name]
        limits = default.get(name, Thresholds())
        if chosen is not None:
            # A chosen figure without thresholds, such as `pending`, alarms above 0.
            limits = (chosen[name] or default.get(name, Thresholds(0))) if name in chosen else Thresholds()
        made.append(Figure(name, value, unit, *limits, (*words,) or (f"{value:,.0f} {about}",), listing))
    return made


def _values(found: Vitals) -> dict[str, tuple[float | None, *tuple[str, ...]]]:
    """Return, for each figure, its value, and sentences that describe its problems.

    If a figure has no sentences, the caller makes a sentence from `Meaning.about`.
    """
    since = None if found.quiet_at is None else (found.at - found.quiet_at).total_seconds()
    last = "nothing was settled yet" if since is None else f"all was last settled {_hours(since)} ago"
    error, failures = max(found.failing.items(), key=lambda item: item[1], default=("", 0))
    gone, gone_words = _gone_workers(found)
    nobody = "" if found.run else ", and no run is at work"
    waited, changes_waited = found.waiting_seconds or 0.0, found.changes_waiting_seconds or 0.0
    stuck = bool(found.run and found.run.stuck)
    return {
        "schema": (len(found.drifted), *found.drifted),
        "attached": (len(found.unfit), *found.unfit),
        "gone_workers": (gone, gone_words),
        "stuck_runs": (int(stuck), f"a run is probably stuck {found.run}" if stuck else ""),
        "failed_runs": (
            failures if found.waits else 0,
            f"{failures:,} runs failed since the last success ({error}): see `dedup runs`",
        ),
        "settled": (
            0.0 if found.run else since,
            f"{last}: make sure that `dedup backfill` or `dedup worker` runs",
        ),
        "waiting": (waited, f"an article has waited for {_hours(waited)}{nobody}"),
        "changes_waiting": (
            changes_waited,
            f"a change of an attached table has waited for {_hours(changes_waited)}{nobody}",
        ),
        "failed": (
            found.failed_lately,
            f"{counted(found.failed_lately, 'article')} failed lately: `dedup status` says why",
        ),
        "pending": (found.pending,),
        "stale": (found.stale,),
        "deferred": (found.queues["deferred"],),
        "changes": (found.queues["changes"],),
    }


def _gone_workers(found: Vitals) -> tuple[int, str]:
    """Return the number of workers and a message if all are gone; 0 and "" if this is no problem."""
    if not found.workers or any(worker.alive for worker in found.workers):
        return 0, ""
    gone = max(found.workers, key=lambda worker: worker.seen_at)
    silent = (found.at - gone.seen_at).total_seconds()
    if not found.waits and silent >= FORGOTTEN_SECONDS:
        return 0, ""
    return len(found.workers), (
        f"the worker on {gone.host}, process {gone.process_id}, is gone; it was last"
        f" seen {_hours(silent)} ago: start `dedup worker` again"
    )


def _hours(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
