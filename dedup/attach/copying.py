"""Copy rows of attached tables whose owners have fewer rights, in sessions of these owners.

A view calls functions of its owner, an update fires triggers, the planner runs functions of index
expressions, and row security and casts run more, all with the rights of the session. So each statement on
such a table runs in a session that is logged in as the owner, and nothing else runs there. Its answers are
data: bounded, typed, and kept in `dedup.attached_copy`, which is read in place of the table. No lock is held
meanwhile that others wait for.
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

from dedup.attach.attachments import Attachment
from dedup.attach.outbox import TableBusyError, UnfitError, refuse_repeated
from dedup.base.article import MAX_TEXT_CHARACTERS
from dedup.base.errors import DatabaseError
from dedup.db.connection import GRACE_SECONDS, Connection
from dedup.db.database import Cursor, Database, one_row, translate_errors
from dedup.db.statements import Statements

_sql = Statements("attach/copying")
_attachments = Statements("attach/attachments")

# In the order in which a session of the owner returns them.
COLUMNS = (
    *("source_id", "text", "title", "url", "publication", "language", "published_at", "byline"),
    *("status", "original", "score", "kept", "changed_at"),
)

OWNER_SECONDS = 30.0  # Of a statement in a session of an owner: our transaction waits for it
PAGE = 1_000  # Rows
KEPT_BYTES = 8_000_000  # Of texts that are held before they are stored
NO_FUNCTION = "^$"  # A pattern of the names of no functions


def require_trust(cursor: Cursor, attachment: Attachment) -> None:
    """Check that a table that is not copied can be read and written in this session. Raises UnfitError: code
    of a role that is not trusted would run, or there is no such table."""
    values = {**attachment.place, "made": attachment.made}
    row = cursor.execute(_attachments("strangers"), values).fetchone()
    if row != ([], []):
        raise UnfitError(
            f"{attachment.shown}: reading it would run code of a role that has fewer rights than the corpus'"
            f" owner: `dedup remap {attachment.name}`"
        )


@contextmanager
def open_session(
    database: Database, cursor: Cursor, attachment: Attachment, *, attached: bool = True
) -> Iterator[Connection]:
    """Open a session of the role that owns the table, its partitions, and, if `attached`, the functions made
    for it. Raises UnfitError: these roles are several, of which one would run code of the others; no session
    can be opened, or a statement in it fails."""
    values = {**attachment.place, "made": attachment.made if attached else NO_FUNCTION}
    found = [name for (name,) in cursor.execute(_attachments("owners"), values).fetchall()]
    if len(found) != 1:
        raise UnfitError(
            f"{attachment.shown}: it, its partitions and its functions belong to several roles"
            f" ({', '.join(found)}): give the table and its partitions to one, then `dedup remap"
            f" {attachment.name}`"
        )
    (owner,) = found
    timeouts = replace(database.timeouts, statement=OWNER_SECONDS, idle=OWNER_SECONDS)
    # libpq finds a login for that role in files. An empty password keeps that of the address, and of the
    # environment, from being sent: it belongs to another role.
    parts: dict[str, Any] = {**conninfo_to_dict(database.url), "user": owner, "password": ""}
    try:
        with translate_errors(database.location):
            connection = Connection.open(make_conninfo(**parts), timeouts, database.schema)
    except DatabaseError:
        raise UnfitError(
            f"{attachment.shown}: it belongs to {owner}, whose code must not run with other rights, and no"
            f" session can be opened as {owner}: give libpq a login for that role, such as a line in"
            " ~/.pgpass"
        ) from None
    connection.prepare_threshold = None  # code of the owner may replace prepared statements
    connection.patience = timeouts.statement + GRACE_SECONDS
    try:
        yield connection
    except psycopg.Error as error:
        # Without the message, which the owner's code may have made.
        raise UnfitError(
            f"{attachment.shown}: a session of {owner} cannot read it (SQLSTATE"
            f" {error.sqlstate or 'unknown'}): `dedup remap {attachment.name}`"
        ) from None
    finally:
        connection.close()


def limit_time(connection: psycopg.Connection[Any]) -> None:
    """Limit the next statement; code of the owner may have lifted the limit."""
    connection.execute(_sql("limit_time", milliseconds=str(int(OWNER_SECONDS * 1_000))))


def pull(
    database: Database, attachment: Attachment, source_ids: Sequence[str], *, wait: bool = False
) -> bool:
    """Copy some rows as they are now, and drop the copies of rows that are gone. Return False if another
    session copies rows of this table; with `wait`, wait for that. Raises UnfitError: no session of the owner
    can read the table; TableBusyError: the wait takes longer than the timeout of a lock."""
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
    """Copy the rows of a table, all or changed `since`, and drop the copies of rows that are gone. Return
    False if told to stop. Raises as `pull`, and UnfitError: reading takes longer than a statement may."""
    page, deadline = attachment.page(recent=since is not None), time.monotonic() + database.timeouts.statement
    given: dict[str, Any] = {"after": None, "since": since, "limit": PAGE}
    found: list[tuple[str, str | None]] | None = None
    while found is None or len(found) == PAGE:
        if stop():
            return False
        if time.monotonic() > deadline:
            raise UnfitError(
                f"{attachment.shown}: to read it takes longer than {database.timeouts.statement:,.0f} s: make"
                " its query quicker, or raise DEDUP_TIMEOUT_STATEMENT"
            )
        with _turn(database, attachment, wait=True) as cursor:
            assert cursor is not None
            with open_session(database, cursor, attachment) as owner:
                found = _copy(cursor, owner, attachment, page, given)
        if found:
            given["after"], given["since"] = found[-1]
    copied: list[str] | None = [""] if since is None else None
    while copied and not stop():  # pulling a row that is gone drops its copy
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
    """Try to be the only session that copies rows of a table or writes marks into it, until the commit."""
    return bool(one_row(cursor, _sql("turn"), {"id": attachment.id})[0])


@contextmanager
def _turn(database: Database, attachment: Attachment, *, wait: bool) -> Iterator[Cursor | None]:
    """Yield a transaction that alone copies rows of the table; None if another one does, unless told to
    wait."""
    with database.transaction() as cursor:
        # An older reading must not replace a newer one.
        if wait:
            try:
                cursor.execute(_sql("wait_for_turn"), {"id": attachment.id})
            except psycopg.errors.LockNotAvailable:
                raise TableBusyError(
                    f"{attachment.shown}: another dedup is reading it: run it again when that has ended"
                ) from None
        yield cursor if wait or has_turn(cursor, attachment) else None


def _copy(
    cursor: Cursor, owner: Connection, attachment: Attachment, rows: str, given: dict[str, Any]
) -> list[tuple[str, str | None]]:
    """Copy `rows`, a part of a statement, in a session of the owner; return source_ids and times of
    change."""
    query = _sql(
        "rows",
        rows=rows,
        text=attachment.call("text", "r.source_id"),
        byline="r.byline" if "byline" in attachment.columns else "NULL::text",
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
                raise UnfitError(f"{attachment.shown}: a row has no id: `dedup remap {attachment.name}`")
            found.append((source_id, row[-1]))
            # A row that changed while it was read has no text; a note of it comes.
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
            f"{attachment.shown}: a row cannot be an article (SQLSTATE {error.sqlstate}):"
            f" `dedup remap {attachment.name}`"
        ) from None
