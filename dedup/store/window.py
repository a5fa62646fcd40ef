"""Moves the horizon, and archives articles before it (docs/semantics.md, section 10).

An archived article loses its fingerprint and its pairs with articles inside the window; its mark stays.
`../settling/window.py` decides when.
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
    horizon: datetime | None  # articles before it are archived
    wanted: datetime | None  # the next backfill moves the horizon to this time
    divided: str | None  # result of `division` at the last division of all articles; None if unknown


def load(cursor: Cursor) -> WindowState:
    return WindowState(*one_row(cursor, _sql("load")))


def division(horizon: datetime | None, settings: Settings) -> str:
    """Return the horizon and the canonical order as a string, to compare with `WindowState.divided`."""
    if horizon is None:
        return NO_HORIZON
    return f"{horizon.astimezone(UTC).isoformat()} {settings.canonical_order} {settings.earliest_year}"


def request_move(cursor: Cursor, horizon: datetime) -> None:
    """Make the next backfill move the horizon to this time or later. Needs the settle lock."""
    cursor.execute(_sql("want"), {"horizon": horizon})


def move(cursor: Cursor, horizon: datetime) -> bool:
    """Move the horizon forward; return False if it is as late already. Needs the settle lock."""
    cursor.execute(_sql("want_no_more"), {"horizon": horizon})
    return cursor.execute(_sql("move"), {"horizon": horizon}).rowcount > 0


def note_divided(cursor: Cursor, divided: str | None) -> None:
    cursor.execute(_sql("note_divided"), {"divided": divided})


def find_newest(cursor: Cursor, settings: Settings) -> datetime | None:
    """Return the time of the newest settled article, or now if that is earlier; None without any."""
    # Without the limit of now, an article with a wrong date in the future would archive all articles.
    row = cursor.execute(_sql("newest"), order_parameters(settings)).fetchone()
    return None if row is None or row[1] else row[0]


def find_newest_of_all(cursor: Cursor, settings: Settings) -> datetime | None:
    """Return the result of `find_newest` as if all articles were settled; this reads every article's row."""
    row = cursor.execute(_sql("newest_of_all"), order_parameters(settings)).fetchone()
    return None if row is None else row[0]


def find_outside(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[int]:
    """Return the articles of `ids` that are before the horizon, archived or not yet archived."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "outside_among", ids=bigints(ids))


def find_unsettled_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """Return unsettled articles before the horizon; they came, or were edited, since the last division."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "unsettled_outside")


def find_not_archived_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """Return the articles before the horizon that are not archived; this reads every article's row."""
    return _ids(cursor, settings, "not_archived_outside")


def find_archived_inside(cursor: Cursor, settings: Settings) -> list[int]:
    return _ids(cursor, settings, "archived_inside")


def count_wrong_side(cursor: Cursor, settings: Settings) -> int:
    """Count settled articles on the wrong side of the horizon; 0 while a division is due."""
    state = load(cursor)
    if state.divided != division(state.horizon, settings):
        return 0
    return int(one_row(cursor, _sql("wrong_side"), order_parameters(settings))[0])


def _ids(cursor: Cursor, settings: Settings, statement: str, **values: object) -> list[int]:
    return one_column(cursor, _sql(statement), {**order_parameters(settings), **values})


@dataclass(frozen=True, slots=True)
class LeavingCounts:
    articles: int  # number that the horizon would archive
    of: int  # number of all articles
    archived: int  # number that are archived already
    settled_again: int  # number of duplicates inside the window whose original it would archive


def count_leaving(cursor: Cursor, settings: Settings, horizon: datetime) -> LeavingCounts:
    """Count the articles that a horizon would archive; this reads every article's row."""
    values = {**order_parameters(settings), "horizon": horizon}
    return LeavingCounts(*one_row(cursor, _sql("count_leaving"), values))


def archive(cursor: Cursor, settings: Settings, ids: Collection[int]) -> set[int]:
    """Archive articles before the horizon; return ids of others that became stale. Needs the settle lock."""
    prefer_indexes(cursor)
    values = {**order_parameters(settings), "ids": bigints(ids)}
    stale = make_stale(cursor, set(one_column(cursor, _sql("archive_pairs"), values)))
    for table in get_args(Target):
        fingerprints.delete(cursor, ids, table)
    cursor.execute(_sql("archive_articles"), {**values, "never": NEVER_COMPARED})
    return stale


def bring_back(cursor: Cursor, ids: Collection[int]) -> int:
    """Make archived articles inside the window pending again; return their number. Needs the settle lock."""
    back = one_column(cursor, _sql("bring_back"), {"ids": bigints(ids)})
    # Pairs with articles that stay archived must go; the other pairs are made again.
    articles.remove_pairs(cursor, back)
    return len(back)
