"""Stories, duplicates, matches and marks as Arrow tables, for notebooks: the extra `frames`.

    from dedup import frames

    stories = frames.stories()                  # a pyarrow.Table, of the corpus that `Deduplicator()` opens
    stories.to_pandas().nlargest(10, "copies")  # Polars: pl.from_arrow(stories); DuckDB finds it by its name

Few values become Python objects on the way. Rows come in the order in which articles were stored, as of one
moment, and only from views: whoever may read these (`dedup grant --analyst`) may use it. Nothing is changed.

Times are in UTC, scores are doubles, and columns that repeat few words (status, reason, publication, …) are
dictionaries, which pandas shows as categories. Columns are named as in the views of docs/analyst.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from dedup.api import checks
from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.base.times import Time
from dedup.extras.frames import columns
from dedup.extras.frames.columns import TABLE_NAMES, TableName

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["duplicates", "marks", "matches", "reader", "stories"]


def stories(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Every story: its original, when it ran first and last, how often, and by whom it was copied.

    Args:
        corpus: a `Deduplicator`, or what it takes as its address.
        since: only stories of which an article was published then or later; where the publication time is
            unknown, stored. A time in any of the forms of `Article`.

    Raises:
        InputError: that is no time, or the address is none.
        DatabaseError: the server refused or went away.
    """
    return _table("stories", corpus, since)


def duplicates(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Every duplicate beside its original, with the scores of the pair and the delay in seconds.

    Args and Raises: as of `stories`; `since` is of the duplicate.
    """
    return _table("duplicates", corpus, since)


def matches(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Every scored pair, once: the later article, the earlier one, relation, rule and scores.

    Args and Raises: as of `stories`; `since` is of the later article.
    """
    return _table("matches", corpus, since)


def marks(corpus: Deduplicator | str | None = None, *, since: Time = None) -> pa.Table:
    """Every article with its mark and its story, without its text.

    Args and Raises: as of `stories`; `since` is of the article.
    """
    return _table("marks", corpus, since)


def reader(
    name: TableName, corpus: Deduplicator | str | None = None, *, since: Time = None
) -> pa.RecordBatchReader:
    """A table in batches of some thousand rows: memory does not grow with it. To be read once.

    The corpus is seen as of the moment of the first batch, until the last one; a `Deduplicator` that is given
    lends a connection for so long.

    Args:
        name: stories, duplicates, matches or marks.
        corpus, since: as of `stories`.

    Raises:
        InputError: there is no such table; and as of `stories`.
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
