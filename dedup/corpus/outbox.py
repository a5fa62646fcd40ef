"""Changes of attached tables: notes out of the outbox, and what the rows are now into `dedup.article`.

A note says which row, never what is in it: what counts is the row as it is when its note is taken. Marks go
the other way (`mark_columns.py`).

Statements that hold someone's names take their values as literals: a name may look like a placeholder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from dedup.article import MAX_SOURCE_ID_BYTES
from dedup.corpus.arrays import bigints
from dedup.corpus.attached_ddl import FIELDS, into_outbox, joined
from dedup.corpus.attachments import Attachment, Part
from dedup.corpus.database import Cursor

_COMPARED = ("text_hash", *FIELDS)


@dataclass(slots=True)
class Followed:
    """What became of noted rows: articles that are new, were changed or are gone.

    Attributes:
        notes: how many changes were read, some of the same row.
        refused: rows that cannot be articles: the key is too long, or another article has its source_id.
    """

    notes: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0
    refused: int = 0

    def add(self, other: Followed) -> None:
        """Count more."""
        self.notes += other.notes
        self.new += other.new
        self.changed += other.changed
        self.gone += other.gone
        self.refused += other.refused


Note = tuple[int, int, int, list[str] | None]
"""Its number, the attachment, of how many rows, and their source_ids; None: the whole table."""


def notes(cursor: Cursor, after: int, limit: int) -> list[Note]:
    """The next notes by their numbers, of about so many rows: at least one."""
    rows = cursor.execute(
        """
        SELECT o.id, o.attachment_id, o.amount, o.source_ids FROM (
            SELECT id, sum(amount) OVER (ORDER BY id) - amount AS before
            FROM (SELECT id, amount FROM dedup.outbox
                  WHERE id > %(after)s ORDER BY id LIMIT %(limit)s) AS next
        ) AS chosen JOIN dedup.outbox o USING (id)
        WHERE chosen.before < %(limit)s ORDER BY o.id
        """,
        {"after": after, "limit": limit},
    )
    return rows.fetchall()


def count(cursor: Cursor) -> int:
    """How many changes wait; a whole table counts as one."""
    row = cursor.execute("SELECT coalesce(sum(amount), 0) FROM dedup.outbox").fetchone()
    return int(row[0]) if row else 0


def forget(cursor: Cursor, ids: Sequence[int]) -> None:
    """Take notes out."""
    cursor.execute("DELETE FROM dedup.outbox WHERE id = ANY (%s)", [bigints(ids)])


def forget_all(cursor: Cursor, attachment: Attachment) -> None:
    """Take all notes of an attachment out: nobody writes new ones."""
    for table in ("outbox", "mark_change"):
        cursor.execute(f"DELETE FROM dedup.{table} WHERE attachment_id = %s".encode(), [attachment.id])


def note(cursor: Cursor, attachment: Attachment) -> None:
    """Have a whole table compared."""
    cursor.execute("INSERT INTO dedup.outbox (attachment_id) VALUES (%s)", [attachment.id])


def _row_of(attachment: Attachment, source_id: Part) -> Part:
    """The row of a source_id as `v`, looked up by its key whatever the statistics say."""
    wanted = [
        sql.SQL("v.{} = {}").format(sql.Identifier(f"key_{i}"), value)
        for i, value in enumerate(attachment.key(source_id), 1)
    ]
    return sql.SQL("(SELECT * FROM {} v WHERE {} AND v.source_id = {} OFFSET 0)").format(
        attachment.view, joined(wanted, " AND "), source_id
    )


def _columns(row: str) -> Part:
    return joined([sql.Identifier(row, name) for name in _COMPARED])


def follow(cursor: Cursor, attachment: Attachment, source_ids: Sequence[str]) -> Followed:
    """Make articles what their rows are now. Needs the settle lock."""
    cursor.execute("SELECT set_config('dedup.following', 'on', true)")
    names = joined([sql.Identifier(name) for name in _COMPARED])
    query = sql.SQL("""
        WITH state AS MATERIALIZED (
            SELECT g.source_id, v.source_id IS NOT NULL AS present, a.id, a.attachment_id, a.revision,
                   a.published_at AS was_published_at, {values},
                   octet_length(g.source_id) <= {longest} AS fits
            FROM (SELECT DISTINCT given.id COLLATE "C" AS source_id
                  FROM unnest({ids}::text[]) AS given (id)) AS g
            LEFT JOIN LATERAL {row} AS v ON true
            LEFT JOIN LATERAL (
                SELECT id, attachment_id, revision, published_at FROM dedup.article
                WHERE source_id = g.source_id OFFSET 0
            ) AS a ON true
        ), inserted AS (
            INSERT INTO dedup.article (source_id, attachment_id, {names})
            SELECT s.source_id, {id}, {new} FROM state s
            WHERE s.present AND s.id IS NULL AND s.fits ORDER BY s.source_id
            ON CONFLICT (source_id) DO NOTHING RETURNING 1
        ), updated AS (
            UPDATE dedup.article a SET ({names}) = ROW ({new}) FROM state s
            WHERE a.id = s.id AND s.present AND a.attachment_id = {id} AND ({old}) IS DISTINCT FROM ({new})
            RETURNING a.id, s.revision AS before, a.revision AS after,
                (s.revision, s.was_published_at) IS DISTINCT FROM (a.revision, a.published_at) AS touches
        ), deleted AS (
            DELETE FROM dedup.article a USING state s
            WHERE a.id = s.id AND NOT s.present AND a.attachment_id = {id} RETURNING 1
        ), touching AS (
            SELECT id, before, after FROM updated WHERE touches
        )
        SELECT (SELECT count(*) FROM inserted), (SELECT count(*) FROM updated),
               (SELECT count(*) FROM deleted),
               count(*) FILTER (WHERE s.present AND (NOT s.fits OR s.attachment_id IS DISTINCT FROM {id}
                                                     AND s.id IS NOT NULL)),
               ARRAY(SELECT id FROM touching ORDER BY id), ARRAY(SELECT before FROM touching ORDER BY id),
               ARRAY(SELECT after FROM touching ORDER BY id)
        FROM state s
    """).format(
        ids=sql.Literal(list(source_ids)),
        values=_columns("v"),
        longest=MAX_SOURCE_ID_BYTES,
        row=_row_of(attachment, sql.Identifier("g", "source_id")),
        names=names,
        new=_columns("s"),
        old=_columns("a"),
        id=sql.Literal(attachment.id),
    )
    row = cursor.execute(query).fetchone()
    assert row is not None
    *counts, ids, before, after = row
    if len(ids):  # the trigger left it to us, for all at once
        cursor.execute("SELECT dedup.articles_edited(%s, %s::integer[], %s::integer[])", [ids, before, after])
    return Followed(0, *counts)


def note_changed(
    cursor: Cursor, attachment: Attachment, after: str | None, limit: int
) -> tuple[int, str | None]:
    """Note those of the next rows, by their keys, that are not what their articles are.

    Args:
        after: the source_id of the last row of the page before.

    Returns:
        How many were noted, and the source_id of the last row; None after the last page.
    """
    keys = [sql.Identifier("v", f"key_{i}") for i in range(1, len(attachment.keys) + 1)]
    beyond: Part = sql.SQL("true")
    if after is not None:
        last = attachment.key(sql.Literal(after))
        beyond = sql.SQL("({}) > ({})").format(joined(keys), joined(last))
    differing = sql.SQL("""
        SELECT p.source_id FROM page p LEFT JOIN LATERAL (
            SELECT * FROM dedup.article WHERE source_id = p.source_id OFFSET 0) AS a ON true
        WHERE a.attachment_id IS DISTINCT FROM {id} OR ({old}) IS DISTINCT FROM ({new})
        ORDER BY p.place
    """).format(id=sql.Literal(attachment.id), old=_columns("a"), new=_columns("p"))
    query = sql.SQL("""
        WITH page AS MATERIALIZED (
            SELECT row_number() OVER (ORDER BY {keys}) AS place, v.source_id, {values}
            FROM (SELECT * FROM {view} v WHERE {beyond} ORDER BY {keys} LIMIT {limit}) AS v
        ), noted AS ({note} RETURNING amount)
        SELECT (SELECT coalesce(sum(amount), 0) FROM noted),
               (SELECT source_id FROM page ORDER BY place DESC LIMIT 1)
    """).format(
        keys=joined(keys),
        values=_columns("v"),
        view=attachment.view,
        beyond=beyond,
        limit=sql.Literal(limit),
        note=into_outbox(attachment, differing),
    )
    row = cursor.execute(query).fetchone()
    return (int(row[0]), row[1]) if row else (0, None)


def note_gone(
    cursor: Cursor, attachment: Attachment, after: str | None, limit: int
) -> tuple[int, str | None]:
    """Note those of the next articles, by their source_ids, whose rows are gone; as `note_changed`."""
    gone = sql.SQL("SELECT p.source_id FROM page p WHERE NOT EXISTS {}").format(
        _row_of(attachment, sql.Identifier("p", "source_id"))
    )
    query = sql.SQL("""
        WITH page AS MATERIALIZED (
            SELECT source_id FROM dedup.article
            WHERE source_id > {after} AND source_id < {end} AND attachment_id = {id}
            ORDER BY source_id LIMIT {limit}
        ), noted AS ({note} RETURNING amount)
        SELECT (SELECT coalesce(sum(amount), 0) FROM noted), (SELECT max(source_id) FROM page)
    """).format(
        after=sql.Literal(attachment.prefix if after is None else after),
        end=sql.Literal(f"{attachment.name}0"),
        id=sql.Literal(attachment.id),
        limit=sql.Literal(limit),
        note=into_outbox(attachment, gone),
    )
    row = cursor.execute(query).fetchone()
    return (int(row[0]), row[1]) if row else (0, None)


def delete(cursor: Cursor, attachment_id: int, source_ids: Sequence[str]) -> int:
    """Delete articles of an attachment that is gone, or is going; returns how many. Needs the settle lock."""
    cursor.execute("SELECT set_config('dedup.following', 'on', true)")
    return cursor.execute(
        "DELETE FROM dedup.article WHERE source_id = ANY (%s) AND attachment_id = %s",
        [list(source_ids), attachment_id],
    ).rowcount


def count_articles(cursor: Cursor, attachment: Attachment) -> int:
    """How many articles are rows of an attachment."""
    row = cursor.execute(
        "SELECT count(*) FROM dedup.article WHERE source_id > %s AND source_id < %s AND attachment_id = %s",
        [attachment.prefix, f"{attachment.name}0", attachment.id],
    ).fetchone()
    return int(row[0]) if row else 0


def delete_some(cursor: Cursor, attachment: Attachment, limit: int) -> int:
    """Delete some articles of an attachment that leaves; returns how many. Needs the settle lock."""
    cursor.execute("SELECT set_config('dedup.following', 'on', true)")
    return cursor.execute(
        """
        DELETE FROM dedup.article WHERE id = ANY (ARRAY(
            SELECT id FROM dedup.article
            WHERE source_id > %(first)s AND source_id < %(end)s AND attachment_id = %(id)s
            ORDER BY source_id LIMIT %(limit)s))
        """,
        {
            "first": attachment.prefix,
            "end": f"{attachment.name}0",
            "id": attachment.id,
            "limit": limit,
        },
    ).rowcount
