"""Marks: canonical order, the choice of the original, and the rows of `match` (SEMANTICS 5)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.marks import OrderKey, Pair, Status, choose_original, order_key
from dedup.rules.pair import Judgement, Relation, Rule, Scores

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def judgement(score: float) -> Judgement:
    return Judgement(Relation.DUPLICATE, Rule.SENTENCES, Scores(3, score, 0.9, 0.1, same_content=False))


@pytest.mark.parametrize(
    ("policy", "published", "expected"),
    [
        ("published", NOON, NOON),
        ("published", None, LATER),
        ("added", NOON, LATER),
        ("added", None, LATER),
    ],
)
def test_the_time_that_orders_articles(policy: str, published: datetime | None, expected: datetime) -> None:
    assert order_key(policy, published, LATER, "a") == (expected, b"a")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("a", "b"), ("B", "a"), ("a", "aa"), ("10", "9"), ("z", "é"), ("\uffff", "\U00010000"), (" a", "a")],
)
def test_at_one_time_the_source_id_orders_byte_by_byte(earlier: str, later: str) -> None:
    keys = [order_key("published", NOON, LATER, source_id) for source_id in (earlier, later)]
    assert keys[0] < keys[1]
    assert earlier.encode() < later.encode()


def test_time_comes_before_source_id_and_zones_do_not_matter() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-8)))
    assert order_key("published", NOON, NOON, "z") < order_key("published", LATER, NOON, "a")
    assert order_key("published", elsewhere, NOON, "a") == order_key("published", NOON, NOON, "a")


def key(minute: int, source_id: str = "a") -> OrderKey:
    return NOON + timedelta(minutes=minute), source_id.encode()


def test_the_original_has_the_highest_score_and_is_the_earliest_of_equals() -> None:
    found = [
        (key(1), "first", judgement(0.7)),
        (key(4), "late", judgement(0.9)),
        (key(3), "best", judgement(0.9)),
        (key(3, "b"), "next", judgement(0.9)),
        (key(0), "weak", judgement(0.8)),
    ]
    assert choose_original(found) == ("best", judgement(0.9))


CANDIDATES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.sampled_from([0.7, 0.8, 0.9])),
    min_size=1,
    max_size=8,
    unique_by=lambda found: found[:2],
)


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_original_does_not_depend_on_the_order_of_finding(
    candidates: list[tuple[int, str, float]], chooser: random.Random
) -> None:
    found = [(key(minute, name), (minute, name), judgement(score)) for minute, name, score in candidates]
    best = max(score for _, _, score in candidates)
    expected = min((minute, name) for minute, name, score in candidates if score == best)
    chooser.shuffle(found)
    assert choose_original(iter(found)) == (expected, judgement(best))


def test_a_row_of_match_tells_each_score() -> None:
    scores = Scores(3, 0.4, 0.8, 0.5, same_content=False)
    row = Pair.of(7, 3, Judgement(Relation.SIMILAR, Rule.SIGNATURE, scores))
    assert row == Pair(
        article_id=7,
        other_id=3,
        relation="similar",
        sentence_jaccard=0.4,
        signature_jaccard=0.5,
        containment=0.8,
    )


def test_the_names_of_the_statuses_are_those_of_the_contract() -> None:
    assert {status.value for status in Status} == {"pending", "unique", "similar", "duplicate", "failed"}
