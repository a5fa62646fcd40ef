"""Apply the rules of `pair.py` to arrays of many pairs of fingerprints (docs/semantics.md, sections 2 to 5).

Keep the operations of `pair.py` in the same order: both modules must give equal floats, as a test checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Counts, Flags, Groups, Pairs, Shares, distinct, runs
from dedup.base.settings import Settings
from dedup.rules import keys
from dedup.rules.marks import OrderKey
from dedup.rules.pair import DAY, Rule, Scores
from dedup.text.damaged import print_jaccards
from dedup.text.fingerprint import Fingerprint
from dedup.text.signature import jaccards

WORK_AT_ONCE = 4_000_000  # Maximum number of pairs in memory before repeated pairs are dropped: 64 MB
SCORED_AT_ONCE = 25_600_000  # Maximum bytes of signatures per step: 100,000 pairs, about 100 MB

Bigints = npt.NDArray[np.int64]
Seconds = Bigints  # Shape (m,): seconds, from `marks.published_second`
# Shape (m, k). A row is a signature; with `settings.prints`, a print (signature of letters) follows.
Signatures = npt.NDArray[np.uint8]

RULES = tuple(sorted(Rule))  # All rules, sorted by name; arrays contain places in this tuple
CODE = {rule: place for place, rule in enumerate(RULES)}  # Place of each rule in `RULES`
Codes = npt.NDArray[np.int8]  # Shape (m,): place of the rule of each pair


@dataclass(frozen=True, slots=True)
class Scored(Columns):
    """Scores of m pairs; see `pair.Scores`. `pairs`: article numbers, shape (m, 2), the smaller first."""

    pairs: Pairs
    shared: Counts
    sentence_jaccard: Shares
    signature_jaccard: Shares
    containment: Shares
    same_content: Flags
    same_bucket: Flags
    shingles: Counts
    print_jaccard: Shares
    common: Counts
    apart: Seconds

    @classmethod
    def of(cls, scores: Sequence[Scores]) -> Scored:
        """Collect the scores of pairs that were scored one by one."""
        numbers = np.arange(len(scores), dtype=np.int32)
        kinds: dict[str, type[np.generic]] = dict.fromkeys(("shared", "shingles", "common"), np.int32)
        kinds["apart"] = np.int64
        shares = ("sentence_jaccard", "signature_jaccard", "containment", "print_jaccard")
        kinds |= dict.fromkeys(shares, np.float64)
        kinds |= dict.fromkeys(("same_content", "same_bucket"), np.bool_)
        columns = {name: np.array([getattr(s, name) for s in scores], kind) for name, kind in kinds.items()}
        return cls(pairs=np.stack([2 * numbers, 2 * numbers + 1], axis=1), **columns)

    @property
    def score(self) -> Shares:
        larger = np.maximum(self.sentence_jaccard, self.signature_jaccard)
        return np.where(self.same_content, 1.0, np.maximum(larger, self.print_jaccard))

    def duplicates(self, settings: Settings) -> Flags:
        by_sentences, by_signature = self._duplicates_by(settings)
        return np.asarray(self.same_content | by_sentences | by_signature | (self.print_jaccard > 0))

    def _duplicates_by(self, settings: Settings) -> tuple[Flags, Flags]:
        by_sentences = self.sentence_jaccard >= settings.duplicate_sentence_jaccard
        by_signature = self.signature_jaccard >= settings.duplicate_signature_jaccard
        likeness = np.maximum(self.sentence_jaccard, self.signature_jaccard)
        near = (self.apart <= settings.reprint_days * DAY) | (likeness >= settings.reprint_score)
        return (
            near & by_sentences & (self.shared >= settings.evidence_sentences),
            near & by_signature & self._signatures_count(settings),
        )

    def _similar_by(self, settings: Settings) -> tuple[Flags, Flags]:
        by_sentences = self.sentence_jaccard >= settings.similar_sentence_jaccard
        least = np.where(
            self.shared > 0, settings.similar_signature_jaccard, settings.similar_signature_alone
        )
        return (
            by_sentences & (self.shared >= settings.evidence_sentences),
            (self.signature_jaccard >= least) & self._signatures_count(settings),
        )

    def _signatures_count(self, settings: Settings) -> Flags:
        own = (self.shared > 0) | (self.common < settings.furniture_sentences)
        return self.same_bucket & own & (self.shingles >= settings.evidence_shingles)

    def rules(self, settings: Settings) -> Codes:
        """Return the rule of each related pair, as a place in `RULES`."""
        # Write the rule of highest precedence last, so that it overwrites the others.
        found = np.full(len(self.pairs), CODE[Rule.CONTAINMENT], np.int8)
        by_sentences, by_signature = self._similar_by(settings)
        found[by_signature] = CODE[Rule.SIGNATURE]
        found[by_sentences] = CODE[Rule.SENTENCES]
        found[self.print_jaccard > 0] = CODE[Rule.DAMAGED]
        by_sentences, by_signature = self._duplicates_by(settings)
        found[by_signature] = CODE[Rule.SIGNATURE]
        found[by_sentences] = CODE[Rule.SENTENCES]
        found[self.same_content] = CODE[Rule.CONTENT]
        return found

    def related(self, settings: Settings) -> Flags:
        by_sentences, by_signature = self._similar_by(settings)
        contained = self.containment >= settings.similar_containment
        return np.asarray(self.duplicates(settings) | by_sentences | by_signature | contained)


def scored_at_once(settings: Settings) -> int:
    """Return the maximum number of pairs to score per step."""
    return max(1, SCORED_AT_ONCE // settings.signature_bytes)


def score(
    pairs: Pairs,
    settings: Settings,
    *,
    shared: Counts,
    sentences: tuple[Counts, Counts],
    common: tuple[Counts, Counts],
    shingles: tuple[Counts, Counts],
    signatures: tuple[Signatures, Signatures],
    published: tuple[Seconds, Seconds],
    same_content: Flags,
    same_bucket: Flags,
) -> Scored:
    """Return the same scores as `pair.score`, for many pairs at once.

    `signatures`: one row for each pair; rows of articles without shingles are ignored. The other arguments
    are as in `pair.Profile`.
    """
    (i, j), (m, n) = sentences, shingles
    signature_jaccard, print_jaccard = _likeness(signatures, (m > 0) & (n > 0), same_bucket, settings)
    union, smaller, fewer = i + j - shared, np.minimum(i, j), np.minimum(m, n)
    share = shared / np.maximum(smaller, 1)
    by_sentences = np.where(shared >= settings.containment_sentences, share, 0.0)
    trusted = np.maximum(m, n) / np.maximum(fewer, 1) <= settings.containment_ratio
    trusted |= share >= settings.containment_share
    by_shingles = np.where(
        (fewer >= settings.containment_shingles) & (shared > 0) & trusted,
        np.minimum(1.0, signature_jaccard * (m + n) / ((1 + signature_jaccard) * np.maximum(fewer, 1))),
        0.0,
    )
    return Scored(
        pairs=pairs,
        shared=shared,
        sentence_jaccard=shared / np.maximum(union, 1),
        signature_jaccard=signature_jaccard,
        containment=np.maximum(by_sentences, by_shingles),
        same_content=same_content,
        same_bucket=same_bucket,
        shingles=fewer,
        print_jaccard=print_jaccard,
        common=np.minimum(*common),
        apart=np.where((published[0] != 0) & (published[1] != 0), np.abs(published[0] - published[1]), 0),
    )


def _likeness(
    signatures: tuple[Signatures, Signatures], signed: Flags, same_bucket: Flags, settings: Settings
) -> tuple[Shares, Shares]:
    """Return the Jaccards of the signatures, and of the damaged-print signatures."""
    found, printed = np.zeros(len(signed)), np.zeros(len(signed))
    size = settings.signature_size
    both = np.flatnonzero(signed)
    if not len(both):
        return found, printed  # If no text has shingles, signatures may have length 0
    a, b = (rows if len(both) == len(rows) else rows[both] for rows in signatures)
    found[both] = jaccards(a[:, :size], b[:, :size])
    if settings.prints:
        near = both[same_bucket[both]]
        a, b = (rows[near, size:] for rows in signatures)
        printed[near] = print_jaccards(a, b, found[near])
    return found, printed


class FingerprintArrays:
    """Fingerprints as arrays, without common sentences. A text without a fingerprint (None) is in no pair.
    `published`: for each fingerprint, see `marks.published_second`; None if all are unknown."""

    def __init__(
        self,
        fingerprints: Sequence[Fingerprint | None],
        common: Collection[int],
        published: Sequence[int] | None = None,
    ) -> None:
        self._readable = np.array([f is not None for f in fingerprints], np.bool_)
        self._sentences = _Sets(
            [] if f is None else [h for h in f.sentence_hashes if h not in common] for f in fingerprints
        )
        totals = [0 if f is None else len(f.sentence_hashes) for f in fingerprints]
        self._common = np.array(totals, np.int32) - self._sentences.sizes
        self._published = np.array([0] * len(fingerprints) if published is None else published, np.int64)
        self._buckets = _Sets(() if f is None else f.buckets for f in fingerprints)
        self._contents = _Sets(() if f is None else (f.content_hash,) for f in fingerprints)
        self._shingles = np.array([0 if f is None else f.shingle_count for f in fingerprints], np.int32)
        size = max((len(f.signature) for f in fingerprints if f is not None), default=0)
        self._signatures = np.zeros((len(fingerprints), size), np.uint8)
        for i, fingerprint in enumerate(fingerprints):
            if fingerprint is not None and len(fingerprint.signature):
                self._signatures[i] = fingerprint.signature

    def candidates(self) -> Pairs:
        """Return the pairs that share a sentence, a bucket key or the content hash; shape (m, 2)."""
        sets = (self._sentences, self._buckets, self._contents)
        later, earlier = keys.pair(distinct(np.concatenate([found.codes for found in sets])))
        return np.stack([earlier, later], axis=1)[np.lexsort((later, earlier))]

    def score(self, pairs: Pairs, settings: Settings) -> Scored:
        """Return the scores of pairs. If a text is unreadable, all scores of its pairs are 0."""
        step = scored_at_once(settings)
        parts = range(0, max(1, len(pairs)), step)
        return Scored.joined([self._score(pairs[at : at + step], settings) for at in parts])

    def _score(self, pairs: Pairs, settings: Settings) -> Scored:
        a, b = pairs[:, 0], pairs[:, 1]
        sizes = self._sentences.sizes
        return score(
            pairs,
            settings,
            shared=self._sentences.shared(pairs),
            sentences=(sizes[a], sizes[b]),
            common=(self._common[a], self._common[b]),
            shingles=(self._shingles[a], self._shingles[b]),
            signatures=(self._signatures[a], self._signatures[b]),
            published=(self._published[a], self._published[b]),
            same_content=self._contents.shared(pairs) > 0,
            same_bucket=self._buckets.shared(pairs) > 0,
        )


class _Sets:
    """Sets of hashes, one per article, and the sizes of the intersections of all pairs of sets.

    Attributes:
        codes: shape (m,), ascending: the pairs of sets with a common member; see `keys.code`.
    """

    def __init__(self, sets: Iterable[Collection[int]]) -> None:
        members = [distinct(np.fromiter(items, np.int64, len(items))) for items in sets]
        size = len(members)
        self.sizes: Counts = np.array([len(found) for found in members], np.int32)
        hashes = np.concatenate([np.empty(0, np.int64), *members])
        groups = keys.Groups(
            keys.shared(hashes, np.repeat(np.arange(size, dtype=np.int32), self.sizes)), size
        )
        codes, counts, start = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        while start < size:
            stop = start + max(1, int(np.searchsorted(groups.work(start), WORK_AT_ONCE, side="right")))
            found = np.sort(groups.earlier(start, stop, np.ones(size, np.bool_)))
            starts, lengths = runs(found)
            codes.append(found[starts])
            counts.append(lengths)
            start = stop
        self.codes, self._counts = np.concatenate(codes), np.concatenate(counts)

    def shared(self, pairs: Pairs) -> Counts:
        """Return the number of common members of each pair of sets; shape (m,)."""
        wanted = keys.code(pairs.max(axis=1), pairs.min(axis=1))
        at = np.searchsorted(self.codes, wanted)
        known = at < len(self.codes)
        known[known] = self.codes[at[known]] == wanted[known]
        found = np.zeros(len(pairs), np.int32)
        found[known] = self._counts[at[known]]
        return found


def stories(orders: Sequence[OrderKey], scored: Scored, duplicates: Flags) -> Groups:
    """Return the original of every article, which can be the article itself (section 5); shape (n,).

    `duplicates`: flags of the pairs whose relation is duplicate.
    """
    place = np.empty(len(orders), np.int64)
    place[sorted(range(len(orders)), key=orders.__getitem__)] = np.arange(len(orders))
    pairs, scores = scored.pairs[duplicates], scored.score[duplicates]
    swap = place[pairs[:, 0]] > place[pairs[:, 1]]
    earlier = np.where(swap, pairs[:, 1], pairs[:, 0])
    later = np.where(swap, pairs[:, 0], pairs[:, 1])
    # Take the later articles in canonical order, so that the earlier article of each pair is already decided.
    # Try the pairs of a later article by falling score, then by the earlier article. The first pair whose
    # earlier article is an original decides.
    rows = np.lexsort((place[earlier], -scores, place[later]))
    original = np.arange(len(orders), dtype=np.int32)
    for first, second in zip(earlier[rows].tolist(), later[rows].tolist(), strict=True):
        if original[second] == second and original[first] == first:
            original[second] = first
    return original
