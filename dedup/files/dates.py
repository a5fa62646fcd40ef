"""Find out from whole columns how the dates of a file are written, and count the unreadable dates.

The reader reads all dates of a file before it yields the first article. A pipe can be read only once, so
there the reader reads only the dates of the first records in advance. Rules for each field:

1. A date that is clear by itself is read (`../base/times.py`).
2. A date such as 28/09/2016, with a day above 12, shows the order of day and month. If more than nine in ten
   such dates have the same order, this order holds for the column. If no date shows an order, but some dates
   have full stops, the day is first. In all other cases, dates of three numbers are not read.
3. A name that means different months in different languages, such as `listopad`, is read in a language that
   knows every month name of the column.

If more than a tenth of the dates of a column cannot be read, the file is refused until the user gives the
format of the dates, or allows their loss.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from dedup.base.errors import InputError
from dedup.base.times import MAX_TIME_CHARACTERS, as_utc, parse_time
from dedup.base.words import counted
from dedup.base.written import SeveralMonthsError, languages_of, written

TIMES = ("published_at", "added_at")

MOST_LOST = 10  # At most one in ten dates of a column may be unreadable, unless the user allows more
AGREEING = 10  # An order is accepted if fewer than one in ten dates shows the opposite order
EXAMPLES = 3
EXAMPLE_CHARACTERS = 40  # Longer values are not shown, since they may be text of an article

_TRIED = datetime(2017, 5, 26, tzinfo=UTC)


def check_format(form: str) -> None:
    """Raise InputError unless `form` is a format of `datetime.strptime` with year, month and day."""
    try:
        made = datetime.strptime(_TRIED.strftime(form), form)
    except (ValueError, TypeError, KeyError, IndexError):
        made = None
    if made is None or made.date() != _TRIED.date():
        raise InputError(f"{form!r} is not a format of dates with year, month and day, such as '%d.%m.%Y'")


@dataclass(slots=True)
class DateColumn:
    """Counts of the dates of one field, and examples of bad dates.

    Attributes:
        lost: count of dates that are present but unreadable.
        order: chosen order and its reason, such as "day first: the dates have full stops".
        examples: first short dates that are unreadable or ambiguous.
    """

    given: int = 0
    lost: int = 0
    order: str | None = None
    examples: list[str] = field(default_factory=list)

    def add_example(self, value: str) -> None:
        if len(self.examples) < EXAMPLES and len(value) <= EXAMPLE_CHARACTERS and value not in self.examples:
            self.examples.append(value)

    def count_lost(self, value: str) -> None:
        self.given += 1
        self.lost += 1
        self.add_example(value)


@dataclass(slots=True)
class _ColumnCounts(DateColumn):
    """Counts of the kinds of dates in a column, collected while the column is read."""

    alike: int = 0  # dates that are the same in both orders, such as 05/05/2018
    day: int = 0  # dates that are valid only with the day first
    month: int = 0  # dates that are valid only with the month first
    open: int = 0  # dates with slashes or hyphens that mean two different days, such as 05/06/2018
    dotted: int = 0  # dates with full stops that mean two different days, such as 05.06.2018
    # Number of dates per ambiguous month name. A key holds the meanings of a name, each a (language, month).
    named: Counter[frozenset[tuple[str, int]]] = field(default_factory=Counter)
    languages: set[str] | None = None  # languages that know all month names read so far

    def narrow(self, languages: Iterable[str]) -> None:
        self.languages = set(languages) if self.languages is None else self.languages & set(languages)


class Dates:
    """Reader of the dates of a file. `form` is the option `date_format`; `Reading` explains the options."""

    def __init__(self, form: str | None = None, day_first: bool | None = None) -> None:
        self._form, self._day_first = form, day_first
        self._first: dict[str, bool | None] = dict.fromkeys(TIMES, day_first)
        self._languages: dict[str, frozenset[str]] = {}
        self._columns: set[str] = set(TIMES) if form or day_first is not None else set()

    def convert(self, found: dict[str, Any]) -> None:
        """Replace texts by times in columns whose dates need a known format, order or language to be read."""
        for name in self._columns:
            value = found.get(name)
            if isinstance(value, str) and (time := self._parse(name, value)):
                found[name] = time

    def scan(self, rows: Iterable[dict[str, Any]]) -> dict[str, DateColumn]:
        """Find out how the dates of each field are written. Return the counts of dates by field."""
        looked = {name: _ColumnCounts() for name in TIMES}
        for row in rows:
            for name in TIMES:
                value = row.get(name)
                if value is not None and value != "":
                    self._count(looked[name], name, value)
        return {name: self._decide(name, one) for name, one in looked.items() if one.given}

    def _parse(self, name: str, value: str) -> datetime | None:
        if self._form and (time := self._parse_formatted(value, name)):
            return time
        try:
            return parse_time(value, name, day_first=self._first[name], languages=self._languages.get(name))
        except InputError:
            return None

    def _parse_formatted(self, value: str, name: str) -> datetime | None:
        try:
            return as_utc(datetime.strptime(value.strip(), self._form or ""), name)
        except (ValueError, InputError):
            return None

    def _count(self, looked: _ColumnCounts, name: str, value: Any) -> None:
        if isinstance(value, str) and not value.strip():
            return
        looked.given += 1
        if isinstance(value, str) and self._form and self._parse_formatted(value, name):
            return
        with suppress(InputError):
            parse_time(value, name)
            if isinstance(value, str) and (languages := _find_languages(re.sub("[0-9]+", "1", value))):
                looked.narrow(languages)
            return
        if not isinstance(value, str) or len(value) > MAX_TIME_CHARACTERS:
            looked.lost += 1
            return
        try:
            day, month = (_parse_in_order(value, first) for first in (True, False))
        except SeveralMonthsError as error:
            looked.narrow(error.meanings)
            looked.named[frozenset(error.meanings.items())] += 1
            looked.add_example(value)
            self._columns.add(name)
            return
        if day == month:
            looked.lost += day is None
            looked.alike += day is not None
        elif month is None:
            looked.day += 1
        elif day is None:
            looked.month += 1
        elif "/" in value or "-" in value:
            looked.open += 1
        else:
            looked.dotted += 1
        if day != month or day is None:
            looked.add_example(value)
        self._columns.add(name)

    def _decide(self, name: str, looked: _ColumnCounts) -> DateColumn:
        first, order = self._day_first, "as given"
        deciding = looked.day + looked.month
        if first is None and deciding:
            if min(looked.day, looked.month) * AGREEING < deciding:
                first = looked.day > looked.month
                order = f"{counted(max(looked.day, looked.month), 'date')} cannot be read otherwise"
        elif first is None and looked.dotted:
            first, order = True, "the dates have full stops"
        numbered = deciding + looked.open + looked.dotted
        if numbered and first is None:
            lost = looked.lost + numbered + looked.alike
        else:
            lost = looked.lost + (looked.month if first else looked.day)
        self._languages[name] = frozenset(looked.languages or ())
        for meanings, count in looked.named.items():
            months = {month for language, month in meanings if language in self._languages[name]}
            lost += count * (len(months) != 1)
        # If all dates in numbers are like 05/05/2018, both orders give the same date. Choose one of them, so
        # that such dates are read.
        self._first[name] = True if first is None and not numbered else first
        said = f"{'day' if first else 'month'} first: {order}" if numbered and first is not None else None
        return DateColumn(looked.given, lost, said, looked.examples)


def refuse_many(file: str, name: str, column: DateColumn, seen: str) -> None:
    """Raise InputError if over a tenth of the dates in a column are lost.

    `seen`: part of the message that tells if anything is stored already, such as "nothing was stored".
    """
    if column.lost * MOST_LOST <= column.given:
        return
    such = f", such as {', '.join(map(repr, column.examples))}" if column.examples else ""
    raise InputError(
        f"{file}: {column.lost:,} of {column.given:,} dates in {name} are unreadable or ambiguous{such};"
        f" {seen}. Say how they are written with --day-first, --month-first or --date-format"
        " '%d.%m.%Y %H:%M', or continue without them: --lose-dates"
    )


def _parse_in_order(value: str, day_first: bool) -> datetime | None:
    try:
        return written(value, day_first)
    except SeveralMonthsError:
        raise
    except ValueError:
        return None


@lru_cache(maxsize=1_000)
def _find_languages(form: str) -> frozenset[str] | None:
    """Return the languages that have the month name of a date; None if the name is English or missing.

    `form`: the date, with 1 in place of each number.
    """
    return languages_of(form) if any(c.isalpha() for c in form) else None
