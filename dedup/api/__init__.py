"""The public face: `Deduplicator`, and the classes that it makes, for settings, pins and more."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

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
        """Call `work` with the cursor of a new transaction and the arguments given."""
        with self._database.transaction() as cursor:
            return work(cursor, *given, **named)


class OpenCorpus(OfCorpus):
    """A corpus that closes its connections at the end of a `with` statement."""

    def __enter__(self) -> Self:
        self._database.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def location(self) -> str:
        """Host and database, for messages; never a password."""
        return self._database.location

    def close(self) -> None:
        """Close the connections; afterwards every method raises `ClosedError`."""
        self._database.close()


def transacted(
    work: Callable[Concatenate[Cursor, _Given], _Answer],
) -> Callable[Concatenate[OfCorpus, _Given], _Answer]:
    """Return a method that calls `work` in a new transaction, with the docstring and arguments of `work`."""

    # One docstring for both: when methods repeated them, the two came apart.
    @wraps(work)
    def method(corpus: OfCorpus, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        return corpus._transact(work, *given, **named)

    return method
