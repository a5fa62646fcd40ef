"""Views say who was first, and on which day, only as far as times of publication tell."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0026"
down_revision = "0025"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "times.sql")


def downgrade() -> None:
    refuse_downgrade()
