"""What trials, an attack and an independent oracle found is repaired, a file a subject."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import refuse_to_discard, run_file

revision = "0012"
down_revision = "0011"

SQL = Path(__file__).parent.parent / "sql"
SUBJECTS = ("attachments", "dates", "health", "rules")


def upgrade() -> None:
    for subject in SUBJECTS:
        run_file(SQL / f"0012_{subject}.sql")


def downgrade() -> None:
    refuse_to_discard(op.get_bind(), "attachment")
    for subject in reversed(SUBJECTS):
        run_file(SQL / f"0012_{subject}_down.sql")
