"""Views for every question that an analyst asks, who reads views and nothing else."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import run_file

revision = "0009"
down_revision = "0008"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    run_file(SQL / "0009_rights.sql")


def downgrade() -> None:
    op.execute(
        "DROP VIEW dedup.mark, dedup.scored_pair, dedup.sentence, dedup.pinned_pair, dedup.schema_version"
    )
