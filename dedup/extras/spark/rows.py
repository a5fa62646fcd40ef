"""Work of the executors: turn batches of Arrow into articles, and articles into fingerprints.

Values are converted as in files that dedup reads. This module runs in Spark's Python workers, and imports no
module of a database or of Spark.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

from dedup.base.article import Article, storable
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.base.times import from_microseconds, microseconds
from dedup.extras.spark.exchange import text_digest
from dedup.files.arrow import convert_column
from dedup.files.naming import RecordShape, extract_values
from dedup.files.record import describe_size, find_unreadable, find_usable_id, make_article
from dedup.files.report import Understanding
from dedup.rules.marks import order_key
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION, Fingerprinter, TextTask
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel

SIZE = "size"  # the column with the number of bytes of all texts of a row

KNOWN_TIMES = ("known_published_at", "known_added_at")
"""Columns with the times of a known article, in microseconds. No batch has them if no article is known."""

READ = "refused string, repaired array<string>"
"""Columns that `fingerprinted` adds to the columns of a fingerprint."""

SAME = "source_id string, published_at long, added_at long, moved boolean, repaired array<string>"
"""Schema of the articles that keep their known fingerprints. `moved` is true if one of the times changed."""

COLUMN = "name string, nanoseconds boolean"  # schema of the rows that `columns_of_files` yields
NO_PLACE = "added_at is missing, and there is no published_at that could give the article its place"


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a row: which columns (cells c0, c1, …) hold which fields of an article."""

    shape: RecordShape  # the fields, with the numbers of their cells
    cells: int  # the number of columns c0, c1, …
    structs: frozenset[int]  # cells that only tell whether a struct is present
    lists: frozenset[int]  # cells that only tell whether a value of another type, such as a list, is present

    def places(self, field: str) -> list[int]:
        """Return the numbers of the cells that may hold a field, in the order in which they are tried."""
        return [option.key for option in dict(self.shape.fields).get(field, ())]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Parameters for executors. Spark pickles them with the function, so no plan shows the hash key."""

    layout: Layout
    settings: Settings
    models: Mapping[str, PunktModel]
    added_at: datetime  # given to articles that have no `added_at`
    added_at_counts: bool  # the user chose `added_at`, so it may decide an article's place in the order
    record_bytes: int  # rows with more bytes of text are refused
    unicode_version: str = UNICODE_VERSION  # this and `revision` are those of the driver; see `check`
    revision: int = ALGORITHM_REVISION

    def check(self) -> None:
        """Raise an InputError if the driver would make different fingerprints than this executor."""
        here = unicodedata.unidata_version
        if here != self.unicode_version:
            raise InputError(
                f"an executor has the tables of Unicode {here}, the driver has {self.unicode_version},"
                " so fingerprints would differ: give both the same version of Python"
            )
        if self.revision != ALGORITHM_REVISION:
            raise InputError(
                f"an executor makes fingerprints of revision {ALGORITHM_REVISION} and the driver of"
                f" {self.revision}: install the same version of dedup on both"
            )


@dataclass(slots=True)
class InputRow:
    source_id: str | None  # None: the row was refused, and has no usable source_id
    article: Article | None = None
    refused: str | None = None  # reason for refusing the row
    repaired: Sequence[str] = ()  # reasons why optional fields were left out
    added_at: datetime | None = None  # the article's own time, or else `Recipe.added_at`


def fingerprinted(recipe: Recipe, batches: Iterable[Any]) -> Iterator[Any]:
    """Fingerprint batches of rows from `arranged`, for `mapInArrow`; yields the rows of the step `read`."""
    fingerprinter = Fingerprinter(recipe.settings, recipe.models)
    for batch in batches:
        recipe.check()
        rows = rows_of(recipe, batch)
        made = fingerprinter.fingerprint_many(
            [
                TextTask(number, 0, a.language, a.title, storable(a.text), scope=a.scope)
                if (a := row.article)
                else TextTask(number, 0, None, None, "")
                for number, row in enumerate(rows)
            ]
        )
        yield _batch(rows, made)


def unchanged(recipe: Recipe, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the articles whose known fingerprints are current, for `mapInArrow`; schema `SAME`."""
    fingerprinter = Fingerprinter(recipe.settings, recipe.models)
    for batch in batches:
        recipe.check()
        versions = batch.column("known_version").to_pylist()
        before = zip(*(batch.column(name).to_pylist() for name in KNOWN_TIMES), strict=True)
        found: dict[str, list[Any]] = {column.split()[0]: [] for column in SAME.split(", ")}
        for row, version, times in zip(rows_of(recipe, batch), versions, before, strict=True):
            if row.article is None or fingerprinter.version(row.article.language) != version:
                continue
            now = (microseconds(row.article.published_at), microseconds(row.added_at))
            values = (row.source_id, *now, now != times, list(row.repaired))
            for name, value in zip(found, values, strict=True):
                found[name].append(value)
        kinds = (pa.string(), pa.int64(), pa.int64(), pa.bool_(), pa.list_(pa.string()))
        yield pa.RecordBatch.from_arrays(
            [pa.array(values, kind) for values, kind in zip(found.values(), kinds, strict=True)], list(found)
        )


def columns_of_files(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the columns of whole Parquet files, for `mapInArrow`; schema `COLUMN`."""
    for batch in batches:
        for content in batch.column(0):
            schema = pyarrow.parquet.read_schema(pa.BufferReader(content.as_buffer()))
            kinds = [pa.types.is_timestamp(kind) and kind.unit == "ns" for kind in schema.types]
            yield pa.RecordBatch.from_pydict({"name": schema.names, "nanoseconds": kinds})


def rows_of(recipe: Recipe, batch: Any) -> list[InputRow]:
    """Return the articles and refused rows of a batch; known times replace missing times."""
    layout = recipe.layout
    columns = []
    for number in range(layout.cells):
        values = convert_column(batch.column(f"c{number}"))
        if number in layout.structs or number in layout.lists:
            nothing: Any = {} if number in layout.structs else []
            values = [nothing if value else None for value in values]
        columns.append(values)
    sizes = batch.column(SIZE).to_pylist()
    known: list[list[Any]] = [
        batch.column(name).to_pylist() if name in batch.schema.names else pa.nulls(batch.num_rows).to_pylist()
        for name in KNOWN_TIMES
    ]
    understood = Understanding("", "parquet")  # `extract_values` fills it in, but it is not used here
    return [
        _row(recipe, extract_values(cells, layout.shape, understood), size, times)
        for cells, size, times in zip(
            zip(*columns, strict=True), sizes, zip(*known, strict=True), strict=True
        )
    ]


def _row(recipe: Recipe, found: dict[str, Any], size: int, known: tuple[int | None, int | None]) -> InputRow:
    if size > recipe.record_bytes:
        return InputRow(
            find_usable_id(found.get("source_id")), refused=describe_size(size, recipe.record_bytes)
        )
    if reason := find_unreadable(found):
        return InputRow(find_usable_id(reason.source_id), refused=str(reason))
    for name, count in zip(("published_at", "added_at"), known, strict=True):
        if count is not None and found.get(name) in (None, ""):
            found[name] = from_microseconds(count)
    try:
        article, flaws = make_article(found)
    except InputError as error:
        return InputRow(find_usable_id(found.get("source_id")), refused=str(error))
    added_at = article.added_at or recipe.added_at
    if article.added_at is None and not recipe.added_at_counts:
        place, _ = order_key(recipe.settings, article.published_at, added_at, "")
        if place is not article.published_at:
            return InputRow(article.source_id, refused=NO_PLACE)
    return InputRow(article.source_id, article, None, [reason for _, reason, _ in flaws], added_at)


def _digest(article: Article) -> bytes:
    return text_digest(article.language, article.title, storable(article.text), article.scope)


def _batch(rows: Sequence[InputRow], made: Fingerprints) -> Any:
    articles = [row.article for row in rows]
    reasons = [reason if row.article else None for row, reason in zip(rows, made.reasons, strict=True)]
    starts = pa.array(made.sentence_starts, pa.int32())
    signed, banded = made.shingle_count > 0, made.banded
    strings = pa.string()
    columns = {
        "source_id": pa.array([row.source_id for row in rows], strings),
        "published_at": pa.array([a and microseconds(a.published_at) for a in articles], pa.int64()),
        "added_at": pa.array([microseconds(row.added_at) for row in rows], pa.int64()),
        "text_digest": pa.array([a and _digest(a) for a in articles], pa.binary()),
        "version": pa.array(made.version),
        "content_hash": pa.array(made.content_hash),
        "sentence_hashes": pa.ListArray.from_arrays(starts, pa.array(made.sentence_hashes)),
        "signature": _binary(made.signature, signed),
        "buckets": pa.ListArray.from_arrays(
            pa.array(_offsets(banded, made.buckets.shape[1])), pa.array(made.buckets[banded].reshape(-1))
        ),
        "word_count": pa.array(made.word_count),
        "shingle_count": pa.array(made.shingle_count),
        "reason": pa.array(reasons, strings),
        "refused": pa.array([row.refused for row in rows], strings),
        "repaired": pa.array([list(row.repaired) for row in rows], pa.list_(strings)),
    }
    return pa.RecordBatch.from_pydict(columns)


def _offsets(has: npt.NDArray[np.bool_], length: int) -> npt.NDArray[np.int32]:
    """Return the Arrow offsets of a list column: a row has `length` elements if `has` is true, else none."""
    return np.cumsum([0, *np.where(has, length, 0)], dtype=np.int32)


def _binary(values: npt.NDArray[np.uint8], has: npt.NDArray[np.bool_]) -> Any:
    """Return rows of bytes as an Arrow array. Rows for which `has` is false are empty."""
    offsets = _offsets(has, values.shape[1])
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(values[has].tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(has), buffers)
