"""Keys of recent fingerprints are a row per article; most edits take two calls."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0024"
down_revision = "0023"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "recent.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
