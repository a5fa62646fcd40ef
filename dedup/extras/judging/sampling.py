"""Draw a stratified random sample, for people to judge, from all pairs that at least one method found.

Strata divide the pairs by score, and by whether all methods agree on the pair. Within a stratum every pair
has the same chance to be drawn, so `estimate.py` can infer figures of all pairs from the sample.
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

NEAR = 0.05  # Scores within this distance are near a threshold; a signature's error of 0.03 is smaller

LEAST = 3  # Minimum pairs per stratum: two are needed for the variance, and one may be judged unsure
# Judgements vary more near a threshold and where methods disagree. More pairs are drawn there, because a
# judgement improves an estimate more where judgements vary (Neyman 1934).
MORE_NEAR = 3.0
MORE_DISPUTED = 2.0

Numbers = npt.NDArray[np.int64]
"""Shape (m,): index of the stratum of each pair; or shape (strata,): a count for each stratum."""


@dataclass(frozen=True, slots=True)
class Strata:
    """The strata, and the stratum of each pair."""

    names: tuple[str, ...]  # names of strata with at least one pair, the lowest scores first
    sizes: Numbers  # shape (strata,): number of pairs in each stratum
    importance: npt.NDArray[np.float64]  # shape (strata,): at least 1; a larger value draws more pairs
    stratum: Numbers  # shape (m,): index of each pair's stratum


def stratify(scores: Likeness, opinions: Flags, settings: Settings) -> Strata:
    """Divide pairs into strata by band of score, and by whether methods agree.

    `scores` (m,): scores by dedup; NaN if only other methods found the pair. `opinions` (m, methods): True if
    the method calls the pair a duplicate.
    """
    edges, near = _edges(settings)
    # Band 0 has the pairs that dedup did not find. The scores in `edges` separate the other bands. A score
    # equal to an edge belongs to the higher band, because the rules accept a score equal to a threshold.
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
    """Return the scores that separate the bands, and whether each band is near a duplicate threshold."""
    duplicate = (settings.duplicate_sentence_jaccard, settings.duplicate_signature_jaccard)
    similar = (settings.similar_sentence_jaccard, settings.similar_signature_jaccard)
    around = {round(t + d, 6) for t in duplicate for d in (-NEAR, 0, NEAR)}
    edges = sorted({e for e in (*similar, *around) if 0 < e < 1} | {1.0})
    middles = [(low + high) / 2 for low, high in zip([0.0, *edges[:-1]], edges, strict=True)]
    near = [any(abs(middle - t) < NEAR for t in duplicate) for middle in middles]
    # Scores have single precision, so edges must have single precision to be equal to scores.
    return np.array(edges, np.float32), [False, *near, False]


def _band_names(edges: Likeness) -> list[str]:
    shown = [f"{edge:g}" for edge in edges[:-1]]
    between = [f"{low} to {high}" for low, high in zip(shown, [*shown[1:], "1"], strict=True)]
    return ["not found by dedup", f"below {shown[0]}", *between, "1"]


def allocate(sizes: Numbers, importance: npt.NDArray[np.float64], total: int) -> Numbers:
    """Return the number of pairs to draw from each stratum; shape (strata,).

    Each stratum gives `LEAST` pairs, or fewer if the stratum or `total` is too small. The rest of `total` is
    shared in proportion to importance times the square root of the size (power allocation, Bankier 1988), so
    that small strata get enough.
    """
    if total < len(sizes):
        raise InputError(f"there are {len(sizes)} kinds of pairs: pick at least {len(sizes)} pairs (--size)")
    counts = np.minimum(sizes, max(1, min(LEAST, total // max(len(sizes), 1))))
    share = np.sqrt(sizes) * importance
    for _ in range(total - int(counts.sum())):
        room = np.flatnonzero(counts < sizes)
        if not len(room):
            break
        # Each further pair goes to the stratum furthest below its share. Rounded shares might miss `total`.
        counts[room[np.argmin((counts[room] + 1) / share[room])]] += 1
    return counts


def draw(strata: Strata, total: int, numbers: npt.NDArray[np.uint64]) -> list[npt.NDArray[np.int64]]:
    """Draw the pairs with the smallest random `numbers` (m,) from each stratum, and return their indexes.

    Returns all pairs if there are at most `total`. Raises InputError if there are more than `total` strata.
    """
    counts = allocate(strata.sizes, strata.importance, total)
    order = np.lexsort((numbers, strata.stratum))
    starts = np.concatenate([[0], np.cumsum(strata.sizes)])
    return [order[start : start + count] for start, count in zip(starts, counts, strict=False)]


def permanent_numbers(ids: Sequence[str], pairs: Pairs, seed: int = 0) -> npt.NDArray[np.uint64]:
    """Return a random number for each pair that depends only on the two ids and the seed; shape (m,).

    With permanent random numbers (Ohlsson 1995), a later sample draws the same pairs as far as possible, even
    with other strata, another size or a bigger corpus. So earlier judgements still count.
    """
    hashed = np.array([xxh3_64_intdigest(name.encode("utf-8", "replace"), seed) for name in ids], np.uint64)
    one, other = np.sort(hashed[pairs], axis=1).T
    return mixed(one, other)


def mixed(first: Hashes, second: Hashes) -> Hashes:
    """Return a hash of each pair of hashes, by the last step of SplitMix64 (Steele, Lea, Flood 2014)."""
    # SplitMix64 needs arithmetic modulo 2^64, as NumPy does for uint64.
    found = first * np.uint64(0x9E3779B97F4A7C15) + second
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)))
