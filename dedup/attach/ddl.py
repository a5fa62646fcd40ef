"""Compose the SQL statements that make and remove the database objects of an attached table.

The statements are in the order in which they run. No view and no trigger condition refers to columns of the
table, so the owner can rename, drop and change columns. Triggers note changed rows in the transaction that
changed them. A trigger takes no lock, waits for no session, and never fails. The functions belong to the
owner of the table and run with the owner's rights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import sql
from psycopg.types.json import Jsonb

from dedup.attach import bases, drift
from dedup.attach.attachments import Attachment, Part
from dedup.attach.functions import (
    MARK_COLUMNS,
    Function,
    TableShape,
    base_function,
    join,
    mark_columns,
    note_function,
    read_functions,
    refer_function,
    write_function,
)
from dedup.db.database import Cursor
from dedup.db.rendering import SCHEMA, Verbatim, own, prefixed, schema_of
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")
_template = Statements("attach/functions").composed

MARKS = ("status", "original_source_id", "score", "reason", "stale", "marked_at")
"""Columns of the view of marks, besides the key of the row and the key of its original."""


def make(cursor: Cursor, attachment: Attachment, shape: TableShape) -> list[Part]:
    """Return statements that make the view, columns, functions and triggers, and that grant rights."""
    parts: list[Part] = [*_marks_view(attachment)]
    if attachment.mark_columns:
        kinds = ("text", attachment.original_type, "double precision")
        columns = [
            sql.SQL("ADD COLUMN IF NOT EXISTS {} {}").format(prefixed(name), Verbatim(kind))
            for name, kind in zip(MARK_COLUMNS, kinds, strict=True)
        ]
        parts.append(sql.SQL("ALTER TABLE {} {}").format(attachment.identifier, join(columns)))
    text, *working = read_functions(attachment, shape)
    if attachment.mark_columns:
        working.append(write_function(attachment))
        parts += _mark_triggers(attachment)
    working += [refer_function(attachment, base) for base in attachment.referring]
    functions = [text, *working]
    if attachment.triggers:
        functions.append(note_function(attachment, shape))
    functions += [base_function(attachment, shape, base) for base in attachment.noting]
    for function in functions:
        parts += function.statements()
    parts += _grants(attachment, functions, shape)
    if attachment.triggers:
        # CREATE TRIGGER comes late, because it locks the owner's table until the commit.
        noting = attachment.function("changed")
        by_row = shape.partitioned
        parts += _triggers(attachment.identifier, f"{attachment.id}", noting, by_row=by_row)
    for base in attachment.noting:
        noting, prefix = attachment.function(f"base_{base.number}"), f"{attachment.id}_base_{base.number}"
        parts += _triggers(base.identifier, prefix, noting, by_row=False)
    rights = [("mark", "SELECT", [sql.SQL("SELECT ON {}").format(attachment.marks)])]
    if not attachment.copied:  # only sessions of the owner call the functions of a copied table
        calls = [sql.SQL("EXECUTE ON {}").format(function.signature) for function in working]
        rights.append(("settle_turn", "UPDATE", calls))
    for relation, privilege, given in rights:
        holders = cursor.execute(_sql("holders"), {"relation": relation, "privilege": privilege}).fetchall()
        for (name,) in holders:
            parts += [sql.SQL("GRANT {} TO {}").format(right, sql.Identifier(name)) for right in given]
    return parts


def unmake(cursor: Cursor, attachment: Attachment, *, same_key: bool = False) -> list[Part]:
    """Return statements that undo `make`, but leave the table its columns of marks.

    Former partitions lose these columns. `detach` also drops the columns of the table.
    """
    gone: list[Part] = [sql.SQL("DROP VIEW IF EXISTS {}").format(attachment.marks)]
    # If the key stays the same, the index is kept, because making it again would take long.
    if not same_key:
        gone.append(sql.SQL("DROP INDEX IF EXISTS {}").format(own(f"attached_{attachment.id}_key")))
    made = {"made": attachment.made}
    for *table, name in cursor.execute(_sql("triggers"), made).fetchall():
        gone.append(sql.SQL("DROP TRIGGER {} ON {}").format(sql.Identifier(name), sql.Identifier(*table)))
    for (function,) in cursor.execute(_sql("functions"), made).fetchall():
        gone.append(sql.SQL("DROP FUNCTION {}").format(Verbatim(function)))
    return gone + _drop_marks(cursor, attachment, parts=True)


def detach(cursor: Cursor, attachment: Attachment) -> list[Part]:
    """Return statements that detach a table, and revoke the owner's right to note changes. The articles
    of the table stay stored."""
    gone = unmake(cursor, attachment) + _drop_marks(cursor, attachment, parts=False)
    rows = cursor.execute(_sql("borrowed_rights"), {"rows": f"attached_{attachment.id}_rows"}).fetchall()
    for name, works, uses in rows:
        role = sql.Identifier(name)
        if not works:
            gone.append(sql.SQL("REVOKE INSERT ON {} FROM {}").format(own("outbox"), role))
        if not (works or uses):
            gone.append(sql.SQL("REVOKE USAGE ON SCHEMA {} FROM {}").format(SCHEMA, role))
    update = sql.SQL("UPDATE {} SET leaving = true WHERE id = {}")
    return [*gone, update.format(own("attachment"), attachment.id)]


def _drop_marks(cursor: Cursor, attachment: Attachment, *, parts: bool) -> list[Part]:
    """Return statements that drop the columns of marks of the table, or of its former partitions."""
    if not attachment.mark_columns:
        return []
    found = drift.find(cursor, attachment)
    if parts:
        wanted = [oid for oid in attachment.seen.get("parts", ()) if oid not in found.parts]
        wanted = [oid for oid in wanted if oid != attachment.seen.get("oid")]
    elif found.known_as is not None:
        wanted = [attachment.seen["oid"]]
    else:
        # A table with a new oid may be unrelated. Change it only if it has dedup's triggers, as a restored
        # backup of the table has, or if no triggers were made.
        restored = found.triggers or not attachment.triggers
        wanted = [found.oid] if found.oid is not None and restored else []
    values = {"oids": wanted, "columns": mark_columns(schema_of(cursor))}
    dropped = join([sql.SQL("DROP COLUMN IF EXISTS {}").format(prefixed(name)) for name in MARK_COLUMNS])
    rows = cursor.execute(_sql("with_marks"), values).fetchall()
    return [sql.SQL("ALTER TABLE {} {}").format(sql.Identifier(*row), dropped) for row in rows]


def store(attachment: Attachment, before: Attachment | None = None) -> Part:
    """Return the statement that stores an attachment: an UPDATE if `before` is given, else an INSERT."""
    values: dict[str, object] = {
        "schema_name": attachment.schema,
        "table_name": attachment.table,
        "key_columns": list(attachment.keys),
        "key_types": list(attachment.key_types),
        "columns": Jsonb(attachment.columns),
        "where_clause": attachment.where,
        "mark_columns": attachment.mark_columns,
        "triggers": attachment.triggers,
        "html": attachment.html,
        "copied": attachment.copied,
        "kept_columns": list(attachment.keep),
        "changed_column": attachment.changed,
        "sync_minutes": attachment.every,
        "seen": Jsonb(attachment.seen),
    }
    if attachment.bases or (before and before.bases):
        values["bases"] = Jsonb(bases.stored(attachment))
    statement = "UPDATE {} SET ({}) = ROW ({}) WHERE id = {}"
    if before is None:
        values = {"id": attachment.id, "name": attachment.name, **values}
        statement = "INSERT INTO {} ({}) VALUES ({})"
    names = join([sql.Identifier(name) for name in values])
    given = join([sql.Literal(value) for value in values.values()])
    return Verbatim(statement).format(own("attachment"), names, given, attachment.id)


def forget_bases(attachment: Attachment) -> Part:
    """Return the statement that deletes notes about base tables. A comparison of all rows must follow."""
    query = sql.SQL("DELETE FROM {} WHERE attachment_id = {} AND base IS NOT NULL")
    return query.format(own("outbox"), attachment.id)


def _grants(attachment: Attachment, functions: Sequence[Function], shape: TableShape) -> Iterator[Part]:
    owner, home = sql.Identifier(shape.owner), sql.Identifier(shape.home)
    if shape.owner != shape.home:
        yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(SCHEMA, owner)
        if attachment.triggers or attachment.noting:
            yield sql.SQL("GRANT INSERT ON {} TO {}").format(own("outbox"), owner)
    if shape.lends:
        yield sql.SQL("GRANT CREATE ON SCHEMA {} TO {}").format(SCHEMA, owner)
    for function in functions:
        if shape.owner != shape.creator:
            yield sql.SQL("ALTER {} OWNER TO {}").format(function.signature, owner)
        if shape.owner != shape.home and not attachment.copied:
            yield sql.SQL("GRANT EXECUTE ON {} TO {}").format(function.signature, home)
    if shape.lends:
        yield sql.SQL("REVOKE CREATE ON SCHEMA {} FROM {}").format(SCHEMA, owner)


def _mark_triggers(attachment: Attachment) -> Iterator[Part]:
    function = attachment.function("marks")
    body = _template("marks", mark_change=own("mark_change"), id=attachment.id, article=own("article"))
    yield from Function(function, "()", "trigger", body).statements()
    for event, table, condition in (
        ("INSERT", "article", "NEW.attachment_id = {0}"),
        ("DELETE", "article", "OLD.attachment_id = {0}"),
        (
            "UPDATE",
            "article_mark",
            "NEW.attachment_id = {0} AND (NEW.status, NEW.duplicate_of, NEW.score)"
            " IS DISTINCT FROM (OLD.status, OLD.duplicate_of, OLD.score)",
        ),
    ):
        name = prefixed(f"{attachment.id}_marks_{event.lower()}")
        yield sql.SQL("CREATE TRIGGER {} AFTER {} ON {} FOR EACH ROW WHEN ({}) EXECUTE FUNCTION {}()").format(
            name, Verbatim(event), own(table), Verbatim(condition).format(attachment.id), function
        )
        yield sql.SQL("ALTER TABLE {} ENABLE ALWAYS TRIGGER {}").format(own(table), name)


def _triggers(table: Part, prefix: str, function: Part, *, by_row: bool) -> Iterator[Part]:
    rows = {
        "insert": "REFERENCING NEW TABLE AS new_rows",
        "update": "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows",
        "delete": "REFERENCING OLD TABLE AS old_rows",
        "truncate": "",
    }
    for what, given in rows.items():
        each = "FOR EACH ROW" if by_row and what != "truncate" else f"{given} FOR EACH STATEMENT"
        name = prefixed(f"{prefix}_{what}")
        yield sql.SQL("CREATE TRIGGER {} AFTER {} ON {} {} EXECUTE FUNCTION {}()").format(
            name, Verbatim(what.upper()), table, Verbatim(each.strip()), function
        )
        only = Verbatim("ONLY " if what == "truncate" else "")
        # Restores and replication write in replica mode, where only ALWAYS triggers fire.
        yield sql.SQL("ALTER TABLE {}{} ENABLE ALWAYS TRIGGER {}").format(only, table, name)


def _marks_view(attachment: Attachment) -> Iterator[Part]:
    if not any(kind.startswith(("date", "time")) for kind in attachment.key_types):
        # The index finds articles by key. A time cannot be indexed, because settings of the session decide
        # how Postgres reads a text as a time.
        yield sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} ({}) WHERE attachment_id = {}").format(
            sql.Identifier(f"attached_{attachment.id}_key"),
            own("article"),
            join([sql.SQL("({})").format(part) for part in _key_of(attachment, "article")]),
            attachment.id,
        )
    keys, originals = (
        [
            sql.SQL("{} AS {}").format(value, sql.Identifier(name))
            for value, name in zip(_key_of(attachment, row), names, strict=True)
        ]
        for row, names in (("a", attachment.keys), ("o", original_names(attachment)))
    )
    yield _template(
        "marks_view",
        name=attachment.marks,
        keys=join(keys),
        originals=join(originals),
        marked_article=own("marked_article"),
        article=own("article"),
        id=attachment.id,
    )
    yield sql.SQL("COMMENT ON VIEW {} IS {}").format(
        attachment.marks,
        sql.Literal(
            "Marks of an attached table, one row per article. duplicate_of is the key of the original if the"
            " original is in the same table; original_source_id is the original's source_id in any case."
        ),
    )


def original_names(attachment: Attachment) -> list[str]:
    if len(attachment.keys) == 1:
        return ["duplicate_of"]
    return [f"duplicate_of_{i}" for i in range(1, len(attachment.keys) + 1)]


def _key_of(attachment: Attachment, row: str) -> list[Part]:
    """Return SQL for the key of the article `row`; the key is null if the article is of another table."""
    # CASE is needed because a source_id of another table may not convert to the types of the key columns.
    ours = sql.SQL("CASE WHEN {0}.attachment_id = {1} THEN {0}.source_id END")
    return attachment.key(ours.format(sql.Identifier(row), attachment.id))
