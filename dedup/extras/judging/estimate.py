"""Estimate figures of all pairs, with confidence intervals, from the judged pairs of a stratified sample.

"All pairs" means all pairs that at least one method found, as in every pooled evaluation: only these pairs
can be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags
from dedup.extras.judging.sampling import Numbers

REPLICATES = 1_000  # Number of resamples; the ends of an interval then vary by about 0.002 between seeds
CONFIDENCE = 0.95  # Share of intervals that contain the true value
# Parameter of Jeffreys' prior for a share (Brown, Cai and DasGupta 2001), for strata whose labels are all
# equal. After 7 labels "different", for example, up to 29 % of the stratum's pairs may still be duplicates.
DOUBT = 0.5

Values = npt.NDArray[np.float64]  # Shape (replicates,) or (replicates, methods)
Weights = npt.NDArray[np.float64]  # Shape (n,) or (replicates, n): how many pairs each judged pair represents


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with a 95 % confidence interval; all fields None if the value is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a method, estimated from judged pairs.

    Attributes:
        judged: number of judged pairs.
        covered: share of the pairs in strata with a judged pair; the estimates hold only for these pairs.
    """

    precision: Estimate
    recall: Estimate
    f1: Estimate
    judged: int
    covered: float

    @property
    def missed(self) -> Estimate:
        """The share of duplicates that the method misses, 1 - recall."""
        value, low, high = self.recall.value, self.recall.low, self.recall.high
        if value is None or low is None or high is None:
            return Estimate()
        return Estimate(1 - value, 1 - high, 1 - low)


@dataclass(frozen=True, slots=True)
class Design:
    """The strata of the judged pairs, without pairs judged unsure, and the sizes of all strata."""

    sizes: Numbers  # shape (strata,): number of pairs in each stratum, judged or not
    stratum: Numbers  # shape (n,): index of each judged pair's stratum

    @classmethod
    def of(cls, strata: Sequence[str], sizes: Mapping[str, int]) -> Design:
        names = {name: number for number, name in enumerate(sizes)}
        numbers = [names[name] for name in strata]
        return cls(np.array([*sizes.values()], np.int64), np.array(numbers, np.int64))

    def weights(self) -> Weights:
        """Return how many pairs each judged pair represents (Horvitz and Thompson 1952)."""
        # A stratum's size is divided by its judged pairs. Picked pairs without a judgement do not count.
        judged = np.bincount(self.stratum, minlength=len(self.sizes))
        return np.asarray(self.sizes[self.stratum] / judged[self.stratum], np.float64)

    def covered(self) -> float:
        """Return the share of all pairs that lie in strata with a judged pair."""
        return float(self.sizes[np.unique(self.stratum)].sum() / max(self.sizes.sum(), 1))

    def replicates(
        self,
        duplicate: Flags,
        seed: int = 0,
        *,
        doubt: bool = True,
        finite: bool = True,
        count: int = REPLICATES,
    ) -> Weights:
        """Return weights in each resample: of n judged pairs, then of the same pairs with opposite labels.

        The shape is (count, 2 n). The pairs with opposite labels are called twins. With `doubt`, twins get
        some weight in strata whose labels are all equal; other twins have weight 0.

        The method is the rescaling bootstrap with finite population correction (Rao and Wu 1988; Chipperfield
        and Preston 2007). A resample has one pair fewer of a stratum than were judged. `finite`: True
        estimates the existing pairs, so that a fully judged stratum does not vary; False estimates future
        pairs.
        """
        random = np.random.default_rng(seed)
        half = len(self.stratum)
        drawn = np.tile(np.concatenate([self.weights(), np.zeros(half)]), (count, 1))
        for number in np.unique(self.stratum):
            members = np.flatnonzero(self.stratum == number)
            n = len(members)
            stretch = np.sqrt(max(0.0, 1 - n / self.sizes[number])) if finite else 1.0
            if n > 1:
                times = random.multinomial(n - 1, np.full(n, 1 / n), size=count)
                drawn[:, members] *= 1 - stretch + stretch * times * n / (n - 1)
            # With equal labels resamples would not vary, but a few labels do not prove that all pairs agree.
            if doubt and len(set(duplicate[members].tolist())) == 1:
                share = stretch * random.beta(DOUBT, n + DOUBT, (count, 1))
                drawn[:, half + members] = drawn[:, members] * share
                drawn[:, members] *= 1 - share
        return drawn


def with_twins(found: Flags, duplicate: Flags) -> tuple[Flags, Flags]:
    """Append the flags of twins, the judged pairs with opposite labels (see `Design.replicates`).

    A twin has the same value of `found` as its pair, and the opposite value of `duplicate`.
    """
    return np.concatenate([found, found], axis=-1), np.concatenate([duplicate, ~duplicate])


def interval(value: float, replicates: Values) -> Estimate:
    """Return a value with the interval of the middle 95 % of its replicates. Ignore undefined replicates."""
    if np.isnan(value):
        return Estimate()
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(replicates, [tail, 1 - tail])
    return Estimate(float(value), float(min(low, value)), float(max(high, value)))


def measures(weights: Weights, found: Flags, duplicate: Flags) -> tuple[Values, Values, Values]:
    """Return precision, recall and F1 per replicate (NaN: undefined). `found`: shape (n,) or (methods, n)."""
    right, called, there = (
        np.asarray(weights @ flags.T.astype(np.float64))
        for flags in (found & duplicate, found, np.broadcast_to(duplicate, found.shape))
    )
    with np.errstate(invalid="ignore"):  # 0 / 0 gives NaN
        return right / called, right / there, 2 * right / (called + there)


def quality(
    design: Design, found: Flags, duplicate: Flags, seed: int = 0, count: int = REPLICATES
) -> Quality:
    """Estimate precision, recall and F1 from judgements: `found` by the method, `duplicate` by people."""
    point = design.weights()[np.newaxis]
    # Compute three intervals: from the sample alone; with twins in strata where `duplicate` is equal for all
    # pairs; and with twins in strata where `found` is equal for all pairs.
    other_labels = with_twins(found, duplicate)
    other_findings = with_twins(duplicate, found)[::-1]
    drawn = (
        (design.replicates(duplicate, seed, doubt=False, count=count), *other_labels),
        (design.replicates(duplicate, seed, count=count), *other_labels),
        (design.replicates(found, seed, count=count), *other_findings),
    )
    points = measures(point, found, duplicate)
    samples = [measures(weights, *flags) for weights, *flags in drawn]
    p, r, f = (
        _widest([interval(float(value[0]), again) for again in those])
        for value, *those in zip(points, *samples, strict=True)
    )
    return Quality(p, r, f, len(design.stratum), design.covered())


def _widest(intervals: Sequence[Estimate]) -> Estimate:
    # Any of the intervals may have the lowest or the highest end. Return an interval that covers them all.
    lows = [found.low for found in intervals if found.low is not None]
    highs = [found.high for found in intervals if found.high is not None]
    return Estimate(intervals[0].value, min(lows, default=None), max(highs, default=None))
