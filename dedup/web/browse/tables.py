"""Every table of every page: its columns, and where its rows come from.

A table asks what its page asks, for more rows. A column is a path to a value of an answer, and its name is
what readers rely on (docs/browse.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dedup.api.browsing import ROWS, Day, OutletPage
from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.web.browse.asking import Fields, id_of
from dedup.web.browse.data import Part, Table
from dedup.web.browse.quotes import quotes_of
from dedup.web.browse.ranges import copied_by, day_of_query, matrix_of, outlet_of, period_name
from dedup.web.browse.views import KINDS, found_by, hash_of, searched

PAGE_ROWS = 1_000
"""That are asked for at a time where answers go on."""

MARKS = {
    **{name: f"marks.{name}" for name in ("articles", "unique", "similar", "duplicate", "pending", "failed")},
    **{"stale": "marks.stale", "share_new": "marks.share_new"},
}
ARTICLE = {
    **{name: name for name in ("source_id", "title", "publication", "time")},
    "dated": "published",
    **{name: name for name in ("status", "stale", "archived", "duplicate_of", "score", "reason")},
}
FIGURES = {name: name for name in ("sentence_jaccard", "signature_jaccard", "containment")}
MATCH = {name: f"match.{name}" for name in ("relation", "rule", "score", *FIGURES)}
PIN = {
    **{"source_id": "id", "other_source_id": "other_id", "relation": "relation"},
    **{name: name for name in ("pinned_by", "reason", "pinned_at")},
}
SAID = {
    **{"source_id": "id", "other_source_id": "other_id", "judged_by": "judged_by", "label": "label"},
    **{name: name for name in ("note", "judged_at", "stale")},
}
STORY = {
    **{name: f"original.{path}" for name, path in ARTICLE.items() if name in ("source_id", "title")},
    **{"publication": "original.publication", "time": "original.time", "dated": "original.published"},
    **{"copies": "copies", "outlets": "outlets", "last_at": "last_at", "reached_seconds": "reached"},
}
SENTENCE = {
    **{"sentence_hash": "sentence_hash", "sentence": "example", "articles": "carriers"},
    **{"effective_stories": "effective_stories", "ignored": "common", "pin": "pin", "since": "since"},
}
QUOTE = {
    **{"sentence_hash": "sentence_hash", "sentence": "words"},
    **{name: name for name in ("outlets", "stories", "articles", "common", "speech")},
    **{name: name for name in ("source_id", "publication", "appeared_at", "counted_at")},
}
PARTNER = {
    **{"publication": "publication", "copies": "copies", "median_delay_seconds": "median_delay"},
    "first_unknown": "undated",
}


def under(path: str, columns: Mapping[str, str], *names: str) -> dict[str, str]:
    """Columns of what stands at a path, all or some."""
    return {name: f"{path}.{place}" for name, place in columns.items() if not names or name in names}


def prefixed(prefix: str, columns: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}_{name}": path for name, path in columns.items()}


Query = Callable[[Deduplicator, Fields], Any]


def whole(ask: Query, rows: Callable[[Any], Iterable[Any]]) -> Callable[[Deduplicator, Fields], Part]:
    """A table that one answer holds whole."""

    def read(dd: Deduplicator, given: Fields) -> Part:
        found = ask(dd, given)
        return Part(tuple(rows(found)), counted_from=getattr(found, "counted_from", None))

    return read


def paged(ask: Query, rows: Callable[[Any], Sequence[Any]]) -> Callable[[Deduplicator, Fields], Part]:
    """A table whose answers say how to go on."""

    def read(dd: Deduplicator, given: Fields) -> Part:
        found = ask(dd, given)
        return Part(rows(found), found.after)

    return read


def _day(dd: Deduplicator, given: Fields) -> Day:
    return day_of_query(dd, given, ROWS)[1]


def _outlet(dd: Deduplicator, given: Fields) -> OutletPage:
    return outlet_of(dd, given, ROWS)[1]


def _periods(found: Day | OutletPage) -> Iterable[dict[str, Any]]:
    for one in found.periods:
        yield {"period": period_name(one.first, found.by), "first": one.first, "marks": one.marks}
    if found.undated.articles:
        yield {"period": "undated", "first": None, "marks": found.undated}


def _named(counts: Mapping[str, int], name: str) -> list[dict[str, Any]]:
    return [{name: key, "count": count} for key, count in counts.items()]


CREDITS = {"agency": "agency", "articles": "articles"}

PERIODS = {"period": "period", "first_day": "first", **MARKS}

TABLES: Mapping[str, tuple[Table, ...]] = {
    "/": (
        Table("periods", PERIODS, whole(_day, _periods)),
        Table(
            "hours",
            {"hour": "hour", "articles": "articles"},
            whole(_day, lambda day: [{"hour": h, "articles": n} for h, n in enumerate(day.hours)]),
        ),
        Table("biggest", STORY, whole(_day, lambda day: day.biggest)),
        Table("fastest", STORY, whole(_day, lambda day: day.fastest)),
        Table("outlets", {"publication": "publication", **MARKS}, whole(_day, lambda day: day.outlets)),
        Table("languages", {"language": "language", **MARKS}, whole(_day, lambda day: day.languages)),
        Table("credits", CREDITS, whole(_day, lambda day: day.credits)),
        Table(
            "troubles",
            {"kind": "kind", "reason": "reason", "articles": "articles"},
            whole(_day, lambda day: day.troubles),
        ),
    ),
    "/search": (
        Table(
            "articles",
            under("article", ARTICLE),
            paged(lambda dd, given: found_by(dd, searched(dd, given), PAGE_ROWS), lambda page: page.found),
        ),
    ),
    "/outlets": (
        Table(
            "cells",
            {name: name for name in ("copier", "original", "copies")}
            | {"median_delay_seconds": "median_delay"},
            whole(lambda dd, given: matrix_of(dd, given, ROWS)[1], lambda matrix: matrix.cells),
        ),
    ),
    "/outlet": (
        Table("periods", PERIODS, whole(_outlet, _periods)),
        Table("credits", CREDITS, whole(_outlet, lambda page: page.credits)),
        Table("copies_from", PARTNER, whole(_outlet, lambda page: page.copies_from)),
        Table("copied_by", PARTNER, whole(_outlet, lambda page: page.copied_by)),
        Table("biggest", STORY, whole(_outlet, lambda page: page.biggest)),
    ),
    "/copied": (
        Table(
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
        Table(
            "copies",
            {**under("article", ARTICLE), "delay_seconds": "delay", **FIGURES},
            paged(
                lambda dd, given: dd.browsing.story(
                    id_of(given["id"]), given["after"] or None, rows=PAGE_ROWS
                ),
                lambda story: story.copies,
            ),
        ),
        Table(
            "timeline",
            ARTICLE,
            whole(lambda dd, given: dd.browsing.story(id_of(given["id"])), lambda story: story.prints),
        ),
        Table(
            "beside",
            {**under("article", ARTICLE), **prefixed("match", MATCH), "words": "words"},
            whole(lambda dd, given: dd.browsing.story(id_of(given["id"])), lambda story: story.beside),
        ),
    ),
    "/article": tuple(
        Table(
            name,
            columns,
            whole(
                lambda dd, given: dd.browsing.article(id_of(given["id"])),
                lambda page, name=name: getattr(page, name),  # type: ignore[misc]
            ),
        )
        for name, columns in (
            ("matches", {**under("article", ARTICLE), **prefixed("match", MATCH)}),
            ("pins", PIN),
            ("judgements", SAID),
        )
    ),
    "/compare": (
        Table(
            "judgements",
            SAID,
            whole(
                lambda dd, given: dd.browsing.compare(id_of(given["a"]), id_of(given["b"])),
                lambda found: found.judgements,
            ),
        ),
    ),
    "/sentences": (
        Table(
            "sentences",
            SENTENCE,
            paged(
                lambda dd, given: dd.browsing.common_sentences(
                    _order(given), given["after"] or None, rows=PAGE_ROWS
                ),
                lambda page: page.sentences,
            ),
        ),
        Table(
            "pinned",
            SENTENCE,
            whole(
                lambda dd, given: dd.browsing.common_sentences(_order(given), rows=ROWS),
                lambda page: page.pinned,
            ),
        ),
    ),
    "/sentence": (
        Table(
            "articles",
            ARTICLE,
            whole(lambda dd, given: dd.browsing.sentence(hash_of(given["hash"])), lambda page: page.articles),
        ),
    ),
    "/quotes": (
        Table(
            "quotes",
            QUOTE,
            paged(lambda dd, given: quotes_of(dd, given, PAGE_ROWS), lambda page: page.quotes),
        ),
    ),
    "/quote": (
        Table(
            "articles",
            ARTICLE,
            whole(lambda dd, given: dd.browsing.quote(hash_of(given["hash"])), lambda page: page.articles),
        ),
    ),
    "/judge": (
        Table(
            "pairs",
            {
                **prefixed("earlier", under("earlier", ARTICLE, "source_id", "title", "publication", "time")),
                **prefixed("later", under("later", ARTICLE, "source_id", "title", "publication", "time")),
                **MATCH,
                **{"threshold": "threshold", "margin": "margin", "scores": "scores"},
            },
            whole(lambda dd, given: dd.browsing.queue(_kind(given)), lambda pairs: pairs),
        ),
        Table(
            "pins",
            PIN,
            paged(
                lambda dd, given: dd.browsing.pins(given["after"] or None, rows=PAGE_ROWS),
                lambda page: page.pins,
            ),
        ),
    ),
    "/health": (
        Table(
            "runs",
            {
                **{name: name for name in ("started_at", "what", "outcome", "error", "seconds")},
                **{name: name for name in ("fingerprinted", "settled", "failed")},
            },
            whole(lambda dd, _: dd.browsing.health(), lambda health: health.runs),
        ),
        Table(
            "sizes",
            {"table": "table", "bytes": "count"},
            whole(lambda dd, _: dd.browsing.health(), lambda health: _named(health.sizes, "table")),
        ),
        Table(
            "failed",
            {"reason": "reason", "articles": "count"},
            whole(lambda dd, _: dd.browsing.health(), lambda health: _named(health.vitals.failed, "reason")),
        ),
        Table(
            "limits",
            {"limit": "limit", "articles": "count"},
            whole(lambda dd, _: dd.browsing.health(), lambda health: _named(health.vitals.limits, "limit")),
        ),
        Table(
            "workers",
            {name: name for name in ("host", "process_id", "alive", "seen_at")},
            whole(lambda dd, _: dd.browsing.health(), lambda health: health.vitals.workers),
        ),
        Table(
            "settings",
            {name: name for name in ("name", "value", "wanted", "default", "meaning")},
            whole(lambda dd, _: dd.browsing.health(), lambda health: health.settings),
        ),
    ),
}
"""Path of a page -> its tables."""


def table_of(path: str, name: str) -> Table:
    """A table of a page; without a name its first one."""
    tables = TABLES.get(path, ())
    for table in tables:
        if name in ("", table.name):
            return table
    listed = ", ".join(table.name for table in tables) or "none"
    raise InputError(f"there is no table {name[:40]!r} on this page; there are: {listed}")


def _order(given: Fields) -> Any:
    return given["order"] or "carriers"


def _kind(given: Fields) -> Any:
    return given["kind"] or KINDS[0][0]
