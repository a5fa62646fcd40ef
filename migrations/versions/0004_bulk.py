"""What the bulk engine needs: fingerprints without indexes, and a note of what changes while it works."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _execute("0004_bulk.sql")


def downgrade() -> None:
    _execute("0004_down.sql")


def _execute(name: str) -> None:
    # Handed to the driver as it is: SQLAlchemy would read ':name' and '%' in it.
    op.get_bind().connection.driver_connection.execute((SQL / name).read_text("utf-8").encode())
