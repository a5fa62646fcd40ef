"""Outlets have owners and other names, and stories have origins."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0029"
down_revision = "0027"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "outlets.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
