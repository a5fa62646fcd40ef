"""Read dates in the forms that people write: `28/09/2016 14:30`, `5. März 2018`, `2018年6月1日`.

`times.py` reads ISO 8601 and numbers. `scripts/month_names.py` makes the table of names from Unicode's CLDR.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, partial
from importlib import resources

AMERICAN = {
    "et": "America/New_York",
    "ct": "America/Chicago",
    "mt": "America/Denver",
    "pt": "America/Los_Angeles",
}
# Hours ahead of UTC. CST and other American zones follow RFC 2822; BST is British. IST is left out,
# since three zones have this name.
ZONES = {
    **dict.fromkeys(("z", "ut", "utc", "gmt", "wet"), 0.0),
    **{"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7},
    **{"ast": -4, "adt": -3, "nst": -3.5, "ndt": -2.5, "akst": -9, "akdt": -8, "hst": -10},
    **{"brt": -3, "art": -3},
    **dict.fromkeys(("west", "bst", "cet", "mez", "wat"), 1),
    **dict.fromkeys(("cest", "mesz", "eet", "oez", "sast", "cat"), 2),
    **dict.fromkeys(("eest", "oesz", "msk", "eat", "trt"), 3),
    **{"pkt": 5, "npt": 5.75, "wib": 7, "ict": 7, "hkt": 8, "sgt": 8, "awst": 8, "wita": 8, "pht": 8},
    **{"jst": 9, "kst": 9, "wit": 9, "acst": 9.5, "acdt": 10.5, "aest": 10, "aedt": 11},
    **{"nzst": 12, "nzdt": 13},
}

# RFC 2822, section 4.3: two-digit years below 50 mean 2000 to 2049.
_CENTURY_TURN = 50

_ENGLISH_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_ENGLISH_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FILLING = frozenset(
    ("at", "of", "on", "the", "uhr", "uur", "h", "hrs", "kl", "klo", "alle", "ore", "o", "clock", "às", "as")
)

_CLOCK = (
    r"(?i)(?:(?<=\d)T|(?<![\w:.+-]))(\d{1,2})[:h](\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?![\d:])"
    r"(?:\s*([ap])\.?\s?m\b\.?)?"
    r"(?:\s*(?:(?:utc|gmt)?([+-]\d{1,2}(?::?\d{2})?)(?!\d)|([a-z]{1,5})(?![^\W\d_])))?(?:\s*\([^()]*\))?"
)
_NUMBERS = r"(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?"
_SIGNS = (  # Dates in Chinese, Japanese, Korean and Vietnamese
    r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일号號]?",
    r"(?i)(?:ngày )?(?P<d>\d{1,2}) tháng (?P<m>\d{1,2}),?(?: năm)? (?P<y>\d{4})",
)
WORD = r"[^\W\d_][^\s\d,،./()-]*"
_TOKEN = rf"(?i)(?P<n>\d+)(?:st|nd|rd|th|er|re|º|ª)?(?![^\W_])|(?P<w>{WORD})"


class SeveralMonthsError(ValueError):
    """A month name means different months in different languages: `listopad` in Polish and Croatian."""

    def __init__(self, meanings: dict[str, int]) -> None:
        super().__init__("a month name means different months in different languages")
        self.meanings = meanings


def written(
    text: str, day_first: bool | None = None, languages: Collection[str] | None = None
) -> datetime | None:
    """Return the time in a text, with a zone if the text has a zone. Return None if the text has no time.

    Args:
        day_first: whether the day is the first of three numbers. None: unknown. Then three numbers are read
            only if the year is first, and a date like `6 Jul 26` is read only with a time of day.
        languages: languages to use if the name of the month means different months.

    Raises ValueError: an impossible time, such as 30 February. Raises SeveralMonthsError: ambiguous month.
    """
    text = " ".join(text.split())
    clocks = [*re.finditer(_CLOCK, text)]
    if len(clocks) > 1:
        return None
    hour = minute = second = micros = 0
    zone: tzinfo | None = None
    day = text
    if clocks:
        clock = clocks[0]
        hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
        micros = int((clock[4] or "0")[:6].ljust(6, "0")) if clock[4] else 0
        if clock[5]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + 12 * (clock[5] in "pP")
        end = clock.end()
        name = (clock[7] or "").lower()
        if clock[6]:
            zone = _offset(clock[6])
        elif name in ZONES:
            zone = timezone(timedelta(hours=ZONES[name]))
        elif name and name not in AMERICAN:
            end = clock.start(7)  # The word is not the name of a time zone
        day = f"{text[: clock.start()]} {text[end:]}".strip(" ,")
        if name in AMERICAN:
            zone = _american(AMERICAN[name])
            if zone is None:
                return None
    found = _day(day, day_first, languages, bool(clocks))
    return found and datetime(*found, hour, minute, second, micros, tzinfo=zone)


def _day(
    text: str, day_first: bool | None, languages: Collection[str] | None, has_clock: bool
) -> tuple[int, int, int] | None:
    for form in _SIGNS:
        sign = re.search(form, text)
        if sign and not re.search(r"\d", text[: sign.start()] + text[sign.end() :]):
            y, m, d = sign.group("y", "m", "d") if "y" in sign.groupdict() else sign.groups()
            return int(y), int(m), int(d)
    words = (word for word in text.split() if word.strip(",.").lower() not in FILLING)
    numbered = " ".join(words).rstrip(",")
    numbers = re.search(rf"(?:^|(?<=[\s,])){_NUMBERS}$", numbered)
    if numbers:
        if not all(_is_weekday(word) for word in re.split(r"[\s,.]+", numbered[: numbers.start()]) if word):
            return None
        first, _, second, last = numbers.groups()
        if len(first) == 4:
            return (int(first), int(second), int(last)) if len(last) < 3 else None
        if day_first is None or len(first) > 2 or len(last) not in (2, 4):
            return None
        d, m = (first, second) if day_first else (second, first)
        return _year(last), int(m), int(d)
    return _named(text, languages, has_clock or day_first is not None)


def languages_of(text: str) -> frozenset[str] | None:
    """Return the languages that have the month name in a text; None if the name is English or missing."""
    split = _split(" ".join(re.sub(_CLOCK, " ", text).split()))
    meanings = split and _meanings(*split[1:])
    return frozenset(meanings) if meanings and "en" not in meanings else None


def _named(text: str, languages: Collection[str] | None, short_years: bool) -> tuple[int, int, int] | None:
    """Return year, month and day from a text with a month name and two numbers; None for other texts."""
    split = _split(text)
    meanings = split and _meanings(*split[1:])
    if not split or not meanings:
        return None
    month = _one(meanings, languages)
    first, second = split[0]
    if len(first) == 4 and len(second) <= 2:
        return int(first), month, int(second)
    if len(first) > 2 or len(second) not in (2, 4):
        return None
    # `6 Jul 26` could also mean 26 July 2006: read it only with `short_years`. Never read `July 6, 26`.
    if len(second) == 2 and not (short_years and re.search(r"\d[^\d]*[^\W\d_][^\d]*\d", text)):
        return None
    return _year(second), month, int(first)


def _split(text: str) -> tuple[list[str], tuple[str, ...]] | None:
    """Return the two numbers and the words of a text; None if the text has anything else."""
    numbers: list[str] = []
    words: list[str] = []
    position = 0
    for token in re.finditer(_TOKEN, text):
        if text[position : token.start()].strip(" ,،.-/’'"):
            return None
        if token["w"]:
            words += [part for part in re.split("[’']", token["w"].casefold()) if part]
        elif token.start() and text[token.start() - 1].isalpha():
            return None
        else:
            numbers.append(token["n"])
        position = token.end()
    if text[position:].strip(" ,،.-/’'") or len(numbers) != 2 or not words:
        return None
    return numbers, tuple(words)


def _meanings(words: tuple[str, ...]) -> dict[str, int] | None:
    """Return language -> month for the month name in `words`; None if there are other words than fillers."""
    for names in _KNOWN:
        months, others = names()
        runs = [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
        found = [
            (i, j)
            for i, j in runs
            if " ".join(words[i:j]) in months and others.issuperset(words[:i] + words[j:])
        ]
        if found:
            # Choose the longest name; if equally long, the last: `mar. 12 mar. 2019` begins with a weekday.
            i, j = max(found, key=lambda run: (run[1] - run[0], run[0]))
            return months[" ".join(words[i:j])]
    return None


def _one(meanings: dict[str, int], languages: Collection[str] | None) -> int:
    every = set(meanings.values())
    if len(every) > 1 and languages:
        every = {meanings[language] for language in languages if language in meanings} or every
    if len(every) > 1:
        raise SeveralMonthsError(meanings)
    return every.pop()


Names = tuple[dict[str, dict[str, int]], frozenset[str]]
"""Numbers of months by month name and language, and the words that may appear beside the name."""


@cache
def _english() -> Names:
    months = {name: {"en": number} for number, name in enumerate(_ENGLISH_MONTHS, 1)}
    months |= {name[:3]: meaning for name, meaning in months.items()} | {"sept": {"en": 9}}
    days = {part for day in _ENGLISH_DAYS for part in (day, day[:3], "tues", "wednes", "thur", "thurs")}
    return months, frozenset(days | FILLING)


@cache
def table_of(part: str) -> Names:
    """Return the month names of frequent languages (`part` "press") or of all languages in CLDR ("all")."""
    months, others = json.loads((resources.files("dedup.base") / "month_names.json").read_bytes())[part]
    return months, frozenset(others)


_KNOWN = (_english, partial(table_of, "press"), partial(table_of, "all"))  # The most frequent languages first


def _is_weekday(word: str) -> bool:
    word = word.casefold()
    return any(word in names()[1] for names in _KNOWN)


def _year(digits: str) -> int:
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year < _CENTURY_TURN else 1900)


def _offset(text: str) -> tzinfo:
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    away = timedelta(hours=int(hours), minutes=int(minutes))
    return UTC if not away else timezone(away if text[0] == "+" else -away)


def _american(name: str) -> tzinfo | None:
    """Return a zone with daylight saving time; None if the machine has no time zone database."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        return None
