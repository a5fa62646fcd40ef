"""Indexes that a first load leaves half empty can be made anew by who runs it."""

from __future__ import annotations

from alembic import op

from dedup.corpus.migrate import run_statements

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    # Of the rights of the schema's owner, as for the indexes of fingerprints. It takes no settle lock:
    # whoever edits an article holds its table, and then waits for that lock.
    run_statements("""
        CREATE FUNCTION dedup.compact_index(index_name text) RETURNS void
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
            SET lock_timeout = '1s' AS $$
        BEGIN
            IF index_name IS NULL OR index_name NOT IN (
                'article_unsettled', 'article_pkey', 'article_source_id_key', 'fingerprint_pkey'
            ) THEN
                RAISE EXCEPTION 'no index to be made anew' USING ERRCODE = 'invalid_parameter_value';
            END IF;
            EXECUTE format('REINDEX INDEX dedup.%I', index_name);
        END $$;
        COMMENT ON FUNCTION dedup.compact_index(text) IS
            'Make an index anew that a large load has left half empty; nobody writes to its table meanwhile.';
        REVOKE ALL ON FUNCTION dedup.compact_index(text) FROM PUBLIC;
    """)


def downgrade() -> None:
    op.execute("DROP FUNCTION dedup.compact_index(text)")
