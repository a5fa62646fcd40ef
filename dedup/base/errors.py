"""Errors that this package raises on purpose.

    DedupError
    ├── InputError ── CursorError
    ├── SettingError, NotFoundError, MachineError, StuckError, WorkError, ClosedError, SpoolError
    └── DatabaseError
        ├── UnreachableError ── LoginError, ReadOnlyError
        ├── RightsError ── MissingRightError
        └── SchemaError, StorageError, BusyError, CollisionError, EmbeddedServerError

A message says what happened, to what, and the next command to type. It quotes no password and no article.
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
    """A cursor of changes belongs to another history, or is too old: read all marks again."""


class SettingError(DedupError):
    """An unknown setting, or a value out of its range."""


class NotFoundError(DedupError):
    """The corpus has no article with that source_id."""

    @classmethod
    def of(cls, source_id: str) -> Self:
        return cls(f"no article with source_id {source_id!r}; `dedup marks` lists them")


class MachineError(DedupError):
    """The machine has no memory or no thread to spare; no text is to blame."""


class StuckError(DedupError):
    """A backfill makes no progress."""


class WorkError(DedupError):
    """A run on Spark cannot continue in its folder, or would cost more than allowed."""


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
    """The database is read-only now: a standby, or a failover under way."""


class RightsError(DatabaseError):
    """The database role lacks a privilege."""


class MissingRightError(RightsError):
    """The role lacks a privilege that a statement needs; a grant may give it."""


class SchemaError(DatabaseError):
    """The schema is missing, older or newer than this program."""


class StorageError(DatabaseError):
    """The server ran out of disk or memory."""


class BusyError(DatabaseError):
    """Other transactions held a lock for longer than a timeout; nothing was changed."""


class CollisionError(DatabaseError):
    """Two transactions got in each other's way; nothing was changed: try again."""


class EmbeddedServerError(DatabaseError):
    """The embedded server could not be started or stopped."""


# Waiting does not heal these: a person has to act. Loops that wait for a database end with them.
LASTING = (LoginError, RightsError, SchemaError)


def is_about_input(error: DatabaseError) -> bool:
    """Return whether the database refused one value, such as an article, and takes others."""
    return type(error) is DatabaseError
