"""Format counts, times, durations and sizes for people: in messages, templates and charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from datetime import time as midnight
from typing import Protocol

LONGEST_LINE = 300  # Maximum number of characters of a title or of an outlet's name on a page
FIRST_WORDS = 80  # Maximum number of characters of a text that are shown for a missing title
UNTITLED = "Untitled"  # Shown for an article without title and text


def whole(value: float) -> str:
    return f"{value:,.0f}"


def counted(count: int, one: str, more: str | None = None) -> str:
    """Return a count and its noun; `more` is the plural if it is not formed with s.

    >>> counted(1, "article"), counted(2_000, "copy", "copies")
    ('1 article', '2,000 copies')
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def some(names: Sequence[str], most: int) -> str:
    """Return the first names of a list, at most `most`, and how many more there are.

    >>> some(["a", "b"], 2), some(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def moment(time: datetime) -> str:
    """Return a time without seconds, `2026-03-12 06:10`; for 00:00:00, which means a day, only the date."""
    return f"{time:%Y-%m-%d}" if time.time() == midnight() else f"{time:%Y-%m-%d %H:%M}"


def long_day(day: date) -> str:
    """Return a date with the weekday: `Thursday 12 March 2026`."""
    return f"{day:%A} {day.day} {day:%B %Y}"


def span(time: timedelta) -> str:
    """Return a duration in its two largest units.

    >>> span(timedelta(0)), span(timedelta(minutes=90)), span(timedelta(days=-2))
    ('0 min', '1 h 30 min', '−2 d')
    """
    minutes = round(abs(time).total_seconds() / 60)
    parts = ((minutes // 1_440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    shown = [f"{count:,} {unit}" for count, unit in parts if count][:2]
    return f"{'−' if shown and time < timedelta(0) else ''}{' '.join(shown)}" if shown else "0 min"


def later(time: timedelta | None) -> str:
    """Return a time difference to the first article as text; "unknown" for None.

    >>> later(timedelta(0)), later(timedelta(minutes=90)), later(timedelta(minutes=-3))
    ('first', '+1 h 30 min', '−3 min')
    """
    if time is None:
        return "unknown"
    shown = span(time)
    return "first" if shown == "0 min" else shown if shown[0] == "−" else f"+{shown}"


def percent(share: float | None) -> str:
    """Return a share as a percentage, `41 %` for 0.407; a dash for None."""
    return "–" if share is None else f"{100 * share:.0f} %"


def figure(value: float | None) -> str:
    """Return a score with three decimals; a dash for None."""
    return "–" if value is None else f"{value:.3f}"


def size(count: float) -> str:
    """Return a number of bytes in the largest suitable unit.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1_000
    return f"{count:,.1f} TB"


def line(text: str | None, otherwise: str = "", most: int = LONGEST_LINE) -> str:
    """Return a title or a name on one line of at most `most` characters; `otherwise` for blank text.

    >>> line(None, "Untitled"), line("a  title", most=5)
    ('Untitled', 'a ti…')
    """
    # Cut the text before splitting it, so that even a million spaces take no time.
    words = " ".join((text or "")[: 4 * most].split())
    if not words:
        return otherwise
    return words if len(words) <= most and len(text or "") <= 4 * most else f"{words[: most - 1]}…"


def first_words(text: str) -> str:
    """Return the beginning of a text, on one line and cut between words, in place of a missing title.

    >>> first_words("Storm\\ncloses port."), first_words("word " * 20)[-10:]
    ('Storm closes port.', 'word word…')
    """
    start = text[: 4 * FIRST_WORDS]
    words = " ".join(start.split())
    if len(words) <= FIRST_WORDS and len(start) == len(text):
        return words
    kept, space, _ = words[:FIRST_WORDS].rpartition(" ")
    return f"{kept if space and len(kept) > FIRST_WORDS // 2 else words[: FIRST_WORDS - 1]}…"


class Called(Protocol):
    """Type of an article that an answer shows by its title, or else by the first words of its text."""

    @property
    def title(self) -> str | None: ...

    @property
    def first_words(self) -> str | None: ...


def heading(article: Called, most: int = LONGEST_LINE) -> str:
    return line(article.title, "", most) or line(article.first_words, UNTITLED, most)


FILTERS = {
    filter.__name__: filter
    for filter in (whole, moment, long_day, span, later, percent, figure, size, line, heading, first_words)
}
