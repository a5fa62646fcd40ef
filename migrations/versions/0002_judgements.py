"""Pairs picked for people, what people said about them, and the view that sets it beside the marks."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import refuse_to_discard

revision = "0002"
down_revision = "0001"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    connection = op.get_bind().connection.driver_connection
    # Handed to the driver as it is: SQLAlchemy would read ':name' and '%' in it.
    connection.execute((SQL / "0002_judgements.sql").read_text("utf-8").encode())


def downgrade() -> None:
    refuse_to_discard(op.get_bind(), "judgement", "review_pair")
    op.execute("""
        DROP VIEW dedup.judged_pair;
        DROP TABLE dedup.judgement, dedup.review_pair;
        DROP FUNCTION dedup.text_hash(text);
    """)
