"""Note since when marks wait; tell known times of pairs; read the credits of bylines again."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0035"
down_revision = "0034"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "waits.sql")
    run_file(SQL / "pair_times.sql")
    run_file(SQL / "credit_lists.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
