"""Move the horizon (start of the window), and archive articles before it (docs/semantics.md, section 10).

A backfill moves the horizon when everything is settled, so that every article has a mark when it is archived.
After a move, or if canonical order changed, all articles are divided again into archived ones and articles of
the window. Between two divisions only new or edited articles can be before the horizon and not archived.
No engine settles such articles. Each round of a backfill archives them; a hook archives its article at once.

Work can stop between any two transactions: the horizon is stored first, and `corpus_state.divided` tells
whether the division by this horizon was completed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.progress import Progress
from dedup.base.settings import WINDOW_FORM, Settings, window_days
from dedup.base.times import parse_time
from dedup.db.database import Cursor, Database, run_locked
from dedup.store import setting_rows, window
from dedup.store.rulebooks import Rulebook

ARTICLES_PER_TRANSACTION = 500  # A maximum, because a transaction should hold the settle lock for only 0.1 s
DAY = timedelta(days=1)

_Work = Callable[[Settings, Sequence[int], Cursor], int]


@dataclass(frozen=True, slots=True)
class PrunePreview(Answer):
    """Effect that `dedup prune` would have.

    Attributes:
        horizon: the new horizon.
        present: the present horizon.
        articles: number of articles to be archived.
        of: number of all articles.
        archived: number of articles already archived.
        settled_again: duplicates left in the window whose original would be archived.
    """

    horizon: datetime
    present: datetime | None
    articles: int
    of: int
    archived: int
    settled_again: int


class Window:
    """Moves the horizon and archives articles, as part of a backfill; counts the archived articles."""

    def __init__(self, database: Database, progress: Progress, stop: Callable[[], bool]) -> None:
        self.archived = 0
        self._database, self._progress, self._stop = database, progress, stop

    def divide(self, rulebook: Rulebook) -> None:
        """Archive articles before the horizon, and bring back archived articles that are no longer before the
        horizon. Raises StaleRulesError: the settings changed; the pages committed before stay valid."""
        settings = rulebook.settings
        with self._database.transaction() as cursor:
            state = window.load(cursor)
            wanted = window.division(state.horizon, settings)
            again = wanted != state.divided
            if state.horizon is None and not again:
                return
            back = window.find_archived_inside(cursor, settings) if again else []
            find = window.find_not_archived_outside if again else window.find_unsettled_outside
            leaving = find(cursor, settings)
        if back or leaving:
            self._progress.start("archiving", len(back) + len(leaving))
        self._do_pages(rulebook, back, _bring_back)
        self.archived += self._do_pages(rulebook, leaving, _archive)
        if again and not self._stop():
            run_locked(self._database, partial(window.note_divided, divided=wanted), rulebook.check)

    def advance(self) -> bool:
        """Move the horizon for `dedup prune` or the setting `keep_window`; return whether it moved."""
        if self._stop():
            return False
        # The horizon rarely moves, so check first without the settle lock.
        with self._database.transaction() as cursor:
            if _find_goal(cursor) is None:
                return False
        return run_locked(self._database, _move_horizon)

    def _do_pages(self, rulebook: Rulebook, ids: Sequence[int], work: _Work) -> int:
        """Call `work` for each page of articles until told to stop; return the sum of its results."""
        done = 0
        for start in range(0, len(ids), ARTICLES_PER_TRANSACTION):
            if self._stop():
                break
            page = ids[start : start + ARTICLES_PER_TRANSACTION]
            done += run_locked(self._database, partial(work, rulebook.settings, page), rulebook.check)
            self._progress.advance(len(page))
        return done


def _move_horizon(cursor: Cursor) -> bool:
    goal = _find_goal(cursor)
    return goal is not None and window.move(cursor, goal)


def _find_goal(cursor: Cursor) -> datetime | None:
    """Return the new horizon, by `dedup prune` or by `keep_window`; None if the horizon stays."""
    settings, state = setting_rows.load_settings(cursor), window.load(cursor)
    wanted = [state.wanted]
    if settings.keep_days is not None:
        wanted.append(find_horizon(cursor, settings, settings.keep_days))
    goal = max((found for found in wanted if found is not None), default=None)
    if goal is None or state.horizon is None or state.wanted is not None:
        return goal  # if it equals the present horizon, the move only removes the request
    return goal if goal > state.horizon else None


def _archive(settings: Settings, page: Sequence[int], cursor: Cursor) -> int:
    # Articles may have been edited since their ids were read.
    still = window.find_outside(cursor, settings, page)
    window.archive(cursor, settings, still)
    return len(still)


def _bring_back(settings: Settings, page: Sequence[int], cursor: Cursor) -> int:
    outside = set(window.find_outside(cursor, settings, page))
    return window.bring_back(cursor, [id for id in page if id not in outside])


def find_horizon(cursor: Cursor, settings: Settings, days: int) -> datetime | None:
    """Return the start of the day (UTC) that is `days` before the newest article; None if none is settled."""
    return _days_before(window.find_newest(cursor, settings), days)


def _days_before(newest: datetime | None, days: int) -> datetime | None:
    if newest is None:
        return None
    try:
        return (newest.astimezone(UTC) - days * DAY).replace(hour=0, minute=0, second=0, microsecond=0)
    except OverflowError:  # the result would be before the year 1
        return None


def want(database: Database, older_than: str) -> None:
    """Request that the next backfill moves the horizon; see `Deduplicator.prune`."""
    run_locked(database, lambda cursor: window.request_move(cursor, _parse_horizon(cursor, older_than)))


def preview(database: Database, older_than: str) -> PrunePreview:
    """Preview the effect of `want` on the articles that are settled now."""
    with database.transaction() as cursor:
        horizon = _parse_horizon(cursor, older_than)
        found = window.count_leaving(cursor, setting_rows.load_settings(cursor), horizon)
        present = window.load(cursor).horizon
    return PrunePreview(horizon, present, found.articles, found.of, found.archived, found.settled_again)


def count_leaving(cursor: Cursor, settings: Settings) -> tuple[int, int]:
    """Count the articles that `settings` would archive, and all articles; return (0, 0) without a window."""
    if settings.keep_days is None:
        return 0, 0
    horizon = _days_before(window.find_newest_of_all(cursor, settings), settings.keep_days)
    if horizon is None:
        return 0, 0
    found = window.count_leaving(cursor, settings, horizon)
    return found.articles, found.of


def _parse_horizon(cursor: Cursor, older_than: str) -> datetime:
    """Parse a horizon. Raises InputError: the text is not a horizon, or not after the present horizon."""
    days = window_days(older_than)
    if days is not None:
        found = find_horizon(cursor, setting_rows.load_settings(cursor), days)
        if found is None:
            raise InputError("no article is settled, so there is no newest one: run `dedup backfill` first")
    else:
        try:
            found = parse_time(older_than, "the horizon")
        except InputError:
            found = None
        if found is None:
            raise InputError(f"{older_than!r} is no horizon: write {WINDOW_FORM}, or a day: 2024-01-01")
    present = window.load(cursor).horizon
    if present is not None and found <= present:
        raise InputError(
            f"the horizon is at {present.astimezone(UTC):%Y-%m-%d} already, and cannot go back to"
            f" {found:%Y-%m-%d}: articles before it are archived"
        )
    return found
