"""List the tables of all pages: the columns of each table, and the query that returns its rows.

Users rely on the names of the columns (docs/browse.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.extras.browse.asking import Fields, id_of
from dedup.extras.browse.data import PageTable
from dedup.extras.browse.questions.counting import Figures
from dedup.extras.browse.questions.reading import ROWS
from dedup.extras.browse.ranges import (
    as_stored,
    copied_by,
    copying_of,
    day_of_query,
    outlet_of,
    period_name,
)
from dedup.extras.browse.views import found_by, hash_of, kind_of, quotes_of, sentences_of

PAGE_ROWS = 1_000  # Rows per query, for tables that need several queries


def columns(*same: str, **others: str) -> dict[str, str]:
    """Map names of columns to paths of values: `columns("a", b="c.d")` is `{"a": "a", "b": "c.d"}`."""
    return {**{name: name for name in same}, **others}


def under(path: str, given: Mapping[str, str], *names: str) -> dict[str, str]:
    """Put `path` and a dot before the path of each column. Keep only the columns `names`, if given."""
    return {name: f"{path}.{place}" for name, place in given.items() if not names or name in names}


def prefixed(prefix: str, given: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}_{name}": path for name, path in given.items()}


MARKS = under(
    "marks", columns("articles", "unique", "similar", "duplicate", "pending", "failed", "stale", "share_new")
)
MARKS["shared"] = "marks.shared"
ARTICLE = {
    **columns("source_id", "title", "publication", "time", dated="published"),
    **columns("status", "stale", "archived", "duplicate_of", "score", "reason"),
}
FIGURES = columns("sentence_jaccard", "signature_jaccard", "containment")
MATCH = under("match", columns("relation", "rule", "score", *FIGURES))
PAIR = columns(source_id="id", other_source_id="other_id")
PIN = {**PAIR, **columns("relation", "pinned_by", "reason", "pinned_at")}
SAID = {**PAIR, **columns("judged_by", "label", "note", "judged_at", "stale")}
NAMED = ("source_id", "title", "publication", "time")
STORY = {
    **under("original", ARTICLE, *NAMED, "dated"),
    **columns("copies", "outlets", "last_at", reached_seconds="reached"),
    **columns(origin_kind="origin.kind", origin="origin.name"),
}
SENTENCE = {
    **columns("sentence_hash", sentence="example", articles="carriers"),
    **columns("effective_stories", ignored="common"),
    **columns("pin", "since"),
}
QUOTE = {
    **columns("sentence_hash", sentence="words"),
    **columns("outlets", "stories", "articles", "common", "speech"),
    **columns("source_id", "publication", "appeared_at", "counted_at"),
}
TOLD = columns("title", "publication", "published_at", source_id="id")
PARTNER = columns("publication", "copies", median_delay_seconds="median_delay", first_unknown="undated")


CREDITS = columns("agency", "articles")
PERIODS = {"period": "period", "first_day": "first", **MARKS}

Query = Callable[[Deduplicator, Fields], Any]
Rows = Callable[[Any], Sequence[Any]]


def tables(ask: Query, **given: Mapping[str, str] | tuple[Mapping[str, str], Rows]) -> tuple[PageTable, ...]:
    """Return the tables of an answer of `ask`. `given`: name of a table -> its columns.

    The rows of a table are the attribute of the answer that has the name of the table. For other rows, give a
    pair: the columns, and a function that takes the rows from the answer.
    """
    found = []
    for name, one in given.items():
        told, rows = one if isinstance(one, tuple) else (one, attrgetter(name))
        found.append(PageTable(name, told, ask, rows))
    return tuple(found)


def paged(ask: Query, name: str, told: Mapping[str, str], rows: str | None = None) -> PageTable:
    """Return a table that several queries read. `rows`: attribute with an answer's rows; None: `name`."""
    return PageTable(name, told, ask, attrgetter(rows or name), goes_on=True)


def _periods(found: Figures) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {"period": period_name(one.first, found.by), "first": one.first, "marks": one.marks}
        for one in found.periods
    ]
    if found.undated.articles:
        told.append({"period": "undated", "first": None, "marks": found.undated})
    return told


def _counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in counts.items()]


TABLES: Mapping[str, tuple[PageTable, ...]] = {
    "/": tables(
        lambda dd, given: day_of_query(dd, given, ROWS)[1],
        periods=(PERIODS, _periods),
        hours=(
            columns("hour", "articles"),
            lambda day: [
                {"hour": hour, "articles": count}
                for hour, count in (*enumerate(day.hours), (None, day.no_hour))
            ],
        ),
        biggest=STORY,
        fastest=STORY,
        outlets={"publication": "publication", **MARKS, "family": "family"},
        languages={"language": "language", **MARKS},
        credits=CREDITS,
        troubles=columns("kind", "reason", "articles"),
    ),
    "/search": (
        paged(
            lambda dd, given: found_by(dd, as_stored(dd, given, offered=False)[0], PAGE_ROWS),
            "articles",
            under("article", ARTICLE),
            "found",
        ),
    ),
    "/outlets": tables(
        lambda dd, given: copying_of(dd, given, ROWS)[1],
        cells=columns("copier", "original", "copies", median_delay_seconds="median_delay"),
        shared=columns(one="copier", other="original", stories="copies"),
    ),
    "/outlet": tables(
        lambda dd, given: outlet_of(dd, given, ROWS)[1],
        periods=(PERIODS, _periods),
        credits=CREDITS,
        copies_from=PARTNER,
        copied_by=PARTNER,
        biggest=STORY,
    ),
    "/copied": (
        paged(
            lambda dd, given: copied_by(dd, given, PAGE_ROWS),
            "copies",
            {
                **under("copy.article", ARTICLE),
                "original_title": "original.title",
                "original_time": "original.time",
                **under("copy", {"delay_seconds": "delay", **FIGURES}),
            },
        ),
    ),
    "/story": (
        paged(
            lambda dd, given: dd.browsing.story(id_of(given["id"]), given["after"] or None, rows=PAGE_ROWS),
            "copies",
            {**under("article", ARTICLE), "delay_seconds": "delay", **FIGURES},
        ),
        *tables(
            lambda dd, given: dd.browsing.story(id_of(given["id"])),
            timeline=(ARTICLE, attrgetter("prints")),
            beside={**under("article", ARTICLE), **prefixed("match", MATCH), "words": "words"},
        ),
    ),
    "/article": tables(
        lambda dd, given: dd.browsing.article(id_of(given["id"])),
        matches={**under("article", ARTICLE), **prefixed("match", MATCH)},
        pins=PIN,
        judgements=SAID,
    ),
    "/compare": tables(
        lambda dd, given: dd.browsing.compare(id_of(given["a"]), id_of(given["b"])), judgements=SAID
    ),
    "/sentences": (
        paged(lambda dd, given: sentences_of(dd, given, PAGE_ROWS), "sentences", SENTENCE),
        *tables(lambda dd, given: sentences_of(dd, {**given, "after": ""}, ROWS), pinned=SENTENCE),
    ),
    "/sentence": tables(lambda dd, given: dd.browsing.sentence(hash_of(given["hash"])), articles=ARTICLE),
    "/quotes": (paged(lambda dd, given: quotes_of(dd, given, PAGE_ROWS), "quotes", QUOTE),),
    "/coverage": tables(
        lambda dd, given: dd.coverage(id_of(given["id"])), articles={**TOLD, **columns("relation", "score")}
    ),
    "/sources": tables(
        lambda dd, given: dd.sources(id_of(given["id"])), sources=({**TOLD, **columns("score")}, tuple)
    ),
    "/quote": tables(lambda dd, given: dd.browsing.quote(hash_of(given["hash"])), articles=ARTICLE),
    "/judge": (
        *tables(
            lambda dd, given: dd.browsing.queue(kind_of(given)),
            pairs=(
                {
                    **prefixed("earlier", under("earlier", ARTICLE, *NAMED)),
                    **prefixed("later", under("later", ARTICLE, *NAMED)),
                    **MATCH,
                    **columns("threshold", "margin", "scores"),
                },
                tuple,
            ),
        ),
        paged(lambda dd, given: dd.browsing.pins(given["after"] or None, rows=PAGE_ROWS), "pins", PIN),
    ),
    "/health": tables(
        lambda dd, _given: dd.browsing.health(),
        runs=columns(
            *("started_at", "what", "outcome", "error", "seconds", "fingerprinted", "settled", "failed")
        ),
        sizes=(columns(table="name", bytes="count"), lambda health: _counts(health.sizes)),
        failed=(columns(reason="name", articles="count"), lambda health: _counts(health.vitals.failed)),
        limits=(columns(limit="name", articles="count"), lambda health: _counts(health.vitals.limits)),
        workers=(columns("host", "process_id", "alive", "seen_at"), attrgetter("vitals.workers")),
        settings=columns("name", "value", "wanted", "default", "meaning"),
    ),
}


def table_of(path: str, name: str) -> PageTable:
    """Return a table of a page by its name; an empty name means the first table."""
    tables = TABLES.get(path, ())
    for table in tables:
        if name in ("", table.name):
            return table
    listed = ", ".join(table.name for table in tables) or "none"
    raise InputError(f"there is no table {name[:40]!r} on this page; its tables are: {listed}")
