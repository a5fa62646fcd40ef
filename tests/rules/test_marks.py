"""Marks: canonical order, the choice of the original, the rows of `match` (docs/semantics.md, section 5)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.rules.marks import (
    Mark,
    OrderKey,
    Pair,
    Status,
    best_match,
    decide,
    kept_originals,
    kept_similar,
    order_key,
)
from dedup.rules.pair import Related, Relation, Rule, Scores

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
SECOND = timedelta(seconds=1)
PUBLISHED, ADDED = Settings(canonical_order="published"), Settings(canonical_order="added")


def related(
    score: float,
    rule: Rule = Rule.SENTENCES,
    relation: Relation = Relation.DUPLICATE,
    *,
    content: bool = False,
) -> Related:
    scores = Scores(
        shared=3,
        sentence_jaccard=score,
        signature_jaccard=0.1,
        containment=0.9,
        same_content=content,
        same_bucket=False,
        shingles=100,
    )
    return Related(relation, rule, scores)


@pytest.mark.parametrize(
    ("settings", "published", "expected"),
    [(PUBLISHED, NOON, NOON), (PUBLISHED, None, LATER), (ADDED, NOON, LATER), (ADDED, None, LATER)],
)
def test_the_time_that_orders_articles(
    settings: Settings, published: datetime | None, expected: datetime
) -> None:
    assert order_key(settings, published, LATER, "a") == (expected, b"a")


@pytest.mark.parametrize(
    ("after", "plausible"),
    [
        (timedelta(hours=-24), True),
        (timedelta(hours=24) - SECOND, True),
        (timedelta(hours=24), True),
        (timedelta(hours=24, microseconds=1), False),
        (timedelta(hours=24) + SECOND, False),
        (timedelta(days=365), False),
    ],
)
def test_a_date_of_publication_more_than_a_day_after_the_arrival_counts_as_missing(
    after: timedelta, plausible: bool
) -> None:
    published = NOON + after
    assert order_key(PUBLISHED, published, NOON, "a") == (published if plausible else NOON, b"a")
    assert order_key(ADDED, published, NOON, "a") == (NOON, b"a")


@pytest.mark.parametrize("year", [1600, 1605, 1990])
def test_a_date_of_publication_before_the_earliest_year_counts_as_missing(year: int) -> None:
    settings = Settings(earliest_year=year)
    first = datetime(year, 1, 1, tzinfo=UTC)
    assert order_key(settings, first, NOON, "a") == (first, b"a")
    assert order_key(settings, first - timedelta(microseconds=1), NOON, "a") == (NOON, b"a")
    assert order_key(settings, datetime(1, 1, 1, tzinfo=UTC), NOON, "a") == (NOON, b"a")


def test_an_arrival_before_the_earliest_year_is_an_arrival() -> None:
    # `added_at` is the clock of the program that stored the article; no other time can replace it.
    early = datetime(1500, 1, 1, tzinfo=UTC)
    assert order_key(PUBLISHED, None, early, "a") == (early, b"a")
    assert order_key(PUBLISHED, NOON, early, "a") == (early, b"a")


@given(
    st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))),
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from(["published", "added"]),
    st.integers(1, 9999),
)
def test_every_article_has_a_place_by_one_of_its_two_times(
    published: datetime | None, added: datetime, policy: str, year: int
) -> None:
    settings = Settings(canonical_order=policy, earliest_year=year)
    time, name = order_key(settings, published, added, "é")
    counts = (
        policy == "published"
        and published is not None
        and published >= datetime(year, 1, 1, tzinfo=UTC)
        and published - added <= timedelta(hours=24)
    )
    assert time == (published if counts else added)
    assert name == "é".encode()


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("a", "b"), ("B", "a"), ("a", "aa"), ("10", "9"), ("z", "é"), ("\uffff", "\U00010000"), (" a", "a")],
)
def test_at_one_time_the_source_id_orders_byte_by_byte(earlier: str, later: str) -> None:
    keys = [order_key(PUBLISHED, NOON, LATER, source_id) for source_id in (earlier, later)]
    assert keys[0] < keys[1]
    assert earlier.encode() < later.encode()


def test_time_comes_before_source_id_and_zones_do_not_matter() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-8)))
    assert order_key(PUBLISHED, NOON, NOON, "z") < order_key(PUBLISHED, LATER, NOON, "a")
    assert order_key(PUBLISHED, elsewhere, NOON, "a") == order_key(PUBLISHED, NOON, NOON, "a")


def key(minute: int, source_id: str = "a") -> OrderKey:
    return NOON + timedelta(minutes=minute), source_id.encode()


def test_the_original_has_the_highest_score_and_is_the_earliest_of_equals() -> None:
    found = [
        (key(1), 1, related(0.7)),
        (key(4), 2, related(0.9)),
        (key(3), 3, related(0.9, Rule.SIGNATURE)),
        (key(3, "b"), 4, related(0.9)),
        (key(0), 5, related(0.8)),
    ]
    assert decide(found, []) == Mark(Status.DUPLICATE, 3, 0.9, "signature")


def test_equal_content_scores_one_and_loses_only_to_an_earlier_score_of_one() -> None:
    copy = related(0.2, Rule.CONTENT, content=True)
    assert decide([(key(1), 1, related(0.9)), (key(2), 2, copy)], []) == Mark(
        Status.DUPLICATE, 2, 1.0, "content"
    )
    assert decide([(key(1), 1, related(1.0)), (key(2), 2, copy)], []) == Mark(
        Status.DUPLICATE, 1, 1.0, "sentences"
    )


def test_a_pin_is_chosen_by_its_score_like_any_other() -> None:
    found = [(key(0), 1, related(0.3, Rule.PINNED)), (key(1), 2, related(0.8))]
    assert decide(found, []) == Mark(Status.DUPLICATE, 2, 0.8, "sentences")
    assert decide(found[:1], []) == Mark(Status.DUPLICATE, 1, 0.3, "pinned")


def test_a_duplicate_is_no_similar_article_whatever_it_is_similar_to() -> None:
    found = decide([(key(0), 1, related(0.7))], [related(0.99, relation=Relation.SIMILAR)])
    assert found == Mark(Status.DUPLICATE, 1, 0.7, "sentences")


def test_a_similar_article_has_its_highest_score_and_of_equals_the_first_rule_by_name() -> None:
    def similar(score: float, rule: Rule) -> Related:
        return related(score, rule, Relation.SIMILAR)

    rules = [Rule.SIGNATURE, Rule.CONTAINMENT, Rule.SENTENCES, Rule.PINNED]
    assert decide([], [similar(0.5, rule) for rule in rules]) == Mark(
        Status.SIMILAR, None, 0.5, "containment"
    )
    assert decide([], [similar(0.5, rule) for rule in (Rule.SIGNATURE, Rule.PINNED, Rule.SENTENCES)]) == (
        Mark(Status.SIMILAR, None, 0.5, "pinned")
    )
    assert decide([], [similar(0.4, Rule.CONTAINMENT), similar(0.5, Rule.SIGNATURE)]) == Mark(
        Status.SIMILAR, None, 0.5, "signature"
    )


def test_an_article_like_no_other_is_unique() -> None:
    assert decide([], []) == Mark(Status.UNIQUE, None, None, None)


CANDIDATES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from("ab"),
        st.sampled_from([0.7, 0.8, 0.9]),
        st.sampled_from([Rule.SENTENCES, Rule.SIGNATURE, Rule.PINNED]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda found: found[:2],
)


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_mark_does_not_depend_on_the_order_of_finding(
    candidates: list[tuple[int, str, float, Rule]], chooser: random.Random
) -> None:
    found = [
        (key(minute, name), number, related(score, rule))
        for number, (minute, name, score, rule) in enumerate(candidates)
    ]
    best = max(score for _, _, score, _ in candidates)
    first = min((minute, name) for minute, name, score, _ in candidates if score == best)
    number = next(n for n, found in enumerate(candidates) if found[:2] == first)
    reason = min(rule.value for _, _, score, rule in candidates if score == best)
    chooser.shuffle(found)
    assert decide(iter(found), []) == Mark(Status.DUPLICATE, number, best, candidates[number][3].value)
    assert decide([], (r for _, _, r in found)) == Mark(Status.SIMILAR, None, best, reason)


TWO = Settings(similar_pairs=2)


def test_the_best_originals_are_kept_best_first() -> None:
    found = [
        (key(3), 1, related(0.9)),
        (key(1), 2, related(0.7)),
        (key(2), 3, related(0.9, Rule.SIGNATURE)),
        (key(0), 4, related(0.8)),
    ]
    assert [id for _, id, _ in kept_originals(found, TWO)] == [3, 1]
    assert [id for _, id, _ in kept_originals(found, Settings())] == [3, 1, 4, 2]
    assert kept_originals([], TWO) == []


def test_of_similar_articles_the_best_are_kept_by_score_rule_and_order() -> None:
    found = [
        (key(0), 1, related(0.5, Rule.SIGNATURE, Relation.SIMILAR)),
        (key(2), 2, related(0.5, Rule.CONTAINMENT, Relation.SIMILAR)),
        (key(1), 3, related(0.5, Rule.SIGNATURE, Relation.SIMILAR)),
        (key(9), 4, related(0.6, Rule.SIGNATURE, Relation.SIMILAR)),
    ]
    ranked = [4, 2, 1, 3]
    for pairs in (1, 2, 3, 4, 5):
        kept = kept_similar(found, Settings(similar_pairs=pairs))
        assert [id for _, id, _ in kept] == ranked[:pairs]
    assert best_match(found) == found[3]
    assert best_match(found[:3]) == found[1]
    assert best_match([]) is None


def test_a_pinned_pair_takes_its_place_by_its_score_and_is_always_kept() -> None:
    for keep in (kept_originals, kept_similar):
        low = (key(0), 1, related(0.1, Rule.PINNED))
        others = [(key(i), i, related(0.3 + i / 10)) for i in (2, 3, 4)]
        assert [id for _, id, _ in keep([low, *others], TWO)] == [4, 3, 1]
        high = (key(0), 1, related(0.9, Rule.PINNED))
        assert [id for _, id, _ in keep([high, *others], TWO)] == [1, 4]


@given(CANDIDATES)
def test_the_best_match_article_tells_the_mark(candidates: list[tuple[int, str, float, Rule]]) -> None:
    found = [
        (key(minute, name), number, related(score, rule, Relation.SIMILAR))
        for number, (minute, name, score, rule) in enumerate(candidates)
    ]
    best = best_match(found)
    assert best
    assert decide([], (r for _, _, r in found)) == decide([], [best[2]])
    assert best == kept_similar(found, Settings(similar_pairs=1))[0]


def test_a_row_of_match_tells_each_score() -> None:
    scores = Scores(
        shared=3,
        sentence_jaccard=0.4,
        signature_jaccard=0.5,
        containment=0.8,
        same_content=False,
        same_bucket=True,
        shingles=40,
    )
    assert Pair.of(7, 3, Related(Relation.SIMILAR, Rule.CONTAINMENT, scores)) == Pair(
        article_id=7,
        other_id=3,
        relation="similar",
        rule="containment",
        score=0.5,
        sentence_jaccard=0.4,
        signature_jaccard=0.5,
        containment=0.8,
    )


def test_the_names_of_the_statuses_are_those_of_the_contract() -> None:
    assert {status.value for status in Status} == {"pending", "unique", "similar", "duplicate", "failed"}
