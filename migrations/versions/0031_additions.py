"""Store what copies add to their originals; count articles of outlets by month, and ties of outlets."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0031"
down_revision = "0030"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "additions.sql")
    run_file(SQL / "panel.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
