"""What the rows of a table say before it is attached. The catalogue is asked in `mapping.py`."""

from __future__ import annotations

from psycopg import sql

from dedup.attach.attachments import Attachment, Part
from dedup.base.errors import InputError
from dedup.base.html import LOOKED_AT_CHARACTERS, looks_like_html
from dedup.db.database import Cursor
from dedup.db.rendering import raw

LOOKED_AT_ROWS = 100
"""From each end of the keys: what is stored today may be other than what was stored ten years ago."""

TOLERATED = 20
"""One body in so many may look like HTML: it may be about HTML."""


def articles_of(attachment: Attachment) -> Part:
    """The rows `t` that are articles, as FROM and WHERE."""
    where = raw("true") if attachment.where is None else sql.SQL("({}\n)").format(raw(attachment.where))
    return sql.SQL("FROM {} t WHERE {}").format(attachment.identifier, where)


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
