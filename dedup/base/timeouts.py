"""Define the timeouts of a program, so that no wait is endless (docs/reliability.md, promise 15)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

from dedup.base.errors import InputError

LONGEST = 24 * 86_400.0  # Seconds in 24 days; Postgres stores milliseconds in 31 bits, at most 24.8 days


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait before giving up, each above 0. Raises InputError: not a number, or out of range.

    Attributes:
        connect: wait for a server that does not answer.
        hook: wait for the verdict of `submit` (the hook). An article not settled in time stays `pending`.
        lock: wait for a lock that another transaction holds; not used by `submit`.
        statement: wait for one SQL statement, such as a count, which can take minutes; not used by `submit`.
        idle: time after which the server ends an idle transaction of this program, for example of a stopped
            process, to free its locks. Snapshot reads hold no such locks: for them, `statement` is used.
    """

    connect: float = 10.0
    hook: float = 0.5
    lock: float = 30.0
    statement: float = 3_600.0
    idle: float = 60.0

    def __post_init__(self) -> None:
        for item in fields(self):
            check_seconds(f"the timeout {item.name}", getattr(self, item.name))

    def at_most(self, seconds: float) -> Self:
        """Return the same timeouts, but at most `seconds` for a connection, a lock or a statement."""
        names = ("connect", "lock", "statement")
        return replace(self, **{name: min(getattr(self, name), seconds) for name in names})


def check_seconds(name: str, value: float) -> None:
    """Raise InputError unless the value is a number of seconds above 0 and at most `LONGEST`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise InputError(f"{name} must be a number of seconds above 0, at most {LONGEST:,.0f}, not {value!r}")


def milliseconds(seconds: float) -> str:
    """Return a duration as text for a Postgres setting, such as `500ms`."""
    # Return at least 1 ms, since 0 means no timeout in Postgres.
    return f"{max(1, round(seconds * 1000))}ms"
