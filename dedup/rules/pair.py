"""A pair of fingerprints becomes scores, and scores become a relation (SEMANTICS sections 3 and 4).

Pure, and the only place that knows these rules. It does not know about order or marks.
Read next: `marks.py`, or `oracle.py` for the simplest whole.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint
from dedup.text.signature import Signature, equal_share


class Relation(StrEnum):
    """What two articles are to each other."""

    DUPLICATE = "duplicate"
    SIMILAR = "similar"


class Rule(StrEnum):
    """What decided a relation; stored as the reason of a mark."""

    CONTENT = "content"
    SENTENCES = "sentences"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Profile:
    """What the rules see of a fingerprint, given the common sentences.

    Attributes:
        sentences: S' = the hashes of its sentences that are not common.
    """

    content_hash: int
    sentences: frozenset[int]
    signature: Signature
    buckets: frozenset[int]
    shingle_count: int

    @classmethod
    def of(cls, fingerprint: Fingerprint, common: Collection[int]) -> Profile:
        """The profile of a fingerprint, given a set that holds its common sentences."""
        return cls(
            fingerprint.content_hash,
            frozenset(h for h in fingerprint.sentence_hashes if h not in common),
            fingerprint.signature,
            frozenset(fingerprint.buckets),
            fingerprint.shingle_count,
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a pair, each from 0 to 1, symmetric.

    Attributes:
        shared: |S'(a) & S'(b)|, a count.
        sentence_jaccard: shared over |S'(a) | S'(b)|; 0 where both are empty.
        containment: shared over the smaller of both; 0 where one is empty.
        signature_jaccard: share of equal MinHash positions if a bucket is shared, else 0.
        same_content: equal content hashes.
    """

    shared: int
    sentence_jaccard: float
    containment: float
    signature_jaccard: float
    same_content: bool

    @property
    def score(self) -> float:
        """The larger Jaccard; 1 for equal content."""
        return 1.0 if self.same_content else max(self.sentence_jaccard, self.signature_jaccard)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A relation with the scores and the rule it rests on."""

    relation: Relation
    rule: Rule
    scores: Scores


def score(a: Profile, b: Profile) -> Scores:
    """The scores of a pair."""
    shared = len(a.sentences & b.sentences)
    union = len(a.sentences) + len(b.sentences) - shared
    smaller = min(len(a.sentences), len(b.sentences))
    bucket_shared = not a.buckets.isdisjoint(b.buckets)
    return Scores(
        shared=shared,
        sentence_jaccard=shared / union if union else 0.0,
        containment=shared / smaller if smaller else 0.0,
        signature_jaccard=equal_share(a.signature, b.signature) if bucket_shared else 0.0,
        same_content=a.content_hash == b.content_hash,
    )


def judge(a: Profile, b: Profile, settings: Settings) -> Judgement | None:
    """The relation of a pair, or None where there is none."""
    scores = score(a, b)
    if scores.same_content:
        return Judgement(Relation.DUPLICATE, Rule.CONTENT, scores)
    if (
        scores.sentence_jaccard >= settings.duplicate_sentence_jaccard
        and scores.shared >= settings.evidence_sentences
    ):
        return Judgement(Relation.DUPLICATE, Rule.SENTENCES, scores)
    if (
        scores.signature_jaccard >= settings.duplicate_signature_jaccard
        and min(a.shingle_count, b.shingle_count) >= settings.evidence_shingles
    ):
        return Judgement(Relation.DUPLICATE, Rule.SIGNATURE, scores)
    by_sentences = scores.sentence_jaccard >= settings.similar_sentence_jaccard
    by_signature = scores.signature_jaccard >= settings.similar_signature_jaccard
    if by_sentences or by_signature:
        return Judgement(Relation.SIMILAR, stronger(scores), scores)
    return None


def stronger(scores: Scores) -> Rule:
    """The channel with the higher Jaccard; sentences where they are equal, since they can be shown."""
    return Rule.SENTENCES if scores.sentence_jaccard >= scores.signature_jaccard else Rule.SIGNATURE
