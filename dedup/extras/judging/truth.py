"""Read a truth (known duplicates of a corpus) from a file, and score groups of articles against the truth.

A file, plain or gzipped, has one JSON object per line, in one of three forms:

    {"a": ID, "b": ID, "label": "duplicate"}        or another label of `GRADES`, such as "different"
    {"a": ID, "b": ID, "jaccard5": 0.83}            graded: a duplicate at or above a limit, else unclear
    {"cluster": NAME, "ids": [ID, ...]}             a story: any two of the ids are duplicates

Finding an unclear pair ("similar", "unsure", a graded pair below the limit) is neither right nor wrong. A
pair that the file does not name is not a duplicate; `GroupScore.unnamed` counts such pairs that were found.
Optional keys (`KINDS`) divide pairs into kinds, whose recall can be measured separately.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.base.errors import InputError
from dedup.base.numbers import Groups, Pairs, linked, pair_keys
from dedup.files.jsonl import read_jsonl
from dedup.files.source import LineSource

NEAR_JACCARD = 0.8  # Graded pairs with at least this Jaccard similarity are duplicates
DUPLICATE, UNCLEAR, DIFFERENT = 1, 0, -1

GRADES = {
    "duplicate": DUPLICATE,
    "near_duplicate": DUPLICATE,
    "same_article": DUPLICATE,
    "same_release": UNCLEAR,
    "covers_release": UNCLEAR,
    "similar": UNCLEAR,
    "unsure": UNCLEAR,
    "different": DIFFERENT,
}

KINDS = ("band", "kind", "level", "share", "extractor", "part", "language")
_NAMES = ("a", "b", "label", "jaccard5", "cluster", "ids", *KINDS)

Grades = npt.NDArray[np.int8]  # Shape (m,): DUPLICATE, UNCLEAR or DIFFERENT for each pair


@dataclass(frozen=True)
class Truth:
    """The pairs that a truth file names, and the stories that the duplicates form."""

    pairs: Pairs  # named pairs, sorted
    grades: Grades
    kinds: tuple[tuple[str, ...], ...]  # values of `KINDS` for each pair, such as "level 10"
    stories: Groups  # story of every document; a document without duplicates is alone in its story
    unknown: int = 0  # number of named pairs with an id that the corpus does not have

    @property
    def duplicates(self) -> int:
        return int((self.grades == DUPLICATE).sum())

    @property
    def unclear(self) -> int:
        return int((self.grades == UNCLEAR).sum())

    def grade(self, pairs: Pairs) -> Grades:
        """Return the grade of each pair, shape (m,)."""
        size = len(self.stories)
        known, asked = pair_keys(self.pairs, size), pair_keys(pairs, size)
        if not len(known):
            return np.full(len(pairs), DIFFERENT, np.int8)
        place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where(known[place] == asked, self.grades[place], np.int8(DIFFERENT))

    @classmethod
    def of(
        cls,
        size: int,
        graded: Mapping[tuple[int, int], int],
        kinds: Mapping[tuple[int, int], tuple[str, ...]],
        unknown: int = 0,
    ) -> Truth:
        """Make a truth from graded pairs (i, j), where i < j are numbers of documents."""
        ordered = sorted(graded)
        pairs = np.array(ordered, np.int32).reshape(-1, 2)
        grades = np.array([graded[pair] for pair in ordered], np.int8)
        stories = linked(size, pairs[grades == DUPLICATE])
        return cls(pairs, grades, tuple(kinds.get(pair, ()) for pair in ordered), stories, unknown)


def read_truth(path: str | Path, numbers: Mapping[str, int], min_jaccard: float = NEAR_JACCARD) -> Truth:
    """Read a truth file. `numbers`: document numbers by id. Raises InputError if a line has no known form."""
    graded: dict[tuple[int, int], int] = {}
    kinds: dict[tuple[int, int], tuple[str, ...]] = {}
    unknown = 0
    with closing(LineSource(str(path))) as source:
        for line, _, row in read_jsonl(source, {name: (name,) for name in _NAMES}):
            if isinstance(row, str):
                raise InputError(f"{path}, line {line}: {row}")
            try:
                named, grade = _named(row, min_jaccard)
            except (KeyError, TypeError, ValueError):
                raise InputError(
                    f'{path}, line {line}: not a truth; write {{"a": ID, "b": ID, "label": "duplicate"}}'
                    ' or {"cluster": NAME, "ids": [ID, …]}'
                ) from None
            for a, b in named:
                if a not in numbers or b not in numbers:
                    unknown += 1
                    continue
                i, j = sorted((numbers[a], numbers[b]))
                if i != j:
                    graded[i, j] = grade
                    kinds[i, j] = tuple(f"{key} {row[key]}" for key in KINDS if key in row)
    return Truth.of(len(numbers), graded, kinds, unknown)


def _named(row: Mapping[str, Any], min_jaccard: float) -> tuple[list[tuple[str, str]], int]:
    if "ids" in row:
        return list(itertools.combinations(dict.fromkeys(map(str, row["ids"])), 2)), DUPLICATE
    if "label" in row:
        grade = GRADES[row["label"]]
    else:
        grade = DUPLICATE if float(row["jaccard5"]) >= min_jaccard else UNCLEAR
    return [(str(row["a"]), str(row["b"]))], grade


Counts = npt.NDArray[np.int64]
"""Shape (k,): a whole number per overlap. An overlap is a story and a group with common documents."""

# Recall is measured per size of story, because overall recall would hide poor recall of the few big stories.
STORY_SIZES: tuple[tuple[int, int | None], ...] = ((2, 4), (5, 19), (20, 49), (50, 99), (100, None))


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of pairs found rightly, found wrongly and missed. A measure of 0 / 0 is given as None.

    Attributes:
        unclear: found pairs that are neither right nor wrong.
    """

    right: int
    wrong: int
    missed: int
    unclear: int = 0

    @property
    def precision(self) -> float | None:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        return self.right / (self.right + self.missed) if self.right + self.missed else None

    @property
    def f1(self) -> float | None:
        total = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / total if total else None


@dataclass(frozen=True, slots=True)
class SizeBand:
    """The recall for stories in a band of sizes.

    Attributes:
        least: minimum number of articles of a story.
        most: maximum number; None in the last band.
        found: pairs whose two articles are in the same group.
    """

    least: int
    most: int | None
    stories: int
    pairs: int
    found: int

    @property
    def recall(self) -> float | None:
        return self.found / self.pairs if self.pairs else None


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The quality of groups. Two articles in the same group count as a found pair.

    Attributes:
        unnamed: found pairs that the truth does not name; they count as wrong.
    """

    pairs: Tally
    unnamed: int
    adjusted_rand: float
    b_cubed_precision: float
    b_cubed_recall: float
    by_size: tuple[SizeBand, ...]

    @property
    def b_cubed_f1(self) -> float:
        return 2 / (1 / self.b_cubed_precision + 1 / self.b_cubed_recall)


def score_groups(groups: Groups, truth: Truth) -> GroupScore:
    """Score a grouping of all documents against a truth."""
    together = groups[truth.pairs[:, 0]] == groups[truth.pairs[:, 1]]
    right = int((together & (truth.grades == DUPLICATE)).sum())
    members = np.bincount(groups) if len(groups) else np.empty(0, np.int64)
    unclear = int((together & (truth.grades == UNCLEAR)).sum())
    found = int((members * (members - 1) // 2).sum())
    precision, recall = b_cubed(truth.stories, groups)
    return GroupScore(
        pairs=Tally(right, found - right - unclear, truth.duplicates - right, unclear),
        unnamed=found - int(together.sum()),
        adjusted_rand=adjusted_rand(truth.stories, groups),
        b_cubed_precision=precision,
        b_cubed_recall=recall,
        by_size=tuple(_by_size(groups, truth)),
    )


def adjusted_rand(truth: Groups, groups: Groups) -> float:
    """Return the adjusted Rand index (Hubert and Arabie 1985): 1 for equal, about 0 for random groupings."""
    story, group, both = _overlaps(truth, groups)
    total = len(truth) * (len(truth) - 1) // 2
    together, in_story, in_group = (
        sum(n * (n - 1) // 2 for n in counts.tolist())
        for counts in (both, _sums(story, both), _sums(group, both))
    )
    if together == in_story == in_group:
        return 1.0
    # Numerator and denominator are multiplied by 2 * total, so that only the last division is inexact.
    expected = 2 * in_story * in_group
    most = (in_story + in_group) * total
    return float((2 * together * total - expected) / (most - expected))


def b_cubed(truth: Groups, groups: Groups) -> tuple[float, float]:
    """Return B-cubed precision and recall (Bagga and Baldwin 1998), averaged over documents.

    Precision: the share of a document's group that belongs to the document's story. Recall: the share of the
    document's story that is in the document's group.
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
    """Return three arrays with an element per overlap: story, group, and number of common documents."""
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
