"""Store which articles each load had."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0034"
down_revision = "0033"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "loads.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
