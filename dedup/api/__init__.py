"""Public interface: `Deduplicator`, and the classes of its parts, such as settings and pins."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from dedup.base.answer import Answers

if TYPE_CHECKING:
    from dedup.db.database import Cursor, Database

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class OfCorpus:
    """Base of the classes that work on one corpus."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _transact(
        self,
        work: Callable[Concatenate[Cursor, _Given], _Answer],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Answer:
        """Call `work` in a new transaction, with a cursor and the given arguments; return the result.

        A list becomes `Answers`, which a notebook shows as a table.
        """
        with self._database.transaction() as cursor:
            found: Any = work(cursor, *given, **named)
        return cast("_Answer", Answers(found) if type(found) is list else found)


class OpenCorpus(OfCorpus):
    """A corpus that closes its connections at the end of a `with` statement."""

    def __enter__(self) -> Self:
        self._database.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def location(self) -> str:
        """Host and name of the database, for messages, without a password."""
        return self._database.location

    def close(self) -> None:
        """Close the connections; afterwards every method raises `ClosedError`."""
        self._database.close()


def transacted(
    work: Callable[Concatenate[Cursor, _Given], _Answer],
) -> Callable[Concatenate[OfCorpus, _Given], _Answer]:
    """Return a method that calls `work` in a new transaction; the method gets the docstring of `work`."""

    # The method and `work` share one docstring, because two docstrings would come to differ.
    @wraps(work)
    def method(corpus: OfCorpus, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        return corpus._transact(work, *given, **named)

    return method
