"""Make damaged-print signatures, which show that two texts are one text with misread letters.

A misread character changes three shingles and a sentence, but only a few runs of letters. So a damaged-print
signature, *print* for short, has 256 *cores*, runs of 8 letters, and hashes of the letters around each core.
One-permutation hashing in rounds chooses cores until each of the 256 slots has a core (Dahlgaard, Knudsen,
Thorup, "Fast similarity sketching", FOCS 2017).

Damage causes many small differences. After each difference the two texts are equal again, shifted by at most
one letter. Edits and filled-in templates cause few long differences. docs/archives.md has measurements of the
thresholds. `native_damaged.c` makes the same prints.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Flags, Keys, Shares, begins_run
from dedup.base.settings import PRINT_BYTES, PRINT_KEYS
from dedup.text.hashing import Hasher, Hashes, mixed
from dedup.text.native import library
from dedup.text.normalize import without_mark_runs
from dedup.text.signature import MinHashes, buckets, estimates

CORE_LETTERS = 8
BEYOND_LETTERS = 5  # Number of letters compared after a difference
SHIFT = 1  # Maximum number of letters that the difference may add or remove
EDGE = CORE_LETTERS + BEYOND_LETTERS + SHIFT  # Number of letters needed on each side of a core
SLOTS = 256
# Maximum number of hashing rounds. Prose fills all slots in two rounds; a text that repeats one word would
# need 256 rounds. After the last round, a slot without a core copies the next slot that has one.
ROUNDS = 16
LEAST_LETTERS = 87  # Minimum number of letters; a shorter text has no print
PLANES = 8
"""Number of bytes per slot: 1 for a hash of the slot's core, 1 for the core's place (in 256ths of the text),
2 for hashes of the 8 letters before and the 8 letters after the core, and 4 for hashes of 5 letters farther
away, at two distances on each side."""
SIZE_BYTES = 4  # A print begins with the number of letters, little-endian
assert PRINT_BYTES == SIZE_BYTES + PLANES * SLOTS
# Number of cores per bucket key. Two texts whose cores have a Jaccard of J share at least one of the 85 keys
# with probability 1 - (1 - J^3)^85: 0.49 for J = 0.2, 0.74 for J = 0.25, 0.996 for J = 0.4.
ROWS = 3

Print = npt.NDArray[np.uint8]  # Shape (PRINT_BYTES,), or (n, PRINT_BYTES) for n texts; zeros: no print
Letters = npt.NDArray[np.uint32]  # Shape (n,): code points

_STEP = 0x9E3779B97F4A7C15
_NOTHING = np.uint32(0xFFFFFFFF)


@cache
def _alphabetic() -> npt.NDArray[np.bool_]:
    return np.array([chr(code).isalpha() for code in range(0x110000)], np.bool_)


def letters(text: str) -> Letters:
    """Return only the letters of a text, after NFKC and case folding, as code points.

    >>> bytes(letters("No. 5, Ｆine-looking").tolist()).decode()
    'nofinelooking'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", without_mark_runs(text))
    points = np.frombuffer(text.casefold().encode("utf-32-le", "replace"), np.uint32)
    return points[_alphabetic()[points]]


class Printer:
    """Maker of prints whose hashes use `hash_key`; "" means no key."""

    def __init__(self, hash_key: str, *, compiled: bool = True) -> None:
        hasher = Hasher(hash_key)
        self._of_gram = hasher.of_letters(CORE_LETTERS)
        self._of_buckets = hasher.of_buckets(PRINT_KEYS, ROWS, "print")
        found = library() if compiled else None
        self._compiled = found and found.dedup_print

    def prints(self, texts: Sequence[str]) -> tuple[Print, npt.NDArray[np.int64]]:
        """Return the prints of n texts, zeros for short texts, and the bucket keys, shape (n, PRINT_KEYS)."""
        made = np.zeros((len(texts), PRINT_BYTES), np.uint8)
        values = np.zeros((len(texts), SLOTS), np.uint32)
        for i, text in enumerate(texts):
            found = letters(text)
            if len(found) >= LEAST_LETTERS:
                made[i, :SIZE_BYTES] = np.array([len(found)], "<u4").view(np.uint8)
                self._make(found, made[i, SIZE_BYTES:], values[i])
        return made, buckets(values, self._of_buckets)

    def _make(self, found: Letters, slots: Print, values: MinHashes) -> None:
        if not self._compiled:
            slots[:], values[:] = _slots(found, self._of_gram)
            return
        room = np.empty(3 * len(found), np.uint64)
        arrays = self._of_gram, room, slots, values
        self._compiled(found.ctypes.data, len(found), *(array.ctypes.data for array in arrays))


def _slots(found: Letters, of_gram: Hashes) -> tuple[Print, MinHashes]:
    """Return the bytes of a print, plane by plane (see `PLANES`), and for each slot a 32-bit hash of its
    core."""
    cores, beyond = (_grams(found, size, of_gram) for size in (CORE_LETTERS, BEYOND_LETTERS))
    count = len(found) - CORE_LETTERS - 2 * EDGE + 1
    inner = cores[EDGE : EDGE + count]
    start = EDGE - CORE_LETTERS
    around = cores[start : start + count] * np.uint64(_STEP) + cores[EDGE + CORE_LETTERS :][:count]
    ties = mixed(around).astype(np.uint32)
    values = np.full(SLOTS, _NOTHING, np.uint32)
    places = np.zeros(SLOTS, np.int64)
    for number in range(ROUNDS):
        if (values != _NOTHING).all():
            break
        hashes = mixed(inner + np.uint64(number * _STEP & 0xFFFFFFFFFFFFFFFF)) if number else inner
        slot = (hashes >> np.uint64(56)).astype(np.int64)
        value = np.uint32(number << 24) | hashes.astype(np.uint32) >> np.uint32(8)
        order = np.lexsort((np.arange(count), ties, value, slot))
        best = order[begins_run(slot[order])]
        best = best[values[slot[best]] == _NOTHING]
        values[slot[best]], places[slot[best]] = value[best], best
    full = np.flatnonzero(values != _NOTHING)
    taken = full[np.searchsorted(full, np.arange(SLOTS)) % len(full)]
    values, places = values[taken], places[taken]
    at = places + EDGE
    before, behind = at - CORE_LETTERS - BEYOND_LETTERS, at + 2 * CORE_LETTERS
    planes = (
        *(values, places * 256 // count, cores[at - CORE_LETTERS], cores[at + CORE_LETTERS]),
        *(beyond[before], beyond[before - SHIFT], beyond[behind], beyond[behind + SHIFT]),
    )
    return np.concatenate([plane.astype(np.uint8) for plane in planes]), values


def _grams(found: Letters, size: int, of_gram: Hashes) -> Hashes:
    wide = found.astype(np.uint64)
    count = len(found) - size + 1
    total = np.full(count, of_gram[0])
    for j in range(size):
        total += of_gram[j + 1] * wide[j : j + count]
    return mixed(total)


EVERY = 1 << 62
# Tables of (letters, bound). A bound holds if the shorter text has fewer letters than this; the first such
# row counts. Bounds of short texts are stricter, because few differences can be like damage by chance.
LEAST_JACCARD = ((200, 0.4), (500, 0.25), (EVERY, 0.15))  # Minimum Jaccard of the cores (runs of 8 letters)
LEAST_RATIO = ((500, 0.9), (EVERY, 0.88))  # Minimum length of the shorter text as a share of the longer text
# If the cores have a Jaccard of J, the signature Jaccard must be at least J * J / 2 minus this number. This
# is less than J, because damage changes shingles twice as often as cores, which are shorter.
LESS_WORDS = 0.05
# The maximum share of common cores with equal letters on both sides is `kept` plus this number of standard
# errors. With a higher share, the differences are few and long; damage makes many small ones.
MOST_WHOLE = ((500, 0.0), (EVERY, 1.0))
LEAST_IN_PLACE = 0.85  # Minimum share of common cores whose places differ by at most NEAR
NEAR = 24  # Maximum distance of the places of a core in two texts, in 256ths of the text
# A bound times `kept` is the minimum of `mended` / `differing` (see `PrintPairs`). The minimum is high for
# short texts, so that the few words that fill in a short template do not look like damage.
LEAST_MENDED = ((200, 0.9), (500, 0.7), (EVERY, 0.5))
# Damage can also cause long differences, for example if a scan lost the ends of lines. So long texts with
# many common cores have another minimum of `mended` / `differing`: the larger of FIRM_MENDED * `whole` /
# `equal` and FLOOR_MENDED * `kept`. This minimum replaces LEAST_MENDED if the shorter text has at least
# MANY_LETTERS letters, and the cores have a Jaccard of at least FIRM_JACCARD.
MANY_LETTERS, FIRM_JACCARD = 500, 0.4
FIRM_MENDED, FLOOR_MENDED = 0.4, 0.2


def print_jaccards(a: Print, b: Print, signature_jaccard: Shares) -> Shares:
    """Return the Jaccard of the cores of each pair that is a damaged copy, and 0 for other pairs; shape (m,).

    docs/semantics.md, section 4, has the rule. The caller must check that the pair shares a bucket.
    """
    found = np.zeros(len(a))
    least = min(bound for _, bound in LEAST_JACCARD)
    chosen = np.flatnonzero(estimates(_equal(a, b).sum(axis=1), SLOTS) >= least)
    pairs = PrintPairs.of(a[chosen], b[chosen])
    damaged = np.logical_and.reduce(pairs.conditions(signature_jaccard[chosen]))
    found[chosen] = np.where(damaged, pairs.jaccard, 0.0)
    return found


@dataclass(frozen=True, slots=True)
class PrintPairs(Columns):
    """Counts from m pairs of prints, by which the rule finds damaged copies; each has shape (m,).

    Attributes:
        fewer, more: number of letters of the shorter text and of the longer text.
        jaccard: Jaccard of the cores of the two prints.
        equal: number of slots with equal cores.
        whole: number of equal slots with equal letters before and after the core.
        in_place: number of equal slots whose places differ by at most `NEAR`.
        differing: number of sides (before or after the core of an equal slot) whose letters differ.
        mended: number of these differing sides at which the letters farther from the core are equal again.
    """

    fewer: Keys
    more: Keys
    jaccard: Shares
    equal: Keys
    whole: Keys
    in_place: Keys
    differing: Keys
    mended: Keys

    @classmethod
    def of(cls, a: Print, b: Print) -> PrintPairs:
        sizes = np.stack([_letter_counts(a), _letter_counts(b)])
        one, other, same = _planes(a), _planes(b), _equal(a, b)
        far = np.abs(one[:, 1].astype(np.int16) - other[:, 1])
        before, behind = (same & (one[:, plane] == other[:, plane]) for plane in (2, 3))
        mended = (same & ~sides & _goes_on(one, other, plane) for sides, plane in ((before, 4), (behind, 6)))
        equal = same.sum(axis=1)
        return cls(
            fewer=sizes.min(axis=0),
            more=sizes.max(axis=0),
            jaccard=estimates(equal, SLOTS),
            equal=equal,
            whole=(before & behind).sum(axis=1),
            in_place=(same & (far <= NEAR)).sum(axis=1),
            differing=2 * equal - before.sum(axis=1) - behind.sum(axis=1),
            mended=np.add(*(sides.sum(axis=1) for sides in mended)),
        )

    @property
    def kept(self) -> Shares:
        """Estimated share of the cores of one text that the other text has, too."""
        return 2 * self.jaccard / (1 + self.jaccard)

    @property
    def least_jaccard(self) -> Shares:
        return self._bound(LEAST_JACCARD)

    @property
    def least_ratio(self) -> Shares:
        return self._bound(LEAST_RATIO)

    @property
    def least_signature(self) -> Shares:
        return self.jaccard * self.jaccard / 2 - LESS_WORDS

    @property
    def most_whole(self) -> Shares:
        # `whole / equal` is compared with `kept`. Both are shares; `error` is the standard error of a share
        # among `equal` slots.
        error = np.sqrt(self.kept * (1 - self.kept) / np.maximum(self.equal, 1))
        return self.kept + self._bound(MOST_WHOLE) * error

    @property
    def least_mended(self) -> Shares:
        whole = self.whole / np.maximum(self.equal, 1)
        firm = np.maximum(FIRM_MENDED * whole, FLOOR_MENDED * self.kept)
        is_firm = (self.fewer >= MANY_LETTERS) & (self.jaccard >= FIRM_JACCARD)
        return np.where(is_firm, firm, self._bound(LEAST_MENDED) * self.kept)

    def _bound(self, table: Sequence[tuple[int, float]]) -> Shares:
        letters, bounds = zip(*table, strict=True)
        return np.select([self.fewer < most for most in letters], bounds)

    def conditions(self, signature_jaccard: Shares) -> tuple[Flags, ...]:
        """Return an array for each condition of a damaged copy: True for pairs that fulfil the condition."""
        return (
            self.jaccard >= self.least_jaccard,
            self.fewer >= self.least_ratio * self.more,
            signature_jaccard >= self.least_signature,
            self.whole <= self.most_whole * self.equal,
            self.in_place >= LEAST_IN_PLACE * self.equal,
            self.mended >= self.least_mended * self.differing,
        )


def _letter_counts(prints: Print) -> Keys:
    return np.ascontiguousarray(prints[:, :SIZE_BYTES]).view("<u4")[:, 0].astype(np.int64)


def _equal(a: Print, b: Print) -> Flags:
    """Return for each slot whether the cores are equal, shape (m, SLOTS); False if a text has no print."""
    there = (_letter_counts(a) > 0) & (_letter_counts(b) > 0)
    return np.asarray((_planes(a)[:, 0] == _planes(b)[:, 0]) & there[:, None])


def _goes_on(one: Print, other: Print, plane: int) -> Flags:
    """Return for each slot whether the letters farther from the core are equal, perhaps shifted by one
    letter. `plane`: index of the first plane with hashes of these letters."""
    here, there = one[:, plane], other[:, plane]
    found: Flags = (here == there) | (here == other[:, plane + 1]) | (one[:, plane + 1] == there)
    return found


def _planes(prints: Print) -> Print:
    return prints[:, SIZE_BYTES:].reshape(len(prints), PLANES, SLOTS)
