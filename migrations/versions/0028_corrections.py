"""An article may be a correction, and a story may be represented by its latest or its fullest article."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0028"
down_revision = "0027"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "corrections.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
