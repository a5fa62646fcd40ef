"""The horizon, and the articles on either side of it: docs/semantics.md, section 10.

An article before the horizon is archived: its fingerprint goes, its pairs with articles inside go, its mark
stays. When that is done is decided in `../settling/window.py`.
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
"""The reason of an archived article that has no mark of its own."""

NO_HORIZON = "no horizon"
"""What articles are divided by in a new corpus."""


@dataclass(frozen=True, slots=True)
class WindowState:
    horizon: datetime | None  # articles before it are archived; None: none is
    wanted: datetime | None  # where the next backfill moves it, or None
    # by which horizon and order all articles were last divided; None where that is not known
    divided: str | None


def load(cursor: Cursor) -> WindowState:
    return WindowState(*one_row(cursor, _sql("load")))


def dividing(horizon: datetime | None, settings: Settings) -> str:
    """What articles are divided by, as text."""
    if horizon is None:
        return NO_HORIZON
    return f"{horizon.astimezone(UTC).isoformat()} {settings.canonical_order} {settings.earliest_year}"


def want(cursor: Cursor, horizon: datetime) -> None:
    """Ask the next backfill to move the horizon there, unless it is to go further. Needs the settle lock."""
    cursor.execute(_sql("want"), {"horizon": horizon})


def move(cursor: Cursor, horizon: datetime) -> bool:
    """Move the horizon forward; False where it is there already. Needs the settle lock. What is before it is
    archived by the next division.
    """
    cursor.execute(_sql("want_no_more"), {"horizon": horizon})
    return cursor.execute(_sql("move"), {"horizon": horizon}).rowcount > 0


def note_divided(cursor: Cursor, divided: str | None) -> None:
    cursor.execute(_sql("note_divided"), {"divided": divided})


def newest(cursor: Cursor, settings: Settings) -> datetime | None:
    """The time of the newest article that was settled, but no later than now; None where there is none. A
    wrong date in the future would archive everything.
    """
    row = cursor.execute(_sql("newest"), order_parameters(settings)).fetchone()
    return None if row is None or row[1] else row[0]


def newest_of_all(cursor: Cursor, settings: Settings) -> datetime | None:
    """The time that `newest` will tell once all is settled; reads every article's row."""
    row = cursor.execute(_sql("newest_of_all"), order_parameters(settings)).fetchone()
    return None if row is None else row[0]


# --- which articles


def outside_among(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[int]:
    """Of these articles those that are before the horizon, archived or not yet."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "outside_among", ids=bigints(ids))


def unsettled_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """The articles before the horizon that wait to be settled: they came or were edited since a division."""
    if load(cursor).horizon is None:
        return []
    return _ids(cursor, settings, "unsettled_outside")


def not_archived_outside(cursor: Cursor, settings: Settings) -> list[int]:
    """All articles before the horizon that are not archived; reads every article's row."""
    return _ids(cursor, settings, "not_archived_outside")


def archived_inside(cursor: Cursor, settings: Settings) -> list[int]:
    return _ids(cursor, settings, "archived_inside")


def wrong_side(cursor: Cursor, settings: Settings) -> int:
    """How many settled articles are on the wrong side of the horizon, though all were divided."""
    state = load(cursor)
    if state.divided != dividing(state.horizon, settings):
        return 0
    return int(one_row(cursor, _sql("wrong_side"), order_parameters(settings))[0])


def _ids(cursor: Cursor, settings: Settings, statement: str, **values: object) -> list[int]:
    return one_column(cursor, _sql(statement), {**order_parameters(settings), **values})


@dataclass(frozen=True, slots=True)
class Leaving:
    articles: int  # how many it would archive
    of: int  # how many there are
    archived: int  # how many are already
    settled_again: int  # duplicates inside whose original it would archive


def count_leaving(cursor: Cursor, settings: Settings, horizon: datetime) -> Leaving:
    """What a horizon would do; reads every article's row."""
    return Leaving(
        *one_row(cursor, _sql("count_leaving"), {**order_parameters(settings), "horizon": horizon})
    )


# --- across the horizon


def archive(cursor: Cursor, settings: Settings, ids: Collection[int]) -> set[int]:
    """Archive articles that are before the horizon. Needs the settle lock. To those inside it is as if these
    were deleted: what rested on them is settled again. Returns the ids that became stale by it.
    """
    prefer_indexes(cursor)
    values = {**order_parameters(settings), "ids": bigints(ids)}
    stale = make_stale(cursor, set(one_column(cursor, _sql("archive_pairs"), values)))
    for table in get_args(Target):
        fingerprints.delete(cursor, ids, table)
    cursor.execute(_sql("archive_articles"), {**values, "never": NEVER_COMPARED})
    return stale


def bring_back(cursor: Cursor, ids: Collection[int]) -> int:
    """Have archived articles that are inside settled again; returns how many. Needs the settle lock. Their
    pairs go: they are with articles that stay archived, or are made again.
    """
    back = one_column(cursor, _sql("bring_back"), {"ids": bigints(ids)})
    articles.remove_pairs(cursor, back)
    return len(back)
