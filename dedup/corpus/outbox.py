"""Changes of attached tables: notes out of the outbox, and what the rows are now into `dedup.article`.

A note says which row, never what is in it: what counts is the row as it is when its note is taken. Marks go
the other way (`mark_columns.py`): here is only noted where a row has others than its article.

Statements that hold someone's names take their values as literals: a name may look like a placeholder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from psycopg import sql

from dedup.article import MAX_SOURCE_ID_BYTES
from dedup.corpus.arrays import bigints
from dedup.corpus.attached_functions import FIELDS, into_outbox, joined
from dedup.corpus.attachments import Attachment, Part
from dedup.corpus.database import Cursor

_COMPARED = ("text_hash", *FIELDS)

_ORIGINAL = """
            LEFT JOIN LATERAL (
                SELECT source_id FROM dedup.article
                WHERE id = a.duplicate_of AND attachment_id = a.attachment_id OFFSET 0) AS o ON true"""
"""The original of an article `a` as columns of marks name it."""


@dataclass(slots=True)
class Followed:
    """What became of noted rows: articles that are new, were changed or are gone."""

    notes: int = 0  # how many changes were read, some of the same row
    new: int = 0
    changed: int = 0
    gone: int = 0
    # rows that cannot be articles: the key is too long, or another article has its source_id
    refused: int = 0
    # tables that are not read until a person has seen to them; one line each, with the command
    problems: list[str] = field(default_factory=list)

    def add(self, other: Followed) -> None:
        self.notes += other.notes
        self.new += other.new
        self.changed += other.changed
        self.gone += other.gone
        self.refused += other.refused


Note = tuple[int, int, int, list[str] | None]
"""Its number, the attachment, of how many rows, and their source_ids; None: the whole table."""


def notes(cursor: Cursor, after: int, through: int, limit: int, without: Iterable[int] = ()) -> list[Note]:
    """The next notes by their numbers, up to one of them, of about so many rows: at least one.

    Args:
        without: attachments whose notes stay.
    """
    rows = cursor.execute(
        """
        SELECT o.id, o.attachment_id, o.amount, o.source_ids FROM (
            SELECT id, sum(amount) OVER (ORDER BY id) - amount AS before
            FROM (SELECT id, amount FROM dedup.outbox
                  WHERE id > %(after)s AND id <= %(through)s AND attachment_id <> ALL (%(without)s)
                  ORDER BY id LIMIT %(limit)s) AS next
        ) AS chosen JOIN dedup.outbox o USING (id)
        WHERE chosen.before < %(limit)s ORDER BY o.id
        """,
        {"after": after, "through": through, "limit": limit, "without": list(without)},
    )
    return rows.fetchall()


def count(cursor: Cursor, without: Iterable[int] = ()) -> int:
    """How many changes wait; a whole table counts as one."""
    row = cursor.execute(
        "SELECT coalesce(sum(amount), 0) FROM dedup.outbox WHERE attachment_id <> ALL (%s)", [list(without)]
    ).fetchone()
    return int(row[0]) if row else 0


def forget(cursor: Cursor, ids: Sequence[int]) -> None:
    cursor.execute("DELETE FROM dedup.outbox WHERE id = ANY (%s)", [bigints(ids)])


def whole(cursor: Cursor, attachment: Attachment) -> list[int]:
    """The numbers of the notes that a whole table is to be compared."""
    rows = cursor.execute(
        "SELECT id FROM dedup.outbox WHERE attachment_id = %s AND source_ids IS NULL", [attachment.id]
    )
    return [row[0] for row in rows.fetchall()]


def last_note(cursor: Cursor) -> int:
    row = cursor.execute("SELECT coalesce(max(id), 0) FROM dedup.outbox").fetchone()
    return int(row[0]) if row else 0


def forget_all(cursor: Cursor, attachment: Attachment) -> None:
    """Take all notes of an attachment out: nobody writes new ones."""
    for table in ("outbox", "mark_change", "refused_row"):
        cursor.execute(f"DELETE FROM dedup.{table} WHERE attachment_id = %s".encode(), [attachment.id])


def count_refused(cursor: Cursor, attachment: Attachment) -> int:
    """How many rows of an attachment cannot be articles, as far as they were read."""
    row = cursor.execute(
        "SELECT count(*) FROM dedup.refused_row WHERE attachment_id = %s", [attachment.id]
    ).fetchone()
    return int(row[0]) if row else 0


def note_freed(cursor: Cursor) -> None:
    """Note again the rows that could not be articles, and whose source_id is free now."""
    cursor.execute(
        """
        WITH freed AS (
            DELETE FROM dedup.refused_row r
            WHERE NOT EXISTS (SELECT FROM dedup.article WHERE source_id = r.source_id)
              AND octet_length(r.source_id) <= %s
            RETURNING attachment_id, source_id
        )
        INSERT INTO dedup.outbox (attachment_id, amount, source_ids)
        SELECT attachment_id, count(*), array_agg(source_id) FROM freed GROUP BY attachment_id
        """,
        [MAX_SOURCE_ID_BYTES],
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
                   octet_length(g.source_id) <= {longest} AS fits,
                   (v.status, v.original, v.score)
                       IS DISTINCT FROM (a.status, o.source_id, a.score) AS otherwise
            FROM (SELECT DISTINCT given.id COLLATE "C" AS source_id FROM unnest({ids}) AS given (id)) AS g
            LEFT JOIN (SELECT DISTINCT ON (source_id) * FROM {rows} ({ids})) AS v ON v.source_id = g.source_id
            LEFT JOIN LATERAL (
                SELECT id, attachment_id, revision, published_at, status, duplicate_of, score
                FROM dedup.article WHERE source_id = g.source_id OFFSET 0
            ) AS a ON true{original}
        ), marks AS (
            INSERT INTO dedup.mark_change (attachment_id, source_id)
            SELECT {id}, s.source_id FROM state s
            WHERE {marked} AND s.present AND s.otherwise AND s.attachment_id = {id}
        ), refused AS (
            SELECT s.source_id FROM state s
            WHERE s.present AND (NOT s.fits OR s.id IS NOT NULL AND s.attachment_id IS DISTINCT FROM {id})
        ), kept AS (
            INSERT INTO dedup.refused_row (attachment_id, source_id) SELECT {id}, source_id FROM refused
            ON CONFLICT DO NOTHING
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
               (SELECT count(*) FROM refused),
               ARRAY(SELECT id FROM touching ORDER BY id), ARRAY(SELECT before FROM touching ORDER BY id),
               ARRAY(SELECT after FROM touching ORDER BY id)
    """).format(
        ids=sql.SQL("{}::text[]").format(sql.Literal(list(source_ids))),
        values=_columns("v"),
        longest=MAX_SOURCE_ID_BYTES,
        rows=attachment.function("rows"),
        original=sql.SQL(_ORIGINAL),
        marked=sql.Literal(attachment.mark_columns),
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


def changed(
    cursor: Cursor, attachment: Attachment, after: str | None, limit: int
) -> tuple[list[tuple[str, str]], str | None]:
    """Those of the next rows, by their keys, that are not what their articles are, or have not their marks.
    Without rows that cannot be articles. `after`: the source_id of the last row of the page before. Returns
    source_ids and what is the matter, and the source_id of the last row; None after the last page.
    """
    query = sql.SQL("""
        WITH page AS MATERIALIZED (
            SELECT row_number() OVER () AS place, v.* FROM {page} ({after}, {limit}) AS v
        ), differing AS (
            SELECT p.place, p.source_id,
                   CASE WHEN a.id IS NULL THEN 'the row has no article'
                        WHEN a.attachment_id IS DISTINCT FROM {id} OR ({old}) IS DISTINCT FROM ({new})
                        THEN 'the row is not what its article is'
                        WHEN {marked} AND (p.status, p.original, p.score)
                            IS DISTINCT FROM (a.status, o.source_id, a.score)
                        THEN 'the row has not the marks of its article' END AS matter
            FROM page p
            LEFT JOIN LATERAL (
                SELECT * FROM dedup.article WHERE source_id = p.source_id OFFSET 0) AS a ON true{original}
            WHERE NOT EXISTS (SELECT FROM dedup.refused_row r
                              WHERE r.attachment_id = {id} AND r.source_id = p.source_id)
        )
        SELECT (SELECT array_agg(ARRAY[source_id, matter] ORDER BY place)
                FROM differing WHERE matter IS NOT NULL),
               (SELECT source_id FROM page ORDER BY place DESC LIMIT 1)
    """).format(
        page=attachment.function("page"),
        after=sql.Literal(after),
        limit=sql.Literal(limit),
        id=sql.Literal(attachment.id),
        old=_columns("a"),
        new=_columns("p"),
        original=sql.SQL(_ORIGINAL),
        marked=sql.Literal(attachment.mark_columns),
    )
    return _found(cursor, query)


def gone(
    cursor: Cursor, attachment: Attachment, after: str | None, limit: int
) -> tuple[list[tuple[str, str]], str | None]:
    """Those of the next articles, by their source_ids, whose rows are gone; as `changed`."""
    query = sql.SQL("""
        WITH page AS MATERIALIZED (
            SELECT source_id FROM dedup.article
            WHERE source_id > {after} AND source_id < {end} AND attachment_id = {id}
            ORDER BY source_id LIMIT {limit}
        )
        SELECT (SELECT array_agg(ARRAY[p.source_id, 'the article has no row'] ORDER BY p.source_id)
                FROM page p LEFT JOIN {rows}(ARRAY(SELECT source_id FROM page)) AS v USING (source_id)
                WHERE v.source_id IS NULL),
               (SELECT max(source_id) FROM page)
    """).format(
        after=sql.Literal(attachment.prefix if after is None else after),
        end=sql.Literal(f"{attachment.name}0"),
        id=sql.Literal(attachment.id),
        limit=sql.Literal(limit),
        rows=attachment.function("rows"),
    )
    return _found(cursor, query)


def _found(cursor: Cursor, query: Part) -> tuple[list[tuple[str, str]], str | None]:
    row = cursor.execute(sql.Composed([query])).fetchone()
    assert row is not None
    return [(source_id, matter) for source_id, matter in row[0] or ()], row[1]


def note(cursor: Cursor, attachment: Attachment, source_ids: Sequence[str]) -> None:
    query = sql.SQL("SELECT * FROM unnest({}::text[])").format(sql.Literal(list(source_ids)))
    cursor.execute(sql.Composed([into_outbox(attachment, query)]))


def note_whole(cursor: Cursor) -> None:
    """Have all attached tables compared."""
    cursor.execute(
        "INSERT INTO dedup.outbox (attachment_id) SELECT id FROM dedup.attachment WHERE NOT leaving"
    )


def noted(cursor: Cursor, attachment: Attachment) -> set[str] | None:
    """The source_ids of rows that wait to be read, or to be given marks; None: the whole table."""
    found: set[str] = set()
    rows = cursor.execute(
        "SELECT source_ids FROM dedup.outbox WHERE attachment_id = %(id)s"
        " UNION ALL SELECT ARRAY[source_id] FROM dedup.mark_change"
        " WHERE attachment_id = %(id)s AND failed IS NULL",
        {"id": attachment.id},
    )
    for (source_ids,) in rows.fetchall():
        if source_ids is None:
            return None
        found.update(source_ids)
    return found


def delete(cursor: Cursor, attachment_id: int, source_ids: Sequence[str]) -> int:
    """Delete articles of an attachment that is gone, or is going; returns how many. Needs the settle lock."""
    cursor.execute("SELECT set_config('dedup.following', 'on', true)")
    return cursor.execute(
        "DELETE FROM dedup.article WHERE source_id = ANY (%s) AND attachment_id = %s",
        [list(source_ids), attachment_id],
    ).rowcount


def count_articles(cursor: Cursor, attachment: Attachment) -> int:
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
        {"first": attachment.prefix, "end": f"{attachment.name}0", "id": attachment.id, "limit": limit},
    ).rowcount
