"""Read times in the forms that people and programs write. Pure functions.

- `2024-05-01T12:00:00Z` and other forms of ISO 8601, also with a trailing ` UTC`, ` GMT`, ` Z` or ` +0200`
- `2024-05-01`, and `20240501` as a text or a number: midnight
- `Wed, 01 May 2024 12:00:00 GMT` (RFC 2822), also with other common time zones (`+0100`, `EST`, `CEST`)
- `5. März 2018`, `12 mars 2019 14:30 CET`, and so on, in the languages of CLDR (`written.py`)
- seconds since 1970, with 9 or 10 digits before the point, and milliseconds, with 12 or 13 digits
- days since 1899-12-30, as in spreadsheets, with 5 digits before the point

A time without a zone is UTC. An ambiguous date such as `05/01/2020` is refused, unless the caller gives the
date format of the column (`files/dates.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import overload

from dedup.base.errors import InputError

Time = datetime | date | str | int | float | None
"""Types accepted as a time, in the forms that `Article` takes."""

# The longest form, with full names of weekday, month and zone, has 80 characters.
MAX_TIME_CHARACTERS = 100

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# Patterns are strings, compiled on first use: every command imports this module, and few commands read a form
# that `datetime.fromisoformat` does not accept.
_NUMBER = r"(-?)([0-9]{5}|[0-9]{8,14})(?:\.([0-9]*))?"
_ISO = r"[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|W[0-9]{2}-?[0-9])(?:[Tt ][0-9:.,]+(?:Z|z|[+-][0-9:.]+)?)?"
_SLASHED = r"([0-9]{4})/([0-9]{2})/([0-9]{2})(?![0-9/])"
_SPACED_ZONE = r"(?i)\s+(?:(Z|UTC|GMT)|([+-][0-9]{2}:?[0-9]{2}))"

# Day 0 of spreadsheets, valid for dates since 1900-03-01: spreadsheets count 1900-02-29, which did not exist.
SPREADSHEET = datetime(1899, 12, 30, tzinfo=UTC)


@overload
def microseconds(time: datetime) -> int: ...
@overload
def microseconds(time: datetime | None) -> int | None: ...
def microseconds(time: datetime | None) -> int | None:
    """Return a time in microseconds since 1970, UTC; None for None."""
    # `timestamp()` returns a float, which is not exact.
    return None if time is None else (time - _EPOCH) // MICROSECOND


def from_microseconds(count: int) -> datetime:
    """Return the UTC time `count` microseconds after 1970. Raises OverflowError: a year not in 1 to 9999."""
    return _EPOCH + count * MICROSECOND


def range_of_days(first: date | None, last: date | None) -> tuple[datetime, datetime]:
    """Return the first moment of a range of days (UTC), and the first moment after the range; None: no bound.

    Raises InputError: the range ends before it begins.
    """
    if first is not None and last is not None and last < first:
        raise InputError(f"the range ends on {last}, before it begins on {first}")
    return start_of_day(first or date.min), after_day(last or date.max)


def start_of_day(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def after_day(day: date) -> datetime:
    """Return the first moment after a day in UTC; after `date.max`, return the last possible moment."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return start_of_day(day + timedelta(days=1))


def parse_time(
    value: Time, name: str, *, day_first: bool | None = None, languages: Collection[str] | None = None
) -> datetime | None:
    """Return a value as a time in UTC; None for None and for blank text.

    Args:
        name: the name of the field, for the error message.
        day_first, languages: the date format of the column; see `dedup.base.written.written`.

    Raises InputError: the value has a type that is not in `Time`, is unreadable, or is outside the years 1
    to 9999. The message does not contain the value.
    """
    if value is None:
        return None
    if isinstance(value, str):
        # A shortcut for the most frequent form; all other forms are tried below.
        if value[10:11] in ("T", " ") and value[4:5] == "-":
            with suppress(ValueError):
                return as_utc(datetime.fromisoformat(value), name)
        text = value.strip()
        if not text:
            return None
        found = _from_text(text, day_first, languages) if len(text) <= MAX_TIME_CHARACTERS else None
    elif isinstance(value, datetime):
        return as_utc(value, name)
    elif isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name} must be a time, not {type(value).__name__}")
    else:
        found = _from_number(value)
    if found is None:
        raise InputError(f"{name} is not a time; write it like 2024-05-01T12:00:00Z")
    return as_utc(found, name)


def seconds_in(span: str, units: str) -> float | None:
    """Return the seconds of a span such as `90s`, `30m`, `24h` or `7d`; None if the text is no span.

    `units`: the allowed letters.
    """
    found = re.fullmatch(rf"(\d{{1,6}}) ?([{units}])", span.strip())
    return found and int(found[1]) * {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}[found[2]]


def as_utc(value: datetime, name: str) -> datetime:
    """Return a time in UTC; a time without a zone is UTC. Raises InputError: NaT of pandas, or a bad year."""
    if type(value) is not datetime:  # A Timestamp of pandas: drop the nanoseconds
        if value != value:  # The time is NaT, which differs from itself
            raise InputError(f"{name} is not a time; leave it out if there is no time")
        value = datetime.combine(value.date(), value.time(), value.tzinfo).replace(fold=value.fold)
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InputError(f"{name} is outside the years 1 to 9999") from None


def _from_text(
    text: str, day_first: bool | None = None, languages: Collection[str] | None = None
) -> datetime | None:
    number = re.fullmatch(_NUMBER, text)
    if number:
        return _from_digits(*number.groups(default=""))
    try:
        found = _from_iso(re.sub(_SLASHED, r"\1-\2-\3", text, count=1))
        if found is None:
            from dedup.base.written import written  # Imported late: only rare forms of dates need it

            found = written(text, day_first, languages)
        return found
    except ValueError:  # An impossible date, such as 2024-13-01
        return None


def _from_number(value: int | float) -> datetime | None:
    if not abs(value) < 10**14:  # also true for NaN
        return None
    if isinstance(value, int):
        number = re.fullmatch(_NUMBER, str(value))
        return _from_digits(*number.groups(default="")) if number else None
    if value.is_integer():
        return _from_number(int(value))
    whole = len(str(int(abs(value))))
    if whole == 5 and value > 0:
        return _from_days(value)
    if whole in (9, 10):
        return _EPOCH + timedelta(seconds=value)
    return _EPOCH + timedelta(milliseconds=value) if whole in (12, 13) else None


def _from_digits(sign: str, whole: str, fraction: str) -> datetime | None:
    digits = len(whole)
    if digits == 5:
        return None if sign or whole.startswith("0") else _from_days(float(f"{whole}.{fraction or 0}"))
    if digits in (8, 14):
        if sign or fraction.strip("0"):
            return None
        try:
            return datetime.fromisoformat(f"{whole[:8]}T{whole[8:] or '00'}")
        except ValueError:
            return None
    if digits not in (9, 10, 12, 13) or whole.startswith("0"):
        return None
    # Use integers, since a float would lose digits. Digits below a microsecond are dropped.
    unit = 1_000_000 if digits <= 10 else 1_000
    places = 6 if digits <= 10 else 3
    count = int(whole) * unit + int(fraction[:places].ljust(places, "0"))
    return from_microseconds(-count if sign else count)


def _from_days(days: float) -> datetime:
    """Convert a spreadsheet's day count to a time.

    Return the nearest minute if rounding of the count explains the difference, else the nearest second.
    """
    seconds = days * 86_400
    minute = round(seconds / 60) * 60
    places = len(repr(days).partition(".")[2])
    near = abs(seconds - minute) <= 43_200 / 10 ** min(places, 8) + 0.001
    return SPREADSHEET + timedelta(seconds=minute if near else round(seconds))


def _from_iso(text: str) -> datetime | None:
    zone = re.search(_SPACED_ZONE, text)
    if zone and zone.end() == len(text):
        text = text[: zone.start()]
        if zone[2] and len(text) <= len("2024-05-01"):
            return None  # A time zone without a time of day is no time
        offset = zone[2] or ""
        if not re.fullmatch(_ISO, text + offset):
            return None
        found = datetime.fromisoformat(text + offset)
        return found if offset or found.tzinfo is None else None
    return datetime.fromisoformat(text.upper()) if re.fullmatch(_ISO, text) else None


def back_off(first: float, most: float, failures: int) -> float:
    """Return the seconds before the next attempt: `first`, doubled after each failure, up to `most`."""
    # The maximum exponent of 30 keeps 2.0 ** failures from overflowing.
    return min(first * 2.0 ** min(failures, 30), most)
