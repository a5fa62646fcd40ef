"""How the dates of a file are written, found out from its whole columns; and how many are lost.

A file is looked through before its first article is handed on, a pipe in its first records. The rule, for
each field:

1. A date that can be read whatever its neighbours are is read (`../base/times.py`).
2. Of three numbers, as in 28/09/2016, one above 12 says where the day is. Where more than nine of ten dates
   that say so agree, all are read in this order. Where none says so, dates with full stops are day first;
   others are not read.
3. A name that is another month in another language, as `listopad`, is of a language that knows all names of
   the column.

Where more than a tenth of the dates of a column are not read so, the file is refused until its user has said
how they are written, or that they may be lost. Nothing is stored here.
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
from dedup.base.written import SeveralMonthsError, languages_of, written

TIMES = ("published_at", "added_at")

MOST_LOST = 10  # One date in so many of a column may be lost without a question
AGREEING = 10  # One in so many of the dates that say which number is the day may say something else

EXAMPLES = 3
EXAMPLE_CHARACTERS = 40  # Of a date that is shown. What is longer is none, and is not shown

_TRIED = datetime(2017, 5, 26, tzinfo=UTC)


def check_format(form: str) -> None:
    """Raises InputError: it is no format of dates, as `datetime.strptime` reads them."""
    try:
        made = datetime.strptime(_TRIED.strftime(form), form)
    except (ValueError, TypeError, KeyError, IndexError):
        made = None
    if made is None or made.date() != _TRIED.date():
        raise InputError(
            f"{form!r} is no format of dates: it needs year, month and day, such as --date-format"
            " '%d.%m.%Y %H:%M'"
        )


@dataclass(slots=True)
class DateColumn:
    """The dates of a field, counted."""

    given: int = 0  # values that are there
    lost: int = 0  # of these, how many are not read
    # how those with three numbers are read and why, in words; None where there are none.
    order: str | None = None
    # of those that may be lost, the first few, where they are short enough to be dates.
    examples: list[str] = field(default_factory=list)

    def show(self, value: str) -> None:
        if len(self.examples) < EXAMPLES and len(value) <= EXAMPLE_CHARACTERS and value not in self.examples:
            self.examples.append(value)

    def lose(self, value: str) -> None:
        self.given += 1
        self.lost += 1
        self.show(value)


@dataclass(slots=True)
class _Looked(DateColumn):
    """A column as it is looked through: how many dates are of which kind."""

    alike: int = 0  # In both orders the same, such as 05/05/2018; or with the name of the month
    day: int = 0
    month: int = 0  # A day or a month comes first, since the other order makes no date
    open: int = 0
    dotted: int = 0  # In both orders a date; with full stops, and without
    named: Counter[frozenset[tuple[str, int]]] = field(default_factory=Counter)
    """With a word that is another month in another language: language and month."""
    languages: set[str] | None = None  # Those that know every name of a month so far

    def narrow(self, languages: Iterable[str]) -> None:
        """Keep the languages that know this name of a month too."""
        self.languages = set(languages) if self.languages is None else self.languages & set(languages)


class Dates:
    """Reads the dates of one file, written in a form or with the day first as `reading.py` has it."""

    def __init__(self, form: str | None = None, day_first: bool | None = None) -> None:
        self._form, self._day_first = form, day_first
        self._first: dict[str, bool | None] = dict.fromkeys(TIMES, day_first)
        self._languages: dict[str, frozenset[str]] = {}
        self._columns: set[str] = set(TIMES) if form or day_first is not None else set()

    def take(self, found: dict[str, Any]) -> None:
        """Put times in the place of those values that only this column's way of writing makes one."""
        for name in self._columns:
            value = found.get(name)
            if isinstance(value, str) and (time := self._read(name, value)):
                found[name] = time

    def look(self, rows: Iterable[dict[str, Any]]) -> dict[str, DateColumn]:
        """Find out how the columns of these rows are written; what is read of them, and what is lost."""
        looked = {name: _Looked() for name in TIMES}
        for row in rows:
            for name in TIMES:
                value = row.get(name)
                if value is not None and value != "":
                    self._look(looked[name], name, value)
        return {name: self._decide(name, one) for name, one in looked.items() if one.given}

    def _read(self, name: str, value: str) -> datetime | None:
        if self._form and (time := self._formatted(value, name)):
            return time
        try:
            return parse_time(value, name, day_first=self._first[name], languages=self._languages.get(name))
        except InputError:
            return None

    def _formatted(self, value: str, name: str) -> datetime | None:
        try:
            return as_utc(datetime.strptime(value.strip(), self._form or ""), name)
        except (ValueError, InputError):
            return None

    def _look(self, looked: _Looked, name: str, value: Any) -> None:
        if isinstance(value, str) and not value.strip():
            return
        looked.given += 1
        if isinstance(value, str) and self._form and self._formatted(value, name):
            return
        with suppress(InputError):
            parse_time(value, name)
            if isinstance(value, str) and (languages := _languages(re.sub("[0-9]+", "1", value))):
                looked.narrow(languages)
            return
        if not isinstance(value, str) or len(value) > MAX_TIME_CHARACTERS:
            looked.lost += 1
            return
        try:
            day, month = (_either(value, first) for first in (True, False))
        except SeveralMonthsError as error:
            looked.narrow(error.meanings)
            looked.named[frozenset(error.meanings.items())] += 1
            looked.show(value)
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
            looked.show(value)
        self._columns.add(name)

    def _decide(self, name: str, looked: _Looked) -> DateColumn:
        first, order = self._day_first, "as told"
        deciding = looked.day + looked.month
        if first is None and deciding:
            if min(looked.day, looked.month) * AGREEING < deciding:
                first, order = looked.day > looked.month, f"{max(looked.day, looked.month):,} of them tell"
        elif first is None and looked.dotted:
            first, order = True, "they have full stops"
        numbered = deciding + looked.open + looked.dotted
        if numbered and first is None:
            lost = looked.lost + numbered + looked.alike
        else:
            lost = looked.lost + (looked.month if first else looked.day)
        self._languages[name] = frozenset(looked.languages or ())
        for meanings, count in looked.named.items():
            months = {month for language, month in meanings if language in self._languages[name]}
            lost += count * (len(months) != 1)
        # Without an order that matters, any will do for those that are alike in both.
        self._first[name] = True if first is None and not numbered else first
        said = f"{'day' if first else 'month'} first: {order}" if numbered and first is not None else None
        return DateColumn(looked.given, lost, said, looked.examples)


def refuse_many(file: str, name: str, column: DateColumn, seen: str) -> None:
    """Ask the user of a file where more dates are lost than may be without a question.

    `seen` says what became of the file so far.
    """
    if column.lost * MOST_LOST <= column.given:
        return
    such = f", such as {', '.join(map(repr, column.examples))}" if column.examples else ""
    raise InputError(
        f"{file}: {column.lost:,} of {column.given:,} dates in {name} cannot be read, or in two ways{such};"
        f" {seen}. Say how they are written with --day-first, --month-first or --date-format"
        " '%d.%m.%Y %H:%M', or go on without them: --lose-dates"
    )


def _either(value: str, day_first: bool) -> datetime | None:
    try:
        return written(value, day_first)
    except SeveralMonthsError:
        raise
    except ValueError:
        return None


@lru_cache(maxsize=1_000)
def _languages(form: str) -> frozenset[str] | None:
    """The languages that a date, leaving its numbers aside, may be written in."""
    return languages_of(form) if any(c.isalpha() for c in form) else None
