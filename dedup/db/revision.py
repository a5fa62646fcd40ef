"""Compares the schema's revision in a database with this program's; `migrate.py` upgrades the schema."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path

from psycopg import errors as pg

from dedup.base.errors import SchemaError
from dedup.base.schema import program
from dedup.db.database import Cursor, Database, one_column
from dedup.db.statements import Statements

_sql = Statements("db/objects")

MOST_NAMED = 5  # Maximum number of corpora that a message names

KEPT = (
    *("article", "deferred_article", "sentence_pin", "pair_pin", "setting", "sentence_model"),
    *("judgement", "review_pair", "attachment", "outlet"),
)
"""Tables whose rows cannot be computed again."""

BEFORE_RELEASE = frozenset(f"{number:04}" for number in range(1, 17))
"""Revisions of schemas that cannot be upgraded."""

_LINK = re.compile(r'^(down_)?revision = (?:"(\w+)"|None)$', re.MULTILINE)

# Columns that the table of articles had before the first release. Rows saved from such an old schema have
# these columns. So the commands of `refuse_unknown` add the columns before the rows are loaded, and drop the
# columns afterwards.
_ONCE_OF_ARTICLES = (
    *("status", "stale", "takes_part", "duplicate_of", "score"),
    *("reason", "limit_fired", "marked_at", "archived"),
)


def current(cursor: Cursor) -> str | None:
    """Return the revision of the schema in the database; None without a schema."""
    try:
        return _revision(cursor, b"SELECT version_num FROM dedup.alembic_version")
    except pg.InsufficientPrivilege:
        return _revision(cursor, b"SELECT version_num FROM dedup.schema_version")


def _revision(cursor: Cursor, query: bytes) -> str | None:
    try:
        with cursor.connection.transaction():
            row = cursor.execute(query).fetchone()
    except (pg.UndefinedTable, pg.InvalidSchemaName):
        return None
    return str(row[0]) if row else None


def require_head(found: str | None, database: Database) -> None:
    """Raise SchemaError if the schema is missing, or older or newer than this program."""
    location, init = database.location, f"{program(database.schema)} init"
    refuse_unknown(found, database)
    if found is None:
        with database.transaction() as cursor:
            others = one_column(cursor, _sql("corpora"), {"limit": MOST_NAMED})
        named = f" (the database has a corpus in: {', '.join(others)})" if others else ""
        raise SchemaError(f"{location} has no dedup schema; run `{init}`{named}")
    if found != head():
        raise SchemaError(f"{location} has the schema of an older dedup; run `{init}` to upgrade it")


def refuse_unknown(found: str | None, database: Database) -> None:
    """Raise SchemaError for a schema that is newer than this program, or from before the first release."""
    if found is None or found in revisions():
        return
    # Revisions are names without an order, so an unknown revision must be that of a later program.
    if found not in BEFORE_RELEASE:
        raise SchemaError(
            f"{database.location} has the schema of a newer dedup ({found}); upgrade this program"
        )
    dedup, schema = program(database.schema), database.schema
    tables = " ".join(f"-t {schema}.{table}" for table in KEPT)
    columns = {what: [f"{what} {name}" for name in _ONCE_OF_ARTICLES] for what in ("ADD", "DROP")}
    added = f"ALTER TABLE {schema}.article {' text, '.join(columns['ADD'])} text;"
    dropped = f"ALTER TABLE {schema}.article {', '.join(columns['DROP'])};"
    raise SchemaError(
        f"{database.location} has the schema {found}, from before the first release, which cannot be"
        f' upgraded; save its rows, make a new schema, and load them: `URL="$({dedup} db url)" &&'
        f' pg_dump --data-only {tables} -f rows.sql "$URL" && {dedup} uninstall --yes && {dedup} init &&'
        f" (echo '{added}'; grep -vx 'SET transaction_timeout = 0;' rows.sql; echo '{dropped}') |"
        f' psql -1 -v ON_ERROR_STOP=1 "$URL"`, then `{dedup} remap` for each attached table, and'
        f" `{dedup} backfill`"
    )


def head() -> str:
    return revisions()[-1]


def revisions() -> list[str]:
    """Return the revisions that this program knows, the oldest first: a migration names its predecessor."""
    return list(_chain(folder() / "versions"))


@cache
def _chain(versions: Path) -> tuple[str, ...]:
    # Alembic could tell the order, but importing Alembic and all migrations takes long at each start.
    after: dict[str, str] = {}
    for path in versions.glob("[!_.]*.py"):
        own, before = (found[1] for found in sorted(_LINK.findall(path.read_text("utf-8"))))
        after[before] = own
    found = [after[""]]
    while following := after.get(found[-1]):
        found.append(following)
    return tuple(found)


def folder() -> Path:
    """Return the folder of migrations: beside the package in a checkout, inside it in a wheel."""
    packaged = Path(str(resources.files("dedup") / "migrations"))
    return packaged if packaged.is_dir() else packaged.parent.parent / "migrations"
