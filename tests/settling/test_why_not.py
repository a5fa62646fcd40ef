"""Reasons why two articles with high enough scores are no duplicates; other pairs get no reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedup.base.settings import Settings
from dedup.db.database import Database
from dedup.rules.pair import DAY, Profile, Relation, relate_scored
from dedup.settling.backfill import backfill
from dedup.settling.explain import ComparedPair, MarkState, explain
from dedup.settling.explanation import Explanation
from dedup.store import rulebooks
from dedup.text.fingerprint import Fingerprint
from tests.corpora import article, code, deduplicator, fingerprint, load, misread, text, window
from tests.rules.test_pair import RULES, agreeing

A = MarkState("a", "unique", False, False, None)
B = MarkState("b", "unique", False, False, None)
COPY = MarkState("b", "duplicate", False, False, "a")


def reasons(
    pair: tuple[Profile, Profile], a: MarkState = A, b: MarkState = B, pin: Relation | None = None
) -> list[str]:
    return list(ComparedPair(a, b, pair, RULES, pin).explain_why_not())


ALIKE = agreeing(250, shared=8)


def test_a_duplicate_needs_no_reason() -> None:
    assert reasons(ALIKE, b=COPY) == []


@pytest.mark.parametrize("pair", [agreeing(0, fewer=9, more=9), agreeing(100, shared=4, fewer=3, more=3)])
def test_where_no_score_is_high_enough_the_scores_say_it_all(pair: tuple[Profile, Profile]) -> None:
    assert reasons(pair) == []


def test_no_shared_bucket() -> None:
    assert reasons(agreeing(200, fewer=5, more=5, buckets=(2,))) == [
        "signature Jaccard 0.780 would make a duplicate, but the two share no bucket, and the signature"
        " Jaccard counts only in a shared bucket"
    ]


def test_far_apart() -> None:
    one, other = agreeing(200, shared=4, fewer=3, more=3)
    far = replace(one, published=DAY), replace(other, published=11 * DAY)
    assert reasons(far) == [
        "they were published 10.0 days apart: after more than 3 days a duplicate needs a score of 0.9"
    ]
    assert reasons((one, other), b=COPY) == []


def test_common_sentences_alone() -> None:
    one, other = agreeing(200, fewer=5, more=5)
    assert reasons((replace(one, common=3), replace(other, common=4))) == [
        "signature Jaccard 0.780 would make a duplicate, but they share only common sentences, and each"
        " article has at least 3 of these"
    ]


def test_inside_a_much_longer_one() -> None:
    assert reasons(agreeing(52, shared=2, fewer=5, more=50, buckets=(2,), shingles=(100, 500))) == [
        "containment 1.000 would make them similar, but the texts differ much in length, so that at least 0.3"
        " of the shorter one's sentences must be shared: 2 of 7 are"
    ]


def test_too_few_shingles() -> None:
    assert reasons(agreeing(200, fewer=5, more=5, shingles=(7, 60))) == [
        "signature Jaccard 0.780 would make a duplicate, but the shorter text has 7 shingles,"
        " which is too little evidence: 8 are needed"
    ]


def test_too_few_sentences() -> None:
    assert reasons(agreeing(10, shared=1))[:1] == [
        "sentence Jaccard 1.000 would make a duplicate, but 1 shared sentence is too little evidence: 2 are"
        " needed"
    ]


def test_inside_the_longer_one_without_enough_evidence() -> None:
    (reason,) = reasons(agreeing(10, shared=2, more=9, shingles=(20, 100)))
    assert reason == (
        "containment 1.000 would make them similar, but 2 shared sentences and 20 shingles"
        " of the shorter text are too little evidence: 3 sentences or 30 shingles are needed"
    )


@pytest.mark.parametrize(
    ("pin", "said"), [(Relation.UNRELATED, "unrelated"), (Relation.SIMILAR, "only similar")]
)
def test_pinned_as_something_else(pin: Relation, said: str) -> None:
    (reason,) = reasons(ALIKE, pin=pin)
    assert reason.startswith(f"a person has pinned the two as {said},")


def test_a_pin_that_says_duplicate_is_no_reason() -> None:
    assert reasons(agreeing(0, fewer=9, more=9), b=COPY, pin=Relation.DUPLICATE) == []


def test_archived() -> None:
    outside = MarkState("a", "unique", False, True, None)
    assert reasons(ALIKE, a=outside) == ["a is before the horizon, so no longer compared with other articles"]


def test_not_settled_yet() -> None:
    assert reasons(ALIKE, b=MarkState("b", "pending", False, False, None)) == [
        "b is not settled yet: run `dedup backfill`"
    ]


@pytest.mark.parametrize(
    ("original", "rest"),
    [("o", ", and so is b"), (None, ", while b is not"), ("other", "")],
    ids=["both copy one", "b is an original", "b copies another"],
)
def test_the_earlier_one_is_not_canonical(original: str | None, rest: str) -> None:
    copy = MarkState("a", "duplicate", False, False, "o")
    status = "unique" if original is None else "duplicate"
    assert reasons(ALIKE, a=copy, b=MarkState("b", status, False, False, original)) == [
        "only canonical articles can be originals, but a is a duplicate of o" + rest
    ]


def test_another_original_is_more_like_it() -> None:
    (reason,) = reasons(ALIKE, b=MarkState("b", "duplicate", False, False, "o"))
    assert reason == "b is a duplicate of o, the earliest original with the highest score"


# Tests of prints, for texts that a machine may have misread.

ON = Settings(damaged_print="on")
STORY = text(window(0, 22, ring=10_000))
CUT = STORY[: len(STORY) * 4 // 5]


def printed(given: str) -> Profile:
    made = fingerprint(ON, given)
    assert isinstance(made, Fingerprint)
    return Profile.of(made, ())


@pytest.mark.parametrize("every", [60, 25, 15, 12, 10, 8, 6, 5])
@pytest.mark.parametrize(
    "other",
    [STORY, CUT, text([code(i, i % 2) for i in range(22)]), text(window(11, 22, ring=22))],
    ids=["whole", "cut", "edited", "moved"],
)
def test_a_print_that_is_no_damaged_one_lacks_something(other: str, every: int) -> None:
    pair = printed(STORY), printed(misread(other, every))
    compared = ComparedPair(A, COPY, pair, ON)
    scores, prints = compared.scores, compared.prints
    by_signature = relate_scored(replace(scores, print_jaccard=0.0), ON)
    if by_signature and by_signature.relation is Relation.DUPLICATE:
        return
    assert prints is not None
    said = [reason for reason in compared.explain_why_not() if reason.startswith("print Jaccard")]
    assert bool(said) == (prints.jaccard[0] >= prints.least_jaccard[0] and not scores.print_jaccard)


def test_a_text_that_was_cut_has_too_few_letters_and_others_elsewhere() -> None:
    pair = printed(STORY), printed(misread(CUT, 15))
    (reason,) = ComparedPair(A, B, pair, ON).explain_why_not()
    assert reason == (
        "print Jaccard 0.353 is enough for a duplicate with misread letters, but the shorter text has 0.807"
        " times the letters of the longer text (at least 0.88); a share of 0.418 of the common sequences is"
        " at the same place in both texts (at least 0.85)"
    )


def test_without_prints_nothing_is_said_of_letters() -> None:
    pair = printed(STORY), printed(misread(STORY, 10))
    assert ComparedPair(A, B, pair, ON).find_misread()
    assert not ComparedPair(A, B, pair, RULES).find_misread()
    brief = printed("Rain.")
    assert not ComparedPair(A, B, (brief, pair[0]), ON).find_misread()


# Tests of explanations of stored articles.


def explained(database: Database, a: str, b: str) -> Explanation:
    with database.transaction() as cursor:
        return explain(cursor, rulebooks.load_rulebook(cursor), a, b)


@pytest.fixture
def chain(database: Database) -> Database:
    """Store `a`; `b`, a duplicate of `a`; `c`, a duplicate of `b` but not of `a`; and `d`, a copy of `b`."""
    load(database, *(article(name, window(start, 6), start) for start, name in enumerate("abc")))
    load(database, article("d", window(1, 6), 9))
    return database


def test_explain_says_it_of_stored_articles(chain: Database) -> None:
    assert explained(chain, "b", "c").why_not == ("b and c are not settled yet: run `dedup backfill`",)
    backfill(chain, workers=0)
    assert explained(chain, "a", "b").why_not == ()
    assert explained(chain, "a", "c").why_not == ()  # the score is too low for a duplicate
    (reason,) = explained(chain, "c", "b").why_not
    assert reason.endswith("b is a duplicate of a, while c is not")
    assert explained(chain, "c", "b").decision.startswith("duplicate by sentences")


def test_explain_names_the_pin(chain: Database) -> None:
    backfill(chain, workers=0)
    deduplicator(chain).pins.set("a", "b", "unrelated", by="ed")
    found = explained(chain, "a", "b")
    assert found.decision.startswith("unrelated: a person has said so")
    assert found.why_not[0].startswith("a person has pinned the two as unrelated")


def test_explain_names_what_is_archived(chain: Database) -> None:
    load(chain, article("new", window(30, 6, ring=100), 60 * 24 * 100))
    backfill(chain, workers=0)
    deduplicator(chain).prune("90d")
    found = explained(chain, "a", "b")
    assert found.decision == "not compared: a is archived, before the horizon (`dedup status`)"
    assert found.why_not == ("a and b are before the horizon, so no longer compared with other articles",)
