"""What a worker needs: who works, a hint that something waits, and what became of all the work."""

from __future__ import annotations

from pathlib import Path

from dedup.corpus.migrate import run_file

revision = "0007"
down_revision = "0006"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0007_worker.sql")


def downgrade() -> None:
    run_file(SQL / "0007_down.sql")
