"""Apply all rules in their simplest form: compare all pairs, without index, database or state.

The work is quadratic, so use the oracle for small corpora. Conformance tests compare every engine with the
oracle. Oracle and engines share only the code for a single text, a pair and a mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dedup.base.settings import Settings
from dedup.rules.common import agreeing_pairs, effective_stories, is_common
from dedup.rules.marks import Mark, OrderKey, Pair, Partner, best_match, decide, kept_originals, kept_similar
from dedup.rules.pair import Profile, Relation, relate
from dedup.text.fingerprint import Fingerprint

Pins = Mapping[frozenset[int], Relation]  # Pinned relations by the ids of the two articles


@dataclass(frozen=True, slots=True)
class Subject:
    """Article with the data that the oracle needs."""

    id: int
    order: OrderKey
    fingerprint: Fingerprint
    published: int = 0  # seconds, from `marks.published_second`


def common_sentences(
    fingerprints: Sequence[Fingerprint], settings: Settings, pins: Mapping[int, bool] | None = None
) -> dict[int, float]:
    """Return each common sentence with its effective number of stories (C in docs/semantics.md, section 2).

    `pins`: by sentence hash: True if pinned as common, False if pinned as not common.
    """
    carriers: dict[int, list[Sequence[int]]] = {}
    for fingerprint in fingerprints:
        for sentence in fingerprint.sentence_hashes:
            carriers.setdefault(sentence, []).append(fingerprint.buckets)
    pinned = pins or {}
    found: dict[int, float] = {}
    for sentence in carriers.keys() | pinned.keys():
        buckets = carriers.get(sentence, [])
        # Skip rare sentences: a sentence cannot be in more stories than articles.
        if len(buckets) <= settings.common_stories and not pinned.get(sentence):
            continue
        pairs = agreeing_pairs(buckets)
        by_count = is_common(len(buckets), pairs, settings.buckets, settings.common_stories)
        if pinned.get(sentence, by_count):
            found[sentence] = effective_stories(len(buckets), pairs, settings.buckets)
    return found


def marks(
    subjects: Sequence[Subject],
    common: Mapping[int, float] | set[int],
    settings: Settings,
    pins: Pins | None = None,
) -> tuple[dict[int, Mark], set[Pair]]:
    """Return the mark of every article by id, and the rows of the table `match` (sections 3 to 5)."""
    profiles = {s.id: Profile.of(s.fingerprint, common, s.published) for s in subjects}
    originals: dict[int, list[Partner]] = {}
    earlier: dict[int, list[Partner]] = {}
    similar: dict[int, list[Partner]] = {s.id: [] for s in subjects}
    canonical: list[Subject] = []
    for subject in sorted(subjects, key=lambda s: s.order):
        found: list[Partner] = []
        for other in canonical:
            pin = (pins or {}).get(frozenset((subject.id, other.id)))
            related = relate(profiles[subject.id], profiles[other.id], settings, pin)
            if related:
                found.append((other.order, other.id, related))
        originals[subject.id] = [f for f in found if f[2].relation is Relation.DUPLICATE]
        if originals[subject.id]:
            continue
        canonical.append(subject)
        earlier[subject.id] = found
        for _, other_id, related in found:
            similar[other_id].append((subject.order, subject.id, related))
        similar[subject.id] += found
    pairs: set[Pair] = set()
    for id, found in originals.items():
        pairs |= {Pair.of(id, other, r) for _, other, r in kept_originals(found, settings)}
    for subject in canonical:
        id = subject.id
        pairs |= {Pair.of(id, other, r) for _, other, r in kept_similar(earlier[id], settings)}
        best = best_match(similar[id])
        if best and best[0] > subject.order:
            pairs.add(Pair.of(best[1], id, best[2]))
    return {s.id: decide(originals[s.id], (r for _, _, r in similar[s.id])) for s in subjects}, pairs
