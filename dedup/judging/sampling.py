"""Which pairs people are asked to judge: a stratified random sample of all pairs that some method found.

Pairs are divided by the product's score and by whether the methods agree. Most pairs are plain cases, of
which a few are enough; near a threshold, and where methods disagree, more are drawn. As every pair of a
stratum has the same chance, the answers still tell about all pairs (`estimate.py`). Pure: no database, no
files, and no method: it gets the opinions as arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from dedup.errors import InputError
from dedup.numbers import Flags, Likeness, Pairs
from dedup.settings import Settings

NEAR = 0.05
"""Half the width of the zone around a duplicate threshold: more than the error of a signature."""

LEAST = 3
"""Pairs drawn at least from each stratum: with two or more its spread is known, and one may be unclear."""

MORE_NEAR = 3.0
MORE_DISPUTED = 2.0
"""How many times more pairs are drawn near a threshold, and where methods disagree: there the answers differ
from pair to pair, and an answer tells most (Neyman 1934)."""

Numbers = npt.NDArray[np.int64]
"""Shape (m,): the number of a stratum for each pair, or counts per stratum of shape (strata,)."""


@dataclass(frozen=True, slots=True)
class Strata:
    """Pairs divided into strata.

    Attributes:
        names: of the strata, each with at least one pair, the lowest scores first.
        sizes: shape (strata,): pairs in each.
        importance: shape (strata,): how many times more pairs than from a plain one are wanted.
        stratum: shape (m,): the number of each pair's stratum.
    """

    names: tuple[str, ...]
    sizes: Numbers
    importance: npt.NDArray[np.float64]
    stratum: Numbers


def stratify(scores: Likeness, opinions: Flags, settings: Settings) -> Strata:
    """Divide pairs by band of score and agreement of methods.

    Args:
        scores: shape (m,): the product's score; NaN where only another method found the pair.
        opinions: shape (m, methods): whether each method calls the pair a duplicate.
        settings: their thresholds make the bands.
    """
    edges, near = _edges(settings)
    # Band 0 is for what the product did not find; a score on an edge is above it, as in the rules. Scores are
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
    """Where bands meet; and for each band, that of pairs not found first, whether it is near a threshold."""
    duplicate = (settings.duplicate_sentence_jaccard, settings.duplicate_signature_jaccard)
    similar = (settings.similar_sentence_jaccard, settings.similar_signature_jaccard)
    around = {round(t + d, 6) for t in duplicate for d in (-NEAR, 0, NEAR)}
    edges = sorted({e for e in (*similar, *around) if 0 < e < 1} | {1.0})
    middles = [(low + high) / 2 for low, high in zip([0.0, *edges[:-1]], edges, strict=True)]
    near = [any(abs(middle - t) < NEAR for t in duplicate) for middle in middles]
    return np.array(edges, np.float32), [False, *near, False]


def _band_names(edges: Likeness) -> list[str]:
    """The names of the bands, that of pairs not found first."""
    shown = [f"{edge:g}" for edge in edges[:-1]]
    between = [f"{low} to {high}" for low, high in zip(shown, [*shown[1:], "1"], strict=True)]
    return ["not found by dedup", f"below {shown[0]}", *between, "1"]


def allocate(sizes: Numbers, importance: npt.NDArray[np.float64], total: int) -> Numbers:
    """How many pairs to draw from each stratum; shape (strata,).

    `LEAST` from each where it has them, the rest in proportion to the square root of the size (the power
    allocation of Bankier 1988: big strata do not drown small ones) times the importance.

    Raises:
        InputError: fewer pairs are wanted than there are strata.
    """
    if total < len(sizes):
        raise InputError(f"the pairs are of {len(sizes)} kinds: pick at least {len(sizes)} (--size)")
    counts = np.minimum(sizes, max(1, min(LEAST, total // max(len(sizes), 1))))
    share = np.sqrt(sizes) * importance
    for _ in range(total - int(counts.sum())):
        room = np.flatnonzero(counts < sizes)
        if not len(room):
            break
        # One at a time to whoever is furthest behind its share; of equals to the first.
        counts[room[np.argmin((counts[room] + 1) / share[room])]] += 1
    return counts


def draw(strata: Strata, total: int, numbers: npt.NDArray[np.uint64]) -> list[npt.NDArray[np.int64]]:
    """The rows drawn from each stratum without replacement, in random order.

    Args:
        total: pairs wanted in all; there may be fewer.
        numbers: shape (m,): a random number for each pair, as `permanent_numbers` makes them. The smallest
            of a stratum are drawn.

    Raises:
        InputError: fewer pairs are wanted than there are strata.
    """
    counts = allocate(strata.sizes, strata.importance, total)
    order = np.lexsort((numbers, strata.stratum))
    starts = np.concatenate([[0], np.cumsum(strata.sizes)])
    return [order[start : start + count] for start, count in zip(starts, counts, strict=False)]


def permanent_numbers(ids: Sequence[str], pairs: Pairs, seed: int = 0) -> npt.NDArray[np.uint64]:
    """A random number for each pair that depends on its two ids and the seed only; shape (m,).

    Permanent random numbers (Ohlsson 1995): a later sample of other strata, of another size or of a bigger
    corpus draws the same pairs as far as it can, so that what people judged goes on counting, and is still a
    random sample.

    Args:
        ids: of the documents, by their numbers in `pairs`.
    """
    hashed = np.array([xxh3_64_intdigest(name.encode("utf-8", "replace"), seed) for name in ids], np.uint64)
    one, other = np.sort(hashed[pairs], axis=1).T
    mixed = one * np.uint64(0x9E3779B97F4A7C15) + other
    # The finaliser of SplitMix64 (Steele et al. 2014); products wrap, as they should.
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
