"""Logs of long-lived commands: one line per event on stderr, as text or as JSON.

The events come from loggers named `dedup.…`, which a program that uses the library can listen to as well, and
from the HTTP server where there is one. Neither the text of an article nor a password is ever part of one.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from dedup.base.printable import as_json, printable

if TYPE_CHECKING:
    from dedup import BackfillReport

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

LOGGERS = ("dedup", "uvicorn")  # Whose events are shown
COUNTS = ("fingerprinted", "settled", "failed")  # Of a report, what is logged

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; the rest is the event's own."""


def configure(format_: LogFormat = "text", level: LogLevel = "info") -> None:
    """Show on stderr what this program's loggers say, from `level` up."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(format_))
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False


def settled(report: BackfillReport, seconds: float | None = None) -> None:
    """Log what was done to articles, under `dedup.worker`; a warning where texts failed, or processes did.

    `seconds` is how long a round of a worker took; None for a whole run, which also tells what others hold
    and, to programs, the seconds of its stages.
    """
    counts = {name: getattr(report, name) for name in COUNTS}
    if report.archived:  # where there is a window, and it moved
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


class _Formatter(logging.Formatter):
    def __init__(self, format_: LogFormat) -> None:
        super().__init__()
        self._format = format_

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        level = record.levelname.lower()
        # Of an error its kind, without its message, which could hold the text of an article.
        kind = record.exc_info[0] if record.exc_info else None
        message = record.getMessage() + (f" ({kind.__name__})" if kind else "")
        if self._format == "text":
            return printable(f"{time} {level} {record.name}: {message}")
        own = {name: value for name, value in vars(record).items() if name not in _PLAIN}
        said = {"time": time, "level": level, "logger": record.name, "message": message}
        return as_json({**said, **own}, default=str)
