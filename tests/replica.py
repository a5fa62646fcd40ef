"""A copy of the marks: a reader of `changes` stores each mark, and tests compare the copy with the table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from dedup.api.operation import Operation
from dedup.db.database import Database
from dedup.store.changes import MarkChange, changes
from tests.corpora import AnyDatabase, answer

Mark = tuple[str, str | None, float | None, str | None]

PENDING: Mark = ("pending", None, None, None)


@contextmanager
def journal(database: Database) -> Iterator[None]:
    """Keep the journal of marks within the block."""
    with Operation(database.url, schema=database.schema) as owner:
        owner.start_journal()
        try:
            yield
        finally:
            with suppress(Exception):  # the database may be gone by now
                owner.stop_journal()


def place(change: MarkChange) -> tuple[int, int]:
    """Return the position and the article of a change, which are parts of its cursor.

    Readers need not know the parts of a cursor.
    """
    _, position, number, *_ = change.cursor.split(".")
    return int(position), int(number)


def apply(marks: dict[str, Mark], change: MarkChange) -> None:
    if change.status == "deleted":
        marks.pop(change.id, None)
    else:
        marks[change.id] = (change.status, change.duplicate_of, change.score, change.reason)


class Asks(Protocol):
    def __call__(self, since: str | None = None, *, limit: int = 1_000) -> list[MarkChange]: ...


class Replica:
    """A reader with the marks that it has read."""

    def __init__(self, database: AnyDatabase) -> None:
        self.database = database
        self.marks: dict[str, Mark] = {}
        self.since: str | None = None
        self.told: list[tuple[int, int]] = []

    def read(self, limit: int = 1_000) -> list[MarkChange]:
        """Read and apply changes, after checking that they are in order and new; return them."""
        with self.database.transaction() as cursor:
            found = changes(cursor, self.since, limit)
        assert len(found) <= limit
        for change in found:
            assert not self.told or place(change) > self.told[-1]
            self.told.append(place(change))
            apply(self.marks, change)
            self.since = change.cursor
        return found

    def read_all(self, limit: int = 1_000) -> list[MarkChange]:
        heard: list[MarkChange] = []
        while found := self.read(limit):
            heard += found
        return heard

    def assert_equal(self) -> None:
        """Check that the replica equals the table; articles that it never read count as pending."""
        stored = answer(self.database).marks
        assert self.marks.keys() <= stored.keys()
        assert {name: self.marks.get(name, PENDING) for name in stored} == stored
