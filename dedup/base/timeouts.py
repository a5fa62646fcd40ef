"""How long anything waits before it gives up: every wait has an end (docs/reliability.md, promise 15).

They belong to a program, not to a corpus: each is set by an environment variable, or by an argument of
`Deduplicator`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from dedup.base.errors import InputError

VARIABLE_PREFIX = "DEDUP_TIMEOUT_"
"""What the names of the environment variables begin with: `DEDUP_TIMEOUT_LOCK`."""

LONGEST = 30 * 86_400.0  # Seconds; Postgres holds its timeouts in 32 bits of milliseconds


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds, each above 0.

    Attributes:
        connect: for a server that does not answer.
        hook: for a verdict. What cannot be settled in this time is stored and answered with `pending`.
        lock: for what another transaction holds, everywhere but in the hook.
        statement: for one statement, everywhere but in the hook; counting a large corpus takes minutes.
        idle: after this the server ends a transaction of ours that does nothing, such as that of a
            process that was stopped, so that it holds no lock. Not those that only read at one moment, which
            hold none.

    Raises:
        InputError: a value is no number, or out of range.
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
        """The defaults, with what `DEDUP_TIMEOUT_CONNECT` and the like say instead.

        Raises InputError: one of them is no number of seconds above 0.
        """
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
    """Raise InputError unless this is a number of seconds above 0 and at most `LONGEST`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise InputError(f"{name} must be a number of seconds above 0, not {value!r}")


def milliseconds(seconds: float) -> str:
    """A time as Postgres' settings take it; at least one millisecond, since 0 means for ever."""
    return f"{max(1, round(seconds * 1000))}ms"
