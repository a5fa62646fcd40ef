"""A program with one more migration, to test upgrades."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedup.db import migrate, revision

MIGRATION = """
from dedup.db.migrate import refuse_downgrade, run_statements

revision = "{number}"
down_revision = "{before}"


def upgrade() -> None:
    run_statements("ALTER TABLE dedup.article ADD COLUMN later integer NOT NULL DEFAULT 7;")


def downgrade() -> None:
    refuse_downgrade()
"""


@contextmanager
def next_revision() -> Iterator[str]:
    """Add one migration to the program within the block; yield its number."""
    before = revision.head()
    number = f"{int(before) + 1:04}"
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        folder = Path(made) / "migrations"
        shutil.copytree(revision.folder(), folder)
        written = MIGRATION.format(number=number, before=before)
        (folder / "versions" / f"{number}_later.py").write_text(written, "utf-8")
        for module in (revision, migrate):
            patch.setattr(module, "folder", lambda: folder)
        yield number
