"""Attach and detach tables of other owners, and find changed rows that no trigger has noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any

from psycopg import sql

from dedup.attach import attachments, copying, ddl, drift, outbox, survey
from dedup.attach.attachments import Attachment, Part
from dedup.attach.comparing import compare
from dedup.attach.mapping import TableMapping, examine, examine_again
from dedup.attach.outbox import UnfitError
from dedup.base.errors import DatabaseError, InputError
from dedup.base.timeouts import milliseconds
from dedup.db.connection import next_batch, set_values
from dedup.db.database import Cursor, Database, retry, run_locked
from dedup.db.rendering import write_out
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

# Maximum seconds per attempt to wait for a lock on an owner's table: other sessions queue behind dedup.
# This is less than `deadlock_timeout` (one second), so in a deadlock dedup gives up, not the owner's session.
DDL_SECONDS = 0.5

DELETED_ARTICLES = 1_000  # Maximum articles that `detach` deletes per transaction: scrapers wait for its end


def attach(
    database: Database, wanted: TableMapping, *, dry_run: bool = False
) -> tuple[Attachment, list[str], list[str]]:
    """Attach a table; see `Attachments.attach`. Return the attachment, the SQL statements (not
    executed if `dry_run`), and warnings for the owner of the table."""
    warnings: list[str] = []

    def change(cursor: Cursor) -> tuple[Attachment, list[Part]]:
        attachment, shape = examine(cursor, wanted)
        with reader(database, cursor, attachment) as rows:
            survey.refuse_rows(rows, attachment, view=shape.view, html=wanted.html)
            warnings[:] = survey.warn_of_marks(rows, attachment) + survey.warn_of_readers(rows, attachment)
        kept = ddl.store(attachment)
        return attachment, [kept, *ddl.make(cursor, attachment, shape)]

    return (*_run(database, change, dry_run=dry_run), warnings)


def remap(
    database: Database, name: str, changes: Mapping[str, Any], *, dry_run: bool = False
) -> tuple[Attachment, list[str]]:
    """Map a table again; see `Attachments.remap`. Return the attachment and the SQL statements."""

    def change(cursor: Cursor) -> tuple[Attachment, list[Part]]:
        before = attachments.find(cursor, name)
        if before.leaving:
            raise InputError(f"{name} is being detached: finish with `dedup detach {name}`")
        attachment, shape = examine_again(cursor, before, changes)
        with reader(database, cursor, attachment) as rows:
            survey.refuse_rows(rows, attachment, view=shape.view, html=attachment.html)
        same_key = (before.keys, before.key_types) == (attachment.keys, attachment.key_types)
        unmade = ddl.unmake(cursor, before, same_key=same_key)
        if before.copied and not dry_run:
            copying.forget(cursor, before)
        if before.bases:  # delete notes with numbers of base tables, which the new mapping may change
            unmade.append(ddl.forget_bases(before))
        kept = ddl.store(attachment, before)
        return attachment, [*unmade, kept, *ddl.make(cursor, attachment, shape)]

    return _run(database, change, dry_run=dry_run)


@contextmanager
def reader(database: Database, cursor: Cursor, attachment: Attachment) -> Iterator[Cursor]:
    """Yield a cursor for reading the rows of a table. If its owner is not trusted, the cursor belongs to a
    session logged in as the owner. Raises InputError: this session cannot be opened."""
    if not attachment.copied:
        yield cursor
        return
    try:
        with copying.open_session(database, cursor, attachment, attached=False) as connection:
            copying.limit_time(connection)
            yield connection.cursor()
    except UnfitError as error:
        raise InputError(str(error)) from None


def detach(
    database: Database, name: str, *, dry_run: bool = False, stop: Callable[[], bool] = lambda: False
) -> tuple[int, list[str]]:
    """Remove dedup's objects from a table, and delete its articles; see `Attachments.detach`. Return the
    number of deleted articles, and the SQL statements. `dry_run`: change nothing, and count the articles that
    would be deleted."""

    def change(cursor: Cursor) -> tuple[Attachment, list[Part]]:
        attachment = attachments.find(cursor, name)
        return attachment, [] if attachment.leaving else ddl.detach(cursor, attachment)

    attachment, statements = _run(database, change, dry_run=dry_run, lock=False)
    if dry_run:
        with database.transaction() as cursor:
            return outbox.count_articles(cursor, attachment), statements
    deleted, size = 0, DELETED_ARTICLES
    while not stop():
        count, seconds = run_locked(database, partial(_delete_some, attachment=attachment, limit=size))
        if not count:
            with database.transaction() as cursor:
                # The table has no triggers any more, so no note can be added after the notes are deleted.
                copying.forget(cursor, attachment)
                for statement in ("forget_notes", "forget_all_marks", "forget_refused", "forget"):
                    cursor.execute(_sql(statement), {"id": attachment.id})
            break
        deleted += count
        size = min(DELETED_ARTICLES, next_batch(count, seconds))
    return deleted, statements


def sync(
    database: Database,
    name: str | None = None,
    *,
    whole: bool = False,
    allow_deletes: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Note new, changed and deleted rows of tables in the outbox, and return the number of these rows. See
    `Attachments.sync`."""
    with database.transaction() as cursor:
        chosen = attachments.list_active(cursor) if name is None else [attachments.find(cursor, name)]
        for attachment in chosen:
            for line in drift.problems_of(cursor, attachment):
                raise InputError(line)
    noted = 0
    try:
        for attachment in chosen:
            all_rows = whole or allow_deletes or bool(drift.held(attachment))
            noted += compare(database, attachment, stop, whole=all_rows, allow_deletes=allow_deletes) or 0
    except UnfitError as error:
        raise DatabaseError(str(error)) from None
    return noted


def _delete_some(cursor: Cursor, attachment: Attachment, limit: int) -> tuple[int, float]:
    started = perf_counter()
    return outbox.delete_some(cursor, attachment, limit), perf_counter() - started


def _run(
    database: Database,
    change: Callable[[Cursor], tuple[Attachment, Sequence[Part]]],
    *,
    dry_run: bool,
    lock: bool = True,
) -> tuple[Attachment, list[str]]:
    """Call `change`, and run the SQL statements that it returns, unless `dry_run`. Return the attachment
    that `change` returns, and the statements as text for psql. `lock`: let no other session attach or map
    tables meanwhile."""

    def attempt() -> tuple[Attachment, list[str]]:
        with database.transaction() as cursor:
            cursor.execute(set_values({"lock_timeout": milliseconds(DDL_SECONDS)}, local=True))
            if lock and not dry_run:
                cursor.execute(_sql("lock"))
            attachment, statements = change(cursor)
            if not dry_run:
                for statement in statements:
                    cursor.execute(sql.Composed([statement]))
            return attachment, [write_out(statement, cursor) for statement in statements]

    return retry(attempt, database.timeouts.lock)
