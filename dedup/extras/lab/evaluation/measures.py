"""Measures of a method's result: its pairs at every threshold, its groups, and recall by kind of pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags, Likeness, pair_keys
from dedup.extras.judging.truth import (
    DIFFERENT,
    DUPLICATE,
    UNCLEAR,
    Grades,
    GroupScore,
    Tally,
    Truth,
    score_groups,
)
from dedup.extras.lab.evaluation.results import MethodResult


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Precision and recall if every pair with a score of at least `threshold` is called a duplicate."""

    threshold: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class KindRecall:
    """Counts for one kind of pair in the truth, such as "level 10"."""

    name: str
    pairs: int
    found: int  # number of pairs that the method accepts
    grouped: int  # number of pairs whose articles the method puts into one group


@dataclass(frozen=True, slots=True)
class Evaluation:
    own: Tally  # at the method's own threshold
    strict: Tally  # as `own`, but unclear pairs that the method finds count as wrong
    tuned: Tally  # sum of both halves of the articles; each half uses the best threshold of the other half
    thresholds: tuple[float, float]  # the two thresholds of `tuned`
    average_precision: float  # the area under the precision-recall curve, by steps
    curve: tuple[CurvePoint, ...]  # from the highest threshold to the lowest
    groups: GroupScore
    by_kind: tuple[KindRecall, ...]


def evaluate(result: MethodResult, truth: Truth) -> Evaluation:
    grades = truth.grade(result.pairs)
    named = truth.grades == DUPLICATE
    tuned, thresholds = _tuned(
        result.scores, grades, halves(truth, result.pairs[:, 0]), halves(truth, truth.pairs[named, 0])
    )
    points = curve(result.scores, grades, truth.duplicates)
    return Evaluation(
        own=tally(result.accepted, grades, truth.duplicates),
        strict=tally(result.accepted, np.where(grades == UNCLEAR, DIFFERENT, grades), truth.duplicates),
        tuned=tuned,
        thresholds=thresholds,
        average_precision=average_precision(points),
        curve=points,
        groups=score_groups(result.groups, truth),
        by_kind=tuple(_by_kind(result, truth)),
    )


def tally(accepted: Flags, grades: Grades, duplicates: int) -> Tally:
    """Count right and wrong pairs; `duplicates` is the number of duplicates in the whole truth."""
    right, wrong, unclear = (
        int((accepted & (grades == grade)).sum()) for grade in (DUPLICATE, DIFFERENT, UNCLEAR)
    )
    return Tally(right, wrong, duplicates - right, unclear)


def curve(scores: Likeness, grades: Grades, duplicates: int) -> tuple[CurvePoint, ...]:
    """Return precision and recall at every score; a duplicate without a score counts as missed."""
    clear = grades != UNCLEAR
    order = np.argsort(-scores[clear], kind="stable")
    sorted_scores = scores[clear][order]
    right = np.cumsum(grades[clear][order] == DUPLICATE)
    last = np.flatnonzero(np.append(np.diff(sorted_scores) != 0, True)) if len(order) else np.empty(0, int)
    return tuple(
        CurvePoint(
            float(sorted_scores[i]), float(right[i]) / (int(i) + 1), float(right[i]) / max(duplicates, 1)
        )
        for i in last
    )


def average_precision(points: Iterable[CurvePoint]) -> float:
    """Return the sum of (increase of recall) * precision over all points, without interpolation."""
    total = reached = 0.0
    for point in points:
        total += (point.recall - reached) * point.precision
        reached = point.recall
    return total


def _tuned(scores: Likeness, grades: Grades, half: Flags, wanted: Flags) -> tuple[Tally, tuple[float, float]]:
    """Tally each half of the articles at the best threshold of the other half.

    Returns the sum of both tallies, and the two thresholds.
    """
    parts, thresholds = [], []
    for here in (False, True):
        there = half != here
        threshold = _best_threshold(curve(scores[there], grades[there], int((wanted != here).sum())))
        inside = half == here
        parts.append(tally(scores[inside] >= threshold, grades[inside], int((wanted == here).sum())))
        thresholds.append(threshold)
    a, b = parts
    both = Tally(a.right + b.right, a.wrong + b.wrong, a.missed + b.missed, a.unclear + b.unclear)
    return both, (thresholds[0], thresholds[1])


def _best_threshold(points: Sequence[CurvePoint]) -> float:
    """Return a threshold midway between the score with the best F1 and the next lower score.

    Returns 1.0 if no pair is right.
    """

    def f1(point: CurvePoint) -> float:
        return 2 * point.precision * point.recall / ((point.precision + point.recall) or 1)

    best = max(range(len(points)), key=lambda i: f1(points[i]), default=None)
    if best is None or not points[best].recall:
        return 1.0
    return (points[best].threshold + points[min(best + 1, len(points) - 1)].threshold) / 2


def halves(truth: Truth, documents: npt.NDArray[np.int32]) -> Flags:
    """Assign each document to one of two halves, true or false, by a fixed hash of its story."""
    # A story is wholly in one half: a threshold must not be tested on copies of articles it was tuned on.
    mixed = truth.stories[documents].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed >> np.uint64(63) == 1)


def _by_kind(result: MethodResult, truth: Truth) -> Iterable[KindRecall]:
    if not any(truth.kinds):
        return
    size = result.documents
    found = np.isin(pair_keys(truth.pairs, size), pair_keys(result.pairs[result.accepted], size))
    together = result.groups[truth.pairs[:, 0]] == result.groups[truth.pairs[:, 1]]
    rows: dict[str, list[int]] = {}
    for row, kinds in enumerate(truth.kinds):
        for kind in kinds:
            rows.setdefault(kind, []).append(row)
    for kind in sorted(rows, key=_in_order):
        yield KindRecall(kind, len(rows[kind]), int(found[rows[kind]].sum()), int(together[rows[kind]].sum()))


def _in_order(kind: str) -> tuple[str, float, str]:
    """Return the sort key of a kind, which puts "level 5" before "level 10"."""
    key, _, value = kind.partition(" ")
    return key, float(value) if value.replace(".", "", 1).isdigit() else 0.0, value
