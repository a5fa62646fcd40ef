"""Owners of attached tables: whom to trust, and copies of the rows of others."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0021"
down_revision = "0020"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "owners.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
