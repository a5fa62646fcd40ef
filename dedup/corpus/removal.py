"""The end of a corpus: what is in the schema, what depends on it from outside, and its removal."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from dedup.answer import Answer
from dedup.corpus import attachments, detaching, revision
from dedup.corpus.connection import Cursor
from dedup.errors import InputError, SchemaError

LISTED = 10
"""Objects outside of the schema that are named in an error."""


@dataclass(frozen=True, slots=True)
class Contents(Answer):
    """What is in a corpus."""

    rows: dict[str, int]  # table to rows that nothing can make again, where there are some
    bytes: int  # on disk, of all tables and indexes
    attached: tuple[str, ...]  # tables of others that are detached
    outside: tuple[str, ...]  # what depends on it elsewhere in the database, such as a view of an analyst


KEPT = (
    *("article", "arrival", "sentence_pin", "pair_pin", "setting", "sentence_model"),
    *("judgement", "review_pair", "attachment"),
)
"""Tables with rows that nothing can make again."""

_OUTSIDE = """
    WITH own AS (
        SELECT 'pg_class'::regclass AS class, oid FROM pg_class WHERE relnamespace = 'dedup'::regnamespace
        UNION ALL
        SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace
        UNION ALL
        SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = 'dedup'::regnamespace
    ), dependent AS (
        -- A view depends by its rule; a trigger, a column's default and the like stand for themselves.
        SELECT DISTINCT CASE WHEN r.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END AS class,
               coalesce(r.ev_class, d.objid) AS oid
        FROM pg_depend d JOIN own ON own.class = d.refclassid AND own.oid = d.refobjid
        LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
        WHERE d.deptype IN ('n', 'a')
    )
    SELECT i.type || ' ' || i.identity FROM dependent d
    CROSS JOIN LATERAL pg_identify_object(d.class, d.oid, 0) AS i
    WHERE i.schema IS DISTINCT FROM 'dedup'::regnamespace::text
      AND NOT EXISTS (SELECT FROM pg_constraint k JOIN own ON own.oid = k.conrelid
                      WHERE d.class = 'pg_constraint'::regclass AND k.oid = d.oid)
      AND NOT EXISTS (SELECT FROM pg_trigger t JOIN own ON own.oid = t.tgrelid
                      WHERE d.class = 'pg_trigger'::regclass AND t.oid = d.oid)
      -- Those on attached tables go with the attachment.
      AND NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                      WHERE d.class = 'pg_trigger'::regclass AND t.oid = d.oid
                        AND p.pronamespace = 'dedup'::regnamespace AND p.proname ~ '^attached_[0-9]+_')
      AND NOT EXISTS (SELECT FROM pg_attrdef t JOIN own ON own.oid = t.adrelid
                      WHERE d.class = 'pg_attrdef'::regclass AND t.oid = d.oid)
    ORDER BY 1
"""


def contents(cursor: Cursor, place: str) -> Contents:
    """What is in the corpus. Raises SchemaError: there is no schema."""
    if revision.current(cursor) is None:
        raise SchemaError(f"{place} has no dedup schema, so there is nothing to remove")
    tables = cursor.execute(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
        " WHERE relnamespace = 'dedup'::regnamespace AND relkind = 'r' ORDER BY relname"
    ).fetchall()
    rows = {}
    for table, _ in tables:
        if table in KEPT:
            row = cursor.execute(f"SELECT count(*) FROM dedup.{table}".encode()).fetchone()
            if row and row[0]:
                rows[table] = int(row[0])
    outside = tuple(row[0] for row in cursor.execute(_OUTSIDE.encode()).fetchall())
    return Contents(rows, sum(size for _, size in tables), _attached(cursor), outside)


def _attached(cursor: Cursor) -> tuple[str, ...]:
    row = cursor.execute("SELECT to_regclass('dedup.attachment') IS NOT NULL").fetchone()
    if not (row and row[0]):
        return ()
    return tuple(f"{a.schema}.{a.table}" for a in attachments.present(attachments.attachments(cursor)))


def remove(cursor: Cursor, place: str) -> Contents:
    """Drop the schema; see `dedup.operation`."""
    found = contents(cursor, place)
    if found.outside:
        named = ", ".join(found.outside[:LISTED])
        more = f" and {len(found.outside) - LISTED} more" if len(found.outside) > LISTED else ""
        raise InputError(
            f"{place}: these rest on the schema and would go with it: {named}{more}; drop them first"
        )
    if found.attached:
        for attachment in attachments.present(attachments.attachments(cursor)):
            for statement in detaching.statements(cursor, attachment):
                cursor.execute(sql.Composed([statement]))
    cursor.execute("DROP SCHEMA dedup CASCADE")
    return found
