"""The whole contract in its simplest form: all pairs, no index, no database, no state.

Quadratic, for small corpora; tests and `dedup verify` hold the engine to it. It shares the pair rules
with the engine and nothing else. Read next: `engine/settle.py`, which does the same fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dedup.rules.marks import Mark, OrderKey, Pair, Status, choose_original
from dedup.rules.pair import Judgement, Profile, Relation, judge, stronger
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint


@dataclass(frozen=True, slots=True)
class Subject:
    """An article as the oracle sees it."""

    id: int
    order: OrderKey
    fingerprint: Fingerprint


def common_sentences(
    fingerprints: Sequence[Fingerprint], settings: Settings, pins: Mapping[int, bool] | None = None
) -> set[int]:
    """C (SEMANTICS section 2): the sentences of too many stories (`too_common`), and pins."""
    carriers: dict[int, list[Fingerprint]] = {}
    for fingerprint in fingerprints:
        for sentence in fingerprint.sentence_hashes:
            carriers.setdefault(sentence, []).append(fingerprint)
    common = {sentence for sentence, found in carriers.items() if too_common(found, settings)}
    for sentence, is_common in (pins or {}).items():
        (common.add if is_common else common.discard)(sentence)
    return common


def too_common(carriers: Sequence[Fingerprint], settings: Settings) -> bool:
    """Whether a sentence with these carriers is common: many sketches, unless they are copies of few stories.

    Copies of one report have one sketch, but for those of which another shingle happens to be the smallest: a
    paper's own lines around it are enough, and of 300 copies more than any limit are such. So many sketches
    do not count where two carriers are copies, equal in the sketch and in a bucket, with a probability of at
    least `common_concentration`. Boilerplate may be the sketch of its pages, but hardly a whole bucket too.
    """
    if len({fingerprint.sketch for fingerprint in carriers}) <= settings.common_stories:
        return False
    pairs = 0
    for band in range(settings.bands):
        copies = Counter((f.sketch, f.buckets[band] if band < len(f.buckets) else 0) for f in carriers)
        pairs += sum(count * (count - 1) for count in copies.values())
    every = settings.bands * len(carriers) * (len(carriers) - 1)
    return pairs < settings.common_concentration * every


def marks(
    subjects: Sequence[Subject], common: set[int], settings: Settings
) -> tuple[dict[int, Mark], set[Pair]]:
    """The marks and pairs of a corpus, by the letter of SEMANTICS sections 3 to 5.

    Returns:
        The mark of every article by id, and the rows of `match`.
    """
    profiles = {s.id: Profile.of(s.fingerprint, common) for s in subjects}
    found: dict[int, Mark] = {}
    pairs: set[Pair] = set()
    canonical: list[Subject] = []
    similar: dict[int, list[Judgement]] = {}
    for subject in sorted(subjects, key=lambda s: s.order):
        judged = [(c, judge(profiles[subject.id], profiles[c.id], settings)) for c in canonical]
        duplicates = [(c, j) for c, j in judged if j and j.relation is Relation.DUPLICATE]
        if duplicates:
            original, judgement = choose_original((c.order, c, j) for c, j in duplicates)
            found[subject.id] = Mark(
                Status.DUPLICATE, original.id, judgement.scores.score, judgement.rule.value
            )
            pairs |= {Pair.of(subject.id, c.id, j) for c, j in duplicates}
            continue
        canonical.append(subject)
        similar[subject.id] = []
        for other, judgement_or_none in judged:
            if judgement_or_none:
                pairs.add(Pair.of(subject.id, other.id, judgement_or_none))
                similar[subject.id].append(judgement_or_none)
                similar[other.id].append(judgement_or_none)
    for article, judgements in similar.items():
        if judgements:
            best = max(j.scores.score for j in judgements)
            rules = {stronger(j.scores).value for j in judgements if j.scores.score == best}
            found[article] = Mark(Status.SIMILAR, None, best, min(rules))
        else:
            found[article] = Mark(Status.UNIQUE)
    return found, pairs
