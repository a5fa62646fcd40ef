"""Checks of arguments: a wrong type raises InputError with one line of text, before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, get_args

from dedup.base.article import Article, storable
from dedup.base.errors import InputError
from dedup.base.times import parse_time, seconds_in
from dedup.base.verdict import Representative

_Bounds = ParamSpec("_Bounds")
_Value = TypeVar("_Value")

MAX_WHOLE_NUMBER = 2**63 - 1  # Maximum of the type bigint in Postgres


def optional(
    check: Callable[Concatenate[str, Any, _Bounds], _Value],
    name: str,
    value: Any,
    *bounds: _Bounds.args,
    **named: _Bounds.kwargs,
) -> _Value | None:
    """Check a value and return it. None, which means that no value was given, is returned unchecked."""
    return None if value is None else check(name, value, *bounds, **named)


def whole_number(name: str, value: Any, low: int, high: int = MAX_WHOLE_NUMBER) -> int:
    # In Python a bool is an int: `limit=True` would count as 1.
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} must be a whole number, not {type(value).__name__}")
    if not low <= value <= high:
        bounds = f"from {low:,} on" if high == MAX_WHOLE_NUMBER else f"from {low:,} to {high:,}"
        raise InputError(f"{name} must be a whole number {bounds}, not {value:,}")
    return value


def text(name: str, value: Any) -> str:
    """Return a text unchanged. Raises InputError: the value is not a string, or Postgres cannot store it."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, not {type(value).__name__}")
    if storable(value) != value:
        raise InputError(f"{name} has a NUL or a lone surrogate, which Postgres cannot store")
    return value


def texts(name: str, values: Any) -> tuple[str, ...]:
    """Check several texts, and return them as a tuple."""
    # A str is iterable: each of its letters would count as a text.
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}s must be a list of strings, not {type(values).__name__}")
    return tuple(text(name, value) for value in values)


def representative(name: str, value: Any) -> Representative:
    """Check the choice of the article that represents a story."""
    if value not in get_args(Representative):
        raise InputError(f"{name} is {', '.join(get_args(Representative))}, not {value!r}")
    return cast("Representative", value)


def moment(name: str, value: Any) -> datetime:
    """Convert a value to a time. The value has a form that `Article` accepts, or is an age such as `7d`."""
    if isinstance(value, str) and (ago := seconds_in(value, "mhd")) is not None:
        with suppress(OverflowError):  # the age may reach before the year 1
            return datetime.now(UTC) - timedelta(seconds=ago)
    found = parse_time(value, name)
    if found is None:
        raise InputError(f"{name} is empty; write it like 2024-05-01T12:00:00Z")
    return found


def day(name: str, value: Any) -> date:
    """Return a day, which is a date or a text like 2026-11-20."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a day like 2026-11-20, not {str(value)[:20]!r}") from None


def article(value: Any) -> Article:
    if not isinstance(value, Article):
        raise InputError(
            f"an Article is wanted, not {type(value).__name__}: write Article(source_id=…, text=…)"
        )
    return value
