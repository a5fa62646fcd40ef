"""Reads stored settings. `dedup status` uses this module, which loads no NumPy, unlike `rulebooks.py`."""

from __future__ import annotations

from dedup.base.settings import Settings
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/rulebooks")


def load_settings(cursor: Cursor) -> Settings:
    """Return the settings in force."""
    rows = cursor.execute(_sql("settings_in_force")).fetchall()
    return Settings().with_values(dict(rows))


def load_wanted(cursor: Cursor) -> Settings:
    """Return the settings that the next backfill puts in force."""
    rows = cursor.execute(_sql("settings_wanted")).fetchall()
    return Settings().with_values(dict(rows))
