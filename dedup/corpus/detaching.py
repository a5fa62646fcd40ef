"""What takes an attached table out of a corpus again, and leaves it as it was found."""

from __future__ import annotations

from psycopg import sql

from dedup.corpus import attached_ddl, attachments, mark_columns
from dedup.corpus.attachments import Attachment, Part
from dedup.corpus.database import Cursor


def statements(cursor: Cursor, attachment: Attachment) -> list[Part]:
    """What detaches a table, but for its articles."""
    others = [a for a in attachments.attachments(cursor) if a.id != attachment.id]
    made = attached_ddl.detach(attachment, others, _calling(cursor, attachment))
    if attachment.mark_columns:
        made += mark_columns.taken_away(attachment)
    return made


def _calling(cursor: Cursor, attachment: Attachment) -> list[tuple[Part, str]]:
    """The triggers that call functions of an attachment, but not those that partitions inherit."""
    rows = cursor.execute(
        """
        SELECT n.nspname, c.relname, t.tgname FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_proc p ON p.oid = t.tgfoid
        WHERE p.pronamespace = 'dedup'::regnamespace AND t.tgparentid = 0
          AND p.proname = ANY (%s) ORDER BY 1, 2, 3
        """,
        [[f"attached_{attachment.id}_{what}" for what in attached_ddl.FUNCTIONS]],
    ).fetchall()
    return [(sql.Identifier(row[0], row[1]), row[2]) for row in rows]
