"""Opens a corpus whose schema is this program's; on the embedded server it is made or upgraded."""

from __future__ import annotations

from dedup.base.timeouts import Timeouts
from dedup.db import revision
from dedup.db.database import Database
from dedup.store import rulebooks


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
        found = revision.current(cursor)
    if database.embedded and found != revision.head():
        initialize(database)
        return
    revision.require_head(found, database)


def initialize(database: Database) -> tuple[str | None, str | None]:
    """Create or upgrade the schema and let an empty corpus adopt the present settings.

    Returns:
        The revision before and after.
    """
    # Here: to import Alembic takes longer than a first article, and nearly always there is no need.
    from dedup.db import migrate

    revisions = migrate.upgrade(database)
    with database.transaction(settling=True) as cursor:
        if rulebooks.load_state(cursor).fingerprints is None:
            rulebooks.adopt(cursor)
    return revisions
