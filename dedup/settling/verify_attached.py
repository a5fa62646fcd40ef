"""Compare attached tables with their articles, as part of `verify.py`. Nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from dedup.attach import attachments, drift, outbox
from dedup.attach.attachments import Attachment
from dedup.attach.comparing import savepoint
from dedup.attach.outbox import Differing, UnfitError
from dedup.base.words import counted
from dedup.db.database import Cursor
from dedup.store.bookkeeping import Healing

if TYPE_CHECKING:
    from dedup.settling.verify import Verification

BLOCK_ARTICLES = 5_000  # Articles checked per pass over all canonical articles; about 100 MB of memory
FIRST = "run `dedup backfill` first"


def check_attached(cursor: Cursor, result: Verification) -> None:
    """Compare every row of attached tables with its article, and the marks in that row with stored marks."""
    for attachment in attachments.list_active(cursor):
        for line in drift.problems_of(cursor, attachment) or drift.held(attachment):
            result.report(line, None)  # only a person can repair a change by the owner of the table
            break
        else:
            noted = outbox.find_noted(cursor, attachment)
            if noted is None:
                result.skip(f"the rows of {attachment.shown}, which all wait to be read; {FIRST}")
                continue
            if noted:
                result.skip(f"{counted(len(noted), 'row')} of {attachment.shown} that changed; {FIRST}")
            _check_rows(cursor, attachment, noted, result)
            if refused := outbox.count_refused(cursor, attachment):
                result.skip(f"{counted(refused, 'row')} of {attachment.shown} that cannot be articles")


def _check_rows(cursor: Cursor, attachment: Attachment, noted: set[str], result: Verification) -> None:
    unseen = 0
    for differing in (outbox.find_changed, outbox.find_gone):
        found: Differing | None = None
        while found is None or found.last is not None:
            try:
                with savepoint(cursor, attachment):
                    found = differing(cursor, attachment, found, BLOCK_ARTICLES)
            except UnfitError as error:
                result.report(str(error), None)
                return
            except psycopg.errors.InsufficientPrivilege:
                result.skip(f"the rows of {attachment.shown}, which only a worker or the owner may read")
                return
            for source_id, matter in found.rows:
                if source_id in noted:
                    continue
                if attachment.changed is None and attachment.every is None:
                    result.report(f"{source_id}: {matter}", Healing.TABLES)
                else:
                    unseen += 1
    if unseen:  # not reported as differences, since the next sync reads these rows
        result.skip(f"{counted(unseen, 'row')} of {attachment.shown} that changed; run `dedup sync` first")
