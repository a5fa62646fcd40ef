"""Words of a sample of articles are counted, to tell rare words from frequent ones."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0030"
down_revision = "0029"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "word_counts.sql")
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()
