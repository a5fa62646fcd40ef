"""List the pairs most worth judging: pairs that a slightly different threshold would decide differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any, Literal, get_args

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.base.verdict import Match
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.reading import ArticleLine, lines_of, paged, rows_of
from dedup.store import setting_rows
from dedup.store.pins import PairPin

_sql = Statements("extras/browse/questions/questions")

QueueKind = Literal["duplicate", "similar", "picked"]
"""Kind of pairs: near a duplicate threshold, near a similar threshold, or picked by `dedup judge pairs`."""

QUEUE_PAIRS = 50  # Maximum number of pairs in a queue
NEAREST = 5_000  # Maximum number of pairs read on each side of a threshold
PINS_PAGE = 100  # Maximum number of pins on a page

_ABOVE, _BELOW = {"side": ">=", "direction": "ASC"}, {"side": "<", "direction": "DESC"}


@dataclass(frozen=True, slots=True)
class DoubtfulPair(Answer):
    """A pair that nobody has pinned or judged."""

    earlier: ArticleLine
    later: ArticleLine
    match: Match | None  # the stored match of `later` with `earlier`; "picked" pairs may have no match
    threshold: str | None  # name of the threshold that decides the match; None for a picked pair
    margin: float | None  # measure minus threshold; None for a picked pair
    scores: dict[str, float | None]  # method of `dedup lab` -> score; empty unless the pair was picked


@dataclass(frozen=True, slots=True)
class PinsPage(Answer):
    """Pins of pairs, the newest first."""

    pins: tuple[PairPin, ...]
    after: str | None  # token of the next page


def queue(cursor: Cursor, kind: QueueKind = "duplicate") -> tuple[DoubtfulPair, ...]:
    """Return pairs worth judging, the nearest to a threshold first; raise InputError for an unknown kind."""
    if kind not in get_args(QueueKind):
        raise InputError(f"there is no queue {kind!r}; there are {', '.join(get_args(QueueKind))}")
    # The order of the picked pairs mixes the strata, so a judge who stops early has judged pairs of each.
    if kind == "picked":
        return _picked(cursor)
    settings = setting_rows.load_settings(cursor)
    found: dict[tuple[int, int], tuple[Match, str, float]] = {}
    for row in _near(cursor, settings, kind):
        match = Match(*row[2:])
        found[row[0], row[1]] = (match, *_margin(match, settings, kind))
    nearest = sorted(found.items(), key=lambda item: (abs(item[1][2]), item[0]))[:QUEUE_PAIRS]
    lines = lines_of(cursor, {id for pair, _ in nearest for id in pair})
    return tuple(
        DoubtfulPair(lines[earlier], lines[later], match, threshold, margin, {})
        for (later, earlier), (match, threshold, margin) in nearest
        if later in lines and earlier in lines
    )


def _near(cursor: Cursor, settings: Settings, kind: QueueKind) -> Iterator[tuple[Any, ...]]:
    scored = {"rules": "IN ('sentences', 'signature')", "measure": "score"}
    looks = [(threshold, scored) for threshold in {getattr(settings, name) for name in _thresholds(kind)}]
    if kind == "similar":
        looks.append((settings.similar_containment, {"rules": "= 'containment'", "measure": "containment"}))
    # Pairs below the thresholds for similar articles are not stored, so only pairs above them can be read.
    sides = (_ABOVE, _BELOW) if kind == "duplicate" else (_ABOVE,)
    for (threshold, parts), side in product(looks, sides):
        values = {"threshold": threshold, "nearest": NEAREST, "limit": QUEUE_PAIRS}
        yield from cursor.execute(_sql("near", **parts, **side), values).fetchall()


def _thresholds(kind: QueueKind) -> tuple[str, str]:
    return f"{kind}_sentence_jaccard", f"{kind}_signature_jaccard"


def _margin(match: Match, settings: Settings, kind: QueueKind) -> tuple[str, float]:
    """Return the name of the threshold that decides a match, and the margin: measure minus threshold.

    Of two thresholds, the one with the larger margin decides, because one fulfilled rule is enough.
    """
    if match.rule == "containment" and kind == "similar":
        return "similar_containment", match.containment - settings.similar_containment
    measured = zip(_thresholds(kind), (match.sentence_jaccard, match.signature_jaccard), strict=True)
    margins = {name: value - getattr(settings, name) for name, value in measured}
    name = max(margins, key=lambda name: margins[name])
    return name, margins[name]


def _picked(cursor: Cursor) -> tuple[DoubtfulPair, ...]:
    rows = cursor.execute(_sql("picked"), {"limit": QUEUE_PAIRS}).fetchall()
    lines = lines_of(cursor, {id for row in rows for id in row[:2]})
    found = []
    for a, o, scores in rows:
        if a in lines and o in lines:
            earlier, later = sorted((a, o), key=lambda id: (lines[id].time, lines[id].source_id))
            row = cursor.execute(_sql("pair"), {"later": later, "earlier": earlier}).fetchone()
            match = Match(*row) if row else None
            found.append(DoubtfulPair(lines[earlier], lines[later], match, None, None, scores))
    return tuple(found)


def pins(cursor: Cursor, after: str | None = None, *, rows: int | None = None) -> PinsPage:
    """Return a page of pins of pairs; raise InputError for a wrong `after`."""
    until = {"time": datetime.max.replace(tzinfo=UTC), "a": "", "b": ""}
    if after is not None:
        until = dict(zip(until, reading.position(after, datetime, str, str), strict=True))
    page = rows_of(rows, PINS_PAGE)
    said = cursor.execute(_sql("pins_page"), {**until, "limit": page + 1}).fetchall()
    found, last = paged([PairPin(*row) for row in said], page)
    goes_on = reading.token(last.pinned_at, last.id, last.other_id) if last else None
    return PinsPage(tuple(found), goes_on)
