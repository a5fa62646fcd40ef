"""Compare attached tables with their articles, and note differing rows in the outbox for `sync.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import psycopg

from dedup.attach import copying, drift, outbox
from dedup.attach.attachments import Attachment
from dedup.attach.outbox import Differing, UnfitError
from dedup.base.words import counted
from dedup.db.database import Cursor, Database, prefer_indexes
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

PAGE = 2_000  # Maximum number of rows or articles compared in one transaction


@contextmanager
def savepoint(cursor: Cursor, attachment: Attachment) -> Iterator[None]:
    """Set a savepoint for a block that reads a table. Raises UnfitError: the functions made for the table no
    longer fit the table, or code of a role that is not trusted would run."""
    if not attachment.copied:
        copying.require_trust(cursor, attachment)
    try:
        with cursor.connection.transaction():
            yield
    except psycopg.errors.InsufficientPrivilege:
        raise  # the connected role lacks a right: the table itself has no problem
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        # The message of the server is left out, since it may quote a row.
        raise UnfitError(
            f"{attachment.shown}: the functions made for it no longer fit (SQLSTATE {error.sqlstate}):"
            f" run `dedup remap {attachment.name}`"
        ) from None


# A search goes back this far before the latest change that an earlier search found, because a transaction may
# commit late, or clocks may differ (docs/attach.md).
OVERLAP_MINUTES = 60

# If more articles than this, and more than half of all, have lost their rows, `--allow-deletes` must confirm
# the deletion. Fewer articles are deleted at once: settling 20 articles again takes less than a second.
FEW_GONE = 20

Differs = Callable[[Cursor, Attachment, Differing | None, int], Differing]


def compare(
    database: Database,
    attachment: Attachment,
    stop: Callable[[], bool],
    *,
    whole: bool = True,
    allow_deletes: bool = False,
) -> int | None:
    """Note new, changed and deleted rows of a table in the outbox. Return the number of these rows; None if
    `stop` ended the search. If `whole` is false, compare only recently changed rows; find no deleted rows.

    Raises UnfitError: the table cannot be read; or most articles of the table, and more than `FEW_GONE`, have
    lost their rows. Such a loss is accepted if `allow_deletes` is true or if a trigger noted a TRUNCATE.
    """
    with database.transaction() as cursor:
        given = {"id": attachment.id, "overlap": OVERLAP_MINUTES}
        began, since = cursor.execute(_sql("began"), given).fetchone() or (None, None)
        numbers, noted_by_trigger = outbox.find_whole(cursor, attachment)
    if attachment.changed is None or since is None:
        whole = True
    looking = _Comparison(database, attachment, stop)
    try:
        if attachment.copied and not copying.pull_all(database, attachment, None if whole else since, stop):
            return None
        if whole:
            looking.refuse_loss = not (allow_deletes or noted_by_trigger)
            done = looking.gone() and looking.differing(outbox.find_changed)
        else:
            done = looking.differing(partial(outbox.find_changed, since=since))
    except UnfitError as error:
        with database.transaction() as cursor:
            outbox.forget(cursor, looking.notes)
            drift.hold(cursor, attachment, error)
        raise
    if not done:
        return None
    with database.transaction() as cursor:
        if whole:
            outbox.forget(cursor, numbers)
            cursor.execute(_sql("release"), {"id": attachment.id})
        if attachment.changed is not None or attachment.every is not None:
            values = {"id": attachment.id, "whole": whole, "latest": looking.latest, "began": began}
            cursor.execute(_sql("looked"), values)
    return looking.noted


class _Comparison:
    def __init__(self, database: Database, attachment: Attachment, stop: Callable[[], bool]) -> None:
        self._database, self._attachment, self._stop = database, attachment, stop
        self.refuse_loss = False  # whether to raise UnfitError if most articles have no row
        self.noted = 0  # how many rows were noted
        self.notes: list[int] = []  # ids of the notes
        self.latest: str | None = None  # the latest time of change found

    def differing(self, way: Differs) -> bool:
        """Note rows that differ from their articles; return False if `stop` ended the search early."""
        found: Differing | None = None
        while found is None or found.last is not None:
            if self._stop():
                return False
            found = self._page(way, found)
            self.latest = max(filter(None, (self.latest, found.latest)), default=None)
        return True

    def gone(self) -> bool:
        """Note articles that have no row any more; return False if `stop` ended the search early."""
        found: Differing | None = None
        lost, pages = 0, list[Differing | None]()
        while found is None or found.last is not None:
            if self._stop():
                return False
            # All losses are counted before any is noted, because a note makes `sync` delete the article.
            before, found = found, self._page(outbox.find_gone, found, note=False)
            if found.rows:
                lost += len(found.rows)
                pages.append(before and replace(before, rows=[]))
        if self.refuse_loss and lost > FEW_GONE:
            with self._database.transaction() as cursor:
                amount = outbox.count_articles(cursor, self._attachment)
            if 2 * lost > amount:
                name, shown = self._attachment.name, self._attachment.shown
                raise UnfitError(
                    f"{shown}: {lost:,} of its {counted(amount, 'article')} have no row any more, and nothing"
                    f" was deleted: to delete these articles, run `dedup sync {name} --allow-deletes`"
                )
        for page in pages:
            if self._stop():
                return False
            self._page(outbox.find_gone, page)
        return True

    def _page(self, way: Differs, before: Differing | None, *, note: bool = True) -> Differing:
        with self._database.transaction() as cursor:
            prefer_indexes(cursor)
            with savepoint(cursor, self._attachment):
                found = way(cursor, self._attachment, before, PAGE)
            if note and found.rows:
                self.notes += outbox.note(cursor, self._attachment, [row for row, _ in found.rows])
                self.noted += len(found.rows)
        return found
