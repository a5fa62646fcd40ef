"""Define the base class of answers: dataclasses that the library returns, and that become JSON."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from dedup.base.printable import as_json

_Item = TypeVar("_Item")


class Answer:
    """Base class of the dataclasses that the library returns as answers."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types: times become ISO 8601, tuples lists, bytes hexadecimal digits."""
        found: dict[str, Any] = plain(self)
        return found

    def as_json(self, *, indent: int | None = None) -> str:
        """Return the answer as JSON text, with control and invisible characters escaped."""
        return as_json(self.as_dict(), indent=indent)

    def _repr_html_(self) -> str | None:
        return _show(self)


class Answers(list[_Item]):
    """List of answers, which a notebook shows as a table."""

    def _repr_html_(self) -> str | None:
        return _show(self)


class Rows(Iterable[_Item]):
    """Rows of an answer of any length. Each iteration reads the corpus anew, in bounded memory.

    A notebook shows the first rows as a table.
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Generator[_Item, None, None]]) -> None:
        self._read = read

    def __iter__(self) -> Generator[_Item, None, None]:
        return self._read()

    def __repr__(self) -> str:
        return "<Rows: iterate over them, or use list(…), to read them>"

    def _repr_html_(self) -> str | None:
        return _show(self)


def _show(answer: object) -> str | None:
    """Return HTML for a notebook; None without the extra `frames`, so that the notebook shows text."""
    from dedup.base import plugins  # imported late: only notebooks need it

    render = plugins.loaded("notebook", "html")
    return None if render is None else render(answer)


def plain(value: Any) -> Any:
    """Turn dataclasses, containers, times, bytes and enums into JSON types."""
    if is_dataclass(value) and not isinstance(value, type):
        members = {item.name: getattr(value, item.name) for item in fields(value)}
        # Call `as_dict`, since a subclass may add keys there: `Verdict` adds `provisional`.
        return {name: plain(m.as_dict() if isinstance(m, Answer) else m) for name, m in members.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value
