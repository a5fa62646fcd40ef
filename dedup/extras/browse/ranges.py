"""Make the pages about a range of days (Today, Who copies whom, an outlet), and read their forms.

A range has a first and a last day, or covers the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, get_args

from markupsafe import Markup

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.base.folding import same_word
from dedup.base.words import line, long_day, percent
from dedup.extras.browse.asking import Fields, View, chosen, day_of, go, moved
from dedup.extras.browse.browsing import Browsing
from dedup.extras.browse.questions.counting import Figures, Grouping, end_of, start_of
from dedup.extras.browse.questions.day import SPREAD_OUTLETS, Day
from dedup.extras.browse.questions.outlets import CopiedOutlets, CopiedPage, OutletPage
from dedup.extras.pages.charts import Bar, Tie, bars, tie_graph

TIES = 30  # Maximum number of pairs of outlets in the chart; readers could not tell more lines apart
OUTLET_DAYS = 30  # Default number of days on the page Who copies whom
NEAR = 10  # Maximum number of outlets suggested for a name that is not stored

RANGE = ("first", "last", "whole", "publication", "language", "credit", "family")
"""Fields of a query that choose the articles to count; `whole=yes` chooses the whole corpus."""

LABELS = {
    "day": "%d %b",
    "week": "%d %b %Y",
    "month": "%b %Y",
    "year": "%Y",
}  # Date formats in the bar charts
PERIODS = {"week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}  # Formats of the names of periods

NAMES: Mapping[str, Callable[[Browsing], tuple[str, ...]]] = {
    "publication": Browsing.outlet_names,
    "language": Browsing.languages,
    "credit": Browsing.agencies,
    "family": Browsing.families,
}

Names = Mapping[str, tuple[str, ...]]  # Field of a query -> stored names


@dataclass(frozen=True, slots=True)
class Asked:
    """The range and filters of a query, and the values that the form of the page offers."""

    first: date | None  # first and last are None for the whole corpus
    last: date | None
    by: Grouping | None
    only: dict[str, Any]  # publication, language and credit; None for no filter
    near: tuple[str, ...]  # outlets with a similar name, if the given outlet is not stored
    names: Names
    groupings: tuple[Grouping, ...]  # empty if the page has no periods
    beside: tuple[date | None, date | None]  # the nearest days with articles, before and after the range

    @property
    def query(self) -> dict[str, object]:
        """Range and filters as fields of an address."""
        whole = "yes" if self.first is None and self.last is None else None
        return {"first": self.first, "last": self.last, "whole": whole, "by": self.by, **self.only}

    @property
    def days(self) -> dict[str, object]:
        return {name: value for name, value in self.query.items() if name not in ("by", "publication")}

    def steps(self) -> list[tuple[str, dict[str, object]]]:
        """Return links (name, query) to the ranges before and after, and to the week and month of `last`.

        The ranges before and after have the same length, and end or begin on a day that has articles.
        """
        if self.first is None or self.last is None:
            return []
        more = self.last - self.first
        before, after = self.beside
        ranges: dict[str, tuple[date, date] | None] = {
            "earlier": (moved(before, -more), before) if before else None,
            "later": (after, moved(after, more)) if after else None,
            "that week": (start_of(self.last, "week"), end_of(self.last, "week")),
            "that month": (start_of(self.last, "month"), end_of(self.last, "month")),
        }
        return [
            (name, {**self.query, "first": days[0], "last": days[1]}) for name, days in ranges.items() if days
        ]


def asked(
    dd: Deduplicator, given: Fields, days: int | None, *, by: bool = True, offered: bool = True
) -> Asked:
    """Return the range and filters of a query. `days`: length of the default range; None: whole corpus.

    `offered`: also read the names and the neighbouring days that the form of a page offers.
    """
    first, last = day_of(given["first"]), day_of(given["last"])
    given, names, near = as_stored(dd, given, offered=offered)
    only = chosen(given, *NAMES)
    if first is None and last is None and days is not None and not given["whole"]:
        last = dd.browsing.newest_day(**only)  # None if no article is dated: then count the whole corpus
        first = moved(last, timedelta(days=1 - days)) if last else None
    elif last is None:
        last = first
    beside: tuple[date | None, date | None] = (None, None)
    if offered and first and last:
        beside = dd.browsing.days_beside(first, last, **only)
    grouping: Any = given["by"] or None if by else None
    groupings = get_args(Grouping) if by else ()
    return Asked(first, last, grouping, only, near, names, groupings, beside)


def as_stored(
    dd: Deduplicator, given: Fields, *, offered: bool = True
) -> tuple[Fields, Names, tuple[str, ...]]:
    """Spell the names of a query as stored. Also return all stored names, and outlets with a similar name."""
    # A form offers all names. A download has no form (`offered=False`), and reads only the lists it needs.
    names = {field: ask(dd.browsing) for field, ask in NAMES.items() if offered or given[field]}
    found = {field: named(given[field], names[field]) for field in names}
    near = found["publication"][1] if "publication" in found else ()
    return {**given, **{field: name for field, (name, _) in found.items()}}, names, near


def named(typed: str, names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the stored spelling of a name, ignoring case and accents. Add similar names if none is equal."""
    if not typed or typed in names:
        return typed, ()
    word = same_word(typed)
    for name in names:
        if same_word(name) == word:
            return name, ()
    return typed, tuple(name for name in names if word.strip() and word.strip() in same_word(name))[:NEAR]


def day_of_query(dd: Deduplicator, given: Fields, rows: int | None = None) -> tuple[Asked, Day]:
    what = asked(dd, given, days=1, offered=rows is None)
    return what, dd.browsing.day(what.first, what.last, by=what.by, rows=rows, **what.only)


def today(dd: Deduplicator, given: Fields) -> View:
    what, day = day_of_query(dd, given)
    return View("day.html.j2", {**day_values(day, what), "asked": what})


def heading_of(first: date | None, last: date | None) -> str:
    if last is None:
        return "The whole corpus"
    if first is None:
        return f"Until {long_day(last)}"
    return long_day(first) if first == last else f"{long_day(first)} to {long_day(last)}"


def day_values(day: Day, what: Asked | None = None) -> dict[str, Any]:
    """Return the template values of a range of days. `what`: filters for links to periods; None: no links."""
    hours = [Bar(f"{hour:02}", count) for hour, count in enumerate(day.hours)]
    rows = [(f"{bar.label}:00", f"{bar.value:,}") for bar in hours]
    pictures = {
        "hours": bars(hours, "Articles by hour of the day", "hours"),
        "hour_rows": [*rows, *([("no hour", f"{day.no_hour:,}")] if day.no_hour else [])],
        **period_pictures("/", day, what),
    }
    heading = heading_of(day.first, day.last)
    return {"day": day, "heading": heading, "spread_outlets": SPREAD_OUTLETS, "pictures": pictures}


def period_pictures(path: str, page: Figures, what: Asked | None) -> dict[str, Any]:
    """Return the chart of periods, and the table with the same numbers; undated articles come last."""
    label = LABELS[page.by]
    if page.by == "day" and page.periods and page.periods[0].first.year != page.periods[-1].first.year:
        label = LABELS["week"]
    marks = [(f"{one.first:{label}}", one.marks) for one in page.periods]
    names = [_linked(path, one.first, page.by, what) for one in page.periods]
    if page.undated.articles:
        marks.append(("undated", page.undated))
        names.append("undated")
    drawn = [Bar(name, of.articles, of.share_new or 0.0, of is page.undated) for name, of in marks]
    caption = f"Articles by {page.by}"
    return {
        "periods": bars(drawn, caption, "periods") if len(drawn) > 1 else None,
        "period_heads": (page.by.capitalize(), "Articles", "Known originals", "Duplicates", "First unknown"),
        "period_rows": [
            (name, f"{of.articles:,}", percent(of.share_new), f"{of.duplicate:,}", f"{of.shared:,}")
            for name, (_, of) in zip(names, marks, strict=True)
        ],
        "period_caption": f"{caption}; the main colour shows originals"
        + ("; undated articles apart" if page.undated.articles else ""),
    }


def period_name(first: date, by: Grouping) -> str:
    """Return the ISO 8601 name of the period that begins on `first`, such as "2026-W11"."""
    return first.isoformat() if by == "day" else f"{first:{PERIODS[by]}}"


def _linked(path: str, first: date, by: Grouping, what: Asked | None) -> str:
    name = period_name(first, by)
    if what is None:
        return name
    query = {**what.query, "whole": None, "by": None, "first": first, "last": end_of(first, by)}
    return linked(go(path, **query), name)


def linked(address: str, name: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, name)


def copying_of(dd: Deduplicator, given: Fields, rows: int | None = None) -> tuple[Asked, CopiedOutlets]:
    what = asked(dd, given, OUTLET_DAYS, by=False, offered=rows is None)
    return what, dd.browsing.outlets(what.first, what.last, rows=rows, **what.only)


def outlets(dd: Deduplicator, given: Fields) -> View:
    what, found = copying_of(dd, given)
    ties = sorted((*found.cells, *found.shared), key=lambda cell: -cell.copies)
    drawn = [Tie(line(c.original), line(c.copier), c.copies, bool(c.median_delay)) for c in ties[:TIES]]
    values = {"found": found, "picture": tie_graph(drawn), "ties": ties, "drawn": TIES, "asked": what}
    return View("outlets.html.j2", values)


def outlet_of(dd: Deduplicator, given: Fields, rows: int | None = None) -> tuple[Asked, OutletPage]:
    what = asked(dd, given, days=None, offered=rows is None)
    if what.only["publication"] is None:
        raise InputError("name an outlet: /outlet?publication=NAME")
    return what, dd.browsing.outlet(first=what.first, last=what.last, by=what.by, rows=rows, **what.only)


def outlet(dd: Deduplicator, given: Fields) -> View:
    what, page = outlet_of(dd, given)
    pictures = period_pictures("/outlet", page, what)
    return View("outlet.html.j2", {"page": page, "asked": what, "pictures": pictures})


def copied_by(dd: Deduplicator, given: Fields, rows: int | None = None) -> CopiedPage:
    if not (given["copier"] and given["original"]):
        raise InputError("give both copier and original")
    return dd.browsing.copied(
        **chosen(given, "copier", "original", "language", "credit", "family", "after"),
        first=day_of(given["first"]),
        last=day_of(given["last"]),
        rows=rows,
    )


def copied(dd: Deduplicator, given: Fields) -> View:
    return View("copied.html.j2", {**given, "page": copied_by(dd, given)})
