"""Read rows that a program passes once, like a pipe: dicts, or a table of Arrow, pandas or Polars.

Fields of an article are found by the same names as in a file, and bad rows are refused in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dedup.base import plugins
from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.files.jsonl import SeveralArticles, extract_object, read_each
from dedup.files.naming import Shapes
from dedup.files.record import Plan, Record, describe_error, describe_size
from dedup.files.report import Understanding

if TYPE_CHECKING:
    from dedup.files.opening import PluginSource

ROWS = "<rows>"  # name of the rows in messages, instead of the name of a file


class ArrowStream(Protocol):
    """Table or stream that can be read as Arrow, such as a DataFrame of pandas or Polars."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


GivenRows: TypeAlias = "Callable[[int], PluginSource]"
"""Function that opens the rows of a program, with the maximum size of a row in bytes."""


def find_rows(given: object) -> GivenRows | Iterable[Article]:
    """Return a function that opens rows, if `given` is a table or dicts. Return articles as they are.

    Raises InputError for other objects.
    """
    if hasattr(given, "__arrow_c_stream__"):
        return partial(plugins.needed("inputs", "arrow", extra="frames"), given)
    if isinstance(given, Article | Mapping):
        kind = type(given).__name__
        raise InputError(f"load takes several articles or dicts, not one {kind}: put it into a list")
    if not isinstance(given, Iterable):
        raise InputError(f"load takes a path, articles, dicts or a table, not {type(given).__name__}")
    found: Iterable[Any] = given
    if isinstance(given, Sequence):
        first = given[:1]
    else:
        rest = iter(given)
        first = [*islice(rest, 1)]
        found = chain(first, rest)
    return partial(DictSource, found) if first and isinstance(first[0], Mapping) else found


class DictSource:
    """Dicts, each with the fields of an article, such as rows of a query."""

    suffixes: tuple[str, ...] = ()
    file = ROWS
    bytes_total: int | None = None
    truncated = False

    def __init__(self, rows: Iterable[object], max_row_bytes: int) -> None:
        self.bytes_read = 0  # an estimate: number of characters of all texts
        self._rows, self._most = rows, max_row_bytes

    def close(self) -> None:
        pass

    def records(self, plan: Plan, _needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield the records of each dict: one, or several if it holds several articles."""
        shapes = Shapes(plan, understood)
        for number, row in enumerate(self._rows, 1):
            try:
                found = self._read(row, shapes, understood)
            except Exception as error:  # the caller's dict may hold anything
                found = describe_error(error)
            if isinstance(found, SeveralArticles):
                yield from read_each(number, found.articles, shapes, understood)
            else:
                yield number, None, found

    def _read(self, row: object, shapes: Shapes, understood: Understanding) -> dict[str, Any] | str:
        if not isinstance(row, Mapping):
            return f"it is not a dict as the first row is, but of the type {type(row).__name__}"
        size = sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        self.bytes_read += size
        if size > self._most:
            return describe_size(size, self._most)
        if not all(isinstance(key, str) for key in row):
            return "a key of the dict is not a text"
        content = {key: value for key, value in row.items() if not _is_missing(value)}
        return extract_object(content, shapes, understood)


def _is_missing(value: Any) -> bool:
    # pandas writes missing values as NaN and NaT, which do not equal themselves.
    return isinstance(value, float | datetime) and value != value
