"""Find the thresholds that agree best with judgements, and tell whether the gain is more than noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dedup.base.errors import InputError
from dedup.base.numbers import Flags
from dedup.base.settings import Settings
from dedup.base.words import counted
from dedup.extras.judging.estimate import Design, Estimate, Weights, interval, measures, with_twins
from dedup.rules.pair import Scores
from dedup.rules.pairs import Scored

FEWEST = 20  # Minimum number of judged pairs; with fewer, the interval of F1 is wider than 0.2
# Distance between tried thresholds, less than the error of a score from a signature of 256 bytes (0.03).
STEP = 0.01
LOWEST = 0.1  # Lowest threshold that is tried; the buckets find almost no pair with a lower similarity

Level = Literal["duplicate", "similar"]
"""Relations that have thresholds of their own."""


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A judged pair with the scores that the rules compare with thresholds."""

    label: str  # duplicate, similar, different or unsure; unsure pairs are not used
    stratum: str
    scores: Scores


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best thresholds for a relation, with 95 % confidence intervals.

    Attributes:
        sentence: the best thresholds. An interval contains the best thresholds of 95 % of the resamples. If
            the interval is wide, the judged pairs do not determine the threshold.
        f1: F1 minus its optimism (Efron 1983), the amount by which F1 is too high on the pairs used for
            tuning.
        present: F1 at the present thresholds.
        gain: f1 minus present; 0 if the present thresholds are the best.
        judged: number of judged pairs.
        positive: number of judged pairs with this relation.
        covered: share of all pairs that lie in strata with a judged pair.
    """

    level: Level
    sentence: Estimate
    signature: Estimate
    f1: Estimate
    present: Estimate
    gain: Estimate
    judged: int
    positive: int
    covered: float

    @property
    def worthwhile(self) -> bool:
        """True if the whole interval of the gain is above 0, so that the gain is more than noise."""
        return self.gain.low is not None and self.gain.low > 0

    def values(self) -> dict[str, float]:
        assert self.sentence.value is not None
        assert self.signature.value is not None
        return {
            f"{self.level}_sentence_jaccard": self.sentence.value,
            f"{self.level}_signature_jaccard": self.signature.value,
        }


def tune(
    pairs: Sequence[JudgedPair], sizes: Mapping[str, int], settings: Settings, seed: int = 0
) -> tuple[Tuned, Tuned]:
    """Return the best thresholds for duplicates and similar articles; `sizes` counts all pairs by stratum.

    Raises InputError if too few pairs have been judged, or if all judgements are equal.
    """
    # A similar threshold must not exceed the duplicate threshold, and a user may adopt only one of the two
    # results. So new duplicate thresholds are at least the present similar thresholds. New similar thresholds
    # are at most the present duplicate thresholds, and at most the new duplicate thresholds.
    sure = [pair for pair in pairs if pair.label != "unsure"]
    if len(sure) < FEWEST:
        raise InputError(
            f"{counted(len(sure), 'pair is', 'pairs are')} judged, and {FEWEST} are needed: continue with"
            " `dedup judge review`"
        )
    first = _tune("duplicate", sure, sizes, settings, (1.0, 1.0), seed)
    most = tuple(min(value, getattr(settings, name)) for name, value in first.values().items())
    return first, _tune("similar", sure, sizes, settings, most, seed)


def related(
    pairs: Sequence[JudgedPair], level: Level, grid: npt.NDArray[np.float64], rule: Settings
) -> Flags:
    """Return whether each pair has the relation under each row of thresholds in `grid`; shape (rows, n)."""
    scored = Scored.of([pair.scores for pair in pairs])
    found = []
    for sentence, signature in grid.tolist():
        values = {f"{level}_sentence_jaccard": sentence, f"{level}_signature_jaccard": signature}
        settings = rule.with_values(values)
        found.append(scored.duplicates(settings) if level == "duplicate" else scored.related(settings))
    return np.array(found, np.bool_)


def _tune(
    level: Level,
    pairs: Sequence[JudgedPair],
    sizes: Mapping[str, int],
    settings: Settings,
    most: tuple[float, float],
    seed: int,
) -> Tuned:
    wanted = ("duplicate",) if level == "duplicate" else ("duplicate", "similar")
    truth = np.array([pair.label in wanted for pair in pairs])
    if truth.all() or not truth.any():
        said, how_many = " or ".join(wanted), "all" if truth.all() else "none"
        raise InputError(
            f"{how_many} of {len(pairs)} judged pairs are called {said}, so no threshold can be found:"
            " continue with `dedup judge review`, or pick more pairs with `dedup judge pairs`"
        )
    grid, found = _choices(level, pairs, settings, most)
    design = Design.of([pair.stratum for pair in pairs], sizes)
    point = _scores(design.weights()[np.newaxis], found, truth)[0]
    # The thresholds are meant for future pairs. All present pairs are only a sample, so `finite` is False.
    again = _scores(design.replicates(truth, seed, finite=False), *with_twins(found, truth))
    # Among equal choices `argmax` takes the first, which is the closest to the present thresholds.
    best, favourites = int(point.argmax()), again.argmax(axis=1)
    rows = np.arange(len(again))
    flattered = np.mean(again[rows, favourites] - again[:, 0] - (point[favourites] - point[0]))
    optimism = max(0.0, float(flattered))
    if point[best] - optimism <= point[0]:  # no gain is left after the optimism is subtracted
        best, optimism = 0, 0.0
    gain = interval(point[best] - point[0] - optimism, again[:, best] - again[:, 0] - optimism)
    return Tuned(
        level,
        interval(grid[best, 0], grid[favourites, 0]),
        interval(grid[best, 1], grid[favourites, 1]),
        interval(point[best] - optimism, np.clip(again[:, best] - optimism, 0, 1)),
        interval(point[0], again[:, 0]),
        gain,
        len(pairs),
        int(truth.sum()),
        design.covered(),
    )


def _choices(
    level: Level, pairs: Sequence[JudgedPair], settings: Settings, most: tuple[float, float]
) -> tuple[npt.NDArray[np.float64], Flags]:
    """Return the thresholds to try, a row per choice, and the flags of `related` for each choice.

    The present thresholds are first, then the others from the nearest to the farthest.
    """
    axes, present = [], []
    for channel, high in zip(("sentence", "signature"), most, strict=True):
        low: float = getattr(settings, f"similar_{channel}_jaccard")
        start = low if level == "duplicate" else min(LOWEST, low)
        steps = np.arange(round(start / STEP), round(high / STEP) + 1) * STEP
        axes.append(np.unique(np.round(np.clip(steps, start, high), 6)))
        present.append(getattr(settings, f"{level}_{channel}_jaccard"))
    every = np.array(np.meshgrid(*axes)).reshape(2, -1).T
    every = np.concatenate([[present], every])
    every = every[np.argsort(np.abs(every - present).sum(axis=1), kind="stable")]
    found = related(pairs, level, every, settings)
    _, kept = np.unique(np.packbits(found, axis=1), axis=0, return_index=True)
    kept.sort()
    return every[kept], found[kept]


def _scores(weights: Weights, found: Flags, truth: Flags) -> npt.NDArray[np.float64]:
    """Return the F1 of each choice of thresholds in each resample; shape (samples, choices)."""
    # Rounding makes equal choices compare equal, although sums differ slightly with the order of summation.
    return np.asarray(np.round(np.nan_to_num(measures(weights, found, truth)[2]), 9))
