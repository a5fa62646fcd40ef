"""A call of `submit` also returns what the rules about reprints and common sentences need."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0025"
down_revision = "0024"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "reprints.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
