"""`Deduplicator.judgements`: record judgements of pairs, and measure and tune the marks. Needs NumPy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from dedup.api import OfCorpus, transacted
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.numbers import Groups
from dedup.base.settings import Settings
from dedup.db.database import Cursor, Database
from dedup.extras.judging import storing
from dedup.extras.judging.estimate import Design, Quality, quality
from dedup.extras.judging.storing import Pick, ReviewArticle, ReviewPair
from dedup.extras.judging.truth import NEAR_JACCARD, GroupScore, read_truth, score_groups
from dedup.extras.judging.tuning import JudgedPair, Tuned, tune
from dedup.rules.pair import Profile, Scores, relate_scored, score
from dedup.rules.pairs import FingerprintArrays, stories
from dedup.rules.relation import Relation
from dedup.store import articles, exports, pins, rulebooks, setting_rows, snapshots
from dedup.store.pins import Key, key

__all__ = ["Judgements", "Pick", "Proposal", "ReviewArticle", "ReviewPair", "SettingsEffect", "key"]

Record = Callable[..., None]
"""The method `Judgements.record`, inside an open transaction."""


@dataclass(frozen=True, slots=True)
class SettingsEffect:
    """The effect that other settings would have on the newest articles.

    Attributes:
        articles: number of articles compared.
        duplicates: number of duplicates under the present settings.
        duplicates_then: number of duplicates under the other settings.
        joined: articles that would become duplicates.
        left: articles that would no longer be duplicates.
        moved: duplicates that would get a different original.
    """

    articles: int
    duplicates: int
    duplicates_then: int
    joined: int
    left: int
    moved: int


@dataclass(frozen=True, slots=True)
class Proposal(Answer):
    """The best thresholds for a relation. `effect`: None for `similar`, or if the gain may be luck."""

    tuned: Tuned
    effect: SettingsEffect | None


def _scores(cursor: Cursor, settings: Settings, pairs: Collection[Key]) -> dict[Key, Scores]:
    # Pairs with an article that has no fingerprint cannot be scored and are left out.
    known = [found.id for name in set(chain(*pairs)) if (found := articles.find(cursor, name))]
    common = snapshots.common_sentences(cursor)
    profiles = {
        stored.source_id: Profile.of(stored.fingerprint, common, stored.published)
        for stored in snapshots.load(cursor, settings, known)
        if stored.fingerprint
    }
    return {
        (a, b): score(profiles[a], profiles[b], settings) for a, b in pairs if a in profiles and b in profiles
    }


def what_would_change(cursor: Cursor, present: Settings, other: Settings, count: int) -> SettingsEffect:
    """Compare the stories of the newest articles under two settings that may differ only in thresholds."""
    ids = articles.newest_ids(cursor, count)
    stored = [s for s in snapshots.load(cursor, present, ids) if s.fingerprint]
    profiles = FingerprintArrays(
        [s.fingerprint for s in stored],
        snapshots.common_sentences(cursor).keys(),
        [s.published for s in stored],
    )
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
    """Number the articles; return the number of each source_id, and the story of each number.

    Raises InputError: an article is unsettled.
    """
    with database.transaction() as cursor:
        _refuse_unsettled(cursor)
    marks = {row["id"]: row["duplicate_of"] or row["id"] for row in exports.marks(database)}
    numbers = {name: number for number, name in enumerate(marks)}
    return numbers, np.array([numbers[original] for original in marks.values()], np.int32)


def _refuse_unsettled(cursor: Cursor) -> None:
    if not rulebooks.is_all_settled(cursor):
        raise InputError("articles must be settled first: run `dedup backfill`")


def quality_of(cursor: Cursor) -> Quality | None:
    """Measure the marks by judgements. A pair that the marks put into one story counts as a found duplicate.

    Pairs with a pending article are left out. Returns None if no pair remains.
    """
    judged = [said for said in storing.listed(cursor) if said.label != "unsure"]
    story = storing.stories_of(cursor, set(chain(*(said.pair for said in judged))))
    judged = [said for said in judged if story.keys() >= set(said.pair)]
    if not judged:
        return None
    settings = setting_rows.load_settings(cursor)
    # Judge pinned pairs by the rules, not by their pins. The measured quality is meant for the whole corpus,
    # and most of its pairs have no pin.
    pinned = {(pin.id, pin.other_id) for pin in pins.pair_pins(cursor)} & {said.pair for said in judged}
    by_rules = {
        pair: relate_scored(scores, settings)
        for pair, scores in (_scores(cursor, settings, pinned) if pinned else {}).items()
    }
    called = [
        (found := by_rules[a, b]) is not None and found.relation is Relation.DUPLICATE
        if (a, b) in by_rules
        else story[a] == story[b]
        for a, b in (said.pair for said in judged)
    ]
    design = Design.of([said.stratum for said in judged], storing.strata(cursor))
    return quality(design, np.array(called), np.array([said.label == "duplicate" for said in judged]))


class Judgements(OfCorpus):
    """Judgements of pairs of articles by people. A judge is identified by a name."""

    pick = transacted(storing.pick)
    progress = transacted(storing.progress)
    waiting = transacted(storing.waiting)
    judged = transacted(storing.judged)
    read = transacted(storing.read)
    record = transacted(storing.record)
    take_back = transacted(storing.take_back)

    @contextmanager
    def recording(self) -> Iterator[Record]:
        """Yield `record` for several judgements: all are stored when the block ends, none after an error."""
        with self._database.transaction() as cursor:
            yield partial(storing.record, cursor)

    def quality(self) -> Quality:
        """Measure the marks by judgements; raise InputError without judgements or for unsettled articles."""
        with self._database.transaction() as cursor:
            _refuse_unsettled(cursor)
            found = quality_of(cursor)
        if found is None:
            raise InputError(
                "no pair is judged yet: run `dedup judge pairs`, then `dedup judge review`; or give --truth"
            )
        return found

    def score(self, truth: str | Path, min_jaccard: float = NEAR_JACCARD) -> tuple[GroupScore, int]:
        """Score the marks against a truth. Return the score and the number of pairs with unknown articles.

        Raises InputError if the truth has no duplicates in the corpus, or if articles are unsettled.
        """
        numbers, stories = marked_stories(self._database)
        known = read_truth(truth, numbers, min_jaccard)
        if not known.duplicates:
            raise InputError(f"{truth} names no duplicates among the articles of the corpus")
        return score_groups(stories, known), known.unknown

    def tune(self, newest: int) -> list[Proposal]:
        """Return the best thresholds and their effect on the newest articles. Raises like `tuning.tune`."""
        with self._database.transaction() as cursor:
            settings = setting_rows.load_settings(cursor)
            judged = storing.listed(cursor)
            scores = _scores(cursor, settings, [said.pair for said in judged])
            known = [JudgedPair(j.label, j.stratum, scores[j.pair]) for j in judged if j.pair in scores]
            return [
                Proposal(
                    tuned,
                    what_would_change(cursor, settings, settings.with_values(tuned.values()), newest)
                    if tuned.worthwhile and tuned.level == "duplicate"
                    else None,
                )
                for tuned in tune(known, storing.strata(cursor), settings)
            ]
