"""The rule for reprints that a machine misread."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0019"
down_revision = "0018"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "damaged.sql")


def downgrade() -> None:
    refuse_downgrade()
