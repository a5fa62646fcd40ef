"""How good groups of articles are against a truth: pairs, groups, and recall by the size of the story.

Pairs: two articles in one group count as found. Groups: adjusted Rand index (Hubert and Arabie 1985) and
B-cubed (Bagga and Baldwin 1998). An overall recall would hide the loss of the big stories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Groups
from dedup.judging.truth import DUPLICATE, UNCLEAR, Truth

Counts = npt.NDArray[np.int64]
"""Shape (k,): a count, or the number of a story or a group, for each overlap of the two."""

STORY_SIZES: tuple[tuple[int, int | None], ...] = ((2, 4), (5, 19), (20, 49), (50, 99), (100, None))
"""Articles in a story, from and to: the bands in which recall is told."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Pairs found rightly, found wrongly, and missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float | None:
        """Of what was found, the share that is right; None where nothing was found."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        """Of what there is, the share that was found; None where there is nothing to find."""
        return self.right / (self.right + self.missed) if self.right + self.missed else None

    @property
    def f1(self) -> float | None:
        total = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / total if total else None


@dataclass(frozen=True, slots=True)
class SizeBand:
    """Recall among the stories of a size."""

    least: int  # least, most: members of the stories; no `most` for the last band
    most: int | None
    stories: int  # stories, pairs: how many there are; found: pairs whose two articles end in one group
    pairs: int
    found: int

    @property
    def recall(self) -> float | None:
        return self.found / self.pairs if self.pairs else None


@dataclass(frozen=True, slots=True)
class GroupScore:
    """How good groups are; pairs count two articles in one group as found."""

    pairs: Tally
    adjusted_rand: float
    b_cubed_precision: float
    b_cubed_recall: float
    by_size: tuple[SizeBand, ...]

    @property
    def b_cubed_f1(self) -> float:
        return 2 / (1 / self.b_cubed_precision + 1 / self.b_cubed_recall)


def score_groups(groups: Groups, truth: Truth) -> GroupScore:
    """The groups of all documents against the truth about them."""
    together = groups[truth.pairs[:, 0]] == groups[truth.pairs[:, 1]]
    right = int((together & (truth.grades == DUPLICATE)).sum())
    members = np.bincount(groups) if len(groups) else np.empty(0, np.int64)
    found = int((members * (members - 1) // 2).sum()) - int((together & (truth.grades == UNCLEAR)).sum())
    precision, recall = b_cubed(truth.stories, groups)
    return GroupScore(
        pairs=Tally(right, found - right, truth.duplicates - right),
        adjusted_rand=adjusted_rand(truth.stories, groups),
        b_cubed_precision=precision,
        b_cubed_recall=recall,
        by_size=tuple(_by_size(groups, truth)),
    )


def adjusted_rand(truth: Groups, groups: Groups) -> float:
    """The adjusted Rand index (Hubert and Arabie 1985): 1 for equal groupings, about 0 for chance."""
    story, group, both = _overlaps(truth, groups)
    total = len(truth) * (len(truth) - 1) // 2
    together, in_story, in_group = (
        sum(n * (n - 1) // 2 for n in counts.tolist())
        for counts in (both, _sums(story, both), _sums(group, both))
    )
    if together == in_story == in_group:
        return 1.0
    # With everything multiplied by 2 * total: (found - expected) / (most - expected).
    expected = 2 * in_story * in_group
    most = (in_story + in_group) * total
    return float((2 * together * total - expected) / (most - expected))


def b_cubed(truth: Groups, groups: Groups) -> tuple[float, float]:
    """B-cubed precision and recall (Bagga and Baldwin 1998), on average over documents; 1 and 1 where there
    are none.

    Of a document's group, the share that is of its story; of its story, the share that is in its group.
    """
    if not len(truth):
        return 1.0, 1.0
    story, group, both = _overlaps(truth, groups)
    squares = both.astype(np.float64) ** 2
    return (
        float((squares / _sums(group, both)[group]).sum()) / len(truth),
        float((squares / _sums(story, both)[story]).sum()) / len(truth),
    )


def _overlaps(truth: Groups, groups: Groups) -> tuple[Counts, Counts, Counts]:
    """The stories and groups that have documents in common, and how many; three of shape (overlaps,)."""
    most = int(groups.max(initial=0)) + 1
    codes, both = np.unique(truth.astype(np.int64) * most + groups, return_counts=True)
    return codes // most, codes % most, both.astype(np.int64)


def _sums(numbers: Counts, counts: Counts) -> Counts:
    return np.bincount(numbers, counts).astype(np.int64)


def _by_size(groups: Groups, truth: Truth) -> Iterable[SizeBand]:
    sizes = np.bincount(truth.stories) if len(truth.stories) else np.empty(0, np.int64)
    pairs = truth.pairs[truth.grades == DUPLICATE]
    members = sizes[truth.stories[pairs[:, 0]]]
    together = groups[pairs[:, 0]] == groups[pairs[:, 1]]
    for least, most in STORY_SIZES:
        inside = (members >= least) & (members <= (most or len(groups)))
        stories = int(((sizes >= least) & (sizes <= (most or len(groups)))).sum())
        yield SizeBand(least, most, stories, int(inside.sum()), int((inside & together).sum()))
