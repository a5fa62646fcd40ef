"""What pages ask is found by an index, whatever the size of the corpus."""

from __future__ import annotations

from pathlib import Path

from dedup.corpus.migrate import run_file

revision = "0011"
down_revision = "0010"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0011_browsing.sql")


def downgrade() -> None:
    run_file(SQL / "0011_down.sql")
