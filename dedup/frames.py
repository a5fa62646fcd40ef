"""Stories, duplicates, matches and marks as Arrow tables, for notebooks: the extra `newsdedup[frames]`.

    from dedup import frames

    stories = frames.stories()                  # a pyarrow.Table, of the corpus that `Deduplicator()` opens
    stories.to_pandas().nlargest(10, "copies")  # Polars: pl.from_arrow(stories); DuckDB finds it by its name

No value becomes a Python object on the way. Rows come in the order in which articles were stored, as of one
moment, and only from views: whoever may read these (`dedup grant --analyst`) may use it. Nothing is changed.

Times are in UTC, scores are doubles, and columns that repeat few words (status, reason, publication, …) are
dictionaries, which pandas shows as categories. Columns are named as in the views of docs/analyst.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dedup.corpus import columns
from dedup.corpus.columns import TABLE_NAMES, TABLES, Column, Kind, Lists, TableName, Texts, Values
from dedup.corpus.database import Cursor
from dedup.door import checks
from dedup.errors import InputError
from dedup.times import Time

try:
    import pyarrow as pa
except ImportError:
    raise ImportError("dedup.frames needs pyarrow: pip install 'newsdedup[frames]'") from None

if TYPE_CHECKING:
    from datetime import datetime

    from dedup.deduplicator import Deduplicator

__all__ = ["duplicates", "marks", "matches", "reader", "stories"]

_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "word": pa.dictionary(pa.int32(), pa.string()),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "share": pa.float64(),
    "time": pa.timestamp("us", "UTC"),
    "texts": pa.list_(pa.string()),
}


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
    first = None if since is None else checks.moment("since", since)
    return pa.RecordBatchReader.from_batches(schema(name), _opened(name, corpus, first))


def schema(name: TableName) -> pa.Schema:
    """The columns of a table as Arrow describes them."""
    return pa.schema([(column, _TYPES[kind]) for column, kind in TABLES[name].columns.items()])


def batches(cursor: Cursor, name: TableName, since: datetime | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of a table, within a transaction that sees one moment."""
    described = schema(name)
    for _, found in columns.pages(cursor, name, since):
        arrays = [_array(found[field.name], field.type) for field in described]
        yield pa.record_batch(arrays, schema=described)


def _table(name: TableName, corpus: Deduplicator | str | None, since: Time) -> pa.Table:
    with reader(name, corpus, since=since) as opened:
        return opened.read_all().unify_dictionaries()


def _opened(
    name: TableName, corpus: Deduplicator | str | None, since: datetime | None
) -> Iterator[pa.RecordBatch]:
    from dedup.deduplicator import Deduplicator

    if not isinstance(corpus, Deduplicator):
        with Deduplicator(corpus) as found:
            yield from _opened(name, found, since)
        return
    with corpus._database.session() as session, session.transaction(snapshot=True) as cursor:
        yield from batches(cursor, name, since)


def _array(column: Column, kind: pa.DataType) -> pa.Array:
    """A column as Arrow has it; the bytes of texts are not copied."""
    match column:
        case Texts():
            texts = _texts(column)
            return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts
        case Lists():
            return pa.ListArray.from_arrays(pa.array(_ends(column.counts)), _texts(column.texts))
        case Values():
            mask = None if column.there is None else ~column.there
            return pa.array(column.values, mask=mask).cast(kind)


def _texts(column: Texts) -> pa.Array:
    there = column.lengths >= 0
    nulls = len(there) - int(there.sum())
    bitmap = pa.py_buffer(np.packbits(there, bitorder="little").tobytes()) if nulls else None
    ends = _ends(np.maximum(column.lengths, 0))
    return pa.StringArray.from_buffers(
        len(there), pa.py_buffer(ends), pa.py_buffer(column.data), bitmap, nulls
    )


def _ends(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
