"""Draw a stratified random sample of all pairs that some method found, for people to judge.

Strata are bands of dedup's score, divided by whether the methods agree. In a stratum every pair has the same
chance, so `estimate.py` can conclude from the sample to all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from dedup.base.errors import InputError
from dedup.base.numbers import Flags, Likeness, Pairs
from dedup.base.settings import Settings
from dedup.text.hashing import Hashes

NEAR = 0.05  # Half the width of the zone around a duplicate threshold: more than the error of a signature

LEAST = 3  # Pairs from each stratum: two are needed to know its spread, and one may turn out unsure
# More pairs are drawn near a threshold and where methods disagree: the more the answers of a stratum differ,
# the more each of them improves the estimate (Neyman 1934).
MORE_NEAR = 3.0
MORE_DISPUTED = 2.0

Numbers = npt.NDArray[np.int64]
"""Shape (m,): the number of a stratum for each pair, or counts per stratum of shape (strata,)."""


@dataclass(frozen=True, slots=True)
class Strata:
    """Pairs divided into strata."""

    names: tuple[str, ...]  # of the strata, each with at least one pair, the lowest scores first
    sizes: Numbers  # shape (strata,): pairs in each
    importance: npt.NDArray[np.float64]  # shape (strata,): factor on the pairs to draw, at least 1
    stratum: Numbers  # shape (m,): the number of each pair's stratum


def stratify(scores: Likeness, opinions: Flags, settings: Settings) -> Strata:
    """Divide pairs by band of score and agreement of methods.

    `scores` (m,) is NaN if only another method found the pair; `opinions` (m, methods): calls it a duplicate.
    """
    edges, near = _edges(settings)
    # Band 0 is for pairs that dedup did not find; a score on an edge is above it, as in the rules. Scores are
    # in single precision, so the edges are too.
    band = np.where(np.isnan(scores), 0, 1 + np.searchsorted(edges, scores, side="right"))
    disputed = opinions.any(axis=1) & ~opinions.all(axis=1)
    cells, stratum, sizes = np.unique(2 * band + disputed, return_inverse=True, return_counts=True)
    names = _band_names(edges)
    return Strata(
        tuple(names[c // 2] + (", methods disagree" if c % 2 else "") for c in cells),
        sizes.astype(np.int64),
        np.array([(MORE_NEAR if near[c // 2] else 1) * (MORE_DISPUTED if c % 2 else 1) for c in cells]),
        stratum.astype(np.int64),
    )


def _edges(settings: Settings) -> tuple[Likeness, list[bool]]:
    """Return the edges of bands, and for each band (first: not found) whether it is near a threshold."""
    duplicate = (settings.duplicate_sentence_jaccard, settings.duplicate_signature_jaccard)
    similar = (settings.similar_sentence_jaccard, settings.similar_signature_jaccard)
    around = {round(t + d, 6) for t in duplicate for d in (-NEAR, 0, NEAR)}
    edges = sorted({e for e in (*similar, *around) if 0 < e < 1} | {1.0})
    middles = [(low + high) / 2 for low, high in zip([0.0, *edges[:-1]], edges, strict=True)]
    near = [any(abs(middle - t) < NEAR for t in duplicate) for middle in middles]
    return np.array(edges, np.float32), [False, *near, False]


def _band_names(edges: Likeness) -> list[str]:
    shown = [f"{edge:g}" for edge in edges[:-1]]
    between = [f"{low} to {high}" for low, high in zip(shown, [*shown[1:], "1"], strict=True)]
    return ["not found by dedup", f"below {shown[0]}", *between, "1"]


def allocate(sizes: Numbers, importance: npt.NDArray[np.float64], total: int) -> Numbers:
    """Return the number of pairs to draw from each stratum; shape (strata,).

    `LEAST` from each that has them, the rest in proportion to the square root of the size (the power
    allocation of Bankier 1988: big strata do not drown small ones) times the importance.
    """
    if total < len(sizes):
        raise InputError(f"the pairs are of {len(sizes)} kinds: pick at least {len(sizes)} (--size)")
    counts = np.minimum(sizes, max(1, min(LEAST, total // max(len(sizes), 1))))
    share = np.sqrt(sizes) * importance
    for _ in range(total - int(counts.sum())):
        room = np.flatnonzero(counts < sizes)
        if not len(room):
            break
        # One at a time, to the stratum that is furthest behind its share: rounding shares could miss `total`.
        counts[room[np.argmin((counts[room] + 1) / share[room])]] += 1
    return counts


def draw(strata: Strata, total: int, numbers: npt.NDArray[np.uint64]) -> list[npt.NDArray[np.int64]]:
    """Return the rows drawn from each stratum, in random order: the ones with the smallest `numbers` (m,).

    May return fewer than `total`. Raises InputError if `total` is less than the number of strata.
    """
    counts = allocate(strata.sizes, strata.importance, total)
    order = np.lexsort((numbers, strata.stratum))
    starts = np.concatenate([[0], np.cumsum(strata.sizes)])
    return [order[start : start + count] for start, count in zip(starts, counts, strict=False)]


def permanent_numbers(ids: Sequence[str], pairs: Pairs, seed: int = 0) -> npt.NDArray[np.uint64]:
    """Return a random number for each pair, made only of its two ids and the seed; shape (m,).

    Permanent random numbers (Ohlsson 1995): a later sample of other strata, another size or a bigger corpus
    draws the same pairs as far as possible. So earlier judgements count, and the sample is still random.
    """
    hashed = np.array([xxh3_64_intdigest(name.encode("utf-8", "replace"), seed) for name in ids], np.uint64)
    one, other = np.sort(hashed[pairs], axis=1).T
    return mixed(one, other)


def mixed(first: Hashes, second: Hashes) -> Hashes:
    """Return one hash for each pair of hashes by the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    # NumPy wraps products of uint64, as the finaliser requires.
    found = first * np.uint64(0x9E3779B97F4A7C15) + second
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)))
