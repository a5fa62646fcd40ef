"""Creates and upgrades the schema with Alembic, from a checkout and from an installed wheel."""

from __future__ import annotations

from pathlib import Path

from alembic import command, context, op
from alembic.config import Config
from psycopg import errors as pg
from psycopg import sql
from sqlalchemy import text

from dedup.base.errors import BusyError, RightsError, SchemaError
from dedup.base.schema import migration_lock
from dedup.db.connection import Connection
from dedup.db.database import Database, one_row, translate_errors
from dedup.db.rendering import render_text
from dedup.db.revision import current, folder, refuse_unknown
from dedup.db.statements import Statements

_sql = Statements("db/roles")


def upgrade(database: Database) -> tuple[str | None, str | None]:
    """Bring the schema to this program's revision; return the revisions before and after.

    Raises SchemaError: as in `refuse_unknown`; RightsError: the role may not make or change the schema.
    """
    config = configuration()
    engine, lock = database.engine(database.schema), migration_lock(database.schema)
    with translate_errors(database.location), engine.connect() as connection:
        try:
            with translate_errors(database.location):
                connection.execute(text(f"SELECT pg_advisory_lock({lock})"))
        except BusyError as error:
            own = connection.connection.driver_connection
            hint = own.lock_hint if isinstance(own, Connection) else ""
            raise BusyError(f"{error}{hint}") from None
        connection.commit()
        try:
            with database.transaction() as cursor:
                before = current(cursor)
            refuse_unknown(before, database)
            config.attributes.update(connection=connection, schema=database.schema)
            try:
                command.upgrade(config, "head")
            except Exception as error:
                cause = getattr(error, "orig", error)  # SQLAlchemy wraps errors of the driver
                if not isinstance(cause, pg.InsufficientPrivilege):
                    raise
                raise _missing_right(database) from None
        finally:
            connection.rollback()
            connection.execute(text(f"SELECT pg_advisory_unlock({lock})"))
            connection.commit()
    with database.transaction() as cursor:
        return before, current(cursor)


def _missing_right(database: Database) -> RightsError:
    with database.transaction() as cursor:
        role, name, missing = one_row(cursor, _sql("may_make_schema"), {"schema": database.schema})
    who = f"{database.location}: the role {role}"
    if not missing:
        return RightsError(f"{who} may not change the schema; connect as its owner")
    grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(sql.Identifier(name), sql.Identifier(role))
    return RightsError(
        f"{who} may not make a schema; have the owner of the database run `{grant.as_string()}`, or connect"
        " as the owner"
    )


def run_file(path: Path) -> None:
    run_statements(path.read_text("utf-8"))


def run_statements(statements: str) -> None:
    """Run statements, or print them in Alembic's offline mode; for migrations."""
    if context.is_offline_mode():
        shown = render_text(statements.strip(), context.config.attributes["schema"])
        op.get_context().impl.static_output(f"{shown}\n")
    else:
        # SQLAlchemy would interpret ':name' and '%' in statements; the driver does not if it gets no values.
        driver = op.get_bind().connection.driver_connection
        assert driver is not None
        driver.execute(statements.encode())


def refuse_downgrade() -> None:
    """Raise SchemaError: no migration can be undone."""
    raise SchemaError(
        "a schema cannot be downgraded: remove it with `dedup uninstall`, then restore an older backup"
    )


def configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder()).replace("%", "%%"))
    return config
