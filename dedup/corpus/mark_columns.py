"""Marks in the attached table itself: columns, a note of every mark that changes, and what writes them there.

The writing is a function with the rights of who attached the table: who settles needs none on it. It is bound
to the table when it is made, so that no setting of the session changes what it does.
"""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql

from dedup.corpus.arrays import bigints
from dedup.corpus.attached_ddl import joined, original_key, trigger_function
from dedup.corpus.attachments import Attachment, Part, raw
from dedup.corpus.database import Cursor
from dedup.corpus.rendering import Named, own, prefixed

COLUMNS = ("status", "duplicate_of", "score")
"""What the columns tell that `--mark-columns` adds."""


def column_names(schema: str) -> list[str]:
    """The columns: `dedup_status` and so on. Two corpora may mark the same table."""
    return [f"{schema}_{name}" for name in COLUMNS]


def added(attachment: Attachment) -> Iterator[Part]:
    """What `--mark-columns` makes."""
    kind = attachment.key_types[0] if len(attachment.keys) == 1 else "jsonb"
    columns = [
        sql.SQL("ADD COLUMN {} {}").format(prefixed(name), raw(of))
        for name, of in zip(COLUMNS, ("text", kind, "double precision"), strict=True)
    ]
    yield sql.SQL("ALTER TABLE {} {}").format(attachment.place, joined(columns))
    noted = sql.SQL(
        "INSERT INTO {} (attachment_id, source_id)\n    VALUES ({}, "
        "CASE TG_OP WHEN 'DELETE' THEN OLD.source_id ELSE NEW.source_id END)"
    )
    function = attachment.function("marks")
    yield from trigger_function(function, noted.format(own("mark_change"), attachment.id), notify="")
    for event, condition in (
        ("INSERT", "NEW.attachment_id = {0}"),
        ("DELETE", "OLD.attachment_id = {0}"),
        (
            "UPDATE",
            "NEW.attachment_id = {0} AND (NEW.status, NEW.duplicate_of, NEW.score)"
            " IS DISTINCT FROM (OLD.status, OLD.duplicate_of, OLD.score)",
        ),
    ):
        name = attachment.trigger(f"marks_{event.lower()}")
        yield sql.SQL("CREATE TRIGGER {} AFTER {} ON {} FOR EACH ROW WHEN ({}) EXECUTE FUNCTION {}()").format(
            name, raw(event), own("article"), raw(condition).format(attachment.id), function
        )
        yield sql.SQL("ALTER TABLE {} ENABLE ALWAYS TRIGGER {}").format(own("article"), name)
    writing = attachment.function("write")
    yield sql.SQL(
        "CREATE FUNCTION {}(ids text[], OUT written bigint, OUT held text[]) LANGUAGE sql SECURITY DEFINER\n"
        "    SET search_path = pg_catalog, pg_temp\nBEGIN ATOMIC{}\nEND"
    ).format(writing, _writing(attachment))
    yield sql.SQL("REVOKE ALL ON FUNCTION {}(text[]) FROM PUBLIC").format(writing)


def taken_away(attachment: Attachment) -> Iterator[Part]:
    """What detaching does about it."""
    yield sql.SQL("DROP FUNCTION IF EXISTS {}(text[])").format(attachment.function("write"))
    dropped = [sql.SQL("DROP COLUMN IF EXISTS {}").format(prefixed(name)) for name in COLUMNS]
    yield sql.SQL("ALTER TABLE {} {}").format(attachment.place, joined(dropped))


def _writing(attachment: Attachment) -> Part:
    """Write the marks of some articles; those whose rows others hold are the answer."""
    given = sql.Identifier("g", "source_id")
    by_key = joined(
        [
            sql.SQL("t.{} = {}").format(sql.Identifier(key), value)
            for key, value in zip(attachment.keys, attachment.key(given), strict=True)
        ],
        " AND ",
    )
    originals = original_key(attachment, "o")
    original = originals[0]
    if len(originals) > 1:
        original = sql.SQL("CASE WHEN o.attachment_id = {} THEN jsonb_build_array({}) END").format(
            attachment.id, joined(originals)
        )
    return sql.SQL("""
        WITH wanted AS MATERIALIZED (
            SELECT g.source_id, t.part, t.place, a.status, {original} AS original, a.score
            FROM (SELECT DISTINCT given.id COLLATE "C" AS source_id FROM unnest(ids) AS given (id)) AS g
            CROSS JOIN LATERAL (
                SELECT t.tableoid AS part, t.ctid AS place, {present} FROM {table} t
                WHERE {by_key} AND {source_id} = g.source_id OFFSET 0) AS t
            LEFT JOIN LATERAL (
                SELECT status, duplicate_of, score FROM dedup.article
                WHERE source_id = g.source_id AND attachment_id = {id} OFFSET 0) AS a ON true
            LEFT JOIN LATERAL (
                SELECT source_id, attachment_id FROM dedup.article WHERE id = a.duplicate_of OFFSET 0
            ) AS o ON true
            WHERE ({present}) IS DISTINCT FROM (a.status, {original}, a.score)
        ), free AS MATERIALIZED (
            SELECT t.tableoid AS part, t.ctid AS place FROM {table} t
            WHERE t.ctid = ANY (ARRAY(SELECT place FROM wanted))
            FOR NO KEY UPDATE SKIP LOCKED
        ), written AS (
            UPDATE {table} t SET ({columns}) = ROW (w.status, w.original, w.score)
            FROM wanted w JOIN free USING (part, place)
            WHERE t.tableoid = w.part AND t.ctid = w.place
            RETURNING w.source_id
        )
        SELECT (SELECT count(*) FROM written),
               ARRAY(SELECT source_id FROM wanted EXCEPT SELECT source_id FROM written);""").format(
        original=original,
        table=attachment.place,
        by_key=by_key,
        source_id=attachment.source_id("t"),
        id=sql.Literal(attachment.id),
        present=Named(lambda schema: joined([sql.Identifier("t", name) for name in column_names(schema)])),
        columns=joined([prefixed(name) for name in COLUMNS]),
    )


def take_turn(cursor: Cursor, attachment: Attachment) -> bool:
    """Be the only one who writes marks into a table, to the end of the transaction; false: another is."""
    row = cursor.execute(
        "SELECT id FROM dedup.attachment WHERE id = %s AND NOT leaving FOR NO KEY UPDATE SKIP LOCKED",
        [attachment.id],
    ).fetchone()
    return row is not None


def write(cursor: Cursor, attachment: Attachment, after: int, limit: int) -> tuple[int, int | None]:
    """Write the next marks that changed into the table, but not into rows that others hold: they stay noted.

    Returns:
        How many rows were written, and the number of the last note that was looked at; None: there was none.
    """
    found = cursor.execute(
        "SELECT id, source_id FROM dedup.mark_change WHERE id > %s AND attachment_id = %s"
        " ORDER BY id LIMIT %s",
        [after, attachment.id, limit],
    ).fetchall()
    if not found:
        return 0, None
    query = sql.SQL("SELECT written, held FROM {}(%s)").format(attachment.function("write"))
    done = cursor.execute(query, [[source_id for _, source_id in found]]).fetchone()
    assert done is not None
    held = set(done[1])
    finished = [number for number, source_id in found if source_id not in held]
    cursor.execute("DELETE FROM dedup.mark_change WHERE id = ANY (%s)", [bigints(finished)])
    return int(done[0]), int(found[-1][0])
