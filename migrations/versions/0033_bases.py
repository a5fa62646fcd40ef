"""Note changes of base tables: of tables that give attached tables names, and of tables that views read."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0033"
down_revision = "0032"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "bases.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
