"""The whole schema, a file a subject.

Revisions 0001 to 0016 came before the first release, and went into this one; their corpora are loaded again
(`refuse_unknown` in `dedup/db/revision.py`).
"""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file

revision = "0017"
down_revision = None

SQL = Path(__file__).parent.parent / "sql"
SUBJECTS = (
    *("articles", "marks", "fingerprints", "settling", "storing", "attachments"),
    *("worker", "judgements", "browsing", "rights", "closing"),
)


def upgrade() -> None:
    for subject in SUBJECTS:
        run_file(SQL / f"{subject}.sql")


def downgrade() -> None:
    refuse_downgrade()
