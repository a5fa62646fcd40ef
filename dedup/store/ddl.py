"""The statements of `dedup init`, printed for people who let no program change a schema. Runs nothing."""

from __future__ import annotations

import io

from alembic import command

from dedup.base.schema import migration_lock, program
from dedup.db import migrate, revision
from dedup.store import rulebooks


def script(before: str | None, schema: str) -> str:
    """One transaction that brings a schema of this revision to the present one; "" where it is there.
    `before`: what `revision.current` says; None makes the schema. `schema`: its name.
    """
    config = migrate.configuration()
    if before == revision.head():
        return ""
    config.output_buffer = written = io.StringIO()
    alone = f"SELECT pg_advisory_xact_lock({migration_lock(schema)})"
    config.attributes["schema"] = schema
    config.attributes["first"] = [alone] if before is None else [alone, _still(before, program(schema))]
    config.attributes["last"] = [_adopted()] if before is None else []
    command.upgrade(config, f"{before or 'base'}:head", sql=True)
    return written.getvalue()


def _still(revision: str, dedup: str) -> str:
    """Stop, if the schema is another one by the time that this is run."""
    return f"""
DO $$ BEGIN
    IF (SELECT version_num FROM dedup.alembic_version) IS DISTINCT FROM '{revision}' THEN
        RAISE EXCEPTION 'this is for revision {revision} of the schema; print it again: {dedup} init --sql';
    END IF;
END $$"""


def _adopted() -> str:
    """What `dedup init` writes into a new corpus: the default settings are in force."""
    state = rulebooks.default_state()
    values = {
        "fingerprint_digest": state.fingerprints,
        "rule_digest": state.rules,
        "algorithm_revision": state.algorithm,
        "unicode_version": state.unicode,
    }
    listed = ", ".join(f"{name} = '{value}'" for name, value in values.items())
    return f"UPDATE dedup.corpus_state SET {listed}"
