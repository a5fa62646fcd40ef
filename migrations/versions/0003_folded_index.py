"""The index of fingerprints with folded keys, and what tells hooks that a bulk engine is at work."""

from __future__ import annotations

from pathlib import Path

from alembic import op
from sqlalchemy import text

from dedup.corpus.folding import fold_bits

revision = "0003"
down_revision = "0002"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    bind = op.get_bind()
    # Handed to the driver as it is: SQLAlchemy would read ':name' and '%' in it.
    bind.connection.driver_connection.execute((SQL / "0003_folded_index.sql").read_text("utf-8").encode())
    articles = bind.scalar(text("SELECT count(*) FROM dedup.fingerprint"))
    bind.execute(text("SELECT dedup.refold(:bits)"), {"bits": fold_bits(articles)})


def downgrade() -> None:
    op.get_bind().connection.driver_connection.execute((SQL / "0003_down.sql").read_text("utf-8").encode())
