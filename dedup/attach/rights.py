"""Rights on what is made for an attached table; those on the schema are in `../db/roles.py`."""

from __future__ import annotations

from psycopg import sql

from dedup.attach.attachments import Attachment
from dedup.db.connection import Cursor
from dedup.db.rendering import raw
from dedup.db.statements import Statements

_sql = Statements("attach/rights")


def of_attachment(cursor: Cursor, attachment: Attachment) -> list[sql.Composed]:
    """Rights on what was just made for an attached table, for the roles that were given theirs before."""
    working = ["rows(text[])", "page(text, integer)"]
    if attachment.mark_columns:
        working.append("write(text[], text[], text[], double precision[])")
    found = []
    for relation, privilege, given in (
        ("canonical_article", "SELECT", [sql.SQL("SELECT ON {}").format(attachment.marks)]),
        (
            "settle_turn",
            "UPDATE",
            [
                sql.SQL("EXECUTE ON FUNCTION {}{}").format(
                    attachment.function(what.partition("(")[0]), raw(arguments)
                )
                for what in working
                for arguments in (what[what.index("(") :],)
            ],
        ),
    ):
        values = {"relation": relation, "privilege": privilege}
        rows = cursor.execute(_sql("holders"), values).fetchall()
        found += [
            sql.SQL("GRANT {} TO {}").format(right, sql.Identifier(name))
            for (name,) in rows
            for right in given
        ]
    return found
