"""Score a pair of fingerprints, and decide their relation (docs/semantics.md, sections 3 and 4).

`pairs.py` has the same rules for arrays; a test checks that both give equal results.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from dedup.base.settings import Settings
from dedup.rules.relation import Relation as Relation
from dedup.rules.relation import Rule as Rule
from dedup.text import signature
from dedup.text.damaged import print_jaccards
from dedup.text.fingerprint import Fingerprint
from dedup.text.signature import Signature

DAY = 86_400  # Seconds of a day


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of an article that the rules compare.

    Attributes:
        sentences: S', the sentence hashes without common sentences; common: number of common sentences.
        published: see `marks.published_second`.
    """

    content_hash: int
    sentences: frozenset[int]
    signature: Signature
    buckets: frozenset[int]
    shingle_count: int
    common: int = 0
    published: int = 0

    @classmethod
    def of(cls, fingerprint: Fingerprint, common: Collection[int], published: int = 0) -> Profile:
        own = frozenset(h for h in fingerprint.sentence_hashes if h not in common)
        return cls(
            fingerprint.content_hash,
            own,
            fingerprint.signature,
            frozenset(fingerprint.buckets),
            fingerprint.shingle_count,
            len(fingerprint.sentence_hashes) - len(own),
            published,
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a pair; the order of the two articles does not matter.

    Attributes:
        shared: number of shared sentences, |S'(a) & S'(b)|.
        sentence_jaccard: shared divided by |S'(a) | S'(b)|; 0 if both sets are empty.
        signature_jaccard: estimated Jaccard of the two shingle sets; 0 if a set is empty.
        containment: share of the shorter article that is in the longer one, from 0 to 1.
        same_content: True for equal content hashes; same_bucket: True if a bucket key is equal.
        shingles: number of shingles of the article with fewer shingles.
        common: number of common sentences of the article with fewer common sentences.
        apart: seconds between the two publications; 0 if one of the times is unknown.
        print_jaccard: Jaccard of the prints (signatures of letters, `text/damaged.py`) if the texts are equal
            except for misread letters, and share a bucket; otherwise 0.
    """

    shared: int
    sentence_jaccard: float
    signature_jaccard: float
    containment: float
    same_content: bool
    same_bucket: bool
    shingles: int
    print_jaccard: float = 0.0
    common: int = 0
    apart: int = 0

    @property
    def score(self) -> float:
        if self.same_content:
            return 1.0
        return max(self.sentence_jaccard, self.signature_jaccard, self.print_jaccard)


@dataclass(frozen=True, slots=True)
class Related:
    """The relation of two articles, with the rule that decided."""

    relation: Relation
    rule: Rule
    scores: Scores


def score(a: Profile, b: Profile, settings: Settings) -> Scores:
    """Return the scores of a pair."""
    shared = len(a.sentences & b.sentences)
    return score_counted(a, b, settings, shared=shared, same_bucket=not a.buckets.isdisjoint(b.buckets))


def score_counted(a: Profile, b: Profile, settings: Settings, *, shared: int, same_bucket: bool) -> Scores:
    """Return the scores of a pair, given |S'(a) & S'(b)| and whether the pair has an equal bucket key."""
    union = len(a.sentences) + len(b.sentences) - shared
    size = settings.signature_size
    estimated = signature.jaccard(a.signature[:size], b.signature[:size])
    printed = 0.0
    if settings.prints and same_bucket and len(a.signature) and len(b.signature):
        prints = a.signature[None, size:], b.signature[None, size:]
        printed = float(print_jaccards(*prints, np.array([estimated]))[0])
    fewer = min(a.shingle_count, b.shingle_count)
    by_shingles = 0.0
    share = shared / min(len(a.sentences), len(b.sentences)) if shared else 0.0
    by_sentences = share if shared >= settings.containment_sentences else 0.0
    ratio = max(a.shingle_count, b.shingle_count) / max(fewer, 1)
    trusted = ratio <= settings.containment_ratio or share >= settings.containment_share
    if shared and fewer >= settings.containment_shingles and trusted:
        # Two sets of sizes m and n with a Jaccard of s have s (m + n) / (1 + s) common members.
        both = a.shingle_count + b.shingle_count
        by_shingles = min(1.0, estimated * both / ((1 + estimated) * fewer))
    return Scores(
        shared=shared,
        sentence_jaccard=shared / union if union else 0.0,
        signature_jaccard=estimated,
        containment=max(by_sentences, by_shingles),
        same_content=a.content_hash == b.content_hash,
        same_bucket=same_bucket,
        shingles=fewer,
        print_jaccard=printed,
        common=min(a.common, b.common),
        apart=abs(a.published - b.published) if a.published and b.published else 0,
    )


def relate(a: Profile, b: Profile, settings: Settings, pin: Relation | None = None) -> Related | None:
    """Return the relation of a pair, or None. A pin decides, or else the first rule that holds."""
    return relate_scored(score(a, b, settings), settings, pin)


def relate_scored(scores: Scores, settings: Settings, pin: Relation | None = None) -> Related | None:
    """Return the relation of a pair with these scores; see `relate`."""
    if pin is not None:
        return None if pin is Relation.UNRELATED else Related(pin, Rule.PINNED, scores)
    if rule := _duplicate_by(scores, settings):
        return Related(Relation.DUPLICATE, rule, scores)
    if rule := _similar_by(scores, settings):
        return Related(Relation.SIMILAR, rule, scores)
    return None


def _duplicate_by(scores: Scores, settings: Settings) -> Rule | None:
    if scores.same_content:
        return Rule.CONTENT
    likeness = max(scores.sentence_jaccard, scores.signature_jaccard)
    if scores.apart <= settings.reprint_days * DAY or likeness >= settings.reprint_score:
        if (
            scores.sentence_jaccard >= settings.duplicate_sentence_jaccard
            and scores.shared >= settings.evidence_sentences
        ):
            return Rule.SENTENCES
        if scores.signature_jaccard >= settings.duplicate_signature_jaccard and signatures_count(
            scores, settings
        ):
            return Rule.SIGNATURE
    return Rule.DAMAGED if scores.print_jaccard else None


def _similar_by(scores: Scores, settings: Settings) -> Rule | None:
    if (
        scores.sentence_jaccard >= settings.similar_sentence_jaccard
        and scores.shared >= settings.evidence_sentences
    ):
        return Rule.SENTENCES
    if scores.signature_jaccard >= least_signature(scores, settings) and signatures_count(scores, settings):
        return Rule.SIGNATURE
    if scores.containment >= settings.similar_containment:
        return Rule.CONTAINMENT
    return None


def least_signature(scores: Scores, settings: Settings) -> float:
    """Return the minimum signature Jaccard of a similar pair; it depends on whether a sentence is shared."""
    return settings.similar_signature_jaccard if scores.shared else settings.similar_signature_alone


def signatures_count(scores: Scores, settings: Settings) -> bool:
    """Return whether the signature Jaccard counts as evidence.

    The articles must share a bucket, have enough shingles, and share a sentence or have few common sentences.
    """
    own = scores.shared > 0 or scores.common < settings.furniture_sentences
    return scores.same_bucket and own and scores.shingles >= settings.evidence_shingles
