"""Attached tables: what they are, what has changed in them, and one relation for every text."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import refuse_to_discard, run_file

revision = "0006"
down_revision = "0005"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0006_attachments.sql")


def downgrade() -> None:
    refuse_to_discard(op.get_bind(), "attachment")
    run_file(SQL / "0006_down.sql")
