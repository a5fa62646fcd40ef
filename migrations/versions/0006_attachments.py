"""Attached tables: what they are, what has changed in them, and one relation for every text."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import refuse_to_discard

revision = "0006"
down_revision = "0005"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _execute("0006_attachments.sql")


def downgrade() -> None:
    refuse_to_discard(op.get_bind(), "attachment")
    _execute("0006_down.sql")


def _execute(name: str) -> None:
    # Handed to the driver as it is: SQLAlchemy would read ':name' and '%' in it.
    op.get_bind().connection.driver_connection.execute((SQL / name).read_text("utf-8").encode())
