"""Every error this package raises on purpose.

    DedupError
    ├── InputError            a file, a row or an argument cannot be used
    │   └── CursorError           of changes: all marks are to be read again
    ├── SettingError          an unknown setting, or a value out of range
    ├── NotFoundError         no article with that source_id
    ├── MachineError          this machine has no memory or no thread to spare
    ├── StuckError            a backfill makes no progress
    ├── WorkError             a run on Spark cannot go on in its folder, or would cost more than is allowed
    ├── ClosedError           a `Deduplicator` was used after it was closed
    ├── SpoolError            an article cannot be kept on disk until the database is back
    └── DatabaseError         the database said no
        ├── UnreachableError      it does not answer
        │   ├── LoginError            it refuses the login
        │   └── ReadOnlyError         it may only be read now, as in a failover
        ├── RightsError           the role lacks a privilege
        │   └── MissingRightError     of a statement; a grant may give it
        ├── SchemaError           the schema is missing, older or newer than the program
        ├── StorageError          disk full or out of memory on the server
        ├── BusyError             others hold what is needed for longer than a timeout
        ├── CollisionError        two transactions got in each other's way; it may be tried again
        └── EmbeddedServerError   the embedded server could not be started or stopped

The message of an error is what a user reads: what happened, on what, and the next command to type.
It never holds a password or the text of an article.
"""

from __future__ import annotations

from typing import Self

__all__ = [
    "BusyError", "ClosedError", "CollisionError", "CursorError", "DatabaseError", "DedupError",
    "EmbeddedServerError", "InputError", "LoginError", "MachineError", "MissingRightError",
    "NotFoundError", "ReadOnlyError", "RightsError", "SchemaError", "SettingError", "SpoolError",
    "StorageError", "StuckError", "UnreachableError", "WorkError",
]  # fmt: skip


class DedupError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(DedupError):
    """A file, a row or an argument cannot be used."""


class CursorError(InputError):
    """A cursor of changes is of another history, or too old: all marks are to be read again."""


class SettingError(DedupError):
    """An unknown setting, or a value out of its range."""


class NotFoundError(DedupError):
    """No article with that source_id."""

    @classmethod
    def of(cls, source_id: str) -> Self:
        """The error for a source_id that is not stored."""
        return cls(f"no article with source_id {source_id!r}; `dedup marks` lists them")


class MachineError(DedupError):
    """This machine has no memory or no thread to spare; no text is to blame."""


class StuckError(DedupError):
    """A backfill makes no progress."""


class WorkError(DedupError):
    """A run on Spark cannot go on in its folder, or would cost more than it is allowed to."""


class ClosedError(DedupError):
    """A `Deduplicator` was used after it was closed."""


class SpoolError(DedupError):
    """An article cannot be kept on disk until the database is back."""


class DatabaseError(DedupError):
    """The database refused or failed."""


class UnreachableError(DatabaseError):
    """The database does not answer."""


class LoginError(UnreachableError):
    """The database refuses the login."""


class ReadOnlyError(UnreachableError):
    """The database may only be read now: it is a standby, or a failover is under way."""


class RightsError(DatabaseError):
    """The database role lacks a privilege."""


class MissingRightError(RightsError):
    """The role lacks a privilege that a statement needs; a grant may give it."""


class SchemaError(DatabaseError):
    """The schema is missing, older or newer than this program."""


class StorageError(DatabaseError):
    """The server ran out of disk or memory."""


class BusyError(DatabaseError):
    """Others hold what is needed for longer than a timeout; nothing was changed."""


class CollisionError(DatabaseError):
    """Two transactions got in each other's way; nothing was changed, and it may be tried again."""


class EmbeddedServerError(DatabaseError):
    """The embedded server could not be started or stopped."""


LASTING = (LoginError, RightsError, SchemaError)
"""Errors of a database that no waiting heals: a person has to act. Whatever waits for a database that is away
ends with them, and waits after every other `DatabaseError`."""


def is_about_input(error: DatabaseError) -> bool:
    """Whether the database refused what it was given, such as one article; it takes others."""
    return type(error) is DatabaseError
