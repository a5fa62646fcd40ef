"""New articles that are similar to others, or come while others wait, are stored in two calls at most."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0023"
down_revision = "0022"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "hook.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
