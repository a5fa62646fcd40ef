"""What is made in the database for an attached table, and unmade: statements, in the order in which they run.

Triggers on the table note which rows changed (`dedup.outbox`), in the transaction of whoever changed them:
they take no lock, wait for nobody and read no text that was not just written. A view gives the rows as
articles, another one their marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.abc import AdaptContext
from psycopg.types.json import Jsonb

from dedup.article import MAX_FIELD_BYTES
from dedup.corpus.attachments import Attachment, Part, present, raw
from dedup.corpus.rendering import own, rendered, schema_of

FIELDS = ("title", "url", "publication", "language", "published_at")
"""What of an article may be mapped to a column beside its text."""

BYTES_PER_CHARACTER = 4
"""Of UTF-8, at most."""

MARKS = ("status", "original_source_id", "score", "reason", "stale", "marked_at")
"""Columns of the view of marks, beside the keys of the row and of its original."""

FUNCTIONS = ("insert", "update", "delete", "truncate", "marks")
"""What the triggers of an attachment call: `dedup.attached_1_insert` and so on."""

KEYS_PER_NOTE = 500
"""Rows in one note, which is worked off as a whole while others wait for the settle lock."""


def joined(parts: Sequence[Part], between: str = ", ") -> Part:
    """Parts of a statement, one after the other."""
    return sql.SQL(between).join(parts)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the statements depend on, beside what is kept of an attachment.

    Attributes:
        zoned: whether the column of the publication time knows its time zone.
        partitions: of a partitioned table; None where it is not one.
        watched: columns that the condition looks at.
    """

    zoned: bool = False
    partitions: tuple[Part, ...] | None = None
    watched: tuple[str, ...] = ()


def attach(attachment: Attachment, others: Sequence[Attachment], shape: Shape) -> list[Part]:
    """Everything that attaching a table does, short of reading its rows and of columns of marks.

    Args:
        others: those that are attached already.
    """
    made = [_note(attachment), *_view(attachment, shape)]
    if attachment.triggers:
        made += _triggers(attachment, shape)
    made += _marks_view(attachment)
    made.append(article_text([*others, attachment]))
    made.append(sql.SQL("INSERT INTO {} (attachment_id) VALUES ({})").format(own("outbox"), attachment.id))
    return made


def detach(
    attachment: Attachment, others: Sequence[Attachment], calling: Sequence[tuple[Part, str]]
) -> list[Part]:
    """Take everything away again but columns of marks; its articles are still there.

    Args:
        others: those that stay.
        calling: the triggers that are there: table and name.
    """
    made = [article_text(others)]
    made += [sql.SQL("DROP TRIGGER {} ON {}").format(sql.Identifier(name), where) for where, name in calling]
    made += [sql.SQL("DROP FUNCTION IF EXISTS {}()").format(attachment.function(what)) for what in FUNCTIONS]
    made.append(sql.SQL("DROP VIEW IF EXISTS {}").format(attachment.marks))
    made.append(sql.SQL("DROP VIEW IF EXISTS {}").format(attachment.view))
    left = sql.SQL("UPDATE {} SET leaving = true WHERE id = {}")
    made.append(left.format(own("attachment"), attachment.id))
    return made


def article_text(given: Sequence[Attachment]) -> Part:
    """The view that has every text."""
    branches: list[Part] = [
        sql.SQL(
            'SELECT id AS article_id, text COLLATE "C" AS text FROM {} WHERE attachment_id IS NULL'
        ).format(own("article"))
    ]
    for attachment in present(given):
        # CASE: the key of another attachment's article need not be one of this type.
        wanted = attachment.key(
            sql.SQL("CASE WHEN a.attachment_id = {} THEN a.source_id END").format(attachment.id)
        )
        same = [
            sql.SQL("v.{} = {}").format(sql.Identifier(f"key_{i}"), value)
            for i, value in enumerate(wanted, 1)
        ]
        branches.append(
            sql.SQL(
                "SELECT a.id, v.text FROM {} a JOIN {} v ON {} AND v.source_id = a.source_id"
                " WHERE a.attachment_id = {}"
            ).format(own("article"), attachment.view, joined(same, " AND "), attachment.id)
        )
    return sql.SQL("CREATE OR REPLACE VIEW {} AS\n{}").format(
        own("article_text"), joined(branches, "\nUNION ALL\n")
    )


def _note(attachment: Attachment) -> Part:
    values = {
        "id": attachment.id,
        "name": attachment.name,
        "schema_name": attachment.schema,
        "table_name": attachment.table,
        "key_columns": list(attachment.keys),
        "key_types": list(attachment.key_types),
        "columns": Jsonb(attachment.columns),
        "where_clause": attachment.where,
        "mark_columns": attachment.mark_columns,
        "triggers": attachment.triggers,
    }
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        own("attachment"),
        joined([sql.Identifier(name) for name in values]),
        joined([sql.Literal(value) for value in values.values()]),
    )


def _view(attachment: Attachment, shape: Shape) -> Iterator[Part]:
    """The rows as articles, with the key in its own types and the hash of the text."""
    body = _field(attachment, "text")
    columns = [sql.SQL("{} AS source_id").format(attachment.source_id("t"))]
    columns += [
        sql.SQL("t.{} AS {}").format(sql.Identifier(key), sql.Identifier(f"key_{i}"))
        for i, key in enumerate(attachment.keys, 1)
    ]
    columns += [
        sql.SQL("{} AS text").format(body),
        sql.SQL("hashtextextended({}, 0) AS text_hash").format(body),
    ]
    columns += [
        sql.SQL("{} AS {}").format(_field(attachment, n, shape.zoned), sql.Identifier(n)) for n in FIELDS
    ]
    where: Part = sql.SQL("")
    if attachment.where is not None:
        where = sql.SQL("\nWHERE ({}\n)").format(raw(attachment.where))  # it may end with a comment
    yield sql.SQL("CREATE VIEW {} AS\nSELECT {}\nFROM {} t{}").format(
        attachment.view, joined(columns, ",\n    "), attachment.place, where
    )
    yield sql.SQL("COMMENT ON VIEW {} IS 'The rows of an attached table as articles.'").format(
        attachment.view
    )


def _field(attachment: Attachment, name: str, zoned: bool = False) -> Part:
    """A field of an article, over the row `t`; what an article cannot hold is cut or missing."""
    column = attachment.columns.get(name)
    if column is None:
        return sql.SQL("NULL::timestamptz" if name == "published_at" else 'NULL::text COLLATE "C"')
    given = sql.SQL("t.{}").format(sql.Identifier(column))
    if name == "text":
        return sql.SQL("coalesce({}::text, '') COLLATE \"C\"").format(given)
    if name == "published_at":
        # Compared before it is converted: a date may be too large for a timestamp.
        zone, converted = ("", "::timestamp AT TIME ZONE 'UTC'") if not zoned else (" 00:00+00", "")
        return raw(
            f"CASE WHEN {{0}} >= '0001-01-01{zone}' AND {{0}} < '10000-01-01{zone}' THEN {{0}}{converted} END"
        ).format(given)
    return sql.SQL('left({}::text, {}) COLLATE "C"').format(
        given, sql.Literal(MAX_FIELD_BYTES[name] // BYTES_PER_CHARACTER)
    )


_NOTIFY = """
    -- A transaction that is to be prepared may not notify; who settles looks without it too.
    IF FOUND AND current_setting('max_prepared_transactions') = '0' THEN
        NOTIFY dedup;
    END IF;"""


class _Body(sql.Composable):
    """The body of a function, between dollars with a word that is nowhere in it."""

    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        text: bytes = rendered(self._obj, schema_of(context)).as_bytes(context)
        tag = b"$dedup$"
        while tag in text:
            tag = tag[:-1] + b"_$"
        return tag + text + tag


def trigger_function(name: Part, body: Part, notify: str = _NOTIFY) -> Iterator[Part]:
    """A function that triggers call after a change."""
    parts = sql.SQL("\nBEGIN\n    {};{}\n    RETURN NULL;\nEND ")
    yield sql.SQL(
        "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER\n"
        "    SET search_path = pg_catalog, pg_temp AS {}"
    ).format(name, _Body(parts.format(body, sql.SQL(notify))))
    yield sql.SQL("REVOKE ALL ON FUNCTION {}() FROM PUBLIC").format(name)


def into_outbox(attachment: Attachment, source_ids: Part) -> Part:
    """A statement that notes the source_ids that a query has, many in one note."""
    return sql.SQL(
        "INSERT INTO {} (attachment_id, amount, source_ids)\n"
        "    SELECT {}, count(*), array_agg(s.source_id)\n"
        "    FROM (SELECT g.source_id, row_number() OVER () / {} AS part\n"
        "          FROM ({}) AS g (source_id)) AS s\n"
        "    GROUP BY s.part"
    ).format(own("outbox"), attachment.id, KEYS_PER_NOTE, source_ids)


def _triggers(attachment: Attachment, shape: Shape) -> Iterator[Part]:
    if shape.partitions is None:
        yield from _statement_triggers(attachment, shape)
    else:
        yield from _row_triggers(attachment, shape)
    whole = sql.SQL("INSERT INTO {} (attachment_id) VALUES ({})").format(own("outbox"), attachment.id)
    yield from trigger_function(attachment.function("truncate"), whole)
    for place in (attachment.place, *(shape.partitions or ())):
        yield from _trigger(
            attachment, "truncate", sql.SQL("TRUNCATE ON {}").format(place), "STATEMENT", place
        )


def _trigger(
    attachment: Attachment, what: str, event: Part, each: str, only: Part | None = None
) -> Iterator[Part]:
    name = attachment.trigger(what)
    yield sql.SQL("CREATE TRIGGER {} AFTER {} FOR EACH {} EXECUTE FUNCTION {}()").format(
        name, event, raw(each), attachment.function(what)
    )
    # In replica mode too. Partitions have the triggers for rows of their table, and no others.
    where = attachment.place if only is None else sql.SQL("ONLY {}").format(only)
    yield sql.SQL("ALTER TABLE {} ENABLE ALWAYS TRIGGER {}").format(where, name)


def _statement_triggers(attachment: Attachment, shape: Shape) -> Iterator[Part]:
    for what, rows, which in (("insert", "new_rows", "NEW"), ("delete", "old_rows", "OLD")):
        noted = sql.SQL("SELECT {} FROM {} r").format(attachment.source_id("r"), sql.Identifier(rows))
        yield from trigger_function(attachment.function(what), into_outbox(attachment, noted))
        event = sql.SQL("{} ON {} REFERENCING {} TABLE AS {}").format(
            raw(what.upper()), attachment.place, raw(which), sql.Identifier(rows)
        )
        yield from _trigger(attachment, what, event, "STATEMENT")
    columns = [
        sql.SQL('({}::text COLLATE "C") AS c{}').format(sql.Identifier("r", column), i)
        for i, column in enumerate(_watched(attachment, shape))
    ]
    rows_of = sql.SQL("SELECT {} AS source_id, {} FROM {} r")
    old, new = (
        rows_of.format(attachment.source_id("r"), joined(columns), sql.Identifier(rows))
        for rows in ("old_rows", "new_rows")
    )
    changed = " OR ".join(f"o.c{i} IS DISTINCT FROM n.c{i}" for i in range(len(columns)))
    noted = sql.SQL(
        "SELECT coalesce(n.source_id, o.source_id)\n    FROM ({}) AS o\n"
        "    FULL JOIN ({}) AS n USING (source_id)\n"
        "    WHERE o.source_id IS NULL OR n.source_id IS NULL OR {}"
    ).format(old, new, raw(changed))
    yield from trigger_function(attachment.function("update"), into_outbox(attachment, noted))
    both = sql.SQL("UPDATE ON {} REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows")
    yield from _trigger(attachment, "update", both.format(attachment.place), "STATEMENT")


def _watched(attachment: Attachment, shape: Shape) -> list[str]:
    """The columns in which a change of a row is one of its article."""
    return list(dict.fromkeys([*attachment.columns.values(), *shape.watched]))


def _row_triggers(attachment: Attachment, shape: Shape) -> Iterator[Part]:
    """Row by row: a partition that is written to by its own name fires no other triggers of its table."""
    old, new = attachment.source_id("old"), attachment.source_id("new")
    # As text: every type has one, and not every type can be compared.
    differs = [
        sql.SQL('({}::text COLLATE "C") IS DISTINCT FROM ({}::text COLLATE "C")').format(
            sql.Identifier("old", column), sql.Identifier("new", column)
        )
        for column in _watched(attachment, shape)
    ]
    either = sql.SQL(
        "SELECT e.id FROM (SELECT {} UNION SELECT {}) AS e (id)\n    WHERE {} IS DISTINCT FROM {} OR {}"
    ).format(old, new, old, new, joined(differs, " OR "))
    one = sql.SQL("SELECT {}")
    for what, rows in (("insert", one.format(new)), ("update", either), ("delete", one.format(old))):
        yield from trigger_function(attachment.function(what), into_outbox(attachment, rows))
        event = sql.SQL("{} ON {}").format(raw(what.upper()), attachment.place)
        yield from _trigger(attachment, what, event, "ROW")


def _marks_view(attachment: Attachment) -> Iterator[Part]:
    """Every row with its mark, in the table's own keys."""
    keys = [
        sql.SQL("v.{} AS {}").format(sql.Identifier(f"key_{i}"), sql.Identifier(key))
        for i, key in enumerate(attachment.keys, 1)
    ]
    originals = [
        sql.SQL("{} AS {}").format(value, sql.Identifier(name))
        for value, name in zip(original_key(attachment, "o"), original_names(attachment), strict=True)
    ]
    yield sql.SQL(
        "CREATE VIEW {} AS\nSELECT {}, coalesce(a.status, 'pending') AS status,\n    {},\n"
        "    o.source_id AS original_source_id, a.score, a.reason, coalesce(a.stale, false) AS stale,"
        " a.marked_at\n"
        "FROM {} v LEFT JOIN {} a ON a.source_id = v.source_id AND a.attachment_id = {}\n"
        "LEFT JOIN {} o ON o.id = a.duplicate_of"
    ).format(
        attachment.marks,
        joined(keys),
        joined(originals),
        attachment.view,
        own("article"),
        attachment.id,
        own("article"),
    )
    yield sql.SQL("COMMENT ON VIEW {} IS {}").format(
        attachment.marks,
        sql.Literal(
            "The marks of an attached table, one row per row of it. duplicate_of is the original's key where"
            " that is a row of the same table; original_source_id names it wherever it is."
        ),
    )


def original_names(attachment: Attachment) -> list[str]:
    """The columns of the original's key in the view of marks."""
    if len(attachment.keys) == 1:
        return ["duplicate_of"]
    return [f"duplicate_of_{i}" for i in range(1, len(attachment.keys) + 1)]


def original_key(attachment: Attachment, row: str) -> list[Part]:
    """The key of an original in the table's own types; null where it is no row of this table."""
    own = sql.SQL("CASE WHEN {}.attachment_id = {} THEN {}.source_id END")
    return attachment.key(own.format(sql.Identifier(row), attachment.id, sql.Identifier(row)))
