"""Write logs of long-running commands to stderr: one line per event, without article texts or passwords."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from dedup.base.errors import BusyError, CollisionError, DatabaseError, RightsError, UnreachableError
from dedup.base.printable import as_json, printable

if TYPE_CHECKING:
    from dedup import BackfillReport

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

LOGGERS = ("dedup", "uvicorn")
COUNTS = ("fingerprinted", "settled", "failed")  # Logged counts of a backfill report

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every log record has; any further attribute belongs to the event."""


def configure(format_: LogFormat = "text", level: LogLevel = "info") -> None:
    """Write the events of `LOGGERS` to stderr, at `level` and above."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(format_))
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False


def settled(report: BackfillReport, seconds: float | None = None) -> None:
    """Log the counts of a backfill report with the logger `dedup.worker`; warn if articles failed.

    `seconds`: the duration of a worker's round. None means a whole backfill; then `deferred` is logged, too.
    """
    counts = {name: getattr(report, name) for name in COUNTS}
    if report.archived:  # Only a corpus with a window archives articles
        counts["archived"] = report.archived
    words = ", ".join(f"{name} {count}" for name, count in counts.items())
    took: object
    if seconds is None:
        counts["deferred"], took = report.deferred, report.seconds
        words += f", held by others {report.deferred}"
    else:
        took = round(seconds, 3)
        words += f" in {seconds:.3f} s"
    level = logging.WARNING if report.failed else logging.INFO
    extra = {"event": "settled", **counts, "seconds": took}
    logging.getLogger("dedup.worker").log(level, words, extra=extra)


class OutageLog:
    """Log the beginning and the end of a database outage, and each error about missing rights, only once.

    `place`: the database in words. `then`: what follows from an outage.
    """

    def __init__(self, log: logging.Logger, place: str, then: str) -> None:
        self._log, self._place, self._then = log, place, then
        self._failing: dict[str, bool] = {}  # for each failing part: True if the database does not answer it
        self._refused: set[str] = set()

    def note(self, error: DatabaseError | None, who: str = "") -> None:
        """Note an error of the database; None stands for an answer. `who`: the part of dedup that asked."""
        if isinstance(error, BusyError | CollisionError):
            return  # a lock held by another transaction is not an outage
        if isinstance(error, RightsError):
            # The database answered, so no outage begins. Another part may still fail, so no outage ends.
            if str(error) not in self._refused:
                self._refused.add(str(error))
                self._log.error("%s%s", f"{who}: " if who else "", error)
            return
        out = bool(self._failing)
        if error is not None:
            self._failing[who] = isinstance(error, UnreachableError)
            if not out:
                self._log.error("%s; %s", error, self._then)
            return
        # If the database answers one part, the outage is over for all parts. Other errors, such as a full
        # disk, concern only `who`.
        self._failing = {one: away for one, away in self._failing.items() if one != who and not away}
        if out and not self._failing:
            self._log.warning("%s answers again", self._place)


class _Formatter(logging.Formatter):
    def __init__(self, format_: LogFormat) -> None:
        super().__init__()
        self._format = format_

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        level = record.levelname.lower()
        # Log only the class of an error: the error message could contain the text of an article.
        kind = record.exc_info[0] if record.exc_info else None
        message = record.getMessage() + (f" ({kind.__name__})" if kind else "")
        if self._format == "text":
            return printable(f"{time} {level} {record.name}: {message}")
        own = {name: value for name, value in vars(record).items() if name not in _PLAIN}
        said = {"time": time, "level": level, "logger": record.name, "message": message}
        return as_json({**said, **own}, default=str)
