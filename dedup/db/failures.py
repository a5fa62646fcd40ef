"""Translates errors of the driver into errors for users, and repeats work that other transactions blocked."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg
from psycopg import errors as pg

from dedup.base.errors import (
    AttachedError,
    BusyError,
    CollisionError,
    DatabaseError,
    DedupError,
    LoginError,
    MissingRightError,
    ReadOnlyError,
    SchemaError,
    StorageError,
    UnreachableError,
)

ATTEMPTS = 5  # Minimum number of attempts at work that collides with other transactions
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 1.0  # The pause doubles from the first value up to the second

_Value = TypeVar("_Value")


def retry(work: Callable[[], _Value], seconds: float = 0) -> _Value:
    """Run work in transactions; if other transactions block the work, repeat it for up to `seconds`."""
    attempt, deadline = 0, time.monotonic() + seconds
    while True:
        attempt += 1
        try:
            return work()
        except CollisionError:
            if attempt >= ATTEMPTS and time.monotonic() >= deadline:
                raise
        except BusyError:
            if time.monotonic() >= deadline:
                raise
        # The pause is random, because after equal pauses the same transactions would collide again.
        pause = min(PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS)
        time.sleep(random.uniform(0.5, 1) * pause)  # noqa: S311


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Translate errors of the driver into one line with a next step, without passwords and article texts."""
    try:
        yield
    except DedupError:
        raise
    except psycopg.Error as error:
        raise _explain(error, where) from None
    except Exception as error:
        original = getattr(error, "orig", None)  # SQLAlchemy wraps errors of the driver
        if isinstance(original, psycopg.Error):
            raise _explain(original, where) from None
        raise


_SAFE_CLASSES = frozenset({"08", "25", "28", "3D", "40", "42", "53", "54", "55", "57", "58"})
"""Classes of SQLSTATE codes whose messages never contain values of rows."""


def _explain(error: psycopg.Error, where: str) -> DedupError:
    state = error.sqlstate
    message = (error.diag.message_primary or "").strip() if state and state[:2] in _SAFE_CLASSES else ""
    match error:
        case pg.ObjectNotInPrerequisiteState() if "article_attached" in (error.diag.context or ""):
            return AttachedError()  # the trigger function `article_attached` raised the error
        case pg.InsufficientPrivilege():
            return MissingRightError(
                f"{where}: {message}; connect as the owner of the schema, or as another role with this right"
                " (docs/operate.md, section Rights)"
            )
        case pg.ReadOnlySqlTransaction():
            return ReadOnlyError(f"{where} is read-only, as a standby is; connect to the primary to write")
        case pg.InvalidCatalogName():
            return UnreachableError(f"{where} does not exist; create it with `createdb`")
        case pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return LoginError(f"{where} refused the login; check user and password in {_ADDRESS}")
        case pg.SerializationFailure() | pg.DeadlockDetected():
            return CollisionError(f"{where}: another transaction blocked this one; run it again")
        case pg.LockNotAvailable():
            holder = "`dedup status` names the holder; run this again when that transaction has ended"
            return BusyError(f"{where}: another transaction holds a lock that is needed; {holder}")
        case pg.QueryCanceled():
            return BusyError(f"{where}: a statement took too long, or was cancelled; run it again")
        case pg.IdleInTransactionSessionTimeout() | pg.TransactionTimeout():
            return BusyError(f"{where}: this program was idle in a transaction for too long; run it again")
        case pg.DiskFull():
            return StorageError(f"{where}: disk full; nothing was lost: free some space and run it again")
        case pg.OutOfMemory() | pg.InsufficientResources() | pg.TooManyConnections():
            return StorageError(f"{where}: the server is out of resources ({message}); run it again")
        case pg.InvalidSchemaName() | pg.UndefinedTable() | pg.UndefinedFunction() | pg.UndefinedColumn():
            return SchemaError(f"{where} has no dedup schema of this version; run `dedup init`")
        case pg.AdminShutdown() | pg.CrashShutdown() | pg.CannotConnectNow():
            return UnreachableError(f"{where} is shutting down or starting; run it again when it is up")
        case psycopg.OperationalError() if state is None:
            # Quoted names of hosts and databases are removed, since a name may contain words of `_HINTS`.
            said = re.sub(r'"[^"]*"', "", str(error))
            hint = next(hint for words, hint in _HINTS if any(word in said for word in words))
            kind = LoginError if hint.startswith(_REFUSED) else UnreachableError
            return kind(f"{where} does not answer; {hint}")
    # These classes are errors of the connection, resources, an operator or the system, not of a statement.
    if state and state.startswith(("08", "53", "57", "58")):
        return UnreachableError(f"{where} cannot work now ({message or state}); try again later")
    return DatabaseError(f"{where}: {message or type(error).__name__} (SQLSTATE {state})")


_REFUSED = "the server refused the login"
_ADDRESS = "the address (`dedup config` says where it is set)"
_HINTS = (
    (("too many connections", "connection slots"), "the server has no free connection: run it again"),
    (
        ("pg_hba.conf", "password", "authentication", "role"),
        f"{_REFUSED}: check user and password in {_ADDRESS}",
    ),
    (("does not exist",), "there is no such database: create it with `createdb`"),
    (("refused",), f"no server listens there: start it, or check host and port in {_ADDRESS}"),
    (("translate host name", "resolve"), f"there is no such host: check {_ADDRESS}"),
    (("closed", "terminat", "lost"), "the connection was lost: run it again"),
    (("",), f"check that it runs, and {_ADDRESS} (embedded server: `dedup db status`)"),
)
"""Words in libpq's message about a failed connection, each with the hint to give."""
