"""An entry of a feed edits only what a feed of its site brought."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0022"
down_revision = "0021"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "entries.sql")


def downgrade() -> None:
    refuse_downgrade()
