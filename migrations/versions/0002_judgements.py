"""Pairs picked for people, what people said about them, and the view that sets it beside the marks."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import refuse_to_discard, run_file

revision = "0002"
down_revision = "0001"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0002_judgements.sql")


def downgrade() -> None:
    refuse_to_discard(op.get_bind(), "judgement", "review_pair")
    op.execute("""
        DROP VIEW dedup.judged_pair;
        DROP TABLE dedup.judgement, dedup.review_pair;
        DROP FUNCTION dedup.text_hash(text);
    """)
