"""What newsrooms asked for, a file a subject."""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0018"
down_revision = "0017"

SQL = Path(__file__).parent.parent / "sql"
SUBJECTS = (
    *("attached_html", "journal", "sentences", "attached_views", "shown", "credits", "feeds"),
    *("storing", "closing"),
)


def upgrade() -> None:
    for subject in SUBJECTS:
        run_file(SQL / f"{subject}.sql")


def downgrade() -> None:
    refuse_downgrade()
