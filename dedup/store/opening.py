"""Opens a corpus, and makes, upgrades or prints its schema."""

from __future__ import annotations

import io

from dedup.base.schema import DEFAULT, migration_lock, program
from dedup.base.settings import Settings
from dedup.base.timeouts import Timeouts
from dedup.db import objects, revision
from dedup.db.database import Database
from dedup.db.objects import MendReport


def connect(url: str | None = None, timeouts: Timeouts | None = None, schema: str | None = None) -> Database:
    """Connect to a database, then `prepare` it. Raises UnreachableError or, from `prepare`, SchemaError."""
    database = Database(url, timeouts, schema)
    try:
        prepare(database)
    except BaseException:  # Ctrl-C, too, must not leave a connection open
        database.close()
        raise
    return database


def prepare(database: Database) -> None:
    """Check that the schema has the revision of this program; on the embedded server, make or upgrade it.

    A schema with another name than the default is not made, because the name may be mistyped.

    Raises SchemaError: the schema is missing, older or newer; the message names the next step.
    """
    with database.transaction() as cursor:
        found = revision.current(cursor)
    may_make = found is not None or database.schema == DEFAULT
    if database.embedded and may_make and found != revision.head():
        initialize(database)
        return
    revision.require_head(found, database)


def initialize(database: Database) -> tuple[str | None, str | None]:
    """Create or upgrade the schema as `make_schema` does; return the revisions before and after."""
    return make_schema(database)[:2]


def make_schema(database: Database) -> tuple[str | None, str | None, MendReport]:
    """Create or upgrade the schema, repair its objects, and put the settings of a new corpus in force.

    Return the revisions before and after, and the repaired objects.
    """
    # Imported here, because Alembic is rarely needed, and its import takes longer than storing an article.
    from dedup.db import migrate
    from dedup.store import rulebooks

    before, after = migrate.upgrade(database)
    mended = objects.mend(database)
    with database.transaction(settling=True) as cursor:
        if rulebooks.load_state(cursor).fingerprints is None:
            rulebooks.adopt(cursor)
    return before, after, mended


def write_script(before: str | None, schema: str) -> str:
    """Return an SQL script that does what `initialize` does, as one transaction; "" if nothing is to be done.

    `before`: the result of `revision.current`; None: the script creates a new schema.
    """
    from alembic import command

    from dedup.db import migrate
    from dedup.store import rulebooks

    config = migrate.configuration()
    if before == revision.head():
        return ""
    config.output_buffer = written = io.StringIO()
    config.attributes["schema"] = schema
    config.attributes["first"] = [f"SELECT pg_advisory_xact_lock({migration_lock(schema)})"]
    if before is None:
        # A new corpus has the default settings in force: store the digests (checksums) of these as its state.
        state = rulebooks.state_of(Settings())
        values = {
            "fingerprint_digest": state.fingerprints,
            "rule_digest": state.rules,
            "algorithm_revision": state.algorithm,
            "unicode_version": state.unicode,
        }
        listed = ", ".join(f"{name} = '{value}'" for name, value in values.items())
        config.attributes["last"] = [f"UPDATE dedup.corpus_state SET {listed}"]
    else:
        # The script checks the revision, because it may be different by the time somebody runs the script.
        again = f"print it again: {program(schema)} init --sql"
        config.attributes["first"].append(f"""
DO $$ BEGIN
    IF (SELECT version_num FROM dedup.alembic_version) IS DISTINCT FROM '{before}' THEN
        RAISE EXCEPTION 'this is for revision {before} of the schema; {again}';
    END IF;
END $$""")
        config.attributes["last"] = []
    command.upgrade(config, f"{before or 'base'}:head", sql=True)
    return written.getvalue()
