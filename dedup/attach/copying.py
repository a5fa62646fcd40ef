"""Copy rows of attached tables whose owners have fewer rights than dedup, in sessions of these owners.

A statement on a table can run code of the table's owner: functions in views, index expressions, casts and row
security, and triggers. This code has the rights of the session. So dedup reads and writes the table only in a
session that is logged in as the owner. The rows are limited in size, converted to fixed types, and stored in
`dedup.attached_copy`. dedup then reads these copies in place of the table. While the owner's code runs, dedup
does not hold the settle lock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.attach import bases
from dedup.attach.attachments import Attachment
from dedup.attach.functions import LATER_FIELDS, later_fields
from dedup.attach.outbox import TableBusyError, UnfitError, refuse_repeated
from dedup.base.article import MAX_TEXT_CHARACTERS
from dedup.base.errors import DatabaseError
from dedup.db.connection import GRACE_SECONDS, Connection
from dedup.db.database import Cursor, Database, one_row, translate_errors
from dedup.db.statements import Statements

_sql = Statements("attach/copying")
_attachments = Statements("attach/attachments")

# Columns of a copied row. Values are stored by their positions, so the query `rows` in copying.sql must have
# the same order.
COLUMNS = (
    *("source_id", "text", "title", "url", "publication", "language", "published_at", *LATER_FIELDS),
    *("status", "original", "score", "kept", "changed_at"),
)

OWNER_SECONDS = 30.0  # Maximum time of a statement in an owner's session; a transaction waits for its end
PAGE = 1_000  # Maximum number of rows read by one statement
KEPT_BYTES = 8_000_000  # Approximate maximum bytes of copied rows in memory before they are stored
NO_FUNCTION = "^$"  # Pattern that matches no function name


def require_trust(cursor: Cursor, attachment: Attachment) -> None:
    """Raise UnfitError if the table does not exist, or if reading it in this session would run code of a role
    that is not trusted."""
    values = {**attachment.place, "made": attachment.made}
    row = cursor.execute(_attachments("strangers"), values).fetchone()
    if row != ([], []):
        raise UnfitError(
            f"{attachment.shown}: reading it would run code of a role that has fewer rights than the corpus'"
            f" owner: run `dedup remap {attachment.name}`"
        )
    if attachment.bases:
        found = bases.owners(cursor, attachment)
        found |= {name for (name,) in cursor.execute(_attachments("owners"), values).fetchall()}
        if len(found) != 1:
            raise UnfitError(
                f"{attachment.shown}: a table from which it takes rows or names is gone or belongs to another"
                f" role: run `dedup remap {attachment.name}`"
            )


@contextmanager
def open_session(
    database: Database, cursor: Cursor, attachment: Attachment, *, attached: bool = True
) -> Iterator[Connection]:
    """Open a session that is logged in as the owner of a table. Raises UnfitError: the session cannot be
    opened; a statement in it fails; or another role owns a partition. `attached`: also raise the error if
    another role owns a function made for the table."""
    values = {**attachment.place, "made": attachment.made if attached else NO_FUNCTION}
    found = {name for (name,) in cursor.execute(_attachments("owners"), values).fetchall()}
    found |= bases.owners(cursor, attachment)
    if len(found) != 1:
        raise UnfitError(
            f"{attachment.shown}: the table, its partitions and its functions belong to several roles"
            f" ({', '.join(sorted(map(str, found)))}): give the table and its partitions to one role, then"
            f" run `dedup remap {attachment.name}`"
        )
    (owner,) = found
    timeouts = replace(database.timeouts, statement=OWNER_SECONDS, idle=OWNER_SECONDS)
    # The password in the database URL or the environment belongs to another role. The empty password here
    # replaces it, so that libpq reads the owner's password from a file.
    parts: dict[str, Any] = {**conninfo_to_dict(database.url), "user": owner, "password": ""}
    try:
        with translate_errors(database.location):
            connection = Connection.open(make_conninfo(**parts), timeouts, database.schema)
    except DatabaseError:
        raise UnfitError(
            f"{attachment.shown}: the table belongs to {owner}, so only a session of that role may read it,"
            f" but no session can be opened as {owner}: give libpq a login for that role, such as a line in"
            " ~/.pgpass"
        ) from None
    connection.prepare_threshold = None  # the owner's code could replace prepared statements
    connection.patience = timeouts.statement + GRACE_SECONDS
    try:
        yield connection
    except psycopg.Error as error:
        # The error's message is left out, because the owner's code may have written it.
        raise UnfitError(
            f"{attachment.shown}: a session of {owner} cannot read it (SQLSTATE"
            f" {error.sqlstate or 'unknown'}): run `dedup remap {attachment.name}`"
        ) from None
    finally:
        connection.close()


def limit_time(connection: psycopg.Connection[Any]) -> None:
    """Limit the time of the next statement; code of the owner may have removed an earlier limit."""
    connection.execute(_sql("limit_time", milliseconds=str(int(OWNER_SECONDS * 1_000))))


def pull(
    database: Database, attachment: Attachment, source_ids: Sequence[str], *, wait: bool = False
) -> bool:
    """Copy some rows as they are now, and delete the copies of rows that are gone. If another session copies
    rows of this table, wait for it if `wait` is true, else return False. Raises UnfitError: no session of
    the owner can read the table. Raises TableBusyError: the wait exceeds `Timeouts.lock`."""
    with _turn(database, attachment, wait=wait) as cursor:
        if cursor is None:
            return False
        with open_session(database, cursor, attachment) as owner:
            for start in range(0, len(source_ids), PAGE):
                some = list(dict.fromkeys(source_ids[start : start + PAGE]))
                rows = attachment.call("rows", "%(source_ids)s::text[]")
                found = _copy(cursor, owner, attachment, rows, {"source_ids": some})
                there = [source_id for source_id, _ in found]
                cursor.execute(_sql("drop_gone"), {"id": attachment.id, "asked": some, "found": there})
    return True


def pull_all(database: Database, attachment: Attachment, since: str | None, stop: Callable[[], bool]) -> bool:
    """Copy rows changed since `since`. If None, copy all rows, and delete the copies of rows that are gone.
    Return False after `stop`. Raises UnfitError: copying exceeds `Timeouts.statement`, or `pull` fails."""
    page, deadline = attachment.page(recent=since is not None), time.monotonic() + database.timeouts.statement
    given: dict[str, Any] = {"after": None, "since": since, "limit": PAGE}
    found: list[tuple[str, str | None]] | None = None
    while found is None or len(found) == PAGE:
        if stop():
            return False
        if time.monotonic() > deadline:
            raise UnfitError(
                f"{attachment.shown}: reading it takes longer than {database.timeouts.statement:,.0f} s: make"
                " its query faster, or increase DEDUP_TIMEOUT_STATEMENT"
            )
        with _turn(database, attachment, wait=True) as cursor:
            assert cursor is not None
            with open_session(database, cursor, attachment) as owner:
                found = _copy(cursor, owner, attachment, page, given)
        if found:
            given["after"], given["since"] = found[-1]
    copied: list[str] | None = [""] if since is None else None
    while copied and not stop():  # pull every copied row again: `pull` deletes the copy if the row is gone
        values = {"id": attachment.id, "after": copied[-1], "limit": PAGE}
        with database.transaction() as cursor:
            copied = [source_id for (source_id,) in cursor.execute(_sql("copied_ids"), values).fetchall()]
        if copied:
            pull(database, attachment, copied, wait=True)
    return not copied


def forget(cursor: Cursor, attachment: Attachment) -> None:
    cursor.execute(_sql("forget"), {"id": attachment.id})


def note_written(cursor: Cursor, attachment: Attachment, marks: dict[str, Any]) -> None:
    cursor.execute(_sql("written"), {"id": attachment.id, **marks})


def has_turn(cursor: Cursor, attachment: Attachment) -> bool:
    """Take the lock for copying rows and writing marks of a table; return False if another session has it."""
    return bool(one_row(cursor, _sql("turn"), {"id": attachment.id})[0])


@contextmanager
def _turn(database: Database, attachment: Attachment, *, wait: bool) -> Iterator[Cursor | None]:
    """Yield a cursor in the only transaction that may copy rows of a table. If another transaction copies
    rows now, wait for its end if `wait` is true, else yield None."""
    with database.transaction() as cursor:
        # Transactions take turns so that an older copy of a row cannot replace a newer copy.
        if wait:
            try:
                cursor.execute(_sql("wait_for_turn"), {"id": attachment.id})
            except psycopg.errors.LockNotAvailable:
                raise TableBusyError(
                    f"{attachment.shown}: another dedup process is reading the table: try again later"
                ) from None
        yield cursor if wait or has_turn(cursor, attachment) else None


def _copy(
    cursor: Cursor, owner: Connection, attachment: Attachment, rows: str, given: dict[str, Any]
) -> list[tuple[str, str | None]]:
    """Store copies of the rows that `rows`, an SQL function call, returns in the session `owner`. Return the
    source_ids and times of change of these rows."""
    query = _sql(
        "rows",
        rows=rows,
        text=attachment.call("text", "r.source_id"),
        **later_fields(attachment, "r"),
        kept="r.kept::text" if attachment.keep else "NULL::text",
        changed_at="r.changed_at::text" if attachment.changed is not None else "NULL::text",
    )
    limit_time(owner)
    found: list[tuple[str, str | None]] = []
    held: list[tuple[str | None, ...]] = []
    size = 0
    with owner.cursor() as asking:
        for row in asking.stream(query, {**given, "most": MAX_TEXT_CHARACTERS + 1}):
            source_id = row[0]
            if source_id is None or not source_id.startswith(f"{attachment.name}/"):
                raise UnfitError(
                    f"{attachment.shown}: a row has a null key: run `dedup remap {attachment.name}`"
                )
            found.append((source_id, row[-1]))
            # Texts are read after all other columns: a text is null if its row was deleted meanwhile.
            held.append((source_id, row[1] or "", *row[2:]))
            size += sum(len(value) for value in row if value)
            if size > KEPT_BYTES:
                _keep(cursor, attachment, held)
                held, size = [], 0
    for repeated, times in Counter(source_id for source_id, _ in found).most_common(1):
        refuse_repeated(attachment, repeated if times > 1 else None)
    _keep(cursor, attachment, held)
    return found


def _keep(cursor: Cursor, attachment: Attachment, rows: Sequence[tuple[str | None, ...]]) -> None:
    if not rows:
        return
    columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    try:
        with cursor.connection.transaction():
            cursor.execute(_sql("keep"), {"id": attachment.id, **columns})
    except (psycopg.DataError, psycopg.errors.CardinalityViolation) as error:
        raise UnfitError(
            f"{attachment.shown}: a value of a row cannot be copied (SQLSTATE {error.sqlstate}):"
            f" run `dedup remap {attachment.name}`"
        ) from None
