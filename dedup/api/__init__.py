"""The public face: `Deduplicator`, and what hangs on it: settings, pins, judgements, attachments, pages.

Each module has one class or two, which a `Deduplicator` makes; nobody makes them otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

if TYPE_CHECKING:
    from dedup.db.database import Cursor, Database

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class OfCorpus:
    """What works on one corpus."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _transact(
        self,
        work: Callable[Concatenate[Cursor, _Given], _Answer],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Answer:
        """Do something in a transaction of its own, which is the first thing that it is given."""
        with self._transaction() as cursor:
            return work(cursor, *given, **named)

    def _transaction(self) -> AbstractContextManager[Cursor]:
        return self._database.transaction()


class OpenCorpus(OfCorpus):
    """A corpus whose connections end with a `with` statement."""

    def __enter__(self) -> Self:
        self._database.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def location(self) -> str:
        """Host and database, for people; never a password."""
        return self._database.location

    def close(self) -> None:
        """Close the connections; this object cannot be used any more."""
        self._database.close()


def transacted(
    work: Callable[Concatenate[Cursor, _Given], _Answer],
) -> Callable[Concatenate[OfCorpus, _Given], _Answer]:
    """A method that is `work`, in a transaction of its own: its words and its arguments are those of that."""

    @wraps(work)
    def method(corpus: OfCorpus, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        return corpus._transact(work, *given, **named)

    return method
