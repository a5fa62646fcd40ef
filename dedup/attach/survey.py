"""Check the rows of a table before the table is attached; `mapping.py` checks the catalogue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from psycopg import sql

from dedup.attach.attachments import Attachment, Part
from dedup.base.errors import InputError
from dedup.base.html import LOOKED_AT_CHARACTERS, looks_like_html, need_extractor
from dedup.base.words import counted
from dedup.db.database import Cursor, one_row
from dedup.db.rendering import Verbatim
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

LOOKED_AT_ROWS = 100  # Rows checked at each end of the table, by key, since new rows may differ from old rows
TOLERATED = 20  # At most one in 20 bodies may look like HTML, since an article may be about HTML

# Maximum rows in the sample that is searched for repeated texts. If a table has five million texts, each
# twice, the sample has both rows of about twenty texts, which is enough. The sample is read in 1 to 2 s.
SAMPLED_ROWS = 20_000

SAMPLED_CHARACTERS = (2_000, 64)  # Number of first characters compared: of a body, and of another column

# A feed reader may store a text once for each user. Such users are called readers here.
READERS = ("smallint", "integer", "bigint", "uuid")  # Types, besides text, of columns that identify readers

ROWS_A_READER = 3  # Minimum rows per reader on average; with fewer, a column does not identify readers
REPEATED_ROWS = 6  # Minimum number of rows that repeat a text: fewer may be chance
TWICE = 10  # At most one in ten rows with repeated texts may repeat a text for the same reader


def articles_of(attachment: Attachment, percent: float = 100) -> Part:
    """Return FROM and WHERE clauses for the rows `t` that are articles, or for a sample of such rows."""
    sample = sql.SQL("TABLESAMPLE SYSTEM ({}) REPEATABLE (0) ").format(percent)
    return sql.SQL("FROM {} t {}WHERE {}").format(
        attachment.identifier, sample if percent < 100 else sql.SQL(""), attachment.condition
    )


def refuse_rows(cursor: Cursor, attachment: Attachment, *, view: bool, html: bool | None) -> None:
    """Raise InputError if rows cannot be articles: rows of a view share a key or lack a key, rows lack a time
    of change, or bodies look like HTML and `html` is None. Code of the table's owner may run meanwhile."""
    _refuse_keys(cursor, attachment, view=view)
    if attachment.html:
        need_extractor()
    elif html is None:
        _refuse_html(cursor, attachment)


def _refuse_keys(cursor: Cursor, attachment: Attachment, *, view: bool) -> None:
    rows = articles_of(attachment)
    keys = [sql.Identifier("t", key) for key in attachment.keys]
    if view:
        query = sql.SQL("SELECT {} {} GROUP BY {} HAVING count(*) > 1 LIMIT 1").format(
            attachment.source_id("t"), rows, sql.SQL(", ").join(keys)
        )
        if (found := cursor.execute(query).fetchone()) and found[0] is not None:
            raise InputError(
                f"--id: {attachment.shown} has several rows with the id {found[0].split('/', 1)[1]}: give"
                " each article only one row, such as with DISTINCT ON, or add a column to --id"
            )
    required = [(key, "--id", "leave such rows out of the view") for key in attachment.keys] if view else []
    if attachment.changed is not None:
        way = "attach a view that replaces null by the time when the row was made"
        required.append((attachment.changed, "--changed", way))
    for column, option, way in required:
        query = sql.SQL("SELECT count(*) {} AND t.{} IS NULL").format(rows, sql.Identifier(column))
        (amount,) = one_row(cursor, query)
        if amount:
            raise InputError(f"{option}: column {column!r} is null in {counted(amount, 'row')}: {way}")


def warn_of_marks(cursor: Cursor, attachment: Attachment) -> list[str]:
    """Return warnings for the owner about the updates that columns of marks will cause."""
    if not attachment.mark_columns:
        return []
    (amount,) = one_row(cursor, sql.SQL("SELECT count(*) {}").format(articles_of(attachment)))
    oids = [attachment.seen["oid"], *attachment.seen.get("parts", ())]
    names = [name for (name,) in cursor.execute(_sql("seen_by"), {"oids": oids}).fetchall()]
    seen = "these updates fire no trigger"
    if names:
        seen = f"these updates fire {'a trigger' if len(names) == 1 else 'triggers'}: {', '.join(names)}"
    return [
        f"the first backfill updates {counted(amount, 'row')} of {attachment.shown}, later backfills"
        f" update rows whose marks change; {seen}",
        f"the view {attachment.name}_marks of dedup has the same marks and updates no row: `dedup detach"
        f" {attachment.name}` and attach it without --mark-columns if the view is enough",
    ]


def warn_of_readers(cursor: Cursor, attachment: Attachment) -> list[str]:
    """Return a warning if each text is stored once per value of a column, such as once per user."""
    if "scope" in attachment.columns:
        return []
    # If a feed reader stores each entry once per user, all rows of an entry but one become duplicates.
    oid = attachment.seen["oid"]
    mapped = {*attachment.keys, *attachment.columns.values()}
    names = [
        name
        for name, _, _, kind, category, *_ in cursor.execute(_sql("columns"), {"oid": oid}).fetchall()
        if name not in mapped and (kind in READERS or category == "S")
    ]
    percent = float(one_row(cursor, _sql("sampled"), {"oid": oid, "rows": SAMPLED_ROWS})[0])
    outlet = attachment.columns.get("publication", attachment.columns["text"])
    of_text, of_column = SAMPLED_CHARACTERS
    values = [
        sql.SQL("left(t.{}::text, {})").format(sql.Identifier(name), of_column) for name in (outlet, *names)
    ]
    query = sql.SQL(
        "SELECT md5(left(t.{text}::text, {most})), {values} {rows} AND t.{text}::text <> '' LIMIT {limit}"
    ).format(
        text=sql.Identifier(attachment.columns["text"]),
        most=of_text,
        values=sql.SQL(", ").join(values),
        rows=articles_of(attachment, percent),
        limit=SAMPLED_ROWS,
    )
    rows = cursor.execute(query).fetchall()
    found = [
        (readers, name)
        for place, name in enumerate(names, 2)
        if (readers := _readers([(row[0], row[1], row[place]) for row in rows], percent / 100))
    ]
    if not found:
        return []
    name = min(found, key=lambda item: item[0])[1]
    return [
        f"{attachment.shown} stores most texts once per value of {name!r}: if the values are users of a feed"
        " reader, and you leave out duplicates, only one user sees each text;"
        f" `--within {name}` compares the rows of each value only with each other"
    ]


def _readers(rows: Sequence[tuple[str, str | None, str | None]], share: float) -> int:
    """Return the number of readers if a column seems to identify readers, else 0. In such a column, most
    repeated texts are stored once per value.

    `rows`: text, outlet and value of the column. `share`: sampled share of the table.
    """
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for text, _, value in rows:
        if value is not None:
            texts[text].append(value)
    readers = {value for _, _, value in rows if value is not None}
    outlets = {outlet for _, outlet, _ in rows}
    if len(outlets) == len(readers) == len({(outlet, value) for _, outlet, value in rows}):
        # Each outlet has a different value of the column, so the column identifies outlets, not readers.
        return 0
    repeated = [values for values in texts.values() if len(set(values)) > 1]
    amount, once = sum(map(len, repeated)), sum(len(set(values)) for values in repeated)
    amount_of_all = sum(map(len, texts.values()))
    if amount < max(REPEATED_ROWS, amount_of_all * share / 2) or (amount - once) * TWICE > amount:
        return 0
    return len(readers) if len(readers) * ROWS_A_READER <= amount_of_all else 0


def _refuse_html(cursor: Cursor, attachment: Attachment) -> None:
    body = sql.Identifier("t", attachment.columns["text"])
    end = sql.SQL("(SELECT left({}::text, {}) {} ORDER BY {} LIMIT {})")
    rows = articles_of(attachment)
    ends = []
    for order in ("ASC", "DESC"):
        keys = [sql.SQL("{} {}").format(sql.Identifier("t", key), Verbatim(order)) for key in attachment.keys]
        ends.append(end.format(body, LOOKED_AT_CHARACTERS, rows, sql.SQL(", ").join(keys), LOOKED_AT_ROWS))
    bodies = [row[0] or "" for row in cursor.execute(sql.SQL(" UNION ALL ").join(ends)).fetchall()]
    found = sum(map(looks_like_html, bodies))
    if found * TOLERATED > len(bodies):
        raise InputError(
            f"{attachment.shown}: {found} of {len(bodies)} bodies looked at are HTML, whose tags would be"
            " compared as words: use --html to extract the articles, or --no-html to keep the tags"
        )
