"""People's judgements held against the live corpus: scores of judged pairs, and how good the marks are. Reads
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dedup.base.errors import InputError
from dedup.base.numbers import Groups
from dedup.base.settings import Settings
from dedup.db.database import Cursor, Database
from dedup.extras.judging import storing as judgements
from dedup.extras.judging.estimate import Design, Quality, quality
from dedup.extras.judging.storing import Judged
from dedup.extras.judging.tuning import JudgedPair
from dedup.rules.pair import Profile, Scores, relate_scored, score
from dedup.rules.pairs import FingerprintArrays, stories
from dedup.rules.relation import Relation
from dedup.store import articles, exports, pins, rulebooks, snapshots


def judged_pairs(cursor: Cursor, judged: Sequence[Judged]) -> list[JudgedPair]:
    """The judged pairs with the scores that the rule gives them now, unless an article has none."""
    present = [pair for pair in judged if not pair.stale]
    scored = zip(present, _scores(cursor, rulebooks.load_settings(cursor), present), strict=True)
    return [JudgedPair(pair.label, pair.stratum, scores) for pair, scores in scored if scores]


def _scores(cursor: Cursor, settings: Settings, judged: Sequence[Judged]) -> list[Scores | None]:
    """The scores that the rule gives each pair now; None where an article has no fingerprint."""
    names = {name for pair in judged for name in (pair.id, pair.other_id)}
    known = [found.id for name in names if (found := articles.find(cursor, name))]
    common = snapshots.common_sentences(cursor)
    profiles = {
        stored.source_id: Profile.of(stored.fingerprint, common)
        for stored in snapshots.load(cursor, settings, known)
        if stored.fingerprint
    }
    return [
        score(profiles[pair.id], profiles[pair.other_id], settings)
        if pair.id in profiles and pair.other_id in profiles
        else None
        for pair in judged
    ]


@dataclass(frozen=True, slots=True)
class SettingsEffect:
    """What other settings would do to the newest articles."""

    articles: int  # how many were looked at
    # duplicates, duplicates_then: duplicates under the present settings, and under the others.
    duplicates: int
    duplicates_then: int
    joined: int  # articles that would become duplicates; left: that would no longer be
    left: int
    moved: int  # duplicates that would be those of another article


def what_would_change(cursor: Cursor, present: Settings, other: Settings, count: int) -> SettingsEffect:
    """Compare the stories of the newest articles under two settings that differ in thresholds only."""
    ids = articles.newest_ids(cursor, count)
    stored = [s for s in snapshots.load(cursor, present, ids) if s.fingerprint]
    profiles = FingerprintArrays([s.fingerprint for s in stored], snapshots.common_sentences(cursor).keys())
    scored = profiles.score(profiles.candidates(), present)
    orders = [s.order for s in stored]
    now, then = (stories(orders, scored, scored.duplicates(s)) for s in (present, other))
    alone = np.arange(len(stored))
    was, becomes = now != alone, then != alone
    return SettingsEffect(
        len(stored),
        int(was.sum()),
        int(becomes.sum()),
        int((becomes & ~was).sum()),
        int((was & ~becomes).sum()),
        int((was & becomes & (now != then)).sum()),
    )


def marked_stories(database: Database) -> tuple[dict[str, int], Groups]:
    """The number of every article's source_id, and the stories that the marks make.

    Raises InputError if articles are unsettled.
    """
    with database.transaction() as cursor:
        _refuse_unsettled(cursor)
    marks = {row["id"]: row["duplicate_of"] or row["id"] for row in exports.marks(database)}
    numbers = {name: number for number, name in enumerate(marks)}
    return numbers, np.array([numbers[original] for original in marks.values()], np.int32)


def _refuse_unsettled(cursor: Cursor) -> None:
    if not rulebooks.nothing_unsettled(cursor):
        raise InputError("articles are unsettled: run `dedup backfill` first")


def judged_quality(cursor: Cursor) -> Quality:
    """How good the marks are by what people judged, as `quality_of` says it.

    Raises InputError: nobody judged a pair, or articles are unsettled.
    """
    _refuse_unsettled(cursor)
    found = quality_of(cursor)
    if found is None:
        raise InputError(
            "no pair is judged yet: `dedup judge pairs`, then `dedup judge review`; or give --truth"
        )
    return found


def quality_of(cursor: Cursor) -> Quality | None:
    """How good the marks are by what people judged: two articles of one story are called duplicates.

    A pair that is pinned is marked as people said, which tells nothing of the pairs that nobody saw: of it
    counts what the rules alone say. Left out are pairs of which an article is pending. None: no pair is left.
    """
    judged = [pair for pair in judgements.listed(cursor) if not pair.stale and pair.label != "unsure"]
    stories = judgements.stories_of(cursor, {name for pair in judged for name in (pair.id, pair.other_id)})
    judged = [pair for pair in judged if pair.id in stories and pair.other_id in stories]
    if not judged:
        return None
    called = [stories[pair.id] == stories[pair.other_id] for pair in judged]
    said = {(pin.id, pin.other_id) for pin in pins.pair_pins(cursor)}
    pinned = [place for place, pair in enumerate(judged) if (pair.id, pair.other_id) in said]
    if pinned:
        settings = rulebooks.load_settings(cursor)
        scored = _scores(cursor, settings, [judged[place] for place in pinned])
        for place, scores in zip(pinned, scored, strict=True):
            if scores:
                related = relate_scored(scores, settings)
                called[place] = related is not None and related.relation is Relation.DUPLICATE
    design = Design.of([pair.stratum for pair in judged], judgements.strata(cursor))
    return quality(design, np.array(called), np.array([pair.label == "duplicate" for pair in judged]))
