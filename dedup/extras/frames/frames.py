"""Read stories, duplicates, matches and marks as Arrow tables, for notebooks: the extra `frames`.

    from dedup import frames

    stories = frames.stories()                  # a pyarrow.Table, of the corpus that `Deduplicator()` opens
    stories.to_pandas().nlargest(10, "copies")  # Polars: pl.from_arrow(stories); DuckDB finds it by its name

Rows come in the order in which articles were stored, all from one moment. They come from views only, so a
role with `dedup grant --analyst` may read them. Nothing is changed.

Times are in UTC, scores are doubles, and columns of few different words (status, reason, publication, …) are
dictionaries, which pandas shows as categories. Columns are named as in the views of docs/analyst.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa

from dedup.api import checks
from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.base.times import Time
from dedup.extras.frames import columns
from dedup.extras.frames.columns import TABLE_NAMES, TableName

__all__ = ["duplicates", "marks", "matches", "reader", "stories"]


def stories(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Return every story: its original, its first and last time, the number of copies, and who copied it.

    Args:
        corpus: a `Deduplicator`, or the address that it takes.
        since: only rows of articles published then or later (stored, if the publication time is unknown):
            any article of a story, the later one of a pair. A time in any of the forms of `Article`.

    Raises:
        InputError: `since` is not a time, or the address is not usable.
        DatabaseError: the server refused or went away.
    """
    return _table("stories", corpus, since)


def duplicates(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Return every duplicate with its original, their scores and the delay in seconds; see `stories`."""
    return _table("duplicates", corpus, since)


def matches(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Return every scored pair once: later and earlier article, relation, rule and scores; see `stories`."""
    return _table("matches", corpus, since)


def marks(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Return every article with its mark and its story, without its text; see `stories`."""
    return _table("marks", corpus, since)


def reader(
    name: TableName, corpus: Deduplicator | str | None = None, *, since: Time = None
) -> pa.RecordBatchReader:
    """Return a table in batches of some thousand rows, to be read once; memory does not grow with the table.

    All batches show the corpus at the moment of the first one. A `Deduplicator` lends a connection until the
    last batch is read. Args and Raises: as in `stories`; InputError also if there is no such table.
    """
    if name not in TABLE_NAMES:
        raise InputError(f"there is no table {name!r}; there are {', '.join(TABLE_NAMES)}")
    first = checks.optional(checks.moment, "since", since)
    return pa.RecordBatchReader.from_batches(columns.SCHEMAS[name], _opened(name, corpus, first))


def _table(name: TableName, corpus: Deduplicator | str | None, since: Time) -> pa.Table:
    with reader(name, corpus, since=since) as opened:
        return opened.read_all().unify_dictionaries()


def _opened(
    name: TableName, corpus: Deduplicator | str | None, since: datetime | None
) -> Iterator[pa.RecordBatch]:
    if not isinstance(corpus, Deduplicator):
        with Deduplicator(corpus) as found:
            yield from _opened(name, found, since)
        return
    with corpus._database.session() as session, session.transaction(snapshot=True) as cursor:
        yield from columns.batches(cursor, name, since)
