"""Make template values and charts for each page from queries of the corpus; `report.py` reuses some."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import InputError, NotFoundError
from dedup.base.schema import chosen as schema
from dedup.base.schema import program
from dedup.base.words import heading, later, line, moment
from dedup.extras.browse.asking import Fields, View, chosen, day_of, go, id_of, sentence_of
from dedup.extras.browse.questions.article import Compared
from dedup.extras.browse.questions.counting import end_of
from dedup.extras.browse.questions.reading import ArticleLine
from dedup.extras.browse.questions.search import Hits, Page
from dedup.extras.browse.questions.sentences import QUOTES_PAGE, QuotesPage, SentencesPage
from dedup.extras.browse.questions.story import StoryPage
from dedup.extras.browse.ranges import (
    LABELS,
    RANGE,
    as_stored,
    copied,
    linked,
    outlet,
    outlets,
    period_name,
    today,
)
from dedup.extras.pages.charts import Bar, Print, bars, story_timeline
from dedup.extras.pages.comparison import Block, compare

TIMELINE_ROWS = 200  # Maximum number of outlets in the table below the chart of a story
TABLES = 6  # Maximum number of database tables listed by size; the smaller tables are summed up
COMPARED_CHARACTERS = 100_000  # Maximum number of characters per text, as in `Browsing.compare`


def story(dd: Deduplicator, given: Fields) -> View:
    return View("story.html.j2", story_values(dd.browsing.story(id_of(given["id"]), given["after"] or None)))


def story_values(found: StoryPage) -> dict[str, Any]:
    """Return the template values of a story."""
    original = found.original.source_id
    dated = [
        one
        for one in found.prints
        if found.original.published and (one.source_id == original or one.after(found.original) is not None)
    ]
    prints = [Print(line(one.publication, "no outlet"), one.time, one.source_id == original) for one in dated]
    first = {drawn.outlet: one for drawn, one in reversed([*zip(prints, dated, strict=True)])}
    counts = Counter(drawn.outlet for drawn in prints)
    delays = {one.source_id: one.after(found.original) for one in dated} | {original: timedelta(0)}
    return {
        "story": found,
        "picture": story_timeline(prints) if len(prints) > 1 else None,
        "picture_rows": [
            (outlet, moment(first[outlet].time), later(delays[first[outlet].source_id]), f"{count:,}")
            for outlet, count in list(counts.items())[:TIMELINE_ROWS]
        ],
        "outlets": len({one.publication for one in found.prints}),
    }


def article(dd: Deduplicator, given: Fields) -> View:
    page = dd.browsing.article(id_of(given["id"]))
    told = sentence_of(str(page.verdict).removeprefix(f"{page.verdict.id}: "))
    added = sentence_of(str(page.addition)) if page.addition else ""
    return View("article.html.j2", {"page": page, "told": told, "added": added})


def coverage(dd: Deduplicator, given: Fields) -> View:
    return _found(dd, given, "found", dd.coverage)


def sources(dd: Deduplicator, given: Fields) -> View:
    return _found(dd, given, "sources", dd.sources)


def _found(dd: Deduplicator, given: Fields, name: str, ask: Callable[[str], Any]) -> View:
    values: dict[str, Any] = {"article": _line_of(dd, given), "found": None, "sources": None, "refused": ""}
    try:
        values[name] = ask(given["id"])
    except InputError as error:  # the corpus has no index of words
        values["refused"] = sentence_of(str(error))
    return View("coverage.html.j2", {**values, "title": "Also told by" if name == "found" else "Sources"})


def _line_of(dd: Deduplicator, given: Fields) -> ArticleLine:
    page = dd.browsing.search(source_id=id_of(given["id"]), rows=1)
    if not page.found:
        raise NotFoundError.of(given["id"])
    return page.found[0].article


def compared(dd: Deduplicator, given: Fields) -> View:
    found = dd.browsing.compare(id_of(given["a"]), id_of(given["b"]))
    decision = sentence_of(found.explanation.decision)
    values = {"found": found, "decision": decision, "blocks": side_by_side(found), "by": given["by"]}
    command = pin_command(found.earlier.source_id, found.later.source_id)
    return View("compare.html.j2", {**values, "headline": headline(found), "command": command})


def pin_command(a: str, b: str) -> str | None:
    """Return a command that pins a pair, with gaps to fill in; None if an id is not safe in a shell."""
    # A control character within quotes would still reach the terminal.
    if not (a + b).isprintable():
        return None
    return f"{program(schema())} pin set --as NAME --why REASON -- {shlex.join((a, b))} RELATION"


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PINNED = {
    "duplicate": "A person said: the same story",
    "similar": "A person said: similar",
    "unrelated": "A person said: not the same story",
}
BY_RULE = {
    "content": "The same text, word for word",
    "damaged": "The same text, with letters that a scan misread",
    "containment": "Most of the shorter text is in the longer one",
}


def headline(found: Compared) -> str:
    """Return a line that tells an editor how two articles are related."""
    why, related = found.explanation, found.explanation.related
    if found.pin:
        return PINNED[found.pin.relation]
    if why.decision.startswith("not compared"):
        return "Not compared"
    in_common = f" with {_sentences(len(why.shared))} in common" if why.shared else ""
    if related is None:
        return f"Different texts{in_common}"
    if related.rule.value in BY_RULE:
        return BY_RULE[related.rule.value]
    if related.relation.value == "similar":
        return f"Similar texts{in_common}"
    # If duplicates differ in most sentences, by a correction in each, the number of these would mislead.
    if why.differing and len(why.differing) < len(why.shared):
        return f"The same text except for {_sentences(len(why.differing))}"
    return "Nearly the same text"


def _sentences(count: int) -> str:
    number = NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"
    return f"{number} {'sentence' if count == 1 else 'sentences'}"


def side_by_side(found: Compared) -> list[Block]:
    texts = (found.earlier_text.text[:COMPARED_CHARACTERS], found.later_text.text[:COMPARED_CHARACTERS])
    return compare(*texts, found.common, letters=bool(found.explanation.letters))


SEARCHED = (
    "words",
    "publication",
    "family",
    "language",
    "credit",
    "status",
    "dated",
    "first",
    "last",
    "url",
    "id",
    "scope",
)


def search(dd: Deduplicator, given: Fields) -> View:
    asked, (given, names, near) = any(given[name] for name in SEARCHED), as_stored(dd, given)
    page, refused = None, ""
    if asked:
        try:
            page = found_by(dd, given)
        except InputError as error:  # for example, words were given, but the corpus has no index of words
            refused = sentence_of(str(error))
    more = go("/search", **{**given, "after": page.after}) if page else ""
    values = {"given": given, "searched": asked, "page": page, "next": more, "refused": refused}
    values |= hits_picture(page.hits, given) if page and page.hits else {"picture": None}
    return View("search.html.j2", {**values, "near": near, "names": names})


def hits_picture(hits: Hits, given: Fields) -> dict[str, Any]:
    """Return the chart of found articles by time, and its table; a click on a period narrows the search."""
    drawn = [Bar(f"{first:{LABELS[hits.by]}}", count) for first, count in hits.periods]
    rows: list[tuple[Any, str]] = []
    for first, count in hits.periods:
        days = {"first": first, "last": end_of(first, hits.by), "after": None}
        rows.append((linked(go("/search", **{**given, **days}), period_name(first, hits.by)), f"{count:,}"))
    if hits.undated:
        drawn.append(Bar("undated", hits.undated, apart=True))
        rows.append((linked(go("/search", **{**given, "dated": "no"}), "undated"), f"{hits.undated:,}"))
    caption = f"Articles found, by {hits.by}"
    picture = bars(drawn, caption, "hits") if len(drawn) > 1 else None
    return {"picture": picture, "picture_rows": rows, "caption": caption}


def found_by(dd: Deduplicator, given: Fields, rows: int | None = None) -> Page:
    if given["dated"] not in DATED:
        raise InputError("the field `dated` must be yes or no")
    return dd.browsing.search(
        **chosen(given, "words", "publication", "family", "language", "credit", "status", "url", "scope"),
        after=given["after"] or None,
        dated=DATED[given["dated"]],
        first=day_of(given["first"]),
        last=day_of(given["last"]),
        source_id=given["id"] or None,
        rows=rows,
    )


DATED = {"": None, "yes": True, "no": False}  # Value of the field `dated` -> argument of the search

ANSWERS = {
    "unique": "Yes: no stored article is like this text",
    "similar": "Mostly: it is similar to stored articles",
    "duplicate": "No: it is a copy of a stored article",
}


def new(dd: Deduplicator, given: Fields) -> View:
    """Make the page that asks for a text or, if a text is given, tells whether the text is new."""
    if not given:
        blank = dict.fromkeys(("answer", "text", "title", "scope"), "")
        return View("new.html.j2", {"verdict": None, "headings": {}, **blank})
    text, title, scope = given["text"], given["title"], given["scope"]
    if not text.strip():
        raise InputError("there is no text: paste one")
    verdict = dd.lookup(Article("pasted text", text, title=title or None, scope=scope or None))
    answer = ANSWERS.get(verdict.status, f"The text cannot be compared: {verdict.reason}")
    headings: dict[str, str] = {}  # source_id -> heading, for matching articles that still exist
    for match in verdict.matches:
        page = dd.browsing.search(source_id=match.id)
        if page.found:
            headings[match.id] = heading(page.found[0].article)
    values = {"verdict": verdict, "answer": answer, "text": text, "title": title}
    values |= {"scope": scope, "headings": headings}
    return View("new.html.j2", values)


def sentences(dd: Deduplicator, given: Fields) -> View:
    values = {"page": sentences_of(dd, given), "order": _order(given), "one": None}
    return View("sentences.html.j2", values)


def sentences_of(dd: Deduplicator, given: Fields, rows: int | None = None) -> SentencesPage:
    return dd.browsing.common_sentences(_order(given), given["after"] or None, rows=rows)


def _order(given: Fields) -> Any:
    return given["order"] or "carriers"


def sentence(dd: Deduplicator, given: Fields) -> View:
    return View("sentences.html.j2", {"one": dd.browsing.sentence(hash_of(given["hash"]))})


ONLY_SPEECH = "only"  # Value of the field `speech` that asks for sentences with a quotation mark


def quotes(dd: Deduplicator, given: Fields) -> View:
    speech = ONLY_SPEECH if given["speech"] == ONLY_SPEECH else ""
    values = {"page": quotes_of(dd, given), "order": _by(given), "speech": speech, "only": ONLY_SPEECH}
    return View("quotes.html.j2", {**values, "one": None})


def quotes_of(dd: Deduplicator, given: Fields, rows: int = QUOTES_PAGE) -> QuotesPage:
    speech = given["speech"] == ONLY_SPEECH
    return dd.browsing.quotes(_by(given), speech=speech, after=given["after"] or None, limit=rows)


def _by(given: Fields) -> Any:
    return given["by"] or "outlets"


def quote(dd: Deduplicator, given: Fields) -> View:
    return View("quotes.html.j2", {"one": dd.browsing.quote(hash_of(given["hash"]))})


def hash_of(given: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", given):
        raise InputError("the hash of a sentence is a whole number")
    return int(given)


KINDS = (("duplicate", "Duplicates or not"), ("similar", "Similar or not"), ("picked", "Picked pairs"))


def judge(dd: Deduplicator, given: Fields) -> View:
    values = {"kind": kind_of(given), "kinds": KINDS, "by": given["by"]}
    values |= {"pairs": dd.browsing.queue(kind_of(given)), "pins": dd.browsing.pins(given["after"] or None)}
    return View("judge.html.j2", values)


def kind_of(given: Fields) -> Any:
    return given["kind"] or KINDS[0][0]


def health(dd: Deduplicator, _given: Fields) -> View:
    found = dd.browsing.health()
    tables = list(found.sizes.items())
    rest = [count for _, count in tables[TABLES:]]
    others = (len(rest), sum(rest)) if rest else None
    values = {"health": found, "quality": dd.browsing.quality(), "tables": tables[:TABLES], "others": others}
    return View("health.html.j2", values)


@dataclass(frozen=True, slots=True)
class Position:
    path: str
    name: str | None  # name in the navigation bar; None if the bar does not have the page
    fields: tuple[str, ...]  # fields that the query may have
    view: Callable[[Deduplicator, Fields], View]


PLACES = (
    Position("/", "Today", (*RANGE, "by"), today),
    Position("/search", "Search", (*SEARCHED, "after"), search),
    Position("/new", "Is this new?", (), new),
    Position("/outlets", "Who copies whom", RANGE, outlets),
    Position("/sentences", "Sentences", ("order", "after"), sentences),
    Position("/quotes", "Quotes", ("by", "speech", "after"), quotes),
    Position("/judge", "Judge", ("kind", "by", "after"), judge),
    Position("/health", "Health", (), health),
    Position("/story", None, ("id", "after"), story),
    Position("/article", None, ("id",), article),
    Position("/coverage", None, ("id",), coverage),
    Position("/sources", None, ("id",), sources),
    Position("/compare", None, ("a", "b", "by"), compared),
    Position("/outlet", None, (*RANGE, "by"), outlet),
    Position(
        "/copied",
        None,
        ("copier", "original", "first", "last", "language", "credit", "family", "after"),
        copied,
    ),
    Position("/sentence", None, ("hash",), sentence),
    Position("/quote", None, ("hash",), quote),
)
