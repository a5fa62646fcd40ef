"""What a program that runs for long says meanwhile: one line an event, for people or as JSON.

Through `logging` of the standard library, on stderr. A line holds neither a traceback nor the text of an
article.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Literal

from dedup.printable import as_json, printable

LogFormat = Literal["text", "json"]


class _Lines(logging.Formatter):
    """`2026-11-20T08:00:00Z warning dedup.serve: words`"""

    def format(self, record: logging.LogRecord) -> str:
        words = f"{_time(record)} {record.levelname.lower()} {record.name}: {_words(record)}"
        return printable(words)


class _Json(logging.Formatter):
    """`{"at": …, "level": …, "logger": …, "message": …}`"""

    def format(self, record: logging.LogRecord) -> str:
        return as_json(
            {
                "at": _time(record),
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": _words(record),
            }
        )


def configure(format: LogFormat = "text", level: int = logging.INFO) -> None:
    """Log to stderr in this format, in place of whatever was set up before.

    Args:
        level: the least that is logged.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if format == "json" else _Lines())
    logging.basicConfig(handlers=[handler], level=level, force=True)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _words(record: logging.LogRecord) -> str:
    """The message; of an exception its kind only: what it says could hold a text."""
    kind = record.exc_info[0] if record.exc_info else None
    return f"{record.getMessage().strip()}{f' ({kind.__name__})' if kind else ''}"
