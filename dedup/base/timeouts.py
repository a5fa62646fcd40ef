"""Timeouts of a program: every wait has an end (docs/reliability.md, promise 15)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from dedup.base.errors import InputError

VARIABLE_PREFIX = "DEDUP_TIMEOUT_"

LONGEST = 24 * 86_400.0  # Seconds; Postgres counts milliseconds in 31 bits, 24.8 days


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds before a program gives up, each above 0. Raises InputError: no number, or out of range.

    Attributes:
        connect: for a server that does not answer.
        hook: for a verdict. An article that cannot be settled in this time is stored as `pending`.
        lock: for a lock of another transaction, everywhere but in the hook.
        statement: for one statement, everywhere but in the hook; counting a large corpus takes minutes.
        idle: after this the server ends a transaction of ours that does nothing, such as one of a stopped
            process, so that its locks are freed. Reads of one moment hold no lock, and are not ended.
    """

    connect: float = 10.0
    hook: float = 0.5
    lock: float = 30.0
    statement: float = 3_600.0
    idle: float = 60.0

    def __post_init__(self) -> None:
        for item in fields(self):
            check_seconds(f"the timeout {item.name}", getattr(self, item.name))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return the defaults, replaced by variables such as `DEDUP_TIMEOUT_CONNECT`. Raises InputError."""
        environment = os.environ if environment is None else environment
        given: dict[str, float] = {}
        for item in fields(cls):
            name = VARIABLE_PREFIX + item.name.upper()
            if text := environment.get(name, "").strip():
                try:
                    given[item.name] = float(text)
                except ValueError:
                    raise InputError(f"{name} must be a number of seconds, not {text!r}") from None
        return cls(**given)


def check_seconds(name: str, value: float) -> None:
    """Raise InputError unless the value is a number of seconds above 0 and at most `LONGEST`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise InputError(
            f"{name} must be a number of seconds above 0, and at most {LONGEST:.0f}, not {value!r}"
        )


def milliseconds(seconds: float) -> str:
    """Return a time for a setting of Postgres."""
    # At least one: 0 means no timeout.
    return f"{max(1, round(seconds * 1000))}ms"
