"""Types for one fingerprint, and for many fingerprints as arrays. `fingerprint.py` makes the fingerprints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from dedup.text.signature import EMPTY, Signature

A_ROW_EACH = ("version", "content_hash", "signature", "buckets", "banded", "word_count", "shingle_count")
"""Names of the arrays of `Fingerprints` that have one row for each text."""


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """The hashes and counts made from a text, by which articles are compared.

    Attributes:
        version: hash of the algorithm revision, settings, sentence parameters and Unicode version; 64 bits.
        content_hash: hash of all normalised words in order; for a short text, of the title and the text.
        sentence_hashes: distinct hashes of the counted sentences, in order of appearance.
        signature: shape (k,), type uint8; shape (0,) for a text without shingles.
        buckets: one key per band, or the content hash if there are no shingles; () for a short text.
        word_count: number of words in the text, without the title.
        shingle_count: number of distinct shingles.
    """

    version: int
    content_hash: int
    sentence_hashes: tuple[int, ...]
    signature: Signature
    buckets: tuple[int, ...]
    word_count: int
    shingle_count: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        # Convert arrays to bytes, because an array cannot be hashed, and comparing two arrays gives an array.
        values = (getattr(self, item.name) for item in fields(self))
        return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """The fingerprints of n texts, in order. A text without a fingerprint has a row of zeros and a reason.

    Attributes:
        version, content_hash: shape (n,).
        sentence_hashes: shape (m,): the distinct sentence hashes of each text, one text after the other.
        sentence_starts: shape (n + 1,): text i has the sentence hashes from start i to start i + 1.
        signature: shape (n, k); zeros for a text without shingles.
        buckets: shape (n, bands); zeros if `banded` is False.
        banded: shape (n,): False for short texts, which have no buckets.
        word_count, shingle_count: shape (n,).
        reasons: why a text has no fingerprint; None for a text with a fingerprint.
    """

    version: npt.NDArray[np.int64]
    content_hash: npt.NDArray[np.int64]
    sentence_hashes: npt.NDArray[np.int64]
    sentence_starts: npt.NDArray[np.int64]
    signature: npt.NDArray[np.uint8]
    buckets: npt.NDArray[np.int64]
    banded: npt.NDArray[np.bool_]
    word_count: npt.NDArray[np.int32]
    shingle_count: npt.NDArray[np.int32]
    reasons: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.reasons)

    def one(self, i: int) -> Fingerprint | None:
        """Return the fingerprint of text i, counted from 0; None if text i has a reason instead."""
        if self.reasons[i] is not None:
            return None
        start, stop = self.sentence_starts[i], self.sentence_starts[i + 1]
        return Fingerprint(
            version=int(self.version[i]),
            content_hash=int(self.content_hash[i]),
            sentence_hashes=tuple(self.sentence_hashes[start:stop].tolist()),
            signature=self.signature[i] if self.shingle_count[i] else EMPTY,
            buckets=tuple(self.buckets[i].tolist()) if self.banded[i] else (),
            word_count=int(self.word_count[i]),
            shingle_count=int(self.shingle_count[i]),
        )

    @classmethod
    def unmade(cls, count: int, signature_size: int, bands: int) -> Fingerprints:
        """Return `Fingerprints` of `count` texts, filled with zeros."""
        return cls(
            version=np.zeros(count, np.int64),
            content_hash=np.zeros(count, np.int64),
            sentence_hashes=np.empty(0, np.int64),
            sentence_starts=np.zeros(count + 1, np.int64),
            signature=np.zeros((count, signature_size), np.uint8),
            buckets=np.zeros((count, bands), np.int64),
            banded=np.zeros(count, np.bool_),
            word_count=np.zeros(count, np.int32),
            shingle_count=np.zeros(count, np.int32),
            reasons=(None,) * count,
        )

    @classmethod
    def joined(cls, parts: Iterable[Fingerprints]) -> Fingerprints:
        """Join one or more parts, in order; all parts must be made with equal settings."""
        found = list(parts)
        if len(found) == 1:
            return found[0]
        ends = np.cumsum([0, *(len(part.sentence_hashes) for part in found)])
        starts = [part.sentence_starts[:-1] + end for part, end in zip(found, ends[:-1], strict=True)]
        names = (*A_ROW_EACH, "sentence_hashes")
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in found]) for name in names},
            sentence_starts=np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            reasons=tuple(reason for part in found for reason in part.reasons),
        )
