"""What the rows of a table say before it is attached. The catalogue is asked in `mapping.py`."""

from __future__ import annotations

from psycopg import sql

from dedup.attach.attachments import Attachment, Part
from dedup.base.errors import InputError
from dedup.base.html import LOOKED_AT_CHARACTERS, looks_like_html
from dedup.base.words import counted
from dedup.db.database import Cursor
from dedup.db.rendering import raw
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

LOOKED_AT_ROWS = 100
"""From each end of the keys: what is stored today may be other than what was stored ten years ago."""

TOLERATED = 20
"""One body in so many may look like HTML: it may be about HTML."""


def articles_of(attachment: Attachment) -> Part:
    """The rows `t` that are articles, as FROM and WHERE."""
    return sql.SQL("FROM {} t WHERE {}").format(attachment.identifier, attachment.condition)


def refuse_rows(cursor: Cursor, attachment: Attachment, *, view: bool) -> None:
    """Raises InputError: rows of a view have one key or none, or rows do not say when they changed."""
    rows = articles_of(attachment)
    keys = [sql.Identifier("t", key) for key in attachment.keys]
    if view:
        query = sql.SQL("SELECT {} {} GROUP BY {} HAVING count(*) > 1 LIMIT 1").format(
            attachment.source_id("t"), rows, sql.SQL(", ").join(keys)
        )
        if (found := cursor.execute(query).fetchone()) and found[0] is not None:
            raise InputError(
                f"--id: {attachment.shown} has several rows with the id {found[0].split('/', 1)[1]}: let it"
                " have one row for each article, such as with DISTINCT ON, or add a column with another --id"
            )
    required = [(key, "--id", "leave such rows out of the view") for key in attachment.keys] if view else []
    if attachment.changed is not None:
        way = "coalesce it in a view with the time when the row was made"
        required.append((attachment.changed, "--changed", way))
    for column, option, way in required:
        query = sql.SQL("SELECT count(*) {} AND t.{} IS NULL").format(rows, sql.Identifier(column))
        row = cursor.execute(query).fetchone()
        if row and row[0]:
            raise InputError(f"{option}: column {column!r} is null in {counted(row[0], 'row')}: {way}")


def told_of_marks(cursor: Cursor, attachment: Attachment) -> list[str]:
    """What columns of marks cost the owner, to be told before any is written."""
    if not attachment.mark_columns:
        return []
    row = cursor.execute(sql.SQL("SELECT count(*) {}").format(articles_of(attachment))).fetchone()
    assert row is not None
    oids = [attachment.seen["oid"], *attachment.seen.get("parts", ())]
    names = [name for (name,) in cursor.execute(_sql("seen_by"), {"oids": oids}).fetchall()]
    seen = "no trigger of yours sees that"
    if names:
        seen = f"{'a trigger' if len(names) == 1 else 'triggers'} of yours will see each: {', '.join(names)}"
    return [
        f"the first backfill updates {counted(row[0], 'row')} of {attachment.shown}, later ones those whose"
        f" marks change; {seen}",
        f"the view {attachment.name}_marks of dedup has the same marks and updates no row: `dedup detach"
        f" {attachment.name}` and attach it without --mark-columns if that is enough",
    ]


def refuse_html(cursor: Cursor, attachment: Attachment) -> None:
    """Raises InputError: the bodies look like HTML, so that tags would be compared as words."""
    body = sql.Identifier("t", attachment.columns["text"])
    ends = []
    for order in ("ASC", "DESC"):
        keys = [sql.SQL("{} {}").format(sql.Identifier("t", key), raw(order)) for key in attachment.keys]
        ends.append(
            sql.SQL("(SELECT left({}::text, {}) {} ORDER BY {} LIMIT {})").format(
                body, LOOKED_AT_CHARACTERS, articles_of(attachment), sql.SQL(", ").join(keys), LOOKED_AT_ROWS
            )
        )
    bodies = [row[0] or "" for row in cursor.execute(sql.SQL(" UNION ALL ").join(ends)).fetchall()]
    found = sum(map(looks_like_html, bodies))
    if found * TOLERATED > len(bodies):
        raise InputError(
            f"{attachment.shown}: {found} of {len(bodies)} bodies looked at are HTML, whose tags would be"
            " compared as words: say --html to take the articles out, or --no-html for all of it"
        )
