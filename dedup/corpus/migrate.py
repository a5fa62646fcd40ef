"""Creates and upgrades the schema with Alembic, from a checkout and from an installed wheel.

The migrations are in `migrations/` beside the package in a checkout and inside it in a wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from alembic import command, context, op
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import errors as pg
from psycopg import sql
from sqlalchemy import Connection, text

from dedup.corpus import rulebooks
from dedup.corpus.database import Cursor, Database, translated
from dedup.corpus.rendering import rendered_text
from dedup.errors import RightsError, SchemaError
from dedup.schema import migration_lock, program
from dedup.timeouts import Timeouts


def upgrade(database: Database, revision: str = "head") -> tuple[str | None, str | None]:
    """Bring the schema to a revision; does nothing where it is there already.

    Returns:
        The revision before and after.

    Raises:
        SchemaError: the schema is newer than this program.
        RightsError: the role may not make it.
        DatabaseError: the server refused.
    """
    config = configuration()
    engine, lock = database.engine(database.schema), migration_lock(database.schema)
    with translated(database.place), engine.connect() as connection:
        connection.execute(text(f"SELECT pg_advisory_lock({lock})"))
        connection.commit()
        try:
            with database.transaction() as cursor:
                before = current(cursor)
            refuse_newer(before, database.place)
            config.attributes.update(connection=connection, schema=database.schema)
            with _explained(database):
                command.upgrade(config, revision)
        finally:
            connection.rollback()
            connection.execute(text(f"SELECT pg_advisory_unlock({lock})"))
            connection.commit()
    with database.transaction() as cursor:
        return before, current(cursor)


@contextmanager
def _explained(database: Database) -> Iterator[None]:
    """Tell who may not make or change the schema what would let it: no grant of ours does.

    Raises:
        RightsError: so it is.
    """
    try:
        yield
    except Exception as error:
        cause = getattr(error, "orig", error)  # SQLAlchemy wraps what it meets
        if not isinstance(cause, pg.InsufficientPrivilege):
            raise
        with database.transaction() as cursor:
            row = cursor.execute(
                "SELECT current_user, current_database(),"
                " NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)",
                [database.schema],
            ).fetchone()
        assert row is not None
        role, name, missing = (sql.Identifier(row[0]), sql.Identifier(row[1]), row[2])
        if not missing:
            raise RightsError(
                f"{database.place}: the role {row[0]} may not change the schema; connect as its owner"
            ) from None
        grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(name, role).as_string()
        raise RightsError(
            f"{database.place}: the role {row[0]} may not make a schema; have the owner of the database run"
            f" `{grant}`, or connect as the owner"
        ) from None


def opened(url: str | None = None, timeouts: Timeouts | None = None, schema: str | None = None) -> Database:
    """A database, open and prepared; whatever `prepare` raises, no connection is left behind.

    Args:
        url, timeouts, schema: as of `Database`.

    Raises:
        UnreachableError: the database does not answer.
        SchemaError: as of `prepare`.
    """
    database = Database(url, timeouts, schema)
    try:
        prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def prepare(database: Database) -> None:
    """Make sure that the schema is this program's; on the embedded server it is made or upgraded.

    Raises:
        SchemaError: it is missing, older or newer; the message names the next step.
    """
    with database.transaction() as cursor:
        found = current(cursor)
    if database.embedded and found != head():
        initialize(database)
        return
    require_head(found, database)


def initialize(database: Database) -> tuple[str | None, str | None]:
    """Create or upgrade the schema and let an empty corpus adopt the present settings.

    Returns:
        The revision before and after.
    """
    revisions = upgrade(database)
    with database.transaction(settling=True) as cursor:
        row = cursor.execute("SELECT fingerprint_digest IS NULL FROM dedup.corpus_state").fetchone()
        if row and row[0]:
            rulebooks.adopt(cursor)
    return revisions


def current(cursor: Cursor) -> str | None:
    """The revision of the schema in the database, or None where there is none."""
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
    """Refuse to work with a schema of another revision.

    Raises:
        SchemaError: there is none, or it is older or newer than this program.
    """
    place, init = database.place, f"{program(database.schema)} init"
    refuse_newer(found, place)
    if found is None:
        raise SchemaError(f"{place} has no dedup schema; run `{init}`")
    if found != head():
        raise SchemaError(f"{place} has the schema of an older dedup; run `{init}` to upgrade it")


def run_file(path: Path) -> None:
    """Called by a migration: `run_statements` of a file."""
    run_statements(path.read_text("utf-8"))


def run_statements(statements: str) -> None:
    """Called by a migration: run statements, or print them where they are asked for.

    They are handed over as they are: SQLAlchemy would read ':name' and '%' in them.
    """
    if context.is_offline_mode():
        shown = rendered_text(statements.strip(), context.config.attributes["schema"])
        op.get_context().impl.static_output(f"{shown}\n")
    else:
        driver = op.get_bind().connection.driver_connection
        assert driver is not None
        driver.execute(statements.encode())


def refuse_to_discard(connection: Connection, *tables: str) -> None:
    """Called by a downgrade before it drops tables with rows that nothing can make again.

    Locks the tables, so that nothing comes in between.

    Raises:
        SchemaError: one of them has rows, and `-x discard=yes` was not given.
    """
    names = ", ".join(f"dedup.{table}" for table in tables)
    connection.execute(text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
    full = [t for t in tables if connection.scalar(text(f"SELECT EXISTS (SELECT FROM dedup.{t})"))]
    if full and context.get_x_argument(as_dictionary=True).get("discard") != "yes":
        raise SchemaError(
            f"a downgrade would drop {', '.join(full)} for good; save what you need (pg_dump), then add"
            " -x discard=yes: alembic -x discard=yes downgrade …"
        )


def refuse_newer(found: str | None, place: str) -> None:
    """Refuse a schema that this program does not know.

    Raises:
        SchemaError: it is newer.
    """
    if found is not None and found not in {script.revision for script in scripts().walk_revisions()}:
        raise SchemaError(f"{place} has the schema of a newer dedup ({found}); upgrade this program")


def head() -> str | None:
    """The revision of the schema that this program works with."""
    return scripts().get_current_head()


def scripts() -> ScriptDirectory:
    """The migrations."""
    return ScriptDirectory.from_config(configuration())


def configuration() -> Config:
    """What Alembic needs to find the migrations."""
    packaged = Path(str(resources.files("dedup") / "migrations"))
    folder = packaged if packaged.is_dir() else packaged.parent.parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config
