"""Errors that this package raises on purpose.

    DedupError
    ├── InputError ── CursorError
    ├── SettingError, NotFoundError, MachineError, StuckError, WorkError, ClosedError, SpoolError
    └── DatabaseError
        ├── UnreachableError ── LoginError, ReadOnlyError
        ├── RightsError ── MissingRightError
        └── SchemaError, StorageError, BusyError, CollisionError, EmbeddedServerError

A message names the object, the fault and the next command to type. It quotes no password and no article.
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
    """A cursor (place in the mark changes) is too old, or invalid after a restore: read all marks again."""


class AttachedError(InputError):
    """An article is a row of an attached table, and can only be changed there."""

    def __init__(self) -> None:
        super().__init__("the article is a row of an attached table; change that row instead")


class SettingError(DedupError):
    """A setting is unknown, or its value is out of range."""


class NotFoundError(DedupError):
    """The corpus has no article with the requested source_id."""

    @classmethod
    def of(cls, source_id: str) -> Self:
        """Return an error that says that no article has the source_id."""
        return cls(f"no article with source_id {source_id!r}; `dedup marks` lists them")


class MachineError(DedupError):
    """The machine lacks memory, or allows no more threads. The cause is not a single article."""


class StuckError(DedupError):
    """A backfill stopped making progress."""


class WorkError(DedupError):
    """A run on Spark cannot continue in its working folder, or would cost more than the limit."""


class ClosedError(DedupError):
    """A `Deduplicator` was used after it was closed."""


class SpoolError(DedupError):
    """An article cannot be saved on disk while the database is unreachable."""


class DatabaseError(DedupError):
    """The database refused a statement, or failed."""


class UnreachableError(DatabaseError):
    """The database does not answer."""


class LoginError(UnreachableError):
    """The database refuses the login."""


class ReadOnlyError(UnreachableError):
    """The database is read-only for now: it is a standby, or a failover is under way."""


class RightsError(DatabaseError):
    """The database role lacks a privilege."""


class MissingRightError(RightsError):
    """The role lacks a privilege that a statement needs, and that a GRANT can give."""


class SchemaError(DatabaseError):
    """The schema is missing, older or newer than this program."""


class StorageError(DatabaseError):
    """The server ran out of disk or memory."""


class BusyError(DatabaseError):
    """Other transactions held a lock for longer than a timeout allows; nothing was changed."""


class CollisionError(DatabaseError):
    """Two transactions conflicted, for example in a deadlock; nothing was changed: try again."""


class EmbeddedServerError(DatabaseError):
    """The embedded server could not be started or stopped."""


# These errors last until a person acts. So a loop that waits for the database stops, and does not try again.
LASTING = (LoginError, RightsError, SchemaError)


def is_about_input(error: DedupError) -> bool:
    """Return whether the database refused only this value, such as one article, and would accept others."""
    return isinstance(error, AttachedError) or type(error) is DatabaseError
