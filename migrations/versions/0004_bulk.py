"""What the bulk engine needs: fingerprints without indexes, and a note of what changes while it works."""

from __future__ import annotations

from pathlib import Path

from dedup.corpus.migrate import run_file

revision = "0004"
down_revision = "0003"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0004_bulk.sql")


def downgrade() -> None:
    run_file(SQL / "0004_down.sql")
