"""Read notes of changed rows of attached tables, and update `dedup.article` from these rows.

A note is a row of the table `outbox`. It has only the source_ids of rows; their columns are read later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dedup.attach.attachments import Attachment
from dedup.attach.functions import KEYS_PER_NOTE, later_fields
from dedup.base.article import MAX_SOURCE_ID_BYTES
from dedup.base.html import plain_title
from dedup.db.arrays import bigints
from dedup.db.connection import set_values
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements

_sql = Statements("attach/outbox")


@dataclass(slots=True)
class Counts:
    """Counts of articles that are new, changed or deleted."""

    notes: int = 0  # number of noted changes that were read; one row may have several changes
    new: int = 0
    changed: int = 0
    gone: int = 0
    refused: int = 0  # rows that cannot be articles: source_id too long, or taken by a different article
    problems: list[str] = field(default_factory=list)  # problems for a person to solve, each with a command

    def add(self, other: Counts) -> None:
        for count in ("notes", "new", "changed", "gone", "refused"):
            setattr(self, count, getattr(self, count) + getattr(other, count))


# Triggers refuse changes of the articles of attached tables, except in a transaction with this setting.
_SYNCING = set_values({"dedup.syncing": "on"}, local=True)

Note = tuple[int, int, int, list[str] | None, int | None]
"""Id of the note, id of the attachment, number of rows, source_ids of the rows, number of the base table. A
note with None (after TRUNCATE) or an empty list as source_ids is about the whole table. If a note has the
number of a base table, source_ids has keys of that table."""


def notes(
    cursor: Cursor,
    after: int,
    through: int,
    limit: int,
    without: Iterable[int] = (),
    resting: Iterable[int] = (),
) -> list[Note]:
    """Return the next notes, with about `limit` rows in total. `without`: ids of attachments to skip.
    `resting`: ids of attachments whose notes about base tables are skipped if the notes name no rows."""
    values = {"after": after, "through": through, "limit": limit, "without": list(without)}
    values["resting"] = list(resting)
    return cursor.execute(_sql("notes"), values).fetchall()


def count(cursor: Cursor, without: Iterable[int] = ()) -> int:
    """Count the noted changes that are not applied yet; a note of a whole table counts as one change."""
    return int(one_row(cursor, _sql("count"), {"without": list(without)})[0])


def forget(cursor: Cursor, ids: Sequence[int]) -> None:
    cursor.execute(_sql("forget"), {"ids": bigints(ids)})


def find_whole(cursor: Cursor, attachment: Attachment) -> tuple[list[int], bool]:
    """Return the ids of notes about the whole table, and whether a TRUNCATE caused one of these notes."""
    found: tuple[list[int], bool] = one_row(cursor, _sql("whole"), {"id": attachment.id})
    return found


def last_note(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("last_note"))[0])


def count_refused(cursor: Cursor, attachment: Attachment) -> int:
    return int(one_row(cursor, _sql("count_refused"), {"id": attachment.id})[0])


def note_freed(cursor: Cursor) -> None:
    """Note refused rows again if the article that had the same source_id is gone now."""
    cursor.execute(_sql("note_freed"), {"longest": MAX_SOURCE_ID_BYTES})


class UnfitError(Exception):
    """A table no longer fits its attachment; the message gives the reason and the next step."""


class TableBusyError(UnfitError):
    """Another session is using a table; try again later."""


def refuse_repeated(attachment: Attachment, repeated: str | None) -> None:
    """Raise UnfitError if several rows have the same id. `repeated`: this id, or None."""
    if repeated is not None:
        key = repeated.removeprefix(f"{attachment.name}/")
        raise UnfitError(
            f"{attachment.shown}: several rows have the id {key}: give each article only one row,"
            " then run `dedup backfill` again"
        )


def sync(cursor: Cursor, attachment: Attachment, source_ids: Sequence[str]) -> Counts:
    """Update articles from their rows. Needs the settle lock. Raises UnfitError: several rows share an id."""
    cursor.execute(_SYNCING)
    rows = _rows(attachment, "%(source_ids)s::text[]")
    once = list(dict.fromkeys(source_ids))  # a row that changed several times is noted several times
    values = {"id": attachment.id, "source_ids": once, "marked": attachment.mark_columns}
    values |= {"longest": MAX_SOURCE_ID_BYTES, **_titles(cursor, attachment, rows, values)}
    query = _sql("follow", rows=rows, **_optional(attachment))
    *counts, ids, before, after, repeated = one_row(cursor, query, values)
    refuse_repeated(attachment, repeated)
    if len(ids):  # record the edits: the trigger on `article` does not record them during a sync
        cursor.execute(_sql("edited"), {"ids": ids, "before": before, "after": after})
    return Counts(0, *counts)


def _rows(attachment: Attachment, given: str) -> str:
    """Return SQL that selects rows: a call of the table's function, or a query of copied rows."""
    if attachment.copied:
        return _sql("copied_rows", given=given).decode()
    return attachment.call("rows", given)


def _optional(attachment: Attachment) -> dict[str, str]:
    return {"kept": "v.kept" if attachment.keep else "NULL::jsonb", **later_fields(attachment, "v")}


def _titles(
    cursor: Cursor, attachment: Attachment, rows: str, values: Mapping[str, object]
) -> dict[str, object]:
    """Return values for a query: titles with tags or entities, and their plain texts. Both are empty unless
    bodies are HTML."""
    plain: dict[str, str] = {}
    if attachment.html and "title" in attachment.columns:
        found = cursor.execute(_sql("titles", rows=rows), values).fetchall()
        plain = {title: plain_title(title) for (title,) in found}
    return {"titles": list(plain), "plain": list(plain.values())}


@dataclass(frozen=True, slots=True)
class Differing:
    """Result for one page: the rows that differ from their articles, or the articles that have no row."""

    rows: list[tuple[str, str]]  # source_ids of the rows or articles, each with the difference in words
    last: str | None  # source_id of the last row, after which the next page begins; None after the last page
    at: str | None = None  # time of change of the row `last`
    latest: str | None = None  # latest time of change on the page


def find_changed(
    cursor: Cursor, attachment: Attachment, before: Differing | None, limit: int, since: str | None = None
) -> Differing:
    """Return the next page of rows that differ from their articles in content or marks; skip refused rows.

    `before`: the previous page. `since`: read only rows changed since this time, in the order of change; if
    None, read all rows in the order of keys. Raises UnfitError: several rows have the same id.
    """
    values: dict[str, object] = {"id": attachment.id, "marked": attachment.mark_columns, "limit": limit}
    values |= {"after": before and before.last, "since": before.at if before else since}
    page = attachment.page(recent=since is not None)
    if attachment.copied:
        page = _sql("copied_page" if since is None else "copied_recent").decode()
    changed_at = "NULL::timestamptz" if attachment.changed is None else "v.changed_at"
    query = _sql("changed", page=page, changed_at=changed_at, **_optional(attachment))
    return _page(cursor, attachment, query, values | _titles(cursor, attachment, page, values))


def find_gone(cursor: Cursor, attachment: Attachment, before: Differing | None, limit: int) -> Differing:
    """Return the next articles without a row, in the order of source_ids."""
    query = _sql("gone", rows=_rows(attachment, "ARRAY(SELECT source_id FROM page)"))
    values = _range(attachment) | {"limit": limit}
    return _page(cursor, attachment, query, values | {"first": before.last} if before else values)


def _range(attachment: Attachment) -> dict[str, object]:
    # All source_ids that begin with "NAME/" sort before "NAME0", because "0" follows "/" in collation "C".
    return {"id": attachment.id, "first": f"{attachment.name}/", "end": f"{attachment.name}0"}


def _page(cursor: Cursor, attachment: Attachment, query: bytes, values: Mapping[str, object]) -> Differing:
    rows, *place, repeated = one_row(cursor, query, values)
    refuse_repeated(attachment, repeated)
    return Differing([(source_id, matter) for source_id, matter in rows or ()], *place)


def note(cursor: Cursor, attachment: Attachment, source_ids: Sequence[str]) -> list[int]:
    values = {"id": attachment.id, "source_ids": list(source_ids), "most": KEYS_PER_NOTE}
    return [row[0] for row in cursor.execute(_sql("note"), values).fetchall()]


def note_whole(cursor: Cursor) -> None:
    cursor.execute(_sql("note_whole"))


def find_noted(cursor: Cursor, attachment: Attachment) -> set[str] | None:
    """Return the source_ids of rows that wait to be read or to get marks; None: the whole table waits."""
    found: set[str] = set()
    rows = cursor.execute(_sql("noted"), {"id": attachment.id})
    for (source_ids,) in rows.fetchall():
        if not source_ids:
            return None
        found.update(source_ids)
    return found


def delete(cursor: Cursor, attachment_id: int, source_ids: Sequence[str]) -> int:
    """Delete articles of a detached table; return their number. Needs the settle lock."""
    cursor.execute(_SYNCING)
    values = {"source_ids": list(source_ids), "id": attachment_id}
    return cursor.execute(_sql("delete"), values).rowcount


def count_articles(cursor: Cursor, attachment: Attachment) -> int:
    return int(one_row(cursor, _sql("count_articles"), _range(attachment))[0])


def delete_some(cursor: Cursor, attachment: Attachment, limit: int) -> int:
    """Delete some articles of a table that is being detached; return their number. Needs the settle lock."""
    cursor.execute(_SYNCING)
    return cursor.execute(_sql("delete_some"), _range(attachment) | {"limit": limit}).rowcount
