"""What the owner of a corpus does beside its use: the statements of its schema.

What everyone does with a corpus is in `deduplicator.py`; the embedded server in `server.py`.
"""

from __future__ import annotations

import os

from dedup.corpus import ddl, migrate
from dedup.corpus.database import URL_VARIABLE, Database

__all__ = ["printed_schema"]


def printed_schema(url: str | None = None) -> str:
    """The statements that make the schema, or upgrade the one of a database; nothing is run.

    Args:
        url: the database; None takes `DEDUP_DATABASE_URL`. Without either the schema is made from nothing,
            and no connection is made.

    Returns:
        One transaction for psql; "" if there is nothing to do.

    Raises:
        SchemaError: the schema is newer than this program.
    """
    url = url or os.environ.get(URL_VARIABLE)
    if not url:
        return ddl.script(None)
    database = Database(url)
    try:
        with database.transaction() as cursor:
            before = migrate.current(cursor)
        migrate.refuse_newer(before, database.place)
    finally:
        database.close()
    return ddl.script(before)
