"""What the HTTP service says when it says no: application/problem+json (RFC 9457).

Never a traceback, the text of an article, or the host of the database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil
from typing import Any

from dedup.base.errors import (
    BusyError,
    ClosedError,
    CollisionError,
    DatabaseError,
    DedupError,
    InputError,
    NotFoundError,
    RightsError,
    SchemaError,
)

MEDIA_TYPE = "application/problem+json"

BUSY_SECONDS = 1  # To wait before a request is sent again that others were in the way of
OUTAGE_SECONDS = 5  # To wait before a database is asked again that did not answer


@dataclass
class ProblemError(Exception):
    """A request that is refused, or could not be answered."""

    status: int  # of HTTP
    detail: str  # what happened, and what to do, in a sentence
    # seconds after which the same request may be sent again; None if that does not help.
    retry_after: float | None = None
    headers: dict[str, str] = field(default_factory=dict)  # further ones

    def body(self) -> dict[str, Any]:
        """The members of RFC 9457."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }

    def all_headers(self) -> dict[str, str]:
        """With `Retry-After`, in whole seconds."""
        if self.retry_after is None:
            return self.headers
        return {**self.headers, "Retry-After": str(max(1, ceil(self.retry_after)))}


def problem_of(error: Exception, place: str) -> ProblemError:
    """The problem that an error is; clients are not told `place`, host and database."""
    if not isinstance(error, DedupError):
        if isinstance(error, MemoryError):
            return ProblemError(503, "no memory for this request; send it again later", BUSY_SECONDS)
        # The message of an unexpected error could hold the text of an article.
        return ProblemError(500, f"unexpected {type(error).__name__}; the log of the server says where")
    words = str(error).replace(place, "the database")
    match error:
        case InputError():
            return ProblemError(400, words)
        case NotFoundError():
            return ProblemError(404, words.rpartition("; ")[0])
        case BusyError() | CollisionError():
            return ProblemError(503, words, BUSY_SECONDS)
        case RightsError() | SchemaError():
            return ProblemError(503, words, OUTAGE_SECONDS * 12)  # somebody has to do something
        case DatabaseError() | ClosedError():
            return ProblemError(503, words, OUTAGE_SECONDS)
    return ProblemError(500, words)
