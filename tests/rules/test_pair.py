"""The relation of a pair: scores worked by hand, thresholds met exactly, the laws of SEMANTICS 3 and 4."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.pair import Judgement, Profile, Relation, Rule, Scores, judge, score, stronger
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprinter

# Every rule is given, so that a new default changes no expectation.
RULES = Settings(
    duplicate_sentence_jaccard=0.7,
    duplicate_signature_jaccard=0.7,
    similar_sentence_jaccard=0.3,
    similar_signature_jaccard=0.3,
    evidence_sentences=2,
    evidence_shingles=12,
)
SIZE = 10


def profile(
    sentences: Iterable[int] = (),
    signature: list[int] | None = None,
    content: int = 0,
    buckets: set[int] | None = None,
    shingles: int = 100,
) -> Profile:
    values = np.array(signature or [], np.uint32)
    return Profile(content, frozenset(sentences), values, frozenset(buckets or {1}), shingles)


def by_signature(
    equal: int, size: int = SIZE, *, bucket: int = 1, shingles: int = 100
) -> tuple[Profile, Profile]:
    """Two profiles without sentences that agree in some positions of their signatures."""
    one = profile(signature=[7] * size, content=1)
    other = profile(
        signature=[7] * equal + [8] * (size - equal), content=2, buckets={bucket}, shingles=shingles
    )
    return one, other


PROFILES = st.builds(
    profile,
    st.sets(st.integers(1, 9), max_size=9),
    st.one_of(st.just([]), st.lists(st.integers(0, 1), min_size=SIZE, max_size=SIZE)),
    st.integers(0, 4),
    st.sets(st.integers(1, 3), min_size=1),
    st.sampled_from([0, 11, 12, 13]),
)
SETTINGS = st.builds(
    lambda low, high, sentences, shingles: Settings(
        similar_sentence_jaccard=min(low),
        duplicate_sentence_jaccard=max(low),
        similar_signature_jaccard=min(high),
        duplicate_signature_jaccard=max(high),
        evidence_sentences=sentences,
        evidence_shingles=shingles,
    ),
    st.tuples(*[st.integers(1, 10).map(lambda n: n / 10)] * 2),
    st.tuples(*[st.integers(1, 10).map(lambda n: n / 10)] * 2),
    st.integers(1, 4),
    st.integers(11, 13),
)


def test_scores_worked_by_hand() -> None:
    # Of 4 and 6 sentences 3 are shared: 3 of 7 in all, 3 of the 4 of the shorter; 6 of 10 positions.
    one = profile({1, 2, 3, 4}, [1] * 10, 1)
    other = profile({2, 3, 4, 5, 6, 7}, [1] * 6 + [2] * 4, 2)
    assert score(one, other) == Scores(3, 3 / 7, 3 / 4, 0.6, same_content=False)
    assert score(one, other).score == 0.6


def test_selling_and_buying_have_jaccard_one_half() -> None:
    selling = {hash(word) for word in ("Selling", "a", "beautiful", "house", "in", "California")}
    buying = {hash(word) for word in ("Buying", "a", "beautiful", "crip", "in", "California")}
    assert score(profile(selling, content=1), profile(buying, content=2)).sentence_jaccard == 0.5


def test_positions_count_only_where_a_bucket_is_shared() -> None:
    assert score(*by_signature(9)).signature_jaccard == 0.9
    assert score(*by_signature(9, bucket=2)).signature_jaccard == 0.0
    assert judge(*by_signature(9, bucket=2), RULES) is None


def test_nothing_in_common_is_no_relation() -> None:
    empty = profile(content=1)
    assert score(empty, profile(content=2)) == Scores(0, 0.0, 0.0, 0.0, same_content=False)
    assert judge(empty, profile(content=2), RULES) is None


def test_equal_content_is_a_duplicate_whatever_the_evidence() -> None:
    judgement = judge(profile(content=5), profile({1}, content=5, shingles=0), RULES)
    assert judgement
    assert (judgement.relation, judgement.rule) == (Relation.DUPLICATE, Rule.CONTENT)
    assert judgement.scores.score == 1.0


@pytest.mark.parametrize(
    ("shared", "union", "relation"),
    [
        (7, 10, "duplicate"), (14, 20, "duplicate"), (21, 30, "duplicate"), (70, 100, "duplicate"),
        (13, 19, "similar"), (69, 100, "similar"), (3, 10, "similar"), (6, 20, "similar"),
        (30, 100, "similar"), (29, 100, None), (5, 17, None), (2, 7, None), (0, 10, None),
    ],
)  # fmt: skip
def test_sentence_thresholds_are_met_exactly(shared: int, union: int, relation: str | None) -> None:
    judgement = judge(profile(range(union), content=1), profile(range(shared), content=2), RULES)
    assert (judgement and judgement.relation) == relation
    if judgement:
        assert judgement.rule is Rule.SENTENCES


@pytest.mark.parametrize(
    ("equal", "size", "relation"),
    [
        (7, 10, "duplicate"), (35, 50, "duplicate"), (45, 64, "duplicate"), (44, 64, "similar"),
        (3, 10, "similar"), (15, 50, "similar"), (20, 64, "similar"), (19, 64, None), (2, 10, None),
    ],
)  # fmt: skip
def test_signature_thresholds_are_met_exactly(equal: int, size: int, relation: str | None) -> None:
    judgement = judge(*by_signature(equal, size), RULES)
    assert (judgement and judgement.relation) == relation
    if judgement:
        assert judgement.rule is Rule.SIGNATURE


@pytest.mark.parametrize(("shared", "relation"), [(1, "similar"), (2, "duplicate")])
def test_few_shared_sentences_are_no_evidence(shared: int, relation: str) -> None:
    judgement = judge(profile(range(shared), content=1), profile(range(shared), content=2), RULES)
    assert judgement
    assert judgement.relation == relation


@pytest.mark.parametrize(("shingles", "relation"), [(11, "similar"), (12, "duplicate")])
def test_few_shingles_are_no_evidence(shingles: int, relation: str) -> None:
    one, other = by_signature(10, shingles=shingles)
    for pair in ((one, other), (other, one)):
        judgement = judge(*pair, RULES)
        assert judgement
        assert judgement.relation == relation


def test_either_channel_is_enough_and_the_sentences_are_named_first() -> None:
    one = profile({1, 2, 3}, [7] * 10, 1)
    other = profile({1, 2, 3}, [7] * 10, 2)
    judgement = judge(one, other, RULES)
    assert judgement
    assert judgement.rule is Rule.SENTENCES
    weak = judge(profile({1, 2, 3, 4, 5}, [7] * 10, 1), profile({1, 2, 9, 8}, [7] * 10, 2), RULES)
    assert weak
    assert (weak.relation, weak.rule) == (Relation.DUPLICATE, Rule.SIGNATURE)


@pytest.mark.parametrize(
    ("sentences", "signature", "rule"),
    [(0.4, 0.4, Rule.SENTENCES), (0.5, 0.4, Rule.SENTENCES), (0.4, 0.5, Rule.SIGNATURE)],
)
def test_the_stronger_channel_is_named(sentences: float, signature: float, rule: Rule) -> None:
    assert stronger(Scores(1, sentences, 1.0, signature, same_content=False)) is rule


@given(PROFILES, PROFILES, SETTINGS)
def test_a_pair_has_no_first_and_second(one: Profile, other: Profile, settings: Settings) -> None:
    assert score(one, other) == score(other, one)
    assert judge(one, other, settings) == judge(other, one, settings)


@given(PROFILES, PROFILES)
def test_scores_stay_within_bounds(one: Profile, other: Profile) -> None:
    scores = score(one, other)
    for value in (scores.sentence_jaccard, scores.containment, scores.signature_jaccard, scores.score):
        assert 0 <= value <= 1
    assert scores.sentence_jaccard <= scores.containment
    assert scores.shared <= min(len(one.sentences), len(other.sentences))
    assert scores.score >= max(scores.sentence_jaccard, scores.signature_jaccard)


@given(PROFILES, SETTINGS)
def test_an_article_is_a_duplicate_of_its_copy(one: Profile, settings: Settings) -> None:
    judgement = judge(one, one, settings)
    assert judgement
    assert judgement.relation is Relation.DUPLICATE
    assert judgement.scores.score == 1.0


def slow_relation(one: Profile, other: Profile, settings: Settings) -> str | None:
    """SEMANTICS 4 by the letter, in fractions."""
    shared = len([s for s in one.sentences if s in other.sentences])
    union = len({*one.sentences, *other.sentences})
    sentences = Fraction(shared, union) if union else Fraction(0)
    signature = Fraction(0)
    if (
        any(bucket in other.buckets for bucket in one.buckets)
        and len(one.signature) == len(other.signature) > 0
    ):
        pairs = list(zip(one.signature.tolist(), other.signature.tolist(), strict=True))
        signature = Fraction(sum(a == b for a, b in pairs), len(pairs))

    def exact(threshold: float) -> Fraction:
        return Fraction(str(threshold))

    enough = (
        one.shingle_count >= settings.evidence_shingles and other.shingle_count >= settings.evidence_shingles
    )
    if (
        one.content_hash == other.content_hash
        or (sentences >= exact(settings.duplicate_sentence_jaccard) and shared >= settings.evidence_sentences)
        or (signature >= exact(settings.duplicate_signature_jaccard) and enough)
    ):
        return "duplicate"
    if sentences >= exact(settings.similar_sentence_jaccard):
        return "similar"
    return "similar" if signature >= exact(settings.similar_signature_jaccard) else None


@given(PROFILES, PROFILES, SETTINGS)
def test_relations_are_those_of_the_contract(one: Profile, other: Profile, settings: Settings) -> None:
    judgement = judge(one, other, settings)
    assert (judgement and judgement.relation) == slow_relation(one, other, settings)


def has_evidence(judgement: Judgement, one: Profile, other: Profile, settings: Settings) -> bool:
    scores = judgement.scores
    return {
        Rule.CONTENT: scores.same_content,
        Rule.SENTENCES: scores.shared >= settings.evidence_sentences
        and scores.sentence_jaccard >= settings.duplicate_sentence_jaccard,
        Rule.SIGNATURE: min(one.shingle_count, other.shingle_count) >= settings.evidence_shingles
        and not one.buckets.isdisjoint(other.buckets)
        and scores.signature_jaccard >= settings.duplicate_signature_jaccard,
    }[judgement.rule]


@given(PROFILES, PROFILES, SETTINGS)
def test_a_duplicate_has_the_evidence_its_rule_names(
    one: Profile, other: Profile, settings: Settings
) -> None:
    judgement = judge(one, other, settings)
    if judgement and judgement.relation is Relation.DUPLICATE:
        assert has_evidence(judgement, one, other, settings)
    if judgement and judgement.relation is Relation.SIMILAR:
        assert judgement.rule is not Rule.CONTENT
        assert not judgement.scores.same_content


def test_a_profile_leaves_out_common_sentences_only() -> None:
    made = Fingerprinter(Settings(text_min_words=1)).fingerprint(
        "The storm reached the coast on Monday. It flooded the old harbour. Nobody was hurt that night."
    )
    assert len(made.sentence_hashes) == 3
    common = {made.sentence_hashes[1], 5}
    seen = Profile.of(made, common)
    assert seen.sentences == {made.sentence_hashes[0], made.sentence_hashes[2]}
    assert Profile.of(made, set()).sentences == set(made.sentence_hashes)
    assert seen.signature is made.signature
    assert seen.buckets == set(made.buckets)
    assert (seen.content_hash, seen.shingle_count) == (made.content_hash, made.shingle_count)


def test_common_sentences_find_and_count_nothing() -> None:
    made = Fingerprinter(Settings(text_min_words=1))
    footer = "Click here for the reprint permission of this story."
    one = made.fingerprint(f"Laundry detergent discounts increase. {footer}")
    other = made.fingerprint(f"Parliament dissolves before Easter. {footer}")
    shared = set(one.sentence_hashes) & set(other.sentence_hashes)
    assert len(shared) == 1
    assert score(Profile.of(one, set()), Profile.of(other, set())).shared == 1
    assert score(Profile.of(one, shared), Profile.of(other, shared)).shared == 0
