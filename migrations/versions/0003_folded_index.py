"""The index of fingerprints with folded keys, and what tells hooks that a bulk engine is at work."""

from __future__ import annotations

from pathlib import Path

from dedup.corpus.folding import FOLD_BITS
from dedup.corpus.migrate import run_file, run_statements

revision = "0003"
down_revision = "0002"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0003_folded_index.sql")
    bits = FOLD_BITS.format(articles="count(*)")
    # In two steps: an index cannot be made anew by a statement that reads its table.
    run_statements(f"""
        DO $$ DECLARE bits integer; BEGIN
            SELECT {bits} INTO bits FROM dedup.fingerprint;
            PERFORM dedup.refold(bits);
        END $$;
    """)


def downgrade() -> None:
    run_file(SQL / "0003_down.sql")
