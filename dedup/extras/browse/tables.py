"""Every table of every page: its columns, and where its rows come from.

A table asks what its page asks, for more rows. A column is a path to a value of an answer, and its name is
what readers rely on (docs/browse.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.extras.browse.asking import Fields, id_of
from dedup.extras.browse.browsing import ROWS, Day, Health, OutletPage, StoryPage
from dedup.extras.browse.data import PageTable, TablePart
from dedup.extras.browse.ranges import copied_by, day_of_query, matrix_of, outlet_of, period_name
from dedup.extras.browse.views import found_by, hash_of, kind_of, quotes_of, searched, sentences_of

PAGE_ROWS = 1_000
"""That are asked for at a time where answers go on."""


def columns(*same: str, **others: str) -> dict[str, str]:
    """Columns in this order. `same`: those that are called as what they hold; `others`: the path of each."""
    return {**{name: name for name in same}, **others}


def under(path: str, given: Mapping[str, str], *names: str) -> dict[str, str]:
    """Columns of what stands at a path, all or some."""
    return {name: f"{path}.{place}" for name, place in given.items() if not names or name in names}


def prefixed(prefix: str, given: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}_{name}": path for name, path in given.items()}


MARKS = under(
    "marks",
    columns("articles", "unique", "similar", "duplicate", "pending", "failed", "stale", "share_new"),
)
ARTICLE = {
    **columns("source_id", "title", "publication", "time", dated="published"),
    **columns("status", "stale", "archived", "duplicate_of", "score", "reason"),
}
FIGURES = columns("sentence_jaccard", "signature_jaccard", "containment")
MATCH = under("match", columns("relation", "rule", "score", *FIGURES))
PAIR = columns(source_id="id", other_source_id="other_id")
PIN = {**PAIR, **columns("relation", "pinned_by", "reason", "pinned_at")}
SAID = {**PAIR, **columns("judged_by", "label", "note", "judged_at", "stale")}
STORY = {
    **under("original", ARTICLE, "source_id", "title", "publication", "time", "dated"),
    **columns("copies", "outlets", "last_at", reached_seconds="reached"),
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
PARTNER = columns("publication", "copies", median_delay_seconds="median_delay", first_unknown="undated")


Query = Callable[[Deduplicator, Fields], Any]


def whole(ask: Query, rows: Callable[[Any], Iterable[Any]]) -> Callable[[Deduplicator, Fields], TablePart]:
    """A table that one answer holds whole."""

    def read(dd: Deduplicator, given: Fields) -> TablePart:
        found = ask(dd, given)
        return TablePart(tuple(rows(found)), counted_from=getattr(found, "counted_from", None))

    return read


def paged(ask: Query, rows: Callable[[Any], Sequence[Any]]) -> Callable[[Deduplicator, Fields], TablePart]:
    """A table whose answers say how to go on."""

    def read(dd: Deduplicator, given: Fields) -> TablePart:
        found = ask(dd, given)
        return TablePart(rows(found), found.after)

    return read


def _day(dd: Deduplicator, given: Fields) -> Day:
    return day_of_query(dd, given, ROWS)[1]


def _outlet(dd: Deduplicator, given: Fields) -> OutletPage:
    return outlet_of(dd, given, ROWS)[1]


def _story(dd: Deduplicator, given: Fields) -> StoryPage:
    return dd.browsing.story(id_of(given["id"]))


def _health(dd: Deduplicator, _given: Fields) -> Health:
    return dd.browsing.health()


def _periods(found: Day | OutletPage) -> Iterable[dict[str, Any]]:
    for one in found.periods:
        yield {"period": period_name(one.first, found.by), "first": one.first, "marks": one.marks}
    if found.undated.articles:
        yield {"period": "undated", "first": None, "marks": found.undated}


def _named(counts: Mapping[str, int], name: str) -> list[dict[str, Any]]:
    return [{name: key, "count": count} for key, count in counts.items()]


CREDITS = columns("agency", "articles")

PERIODS = {"period": "period", "first_day": "first", **MARKS}

TABLES: Mapping[str, tuple[PageTable, ...]] = {
    "/": (
        PageTable("periods", PERIODS, whole(_day, _periods)),
        PageTable(
            "hours",
            columns("hour", "articles"),
            whole(_day, lambda day: [{"hour": h, "articles": n} for h, n in enumerate(day.hours)]),
        ),
        PageTable("biggest", STORY, whole(_day, lambda day: day.biggest)),
        PageTable("fastest", STORY, whole(_day, lambda day: day.fastest)),
        PageTable("outlets", {"publication": "publication", **MARKS}, whole(_day, lambda day: day.outlets)),
        PageTable("languages", {"language": "language", **MARKS}, whole(_day, lambda day: day.languages)),
        PageTable("credits", CREDITS, whole(_day, lambda day: day.credits)),
        PageTable(
            "troubles",
            columns("kind", "reason", "articles"),
            whole(_day, lambda day: day.troubles),
        ),
    ),
    "/search": (
        PageTable(
            "articles",
            under("article", ARTICLE),
            paged(lambda dd, given: found_by(dd, searched(dd, given), PAGE_ROWS), lambda page: page.found),
        ),
    ),
    "/outlets": (
        PageTable(
            "cells",
            columns("copier", "original", "copies", median_delay_seconds="median_delay"),
            whole(lambda dd, given: matrix_of(dd, given, ROWS)[1], lambda matrix: matrix.cells),
        ),
    ),
    "/outlet": (
        PageTable("periods", PERIODS, whole(_outlet, _periods)),
        PageTable("credits", CREDITS, whole(_outlet, lambda page: page.credits)),
        PageTable("copies_from", PARTNER, whole(_outlet, lambda page: page.copies_from)),
        PageTable("copied_by", PARTNER, whole(_outlet, lambda page: page.copied_by)),
        PageTable("biggest", STORY, whole(_outlet, lambda page: page.biggest)),
    ),
    "/copied": (
        PageTable(
            "copies",
            {
                **under("copy.article", ARTICLE),
                "original_title": "original.title",
                "original_time": "original.time",
                **under("copy", {"delay_seconds": "delay", **FIGURES}),
            },
            paged(lambda dd, given: copied_by(dd, given, PAGE_ROWS), lambda page: page.copies),
        ),
    ),
    "/story": (
        PageTable(
            "copies",
            {**under("article", ARTICLE), "delay_seconds": "delay", **FIGURES},
            paged(
                lambda dd, given: dd.browsing.story(
                    id_of(given["id"]), given["after"] or None, rows=PAGE_ROWS
                ),
                lambda story: story.copies,
            ),
        ),
        PageTable(
            "timeline",
            ARTICLE,
            whole(_story, lambda story: story.prints),
        ),
        PageTable(
            "beside",
            {**under("article", ARTICLE), **prefixed("match", MATCH), "words": "words"},
            whole(_story, lambda story: story.beside),
        ),
    ),
    "/article": tuple(
        PageTable(
            name,
            found,
            whole(
                lambda dd, given: dd.browsing.article(id_of(given["id"])),
                lambda page, name=name: getattr(page, name),  # type: ignore[misc]
            ),
        )
        for name, found in (
            ("matches", {**under("article", ARTICLE), **prefixed("match", MATCH)}),
            ("pins", PIN),
            ("judgements", SAID),
        )
    ),
    "/compare": (
        PageTable(
            "judgements",
            SAID,
            whole(
                lambda dd, given: dd.browsing.compare(id_of(given["a"]), id_of(given["b"])),
                lambda found: found.judgements,
            ),
        ),
    ),
    "/sentences": (
        PageTable(
            "sentences",
            SENTENCE,
            paged(lambda dd, given: sentences_of(dd, given, PAGE_ROWS), lambda page: page.sentences),
        ),
        PageTable(
            "pinned",
            SENTENCE,
            whole(lambda dd, given: sentences_of(dd, {**given, "after": ""}, ROWS), lambda page: page.pinned),
        ),
    ),
    "/sentence": (
        PageTable(
            "articles",
            ARTICLE,
            whole(lambda dd, given: dd.browsing.sentence(hash_of(given["hash"])), lambda page: page.articles),
        ),
    ),
    "/quotes": (
        PageTable(
            "quotes",
            QUOTE,
            paged(lambda dd, given: quotes_of(dd, given, PAGE_ROWS), lambda page: page.quotes),
        ),
    ),
    "/quote": (
        PageTable(
            "articles",
            ARTICLE,
            whole(lambda dd, given: dd.browsing.quote(hash_of(given["hash"])), lambda page: page.articles),
        ),
    ),
    "/judge": (
        PageTable(
            "pairs",
            {
                **prefixed("earlier", under("earlier", ARTICLE, "source_id", "title", "publication", "time")),
                **prefixed("later", under("later", ARTICLE, "source_id", "title", "publication", "time")),
                **MATCH,
                **columns("threshold", "margin", "scores"),
            },
            whole(lambda dd, given: dd.browsing.queue(kind_of(given)), lambda pairs: pairs),
        ),
        PageTable(
            "pins",
            PIN,
            paged(
                lambda dd, given: dd.browsing.pins(given["after"] or None, rows=PAGE_ROWS),
                lambda page: page.pins,
            ),
        ),
    ),
    "/health": (
        PageTable(
            "runs",
            columns(
                *("started_at", "what", "outcome", "error", "seconds", "fingerprinted", "settled", "failed")
            ),
            whole(_health, lambda health: health.runs),
        ),
        PageTable(
            "sizes",
            {"table": "table", "bytes": "count"},
            whole(_health, lambda health: _named(health.sizes, "table")),
        ),
        PageTable(
            "failed",
            {"reason": "reason", "articles": "count"},
            whole(_health, lambda health: _named(health.vitals.failed, "reason")),
        ),
        PageTable(
            "limits",
            {"limit": "limit", "articles": "count"},
            whole(_health, lambda health: _named(health.vitals.limits, "limit")),
        ),
        PageTable(
            "workers",
            columns("host", "process_id", "alive", "seen_at"),
            whole(_health, lambda health: health.vitals.workers),
        ),
        PageTable(
            "settings",
            columns("name", "value", "wanted", "default", "meaning"),
            whole(_health, lambda health: health.settings),
        ),
    ),
}
"""Path of a page -> its tables."""


def table_of(path: str, name: str) -> PageTable:
    """A table of a page; without a name its first one."""
    tables = TABLES.get(path, ())
    for table in tables:
        if name in ("", table.name):
            return table
    listed = ", ".join(table.name for table in tables) or "none"
    raise InputError(f"there is no table {name[:40]!r} on this page; there are: {listed}")
