"""The product's own rule over a whole corpus at once, in memory: arrays in place of a database.

The third engine of one contract: settling works article by article in Postgres, the oracle compares
everything with everything, and this one scores all candidate pairs as arrays, which is what a comparison
and a search for thresholds need. Tests hold it equal to the oracle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.lab.algorithms.incidence import PAIRS_AT_ONCE, Counts, incidence, shared, shared_of, sizes
from dedup.lab.documents import Corpus
from dedup.numbers import NO_PAIRS, Flags, Groups, Pairs
from dedup.rules import oracle
from dedup.rules.marks import OrderKey
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, Fingerprinter, UnreadableError
from dedup.text.punkt import PunktModel

Shares = npt.NDArray[np.float64]
"""Shape (m,): a share from 0 to 1 for each pair."""


def read(
    corpus: Corpus, settings: Settings, models: Mapping[str, PunktModel] | None = None
) -> list[Fingerprint | None]:
    """The fingerprint of every document; None where it cannot be read."""
    fingerprinter = Fingerprinter(settings, models)
    found: list[Fingerprint | None] = []
    for document in corpus:
        try:
            found.append(fingerprinter.fingerprint(document.text, document.language))
        except UnreadableError:
            found.append(None)
    return found


@dataclass(frozen=True, slots=True)
class Scored:
    """Pairs with every number the rules look at (SEMANTICS section 3), each of shape (m,).

    Attributes:
        pairs: shape (m, 2), the smaller number first.
        shared_sentences: sentences that count and both have; shingles: those of the one that has fewer.
    """

    pairs: Pairs
    shared_sentences: Counts
    sentence_jaccard: Shares
    containment: Shares
    signature_jaccard: Shares
    same_content: Flags
    shingles: Counts

    @property
    def score(self) -> Shares:
        """The larger Jaccard; 1 for equal content."""
        return np.where(self.same_content, 1.0, np.maximum(self.sentence_jaccard, self.signature_jaccard))

    def only(self, rows: Flags) -> Scored:
        """Some of the pairs."""
        return Scored(*(getattr(self, name)[rows] for name in self.__slots__))

    def duplicates(self, settings: Settings) -> Flags:
        """Which pairs are duplicates (SEMANTICS section 4)."""
        by_sentences = (self.sentence_jaccard >= settings.duplicate_sentence_jaccard) & (
            self.shared_sentences >= settings.evidence_sentences
        )
        by_signature = (self.signature_jaccard >= settings.duplicate_signature_jaccard) & (
            self.shingles >= settings.evidence_shingles
        )
        return np.asarray(self.same_content | by_sentences | by_signature)

    def related(self, settings: Settings) -> Flags:
        """Which pairs are duplicates or similar."""
        return np.asarray(
            self.duplicates(settings)
            | (self.sentence_jaccard >= settings.similar_sentence_jaccard)
            | (self.signature_jaccard >= settings.similar_signature_jaccard)
        )


class Scorer:
    """Scores pairs of fingerprints, given which sentences are common.

    Args:
        fingerprints: of each document; None takes part in nothing.
        common: the sentences that do not count.
    """

    def __init__(self, fingerprints: Sequence[Fingerprint | None], common: set[int]) -> None:
        self._readable = np.array([f is not None for f in fingerprints], np.bool_)
        self._sentences = incidence(
            [] if f is None else [h for h in f.sentence_hashes if h not in common] for f in fingerprints
        )
        self._buckets = incidence([] if f is None else f.buckets for f in fingerprints)
        self._contents = np.array([0 if f is None else f.content_hash for f in fingerprints], np.int64)
        self._shingles = np.array([0 if f is None else f.shingle_count for f in fingerprints], np.int32)
        longest = max((len(f.signature) for f in fingerprints if f is not None), default=0)
        self._signatures = np.zeros((len(fingerprints), longest), np.uint32)
        for i, fingerprint in enumerate(fingerprints):
            if fingerprint is not None and len(fingerprint.signature):
                self._signatures[i] = fingerprint.signature

    def candidates(self) -> Pairs:
        """The pairs that share a sentence, a bucket or the content hash; shape (m, 2)."""
        keys = np.where(self._readable, self._contents, np.arange(len(self._contents)))
        contents = incidence(
            [key] if readable else [] for key, readable in zip(keys, self._readable, strict=True)
        )
        found = [pairs for sets in (self._sentences, self._buckets, contents) for pairs, _ in shared(sets)]
        return np.unique(np.concatenate([NO_PAIRS, *found]), axis=0)

    def score(self, pairs: Pairs) -> Scored:
        """Every score of some pairs; those of unreadable documents are all 0."""
        a, b = pairs[:, 0], pairs[:, 1]
        readable = self._readable[a] & self._readable[b]
        both = shared_of(self._sentences, pairs)
        size = sizes(self._sentences)
        union, smaller = size[a] + size[b] - both, np.minimum(size[a], size[b])
        bucket = shared_of(self._buckets, pairs) > 0
        equal = np.zeros(len(pairs))
        together = np.flatnonzero(bucket)
        for start in range(0, len(together), PAIRS_AT_ONCE):
            rows = together[start : start + PAIRS_AT_ONCE]
            equal[rows] = (self._signatures[a[rows]] == self._signatures[b[rows]]).mean(axis=1)
        return Scored(
            pairs=pairs,
            shared_sentences=both,
            sentence_jaccard=both / np.maximum(union, 1),
            containment=both / np.maximum(smaller, 1),
            signature_jaccard=equal,
            same_content=readable & (self._contents[a] == self._contents[b]),
            shingles=np.minimum(self._shingles[a], self._shingles[b]),
        )


def common_sentences(fingerprints: Sequence[Fingerprint | None], settings: Settings) -> set[int]:
    """The common sentences (SEMANTICS section 2), without pins."""
    return oracle.common_sentences([f for f in fingerprints if f is not None], settings)


def stories(orders: Sequence[OrderKey], scored: Scored, duplicates: Flags) -> Groups:
    """The canonical document of every document, itself where it is canonical (SEMANTICS section 5).

    Args:
        orders: the place of each document in canonical order; duplicates: which pairs are duplicates.
    """
    place = np.empty(len(orders), np.int64)
    place[sorted(range(len(orders)), key=orders.__getitem__)] = np.arange(len(orders))
    pairs, scores = scored.pairs[duplicates], scored.score[duplicates]
    swap = place[pairs[:, 0]] > place[pairs[:, 1]]
    earlier = np.where(swap, pairs[:, 1], pairs[:, 0])
    later = np.where(swap, pairs[:, 0], pairs[:, 1])
    # By the later one, in canonical order; of its originals the highest score first, the earliest of equals.
    rows = np.lexsort((place[earlier], -scores, place[later]))
    original = np.arange(len(orders), dtype=np.int32)
    for first, second in zip(earlier[rows].tolist(), later[rows].tolist(), strict=True):
        if original[second] == second and original[first] == first:
            original[second] = first
    return original
