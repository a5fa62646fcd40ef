"""Moves the horizon (where the window of comparison begins), and archives the articles before the horizon.

An archived article loses its fingerprint and its pairs with articles inside the window; its mark stays. See
docs/semantics.md, section 10. `../settling/window.py` decides when articles are archived.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import get_args

from dedup.base.settings import Settings
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_column, one_row, prefer_indexes
from dedup.db.statements import Statements
from dedup.store import articles, fingerprints
from dedup.store.fingerprints import Target
from dedup.store.settling import make_stale, order_parameters

_sql = Statements("store/window")

NEVER_COMPARED = "archived: before the horizon when it was stored or edited, so it was compared with nothing"
"""Reason of an archived article that was never compared."""

NO_HORIZON = "no horizon"


@dataclass(frozen=True, slots=True)
class WindowState:
    horizon: datetime | None  # articles before this time are archived
    wanted: datetime | None  # the next backfill moves the horizon to this time
    divided: str | None  # horizon and settings (`division`) at the last check of all articles; None: unknown


def load(cursor: Cursor) -> WindowState:
    return WindowState(*one_row(cursor, _sql("load")))


def division(horizon: datetime | None, settings: Settings) -> str:
    """Return a string of horizon and time settings; if the string changes, check all articles."""
    if horizon is None:
        return NO_HORIZON
    return f"{horizon.astimezone(UTC).isoformat()} {settings.canonical_order} {settings.earliest_year}"


def request_move(cursor: Cursor, horizon: datetime) -> None:
    """Make the next backfill move the horizon to this time or later. Needs the settle lock."""
    cursor.execute(_sql("want"), {"horizon": horizon})


def move(cursor: Cursor, horizon: datetime) -> bool:
    """Move the horizon forward; return False if the horizon was as late already. Needs the settle lock."""
    cursor.execute(_sql("want_no_more"), {"horizon": horizon})
    return cursor.execute(_sql("move"), {"horizon": horizon}).rowcount > 0


def note_divided(cursor: Cursor, divided: str | None) -> None:
    cursor.execute(_sql("note_divided"), {"divided": divided})


def find_newest(cursor: Cursor, settings: Settings) -> datetime | None:
    """Return the time of the newest settled article, at most the present time; None if none is settled."""
    # Later times do not count: an article with a wrong date in the future would archive all others.
    row = cursor.execute(_sql("newest"), order_parameters(settings)).fetchone()
    return None if row is None or row[1] else row[0]


def find_newest_of_all(cursor: Cursor, settings: Settings) -> datetime | None:
    """Return the time of the newest article that has not failed, at most now; this reads every row."""
    row = cursor.execute(_sql("newest_of_all"), order_parameters(settings)).fetchone()
    return None if row is None else row[0]


def find_outside(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[int]:
    """Return the articles of `ids` that are before the horizon, archived or not yet archived."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "outside_among", ids=bigints(ids))


def find_unsettled_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """Return pending or stale articles before the horizon: new or edited since the last archiving."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "unsettled_outside")


def find_not_archived_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """Return the articles before the horizon that are not archived; this reads every article's row."""
    return _ids(cursor, settings, "not_archived_outside")


def find_archived_inside(cursor: Cursor, settings: Settings) -> list[int]:
    return _ids(cursor, settings, "archived_inside")


def count_wrong_side(cursor: Cursor, settings: Settings) -> int:
    """Count settled articles wrongly archived or unarchived; 0 if a backfill will check all articles."""
    state = load(cursor)
    if state.divided != division(state.horizon, settings):
        return 0
    return int(one_row(cursor, _sql("wrong_side"), order_parameters(settings))[0])


def _ids(cursor: Cursor, settings: Settings, statement: str, **values: object) -> list[int]:
    return one_column(cursor, _sql(statement), {**order_parameters(settings), **values})


@dataclass(frozen=True, slots=True)
class LeavingCounts:
    articles: int  # number of articles that the horizon would archive
    of: int  # number of all articles
    archived: int  # number of articles that are archived already
    settled_again: int  # number of duplicates inside the window whose original would be archived


def count_leaving(cursor: Cursor, settings: Settings, horizon: datetime) -> LeavingCounts:
    """Count the articles that this horizon would archive; this reads every article's row."""
    values = {**order_parameters(settings), "horizon": horizon}
    return LeavingCounts(*one_row(cursor, _sql("count_leaving"), values))


def archive(cursor: Cursor, settings: Settings, ids: Collection[int]) -> set[int]:
    """Archive these articles; return the ids of other articles that became stale. Needs the settle lock."""
    prefer_indexes(cursor)
    values = {**order_parameters(settings), "ids": bigints(ids)}
    stale = make_stale(cursor, set(one_column(cursor, _sql("archive_pairs"), values)))
    for table in get_args(Target):
        fingerprints.delete(cursor, ids, table)
    cursor.execute(_sql("archive_articles"), {**values, "never": NEVER_COMPARED})
    return stale


def bring_back(cursor: Cursor, ids: Collection[int]) -> int:
    """Unarchive articles, and make them stale or pending; return how many. Needs the settle lock."""
    back = one_column(cursor, _sql("bring_back"), {"ids": bigints(ids)})
    # Remove all pairs, because some are with articles that stay archived. Settling restores the rest.
    articles.remove_pairs(cursor, back)
    return len(back)
