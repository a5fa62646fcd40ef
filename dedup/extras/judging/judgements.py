"""`Deduplicator.judgements`: pairs picked for people, what people said of them, and what follows from it.

Needs NumPy, so it is imported when it is first asked for. How pairs are found and drawn is the lab's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dedup.api import OfCorpus, transacted
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.extras.judging import live
from dedup.extras.judging import storing as judgements
from dedup.extras.judging.estimate import Estimate, Quality
from dedup.extras.judging.live import SettingsEffect
from dedup.extras.judging.storing import Pick, ReviewArticle, ReviewPair, ReviewProgress
from dedup.extras.judging.truth import NEAR_JACCARD, GroupScore, read_truth, score_groups
from dedup.extras.judging.tuning import Tuned, tune
from dedup.store import rulebooks
from dedup.store.pins import Key, key

__all__ = [
    "Estimate",
    "GroupScore",
    "Judgements",
    "Key",
    "Pick",
    "Proposal",
    "Quality",
    "ReviewArticle",
    "ReviewPair",
    "ReviewProgress",
    "SettingsEffect",
    "Tuned",
    "key",
]

Record = Callable[..., None]  # `Judgements.record`, within one transaction


@dataclass(frozen=True, slots=True)
class Proposal(Answer):
    """The best thresholds of a level, and what they would change where they are worth it."""

    tuned: Tuned
    effect: SettingsEffect | None


class Judgements(OfCorpus):
    """What people say of pairs of articles; a judge is a name."""

    pick = transacted(judgements.pick)
    progress = transacted(judgements.progress)
    waiting = transacted(judgements.waiting)
    judged = transacted(judgements.judged)
    read = transacted(judgements.read)
    take_back = transacted(judgements.take_back)
    quality = transacted(live.judged_quality)

    def record(
        self,
        pair: Key,
        judge: str,
        label: str,
        note: str | None = None,
        hashes: tuple[bytes | None, bytes | None] = (None, None),
    ) -> None:
        """Keep a judgement, in place of an earlier one by the same judge.

        `label`: "duplicate", "similar", "different" or "unsure". `hashes`: of the two texts that were read;
        None for those stored now. Raises InputError: there is no such label, or no such pair, as of an
        article with itself. Raises NotFoundError: an article is not stored.
        """
        with self.recording() as record:
            record(pair, judge, label, note, hashes)

    @contextmanager
    def recording(self) -> Iterator[Record]:
        """`record` for several judgements: all are kept at the end, or none if anything is raised."""
        with self._database.transaction() as cursor:
            yield partial(judgements.record, cursor)

    def score(self, truth: str | Path, min_jaccard: float = NEAR_JACCARD) -> tuple[GroupScore, int]:
        """The marks against a truth; also how many of its pairs name articles that are not stored.

        Raises InputError: the truth cannot be read, or names no duplicates among the articles of the corpus;
        or articles are unsettled.
        """
        numbers, stories = live.marked_stories(self._database)
        known = read_truth(truth, numbers, min_jaccard)
        if not known.duplicates:
            raise InputError(f"{truth} names no duplicates among the articles of the corpus")
        return score_groups(stories, known), known.unknown

    def tune(self, newest: int) -> list[Proposal]:
        """The thresholds that are best for what people judged.

        `newest`: so many of the newest articles tell what would change. Raises InputError: too little is
        judged.
        """
        with self._database.transaction() as cursor:
            settings = rulebooks.load_settings(cursor)
            judged = live.judged_pairs(cursor, judgements.listed(cursor))
            return [
                Proposal(
                    tuned,
                    live.what_would_change(cursor, settings, settings.with_values(tuned.values()), newest)
                    if tuned.worthwhile and tuned.level == "duplicate"
                    else None,
                )
                for tuned in tune(judged, judgements.strata(cursor), settings)
            ]
