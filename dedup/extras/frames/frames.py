"""Read stories, duplicates, matches, marks, outlets and more as Arrow tables: the extra `frames`.

    from dedup import frames

    stories = frames.stories()                  # a pyarrow.Table, of the corpus that `Deduplicator()` opens
    stories.to_pandas().nlargest(10, "copies")  # Polars: pl.from_arrow(stories); DuckDB: FROM stories
    frames.figures.status(frames.marks()).plot()  # numbers with their chart; the extra `notebook`

Rows come in the order in which articles were stored, and show the corpus as of one moment. Rows come from
views only, so a role with `dedup grant --analyst` may read them. Nothing is changed.
Times are in UTC, scores are doubles. Columns with few different values (status, reason, publication, …) are
dictionaries, which pandas shows as categories. Columns have the names of the views in docs/analyst.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from dedup.api import checks
from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.base.times import Time
from dedup.base.verdict import Representative
from dedup.extras.frames import columns, figures
from dedup.extras.frames.columns import TABLE_NAMES, TableName

__all__ = ["additions", "credits", "duplicates", "figures", "marks", "matches", "network", "origins"]
__all__ += ["panel", "reader", "stories"]

MOST_ORIGINS = 1_000_000  # Maximum number of origins in a table


def stories(
    corpus: Deduplicator | str | None = None,
    *,
    since: Time = None,
    representative: Representative = "first",
    scope: str | None = None,
) -> pa.Table:
    """Return every story: the original, first and last time, the number of copies, and who copied it.

    Args:
        corpus: a `Deduplicator`, or the address for a `Deduplicator`.
        since: only rows whose article was published at this time or later. Without a time of publication, the
            time of storing counts. A story is returned if this holds for any of its articles, a pair if it
            holds for the later article. Times have the forms that `Article` takes, or are ages: "7d".
        representative: the article of each story whose title, publication, address, language and byline are
            returned: its first, its latest (the last correction, else the last article) or its fullest.
        scope: only rows whose article has this scope: of a story the original, of a pair the later article.

    Raises:
        InputError: an argument has an impossible value, or the address is invalid.
        DatabaseError: the server refused a statement, or the connection was lost.
    """
    return _table("stories", corpus, since, scope, representative)


def duplicates(
    corpus: Deduplicator | str | None = None, *, since: Time = None, scope: str | None = None
) -> pa.Table:
    """Return every duplicate with original, scores and delay in seconds; for arguments see `stories`."""
    return _table("duplicates", corpus, since, scope)


def additions(
    corpus: Deduplicator | str | None = None, *, since: Time = None, scope: str | None = None
) -> pa.Table:
    """Return what each copy adds to its original, as `dedup sentences` found it; see `stories`."""
    return _table("additions", corpus, since, scope)


def matches(
    corpus: Deduplicator | str | None = None, *, since: Time = None, scope: str | None = None
) -> pa.Table:
    """Return every scored pair once: later and earlier article, relation, rule and scores; see `stories`."""
    return _table("matches", corpus, since, scope)


def marks(
    corpus: Deduplicator | str | None = None, *, since: Time = None, scope: str | None = None
) -> pa.Table:
    """Return every article with mark and story, without text; for arguments see `stories`."""
    return _table("marks", corpus, since, scope)


def origins(corpus: Deduplicator | str | None = None, *, since: Time = None, **conditions: Any) -> pa.Table:
    """Return the independent origins of articles with the numbers of articles, stories and outlets.

    `conditions`: as in `Deduplicator.origins`, such as `words="harbour storm"`; by default the whole corpus
    is counted. `since`: the day (UTC) of this time is `first`, the first day that is counted. Pending and
    failed articles have no known origin. Raises the errors of `Deduplicator.origins`.
    """
    first = checks.optional(checks.moment, "since", since)
    if first is not None:
        if conditions.get("first") is not None:
            raise InputError("give since or first, not both")
        conditions["first"] = first.date()

    def ask(found: Deduplicator) -> Iterable[Mapping[str, Any]]:
        return (one.as_dict() for one in found.origins(**{"limit": MOST_ORIGINS, **conditions}).origins)

    return _summary("origins", corpus, ask)


def panel(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Return the panel of `dedup export panel`: a row per outlet and month of publication.

    A month is the time at which it begins, in UTC. Undated articles of an outlet are in a row without a
    month. `since`: only whole months, from the month of this time on, without undated articles.
    """
    first = checks.optional(checks.moment, "since", since)
    return _summary("panel", corpus, lambda found: columns.panel(found._database, first))


def network(corpus: Deduplicator | str | None = None) -> pa.Table:
    """Return who reprints whom: a row per pair of outlets, with the number of copies and the median delay.

    If `times_known` is false, either outlet may have been first, and the tie has no direction.
    """
    return _summary("network", corpus, lambda found: columns.network(found._database))


def credits(corpus: Deduplicator | str | None = None) -> pa.Table:
    """Return how much of each publication is agency copy, as `dedup credits` shows."""

    def ask(found: Deduplicator) -> Iterable[Mapping[str, Any]]:
        return (one.as_dict() for one in found.credits.publications())

    return _summary("credits", corpus, ask)


def reader(
    name: TableName,
    corpus: Deduplicator | str | None = None,
    *,
    since: Time = None,
    representative: Representative = "first",
    scope: str | None = None,
) -> pa.RecordBatchReader:
    """Return a table in batches of some thousand rows, to be read once; only one batch is in memory.

    All batches show the corpus as of the first batch. A connection of the `Deduplicator` is in use until the
    last batch is read. Arguments and errors are as in `stories`; an unknown table is an InputError, too.
    """
    if name not in TABLE_NAMES:
        raise InputError(f"there is no table {name!r}; there are {', '.join(TABLE_NAMES)}")
    first = checks.optional(checks.moment, "since", since)
    chosen = checks.representative("representative", representative)
    asked = checks.optional(checks.text, "scope", scope)
    opened = _opened(name, corpus, first, asked, chosen)
    return pa.RecordBatchReader.from_batches(columns.SCHEMAS[name], opened)


def _summary(
    name: str,
    corpus: Deduplicator | str | None,
    ask: Callable[[Deduplicator], Iterable[Mapping[str, Any]]],
) -> pa.Table:
    if not isinstance(corpus, Deduplicator):
        with Deduplicator(corpus) as found:
            return _summary(name, found, ask)
    return pa.Table.from_pylist([*ask(corpus)], columns.SUMMARIES[name])


def _table(
    name: TableName,
    corpus: Deduplicator | str | None,
    since: Time,
    scope: str | None,
    representative: Representative = "first",
) -> pa.Table:
    with reader(name, corpus, since=since, representative=representative, scope=scope) as opened:
        return opened.read_all().unify_dictionaries()


def _opened(
    name: TableName,
    corpus: Deduplicator | str | None,
    since: datetime | None,
    scope: str | None,
    representative: Representative,
) -> Iterator[pa.RecordBatch]:
    if not isinstance(corpus, Deduplicator):
        with Deduplicator(corpus) as found:
            yield from _opened(name, found, since, scope, representative)
        return
    with corpus._database.session() as session, session.transaction(snapshot=True) as cursor:
        yield from columns.batches(cursor, name, since, representative=representative, scope=scope)
