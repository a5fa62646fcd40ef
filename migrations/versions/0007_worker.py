"""What a worker needs: who works, a hint that something waits, and what became of all the work."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _execute("0007_worker.sql")


def downgrade() -> None:
    _execute("0007_down.sql")


def _execute(name: str) -> None:
    # Handed to the driver as it is: SQLAlchemy would read ':name' and '%' in it.
    op.get_bind().connection.driver_connection.execute((SQL / name).read_text("utf-8").encode())
