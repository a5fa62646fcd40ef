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
    wanted: datetime | None  # the next backfill moves the horizon there
    divided: str | None  # result of `division` at the last division of all articles; None if unknown


def load(cursor: Cursor) -> WindowState:
    return WindowState(*one_row(cursor, _sql("load")))


def division(horizon: datetime | None, settings: Settings) -> str:
    """Return horizon and order as a text, to compare with `WindowState.divided`."""
    if horizon is None:
        return NO_HORIZON
    return f"{horizon.astimezone(UTC).isoformat()} {settings.canonical_order} {settings.earliest_year}"


def request_move(cursor: Cursor, horizon: datetime) -> None:
    """Let the next backfill move the horizon to this time or later. Needs the settle lock."""
    cursor.execute(_sql("want"), {"horizon": horizon})


def move(cursor: Cursor, horizon: datetime) -> bool:
    """Move the horizon forward; return False if it is there already. Needs the settle lock."""
    cursor.execute(_sql("want_no_more"), {"horizon": horizon})
    return cursor.execute(_sql("move"), {"horizon": horizon}).rowcount > 0


def note_divided(cursor: Cursor, divided: str | None) -> None:
    cursor.execute(_sql("note_divided"), {"divided": divided})


def find_newest(cursor: Cursor, settings: Settings) -> datetime | None:
    """Return the time of the newest settled article, but no later than now; None without any."""
    # An article with a wrong date in the future would archive everything.
    row = cursor.execute(_sql("newest"), order_parameters(settings)).fetchone()
    return None if row is None or row[1] else row[0]


def find_newest_of_all(cursor: Cursor, settings: Settings) -> datetime | None:
    """Return the result of `find_newest` after all articles are settled; read every article's row."""
    row = cursor.execute(_sql("newest_of_all"), order_parameters(settings)).fetchone()
    return None if row is None else row[0]


def find_outside(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[int]:
    """Return the articles among these that are before the horizon, archived or not yet."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "outside_among", ids=bigints(ids))


def find_unsettled_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """Return unsettled articles before the horizon, which came or were edited since a division."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "unsettled_outside")


def find_not_archived_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """Return the articles before the horizon that are not archived; read every article's row."""
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
    articles: int  # that the horizon would archive
    of: int  # all articles
    archived: int  # already
    settled_again: int  # duplicates inside whose original it would archive


def count_leaving(cursor: Cursor, settings: Settings, horizon: datetime) -> LeavingCounts:
    """Count the articles that a horizon would archive; read every article's row."""
    values = {**order_parameters(settings), "horizon": horizon}
    return LeavingCounts(*one_row(cursor, _sql("count_leaving"), values))


def archive(cursor: Cursor, settings: Settings, ids: Collection[int]) -> set[int]:
    """Archive articles before the horizon; return the ids that became stale by it. Needs the settle lock."""
    prefer_indexes(cursor)
    values = {**order_parameters(settings), "ids": bigints(ids)}
    stale = make_stale(cursor, set(one_column(cursor, _sql("archive_pairs"), values)))
    for table in get_args(Target):
        fingerprints.delete(cursor, ids, table)
    cursor.execute(_sql("archive_articles"), {**values, "never": NEVER_COMPARED})
    return stale


def bring_back(cursor: Cursor, ids: Collection[int]) -> int:
    """Make archived articles inside the window pending again; return how many. Needs the settle lock."""
    back = one_column(cursor, _sql("bring_back"), {"ids": bigints(ids)})
    # These pairs are with articles that stay archived, or are made again.
    articles.remove_pairs(cursor, back)
    return len(back)
