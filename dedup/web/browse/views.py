"""What the pages show: an answer of the library, and the charts made of it. `report.py` uses the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from dedup.api.browsing import SPREAD_OUTLETS, Compared, Day, Page, StoryPage
from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import InputError, NotFoundError
from dedup.base.words import later, line, long_day, moment, percent
from dedup.web.pages.charts import Bar, Print, Tie, bars, story_timeline, tie_graph
from dedup.web.pages.comparison import Block, compare

TIMELINE_ROWS = 200  # Outlets in the table beside the picture of a story
TIES = 30  # Pairs of outlets that are drawn: more are a thicket
OUTLET_DAYS = 30  # Days of the page of outlets where none are given
TABLES = 6  # Tables whose size is told; the others are told together
HEAT = 5  # Shades of the matrix

COMPARED_CHARACTERS = 100_000
"""Of two texts that are compared word by word; `Browsing.compare` tells no more of them."""


@dataclass(frozen=True, slots=True)
class View:
    template: str
    values: dict[str, Any]


def go(path: str, **query: object) -> str:
    """The address of a page. Ids are in the query: most are addresses themselves."""
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


Fields = Mapping[str, str]  # Those of a query: all that the page knows; "" where one is not given

EXACT = frozenset(("id", "a", "b", "publication", "copier", "original", "after"))
"""Fields whose spaces count; around others they are dropped."""


def today(dd: Deduplicator, given: Fields) -> View:
    newest = dd.browsing.newest_day() or datetime.now(UTC).date()
    first = _day(given["first"]) or _day(given["last"]) or newest
    last = _day(given["last"]) or first
    day = dd.browsing.day(first, last)
    days = timedelta(days=(day.last - day.first).days + 1)
    before, behind = ((_moved(day.first, by), _moved(day.last, by)) for by in (-days, days))
    return View("day.html.j2", {**day_values(day), "before": before, "behind": behind})


def day_values(day: Day) -> dict[str, Any]:
    hours = [Bar(f"{hour:02}", count) for hour, count in enumerate(day.hours)]
    days = [Bar(f"{one.day:%d %b}", one.marks.articles, one.marks.share_new or 0.0) for one in day.days]
    drawn, heading = len(days) > 1, long_day(day.first)
    if day.first != day.last:
        heading += f" to {long_day(day.last)}"
    return {
        "day": day,
        "heading": heading,
        "spread_outlets": SPREAD_OUTLETS,
        "pictures": {
            "hours": bars(hours, "Articles by hour of the day", "hours"),
            "hour_rows": [(f"{bar.label}:00", f"{bar.value:,}") for bar in hours],
            "days": bars(days, "Articles by day", "days") if drawn else None,
            "day_rows": [
                (one.day.isoformat(), f"{one.marks.articles:,}", percent(one.marks.share_new))
                for one in day.days
            ],
        },
    }


def story(dd: Deduplicator, given: Fields) -> View:
    return View("story.html.j2", story_values(dd.browsing.story(_id(given["id"]), given["after"] or None)))


def story_values(found: StoryPage, name: str = "timeline") -> dict[str, Any]:
    """Values for the components of a story; `name` tells the pictures of one page apart."""
    original = found.original.source_id
    prints = [
        Print(line(one.publication, "no outlet"), one.time, one.source_id == original)
        for one in found.prints
        if found.original.published and (one.source_id == original or one.after(found.original) is not None)
    ]
    first: dict[str, datetime] = {}
    counts: dict[str, int] = {}
    for one in prints:
        first.setdefault(one.outlet, one.time)
        counts[one.outlet] = counts.get(one.outlet, 0) + 1
    began = min(first.values(), default=None)
    return {
        "story": found,
        "picture": story_timeline(prints, name) if len(prints) > 1 else None,
        "picture_rows": [
            (outlet, moment(time), later(time - began) if began else "", f"{counts[outlet]:,}")
            for outlet, time in list(first.items())[:TIMELINE_ROWS]
        ],
        "outlets": len({one.publication for one in found.prints}),
    }


def article(dd: Deduplicator, given: Fields) -> View:
    page = dd.browsing.article(_id(given["id"]))
    told = _sentence(str(page.verdict).removeprefix(f"{page.verdict.id}: "))
    return View("article.html.j2", {"page": page, "told": told, "outside": outside(page.url)})


def outside(url: str | None) -> str | None:
    """The url if it may be a link (web, with a host), else None."""
    if url is None or not re.match(r"https?://", url, re.IGNORECASE) or re.search(r"[\s\x00-\x1f\x7f]", url):
        return None
    try:
        return url if urlsplit(url).hostname else None
    except ValueError:
        return None


def compared(dd: Deduplicator, given: Fields) -> View:
    found = dd.browsing.compare(_id(given["a"]), _id(given["b"]))
    decision = _sentence(found.explanation.decision)
    values = {"found": found, "decision": decision, "blocks": side_by_side(found), "by": given["by"]}
    return View("compare.html.j2", values)


def side_by_side(found: Compared) -> list[Block]:
    """The texts of both articles, aligned."""
    texts = (found.earlier_text.text[:COMPARED_CHARACTERS], found.later_text.text[:COMPARED_CHARACTERS])
    return compare(*texts, found.common)


SEARCHED = ("words", "publication", "status", "first", "last", "url", "id")


def search(dd: Deduplicator, given: Fields) -> View:
    asked = any(given[name] for name in SEARCHED)
    page, refused = None, ""
    if asked:
        try:
            page = found_by(dd, given)
        except InputError as error:  # such as words where there is no index for them
            refused = _sentence(str(error))
    after = {name: given[name] for name in SEARCHED}
    more = go("/search", **after, after=page.after) if page else ""
    values = {"given": given, "asked": asked, "page": page, "next": more, "refused": refused}
    return View("search.html.j2", values)


def found_by(dd: Deduplicator, given: Fields) -> Page:
    status: Any = given["status"] or None
    return dd.browsing.search(
        given["words"] or None,
        publication=given["publication"] or None,
        status=status,
        first=_day(given["first"]),
        last=_day(given["last"]),
        url=given["url"] or None,
        source_id=given["id"] or None,
        after=given["after"] or None,
    )


ANSWERS = {
    "unique": "Yes: nothing like it is here",
    "similar": "Mostly: it is similar to others",
    "duplicate": "No: it is a copy",
}
"""Whether a text is new, by the status of the verdict."""


def new(dd: Deduplicator, given: Fields) -> View:
    """A form for a text; where one was given, whether it is new."""
    if not given:
        return View("new.html.j2", {"verdict": None, "answer": "", "text": "", "title": "", "titles": {}})
    text, title = given["text"], given["title"]
    if not text.strip():
        raise InputError("there is no text: paste one")
    verdict = dd.lookup(Article(source_id="pasted text", text=text, title=title) if title else text)
    answer = ANSWERS.get(verdict.status, f"It cannot be said: {verdict.reason}")
    titles: dict[str, str | None] = {}  # by source_id, of what is still stored
    for match in verdict.matches:
        page = dd.browsing.search(source_id=match.id)
        titles[match.id] = page.found[0].article.title if page.found else None
    values = {"verdict": verdict, "answer": answer, "text": text, "title": title, "titles": titles}
    return View("new.html.j2", values)


def outlets(dd: Deduplicator, given: Fields) -> View:
    newest = dd.browsing.newest_day() or datetime.now(UTC).date()
    last = _day(given["last"]) or newest
    first = _day(given["first"]) or _moved(last, timedelta(days=1 - OUTLET_DAYS))
    matrix = dd.browsing.outlets(first, last)
    most = max((cell.copies for cell in matrix.cells), default=1)
    by = {(cell.original, cell.copier): cell for cell in matrix.cells}
    rows = []  # of cells with their shade
    for original in matrix.outlets:
        cells = [by.get((original, copier)) for copier in matrix.outlets]
        shaded = [(c, min(HEAT, 1 + HEAT * (c.copies - 1) // most) if c else 0) for c in cells]
        rows.append((original, shaded))
    ties = [Tie(line(c.original), line(c.copier), c.copies) for c in matrix.cells[:TIES]]
    values = {"matrix": matrix, "rows": rows, "picture": tie_graph(ties), "ties": TIES}
    return View("outlets.html.j2", values)


def copied(dd: Deduplicator, given: Fields) -> View:
    first, last = _day(given["first"]), _day(given["last"])
    if not (given["copier"] and given["original"] and first and last):
        raise InputError("copier, original, first and last are needed")
    page = dd.browsing.copied(given["copier"], given["original"], first, last, given["after"] or None)
    return View("copied.html.j2", {**given, "first": first, "last": last, "page": page})


def sentences(dd: Deduplicator, given: Fields) -> View:
    order: Any = given["order"] or "carriers"
    page = dd.browsing.common_sentences(order, given["after"] or None)
    return View("sentences.html.j2", {"page": page, "order": order, "one": None})


def sentence(dd: Deduplicator, given: Fields) -> View:
    return View("sentences.html.j2", {"one": dd.browsing.sentence(hash_of(given["hash"]))})


def hash_of(given: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", given):
        raise InputError("the hash of a sentence is a whole number")
    return int(given)


KINDS = (("duplicate", "Duplicates or not"), ("similar", "Similar or not"), ("picked", "Picked pairs"))


def judge(dd: Deduplicator, given: Fields) -> View:
    """The pairs most worth judging, and what was said."""
    kind: Any = given["kind"] or KINDS[0][0]
    pairs, pins = dd.browsing.queue(kind), dd.browsing.pins(given["after"] or None)
    return View(
        "judge.html.j2", {"kind": kind, "kinds": KINDS, "by": given["by"], "pairs": pairs, "pins": pins}
    )


def health(dd: Deduplicator, _given: Fields) -> View:
    found = dd.browsing.health()
    tables = list(found.sizes.items())
    rest = [count for _, count in tables[TABLES:]]
    others = (len(rest), sum(rest)) if rest else None
    return View("health.html.j2", {"health": found, "tables": tables[:TABLES], "others": others})


@dataclass(frozen=True, slots=True)
class Position:
    path: str
    name: str | None  # in the navigation; None for pages that are reached from others
    fields: tuple[str, ...]  # those its query may have
    view: Callable[[Deduplicator, Fields], View]  # makes it


PLACES = (
    Position("/", "Today", ("first", "last"), today),
    Position("/search", "Search", (*SEARCHED, "after"), search),
    Position("/new", "Is this new?", (), new),
    Position("/outlets", "Who copies whom", ("first", "last"), outlets),
    Position("/sentences", "Sentences", ("order", "after"), sentences),
    Position("/judge", "Judge", ("kind", "by", "after"), judge),
    Position("/health", "Health", (), health),
    Position("/story", None, ("id", "after"), story),
    Position("/article", None, ("id",), article),
    Position("/compare", None, ("a", "b", "by"), compared),
    Position("/copied", None, ("copier", "original", "first", "last", "after"), copied),
    Position("/sentence", None, ("hash",), sentence),
)


def _id(given: str) -> str:
    if not given:
        raise NotFoundError("no article is named; search for one")
    return given


def _day(given: str) -> date | None:
    if not given:
        return None
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InputError("a day is written like 2026-11-20") from None


def _moved(day: date, by: timedelta) -> date:
    try:
        return day + by
    except OverflowError:
        return day


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
