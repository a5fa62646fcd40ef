"""A credit has a kind: text, part, contribution or photo. All credits are read again."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0027"
down_revision = "0025"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "credit_kinds.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
