"""`tune` proposes thresholds that agree with people's judgements, and recognises chance gains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.judging.tuning import JudgedPair, Level, related, tune
from dedup.rules.pair import Profile, Relation, Scores, relate, score

DEFAULTS = Settings()
ALL = {"all": 1_000}


def pair(
    label: str,
    sentence: float = 0.0,
    signature: float = 0.0,
    *,
    stratum: str = "all",
) -> JudgedPair:
    scores = Scores(
        shared=10,
        sentence_jaccard=sentence,
        signature_jaccard=signature,
        containment=0.0,
        same_content=False,
        same_bucket=True,
        shingles=100,
    )
    return JudgedPair(label, stratum, scores)


def people_who_say_duplicate_from(threshold: float, count: int = 60) -> list[JudgedPair]:
    """Return judged pairs with evenly spread signature Jaccards: duplicates from `threshold` on, similar from
    0.2 on."""
    values = np.linspace(0.02, 0.98, count)
    names = ["duplicate" if v >= threshold else "similar" if v >= 0.2 else "different" for v in values]
    return [pair(name, signature=float(v)) for name, v in zip(names, values, strict=True)]


@pytest.mark.long("dedup", "migrations")
def test_the_line_people_draw_is_found() -> None:
    first, second = tune(people_who_say_duplicate_from(0.45), ALL, DEFAULTS)
    # 0.4433 is the highest score called similar, 0.4596 the lowest score called duplicate. All thresholds
    # between them fit, and `tune` takes the one closest to the present threshold, 0.6.
    assert first.signature.value == pytest.approx(0.45, abs=0.011)
    # F1 is below 1, because it is corrected: the thresholds are chosen on the same pairs.
    assert 0.97 < (first.f1.value or 0) < 1.0
    assert first.present.value == pytest.approx(2 * 24 / (24 + 33))
    assert first.worthwhile
    assert first.sentence.value == DEFAULTS.duplicate_sentence_jaccard  # no judgement contradicts it
    assert (first.judged, first.positive, first.covered) == (60, 33, 1.0)
    assert second.signature.value == pytest.approx(0.2, abs=0.011)
    assert 0.97 < (second.f1.value or 0) < 1.0
    assert second.worthwhile


@pytest.mark.long("dedup", "migrations")
def test_thresholds_that_agree_already_stay() -> None:
    first, second = tune(
        [*people_who_say_duplicate_from(0.6), pair("similar", 0.65), pair("similar", 0.3)], ALL, DEFAULTS
    )
    assert first.values() == {"duplicate_sentence_jaccard": 0.7, "duplicate_signature_jaccard": 0.6}
    assert (first.gain.value, first.worthwhile) == (0, False)
    assert second.level == "similar"


@pytest.mark.long("dedup", "migrations")
def test_a_gain_that_is_noise_is_called_noise() -> None:
    # Judgements near the present threshold are random, so every gain is chance.
    called = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        values = random.uniform(0.2, 1.0, 40)
        sure = random.random(40) < 1 / (1 + np.exp(-25 * (values - 0.6)))
        pairs = [
            pair("duplicate" if d else "different", signature=float(v))
            for v, d in zip(values, sure, strict=True)
        ]
        first, _ = tune(pairs, ALL, DEFAULTS, seed)
        called += first.worthwhile
    assert called <= 1


ANSWERS = st.tuples(
    st.sampled_from(["duplicate", "similar", "different"]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(["all", "few"]),
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=60, deadline=None)
@given(st.lists(ANSWERS, min_size=20, max_size=40), st.integers(0, 9))
def test_the_best_f1_is_the_present_one_and_the_gain(
    answers: list[tuple[str, float, float, str]], seed: int
) -> None:
    pairs = [pair(label, *scores, stratum=stratum) for label, *scores, stratum in answers]
    try:
        found = tune(pairs, {"all": 1_000, "few": 50}, DEFAULTS, seed)
    except InputError:
        assume(False)
    for tuned in found:
        assert tuned.gain.value is not None
        assert tuned.gain.value >= 0
        assert tuned.f1.value == pytest.approx((tuned.present.value or 0) + tuned.gain.value)
        if not tuned.gain.value:
            present = {name: getattr(DEFAULTS, name) for name in tuned.values()}
            assert tuned.values() == present, "without a gain the present thresholds are proposed"


@pytest.mark.long("dedup", "migrations")
def test_weights_decide() -> None:
    # Both labels have equally many judgements, but a pair of the big stratum weighs 100 times as much.
    pairs = [
        *[pair("duplicate", signature=0.5, stratum="yes")] * 10,
        *[pair("different", signature=0.5, stratum="no")] * 10,
        *[pair("duplicate", signature=0.9, stratum="sure")] * 10,
    ]
    for sizes, threshold in (({"yes": 10, "no": 1_000}, 0.6), ({"yes": 1_000, "no": 10}, 0.5)):
        first, _ = tune(pairs, {**sizes, "sure": 1_000}, DEFAULTS)
        assert first.signature.value == threshold
        assert first.covered == 1


@pytest.mark.long("dedup", "migrations")
def test_strata_nobody_judged_are_told() -> None:
    first, _ = tune(people_who_say_duplicate_from(0.45), {"unseen": 3_000, "all": 1_000}, DEFAULTS)
    assert first.covered == 0.25


@pytest.mark.long("dedup", "migrations")
def test_unsure_counts_for_nothing() -> None:
    pairs = people_who_say_duplicate_from(0.45)
    assert tune(pairs, ALL, DEFAULTS) == tune([*pairs, *[pair("unsure", 0.9, 0.9)] * 30], ALL, DEFAULTS)


@pytest.mark.long("dedup", "migrations")
def test_both_proposals_can_be_adopted_alone_or_together() -> None:
    for threshold in (0.25, 0.45, 0.95):
        first, second = tune(people_who_say_duplicate_from(threshold), ALL, DEFAULTS)
        DEFAULTS.with_values(first.values())
        DEFAULTS.with_values(second.values())
        DEFAULTS.with_values(first.values() | second.values())


def test_too_few_judgements_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"19 pairs are judged, and 20 are needed: continue with `dedup judge review`"
    ):
        tune([pair("duplicate")] * 19 + [pair("unsure")] * 9, ALL, DEFAULTS)


@pytest.mark.parametrize(("label", "words"), [("duplicate", "all of 25"), ("different", "none of 25")])
def test_judgements_that_are_all_alike_are_refused(label: str, words: str) -> None:
    with pytest.raises(InputError, match=f"{words} judged pairs are called duplicate.*`dedup judge pairs`"):
        tune([pair(label, 0.5)] * 25, ALL, DEFAULTS)


@pytest.mark.long("dedup", "migrations")
def test_intervals_hold_their_values() -> None:
    random = np.random.default_rng(0)
    values = random.uniform(0.1, 1.0, 80)
    sure = random.random(80) < 1 / (1 + np.exp(-12 * (values - 0.5)))
    for tuned in tune(
        [
            pair("duplicate" if d else "different", signature=float(v))
            for v, d in zip(values, sure, strict=True)
        ],
        ALL,
        DEFAULTS,
    ):
        for estimate in (tuned.signature, tuned.sentence, tuned.present):
            assert estimate.low is not None
            assert estimate.value is not None
            assert estimate.high is not None
            assert estimate.low <= estimate.value <= estimate.high


PROFILES = st.builds(
    Profile,
    content_hash=st.integers(0, 3),
    sentences=st.frozensets(st.integers(0, 6), max_size=6),
    signature=st.lists(st.integers(0, 1), min_size=8, max_size=8).map(lambda v: np.array(v, np.uint8)),
    buckets=st.frozensets(st.integers(1, 2), min_size=1),
    shingle_count=st.sampled_from([6, 7, 8, 9, 29, 30, 100]),
)


@pytest.mark.long("dedup", "migrations")
@given(PROFILES, PROFILES, st.integers(1, 10), st.integers(1, 10))
def test_the_rule_for_many_thresholds_is_the_rule(
    a: Profile, b: Profile, sentence: int, signature: int
) -> None:
    low = {"similar_sentence_jaccard": 0.1, "similar_signature_jaccard": 0.1, "similar_signature_alone": 0.1}
    names = {"duplicate_sentence_jaccard": sentence / 10, "duplicate_signature_jaccard": signature / 10}
    rule = Settings().with_values(low)
    said = relate(a, b, rule.with_values(names))
    one = JudgedPair("similar", "all", score(a, b, DEFAULTS))
    duplicates = said is not None and said.relation is Relation.DUPLICATE
    levels: tuple[tuple[Level, list[float], bool], ...] = (
        ("duplicate", [sentence / 10, signature / 10], duplicates),
        ("similar", [0.1, 0.1], said is not None),
    )
    for level, thresholds, expected in levels:
        assert related([one], level, np.array([thresholds]), rule).item() == expected
