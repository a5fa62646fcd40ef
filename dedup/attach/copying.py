"""Rows of attached tables whose owners are not trusted with other rights: copied in sessions of the owners.

A view calls functions of its owner, an update fires triggers, the planner runs functions of index
expressions, and row security and casts run more. All of it has the rights of the session, and may change its
state. So each statement that touches such a table runs in a session that is logged in as the owner, and
nothing else runs there. Its answers are data: they are bounded, have types, and are kept in
`dedup.attached_copy`, which is read in place of the table.

Nothing that others wait for is held meanwhile. docs/attach.md says how a session of the owner is had.
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
from dedup.base.timeouts import Timeouts
from dedup.base.words import counted
from dedup.db.connection import GRACE_SECONDS, Connection
from dedup.db.database import Cursor, Database, one_row, translated
from dedup.db.statements import Statements

_sql = Statements("attach/copying")
_attachments = Statements("attach/attachments")

COLUMNS = (
    *("source_id", "text", "title", "url", "publication", "language", "published_at", "byline"),
    *("status", "original", "score", "kept", "changed_at"),
)
"""Columns of a copy, in the order in which a session of the owner gives them."""

ANSWERS = ("ids", "statuses", "originals", "scores")
"""Arrays of the marks that are written into a table."""

OWNER_SECONDS = 30.0  # Of a statement in a session of an owner: our transaction waits for it
WRITING_SECONDS = 45.0  # Of the statements that write a batch of marks; `Timeouts.idle` is 60
PAGE = 1_000  # Rows of a page
KEPT_BYTES = 8_000_000  # Of texts that are held before they are stored
NO_FUNCTION = "^$"  # A pattern of the names of no functions


def require_trust(cursor: Cursor, attachment: Attachment) -> None:
    """Make sure that a table that is not copied can be read and written in this session.

    Raises:
        UnfitError: code of a role that is not trusted would run, or there is no such table.
    """
    values = {**attachment.place, "made": attachment.made}
    row = cursor.execute(_attachments("strangers"), values).fetchone()
    if row != ([], []):
        raise UnfitError(
            f"{attachment.shown}: reading it would run code of a role that has fewer rights than the corpus'"
            f" owner: `dedup remap {attachment.name}`"
        )


def owner_of(cursor: Cursor, attachment: Attachment, *, attached: bool = True) -> str:
    """Return the role that owns the table, all of its partitions, and what was made for it.

    Args:
        attached: False: not what was made for it, which is about to be made again.

    Raises:
        UnfitError: they belong to several roles, of which one would run code of the others.
    """
    values = {**attachment.place, "made": attachment.made if attached else NO_FUNCTION}
    found = [name for (name,) in cursor.execute(_attachments("owners"), values).fetchall()]
    if len(found) != 1:
        raise UnfitError(
            f"{attachment.shown}: it, its partitions and what was made for it belong to several roles"
            f" ({', '.join(found)}): give the table and its partitions to one, then `dedup remap"
            f" {attachment.name}`"
        )
    return str(found[0])


@contextmanager
def session_of(database: Database, attachment: Attachment, owner: str) -> Iterator[Connection]:
    """Give a session that is logged in as the owner of a table.

    Raises:
        UnfitError: there is none to be had, or what it runs fails.
    """
    timeouts = replace(database.timeouts, statement=OWNER_SECONDS, idle=OWNER_SECONDS)
    try:
        connection = _connected(database, owner, timeouts)
    except DatabaseError:
        raise UnfitError(
            f"{attachment.shown}: it belongs to {owner}, whose code must not run with other rights, and no"
            f" session can be opened as {owner}: give libpq a login for that role, such as a line in"
            " ~/.pgpass"
        ) from None
    try:
        yield connection
    except psycopg.Error as error:
        # Not the message, which the owner's code may have made.
        raise UnfitError(
            f"{attachment.shown}: a session of {owner} cannot read it (SQLSTATE"
            f" {error.sqlstate or 'unknown'}): `dedup remap {attachment.name}`"
        ) from None
    finally:
        connection.close()


def _connected(database: Database, role: str, timeouts: Timeouts) -> Connection:
    """Open a session of another role, with what libpq finds for it in files.

    Neither the password of the address nor that of the environment is sent: they are of another role.

    Raises:
        DatabaseError: the login is refused, or the server does not answer.
    """
    parts: dict[str, Any] = {**conninfo_to_dict(database.url), "user": role, "password": ""}
    with translated(database.location):
        connection = Connection.open(make_conninfo(**parts), timeouts, database.schema)
    connection.prepare_threshold = None  # code of the owner may replace what is prepared
    connection.patience = timeouts.statement + GRACE_SECONDS
    return connection


def limit_time(connection: Connection) -> None:
    """Limit the next statement; code of the owner may have lifted the limit."""
    connection.execute(_sql("limit_time", milliseconds=str(int(OWNER_SECONDS * 1_000))))


def pull(
    database: Database, attachment: Attachment, source_ids: Sequence[str], *, wait: bool = False
) -> bool:
    """Copy some rows as they are now, and drop the copies of rows that are gone.

    Args:
        wait: for another session that copies rows of this table.

    Returns:
        False: another session does, and `wait` is not set.

    Raises:
        UnfitError: the table cannot be read in a session of its owner.
        TableBusyError: another session copies rows for longer than a lock is waited for.
    """
    with _turn(database, attachment, wait=wait) as cursor:
        if cursor is None:
            return False
        with session_of(database, attachment, owner_of(cursor, attachment)) as owner:
            for start in range(0, len(source_ids), PAGE):
                some = list(dict.fromkeys(source_ids[start : start + PAGE]))
                rows = attachment.call("rows", "%(source_ids)s::text[]")
                found = _copied(cursor, owner, attachment, rows, {"source_ids": some})
                cursor.execute(_sql("drop_gone"), {"id": attachment.id, "asked": some, "found": found})
    return True


def pull_page(
    database: Database, attachment: Attachment, after: str | None, since: str | None, at: str | None
) -> tuple[str | None, str | None]:
    """Copy the next rows of a table.

    Args:
        after: the source_id of the last row before them; None for the first page.
        since: only rows that changed since then, by the time of their change; None for all, by their keys.
        at: the time of the change of the row `after`.

    Returns:
        The source_id of the last row, None after the last page, and the time of its change.

    Raises:
        UnfitError, TableBusyError: as of `pull`.
    """
    with _turn(database, attachment, wait=True) as cursor:
        assert cursor is not None
        given = {"after": after, "limit": PAGE, "since": at or since}
        page = attachment.call("page", "%(after)s::text, %(limit)s::integer")
        if since is not None:
            page = attachment.call("recent", "%(since)s::timestamptz, %(after)s::text, %(limit)s::integer")
        last: list[tuple[str, str | None]] = []
        with session_of(database, attachment, owner_of(cursor, attachment)) as owner:
            found = _copied(cursor, owner, attachment, page, given, last)
    if len(found) < PAGE:
        return None, None
    return last[0]


def pull_gone(database: Database, attachment: Attachment, after: str) -> str | None:
    """Copy again the next rows that there are copies of, so that those of rows that are gone are dropped.

    Returns:
        The source_id of the last of them; None after the last.
    """
    values = {"id": attachment.id, "after": after, "limit": PAGE}
    with database.transaction() as cursor:
        some = [source_id for (source_id,) in cursor.execute(_sql("copied_ids"), values).fetchall()]
    if some:
        pull(database, attachment, some, wait=True)
    return some[-1] if some else None


def forget(cursor: Cursor, attachment: Attachment) -> None:
    """Drop the copies of a table."""
    cursor.execute(_sql("forget"), {"id": attachment.id})


@contextmanager
def writing(
    database: Database, cursor: Cursor, attachment: Attachment
) -> Iterator[Callable[[list[str]], tuple[int, list[str]]]]:
    """Give what writes marks into a table in a session of its owner.

    It is given source_ids. It returns how many rows were written, and the source_ids of rows that others
    hold.

    Raises:
        UnfitError: no session of the owner can be had, or it takes too long.
    """
    answers = _attachments("copied_answers")
    arrays = "%(ids)s::text[], %(statuses)s::text[], %(originals)s::text[]"
    write = attachment.call("write", f"{arrays}, %(scores)s::text[]::double precision[]")
    query = _sql("apply", write=write)
    deadline = time.monotonic() + WRITING_SECONDS

    with session_of(database, attachment, owner_of(cursor, attachment)) as owner:

        def apply(source_ids: list[str]) -> tuple[int, list[str]]:
            if time.monotonic() > deadline:
                raise UnfitError(
                    f"{attachment.shown}: to write {counted(len(source_ids), 'mark')} takes longer than"
                    f" {WRITING_SECONDS:.0f} s: look at the triggers of the table"
                )
            given = one_row(cursor, answers, {"source_ids": source_ids, "id": attachment.id})
            limit_time(owner)
            with owner.transaction():
                row = owner.execute(query, dict(zip(ANSWERS, given, strict=True))).fetchone()
            held = [] if row is None else [str(name) for name in row[1] or ()]
            _note_written(cursor, attachment, given, set(held))
            return (0 if row is None else int(row[0])), held

        yield apply


def _note_written(cursor: Cursor, attachment: Attachment, answers: Sequence[Any], left: set[str]) -> None:
    """Note in the copies which marks were written.

    Args:
        answers: ids, statuses, originals and scores, as four lists.
        left: ids of rows that took none.
    """
    rows = [row for row in zip(*answers, strict=True) if row[0] not in left]
    if rows:
        values = dict(zip(ANSWERS, map(list, zip(*rows, strict=True)), strict=True))
        cursor.execute(_sql("written"), {"id": attachment.id, **values})


def has_turn(cursor: Cursor, attachment: Attachment) -> bool:
    """Be the only one who copies rows of a table or writes marks into it, to the end of the transaction."""
    return bool(one_row(cursor, _sql("turn"), {"id": attachment.id})[0])


@contextmanager
def _turn(database: Database, attachment: Attachment, *, wait: bool) -> Iterator[Cursor | None]:
    """Give a transaction that alone copies rows of the table; None where another one does.

    An older reading must not take the place of a newer one.

    Args:
        wait: for the other one.

    Raises:
        TableBusyError: it takes too long.
    """
    with database.transaction() as cursor:
        if wait:
            try:
                cursor.execute(_sql("wait_for_turn"), {"id": attachment.id})
            except psycopg.errors.LockNotAvailable:
                raise TableBusyError(
                    f"{attachment.shown}: another dedup is reading it: run it again when that has ended"
                ) from None
        yield cursor if wait or has_turn(cursor, attachment) else None


def _copied(
    cursor: Cursor,
    owner: Connection,
    attachment: Attachment,
    rows: str,
    given: dict[str, Any],
    last: list[tuple[str, str | None]] | None = None,
) -> list[str]:
    """Copy what a session of the owner finds; returns the source_ids.

    Args:
        rows: the rows, as part of a statement.
        last: takes the source_id and the time of the change of the last row.
    """
    query = _sql(
        "rows",
        rows=rows,
        text=attachment.call("text", "r.source_id"),
        byline="r.byline" if "byline" in attachment.columns else "NULL::text",
        kept="r.kept::text" if attachment.keep else "NULL::text",
        changed_at="r.changed_at::text" if attachment.changed is not None else "NULL::text",
    )
    limit_time(owner)
    found: list[str] = []
    held: list[tuple[str | None, ...]] = []
    size = 0
    with owner.cursor() as asking:
        for row in asking.stream(query, {**given, "most": MAX_TEXT_CHARACTERS + 1}):
            source_id = row[0]
            if source_id is None or not source_id.startswith(f"{attachment.name}/"):
                raise UnfitError(f"{attachment.shown}: a row has no id: `dedup remap {attachment.name}`")
            found.append(source_id)
            # A row that changed while it was read has no text; its note comes.
            held.append((source_id, row[1] or "", *row[2:]))
            size += sum(len(value) for value in row if value)
            if size > KEPT_BYTES:
                _keep(cursor, attachment, held)
                held, size = [], 0
            if last is not None:
                last[:] = [(source_id, row[-1])]
    if len(set(found)) < len(found):
        ((repeated, _),) = Counter(found).most_common(1)
        refuse_repeated(attachment, repeated)
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
