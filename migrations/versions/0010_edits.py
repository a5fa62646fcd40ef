"""What edits touch is settled again for many articles at once."""

from __future__ import annotations

from pathlib import Path

from dedup.corpus.migrate import run_file

revision = "0010"
down_revision = "0009"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0010_edits.sql")


def downgrade() -> None:
    run_file(SQL / "0010_down.sql")
