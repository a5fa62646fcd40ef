"""The window: articles before a horizon are archived, and no longer compared."""

from __future__ import annotations

from pathlib import Path

from dedup.corpus.migrate import run_file

revision = "0008"
down_revision = "0007"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0008_window.sql")


def downgrade() -> None:
    run_file(SQL / "0008_down.sql")
