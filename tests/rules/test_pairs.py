"""The rules for arrays equal the rule for one pair and the oracle, on corpora near every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.numbers import NO_PAIRS, Pairs
from dedup.base.settings import Settings
from dedup.rules import oracle, pairs
from dedup.rules.marks import Status
from dedup.rules.pair import DAY, Profile, Relation, relate, score
from dedup.rules.pairs import FingerprintArrays, Scored, stories
from dedup.text.fingerprint import Fingerprint
from dedup.text.signature import EMPTY, jaccard

RULES = Settings(common_stories=2, evidence_sentences=2, evidence_shingles=6, bands=2, rows=4)
START = datetime(2024, 5, 1, tzinfo=UTC)
NONE: frozenset[int] = frozenset()


@st.composite
def fingerprints(draw: st.DrawFn, size: int = 8) -> list[Fingerprint | None]:
    """Draw fingerprints with few different sentences, so that many pairs lie close to the thresholds."""
    found: list[Fingerprint | None] = []
    for _ in range(draw(st.integers(0, size))):
        kind = draw(st.integers(0, 9))
        content = draw(st.integers(1, 12))
        if kind == 0:
            found.append(None)
        elif kind == 1:  # a short text
            found.append(Fingerprint(1, content, (), EMPTY, (), 5, 0))
        else:
            sentences = draw(st.lists(st.integers(1, 9), max_size=6, unique=True))
            signature = draw(st.lists(st.integers(1, 3), min_size=10, max_size=10)) if kind > 2 else []
            buckets = [10 * i + signature[i] for i in range(0, len(signature), 5)] or [content] * 2
            found.append(
                Fingerprint(
                    version=1,
                    content_hash=content,
                    sentence_hashes=tuple(sentences),
                    signature=np.array(signature, np.uint8),
                    buckets=tuple(buckets),
                    word_count=100,
                    shingle_count=draw(st.sampled_from([1, 5, 6, 7, 29, 30, 31, 90])) if signature else 0,
                )
            )
    return found


TENTHS = st.integers(1, 10).map(lambda n: n / 10)
SETTINGS = st.builds(
    lambda sentence, signature, containment, evidence, more: RULES.with_values(
        {
            "similar_sentence_jaccard": min(sentence),
            "duplicate_sentence_jaccard": max(sentence),
            "similar_signature_jaccard": min(signature),
            "duplicate_signature_jaccard": max(signature),
            "similar_containment": containment,
            "evidence_sentences": evidence[0],
            "evidence_shingles": evidence[1],
            "containment_sentences": evidence[2],
            "containment_shingles": evidence[3],
            "containment_ratio": more[0],
            "containment_share": more[1],
            "furniture_sentences": more[2],
            "reprint_days": more[3],
            "reprint_score": more[4],
            "similar_signature_alone": more[5],
        }
    ),
    st.tuples(TENTHS, TENTHS),
    st.tuples(TENTHS, TENTHS),
    TENTHS,
    st.tuples(st.integers(1, 4), st.integers(5, 7), st.integers(1, 4), st.sampled_from([6, 29, 30, 31])),
    st.tuples(st.sampled_from([1, 2, 4]), TENTHS, st.integers(1, 4), st.integers(0, 4), TENTHS, TENTHS),
)


def every_pair(made: Sequence[object]) -> Pairs:
    return np.array(list(combinations(range(len(made)), 2)), np.int32).reshape(-1, 2)


def common_of(made: Sequence[Fingerprint | None], settings: Settings = RULES) -> set[int]:
    return set(oracle.common_sentences([f for f in made if f is not None], settings))


@pytest.mark.long("dedup", "migrations")
@given(
    fingerprints(), st.lists(st.sampled_from([0, DAY, 4 * DAY, 5 * DAY]), min_size=8, max_size=8), SETTINGS
)
def test_every_score_is_that_of_the_pair_rule_to_the_last_bit(
    made: list[Fingerprint | None], times: list[int], settings: Settings
) -> None:
    common = common_of(made)
    every = every_pair(made)
    scored = FingerprintArrays(made, common, times[: len(made)]).score(every, settings)
    duplicates, related = scored.duplicates(settings), scored.related(settings)
    again = []
    for row, (i, j) in enumerate(every.tolist()):
        a, b = made[i], made[j]
        if a is None or b is None:
            assert scored.score[row] == scored.containment[row] == 0
            assert not duplicates[row]
            assert not related[row]
            continue
        profiles = Profile.of(a, common, times[i]), Profile.of(b, common, times[j])
        expected = score(*profiles, settings)
        again.append(expected)
        for name in ("shared", "same_content", "same_bucket", "shingles", "common", "apart", "score"):
            assert getattr(scored, name)[row] == getattr(expected, name), name
        for name in ("sentence_jaccard", "signature_jaccard", "containment"):
            assert float(getattr(scored, name)[row]).hex() == getattr(expected, name).hex(), name
        found = relate(*profiles, settings)
        assert duplicates[row] == (found is not None and found.relation is Relation.DUPLICATE)
        assert related[row] == (found is not None)
        assert found is None or pairs.RULES[scored.rules(settings)[row]] is found.rule
    # The readable pairs, scored one by one, give the same results as all pairs scored at once.
    readable = np.array([made[i] is not None and made[j] is not None for i, j in every.tolist()], np.bool_)
    one_by_one = Scored.of(again)
    assert one_by_one.duplicates(settings).tolist() == duplicates[readable].tolist()
    assert one_by_one.related(settings).tolist() == related[readable].tolist()
    assert one_by_one.score.tolist() == scored.score[readable].tolist()


REAL_SIZE = st.lists(st.integers(0, 255), min_size=256, max_size=256)


@pytest.mark.long("dedup", "migrations")
@given(REAL_SIZE, st.integers(0, 256), st.integers(1, 500), st.integers(1, 500), st.integers(0, 5))
def test_floats_are_equal_for_signatures_of_the_real_size(
    values: list[int], equal: int, m: int, n: int, shared: int
) -> None:
    signature = np.array(values, np.uint8)
    other = np.concatenate([signature[:equal], signature[equal:] + np.uint8(1)])
    sentences = tuple(range(shared))
    one = Fingerprint(1, 1, (*sentences, 100), signature, (1,), 100, m)
    two = Fingerprint(1, 2, (*sentences, 200, 201), other, (1,), 100, n)
    found = FingerprintArrays([one, two], NONE).score(np.array([[0, 1]], np.int32), Settings())
    expected = score(Profile.of(one, NONE), Profile.of(two, NONE), Settings())
    assert found.signature_jaccard.item() == expected.signature_jaccard
    assert found.containment.item() == expected.containment
    assert found.score.item() == expected.score


@pytest.mark.parametrize("size", [200, 256])
def test_the_estimate_is_that_of_the_contract_to_the_last_bit(size: int) -> None:
    first = np.zeros(size, np.uint8)
    made = [
        Fingerprint(1, equal, (), np.repeat(np.array([0, 1], np.uint8), [equal, size - equal]), (), 100, 90)
        for equal in range(size + 1)
    ]
    expected = [float(max(Fraction(0), Fraction(256 * e - size, 255 * size))) for e in range(size + 1)]
    origin = Fingerprint(1, -1, (), first, (), 100, 90)
    every = np.array([[0, i + 1] for i in range(size + 1)], np.int32)
    assert FingerprintArrays([origin, *made], NONE).score(every, RULES).signature_jaccard.tolist() == expected
    assert [jaccard(first, other.signature) for other in made] == expected


@pytest.mark.long("dedup", "migrations")
@given(fingerprints(), st.booleans())
def test_the_candidates_are_the_pairs_that_share_something(
    made: list[Fingerprint | None], few_at_once: bool
) -> None:
    common = common_of(made)

    def meet(a: Fingerprint | None, b: Fingerprint | None) -> bool:
        if a is None or b is None:
            return False
        sentences = (set(a.sentence_hashes) & set(b.sentence_hashes)) - common
        return bool(sentences or set(a.buckets) & set(b.buckets)) or a.content_hash == b.content_hash

    with pytest.MonkeyPatch.context() as patch:
        if few_at_once:
            patch.setattr(pairs, "WORK_AT_ONCE", 2)
            patch.setattr(pairs, "SCORED_AT_ONCE", 2)
        profiles = FingerprintArrays(made, common)
        found = profiles.candidates()
        every = every_pair(made)
        in_parts = profiles.score(every, RULES)
    expected = [(i, j) for i, j in every.tolist() if meet(made[i], made[j])]
    assert [tuple(pair) for pair in found.tolist()] == expected
    whole = FingerprintArrays(made, common).score(every, RULES)
    assert in_parts.shared.tolist() == whole.shared.tolist()
    assert in_parts.signature_jaccard.tolist() == whole.signature_jaccard.tolist()


@pytest.mark.long("dedup", "migrations")
@given(fingerprints(), SETTINGS)
def test_no_related_pair_is_missing_from_the_candidates(
    made: list[Fingerprint | None], settings: Settings
) -> None:
    profiles = FingerprintArrays(made, common_of(made))
    every = every_pair(made)
    related = every[profiles.score(every, settings).related(settings)]
    candidates = {tuple(pair) for pair in profiles.candidates().tolist()}
    assert {tuple(pair) for pair in related.tolist()} <= candidates


@pytest.mark.long("dedup", "migrations")
@given(fingerprints(), st.lists(st.integers(0, 3), min_size=8, max_size=8), SETTINGS)
def test_stories_are_the_oracles(
    made: list[Fingerprint | None], minutes: list[int], settings: Settings
) -> None:
    times = [(START + timedelta(minutes=minutes[i]), b"%d" % i) for i in range(len(made))]
    common = common_of(made, settings)
    profiles = FingerprintArrays(made, common)
    scored = profiles.score(profiles.candidates(), settings)
    found = stories(times, scored, scored.duplicates(settings))
    subjects = [oracle.Subject(i, times[i], f) for i, f in enumerate(made) if f is not None]
    marks, _ = oracle.marks(subjects, common, settings)
    expected = [
        marks[i].duplicate_of if i in marks and marks[i].status is Status.DUPLICATE else i
        for i in range(len(made))
    ]
    assert found.tolist() == expected


def test_nothing_at_all() -> None:
    profiles = FingerprintArrays([], NONE)
    scored = profiles.score(profiles.candidates(), RULES)
    assert stories([], scored, scored.duplicates(RULES)).tolist() == []
    unread = FingerprintArrays([None, None], NONE)
    assert unread.candidates().tolist() == []
    assert unread.score(np.array([[0, 1]], np.int32), RULES).related(RULES).tolist() == [False]
    assert Scored.of([]).related(RULES).tolist() == []
    assert profiles.score(NO_PAIRS, RULES).score.tolist() == []


def test_hashes_of_either_sign_and_the_ends_of_bigint_are_told_apart() -> None:
    ends = (-(2**63), -1, 0, 1, 2**63 - 1)
    made = [Fingerprint(1, hashed, (hashed, 5), EMPTY, (hashed,) * 2, 50, 0) for hashed in ends]
    scored = FingerprintArrays(made, NONE).score(every_pair(made), RULES)
    assert set(scored.shared.tolist()) == {1}
    assert not scored.same_content.any()
    assert not scored.same_bucket.any()
    assert len(FingerprintArrays(made, NONE).candidates()) == 10
    assert FingerprintArrays(made, {5}).candidates().tolist() == []
