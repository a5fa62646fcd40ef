"""The oracle obeys docs/semantics.md, sections 2 and 5: tests try all subsets of tiny corpora."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.rules.marks import Mark, Pair, Status
from dedup.rules.oracle import Pins, Subject, common_sentences, marks
from dedup.rules.pair import DAY, Profile, Related, Relation, Rule, relate
from dedup.text.fingerprint import Fingerprint

RULES = Settings(
    common_stories=2,
    duplicate_sentence_jaccard=0.6,
    duplicate_signature_jaccard=0.7,
    similar_sentence_jaccard=0.3,
    similar_signature_jaccard=0.3,
    similar_containment=0.7,
    evidence_sentences=1,
    evidence_shingles=8,
    containment_sentences=3,
    containment_shingles=30,
    bands=4,
    rows=2,
)
START = datetime(2024, 5, 1, tzinfo=UTC)
SIZE = 8


def fingerprint(
    sentences: Sequence[int], signature: Sequence[int] = (), content: int = 0, bands: int = RULES.bands
) -> Fingerprint:
    # Each bucket is made of two values of the signature, so that many pairs have a bucket in common.
    buckets = [10 * i + signature[i] + 3 * signature[i + 1] for i in range(0, len(signature), 2)]
    return Fingerprint(
        version=1,
        content_hash=content,
        sentence_hashes=tuple(sentences),
        signature=np.array(signature, np.uint8),
        buckets=tuple(buckets or [content] * bands),
        word_count=100,
        shingle_count=100 if signature else 0,
    )


def short(content: int) -> Fingerprint:
    return Fingerprint(1, content, (), np.empty(0, np.uint8), (), 5, 0)


def subject(id: int, minute: int, made: Fingerprint, day: int = 0) -> Subject:
    """Return an article that came at `minute` and was published on `day`; day 0 means without a date."""
    return Subject(id, (START + timedelta(minutes=minute), b"%d" % id), made, day * DAY)


@st.composite
def corpora(draw: st.DrawFn, size: int = 7) -> list[Subject]:
    """Draw articles made of runs of a few sentences, so that many pairs lie close to the thresholds."""
    found = []
    for id in range(draw(st.integers(0, size))):
        first = draw(st.integers(1, 6))
        sentences = range(first, first + draw(st.integers(0, 5)))
        signature = draw(
            st.sampled_from([[], [0] * 8, [0] * 6 + [1] * 2, [0] * 4 + [1] * 4, [1] * 8, [2] * 8])
        )
        content = draw(st.sampled_from([90, *[100 + id] * 5]))
        made = fingerprint(sentences, signature, content)
        if draw(st.integers(0, 6)) == 0:
            made = short(draw(st.integers(80, 81)))
        # The days need not follow the canonical order, because the rules compare only the days of two
        # articles.
        found.append(subject(id, draw(st.integers(0, 3)), made, draw(st.sampled_from([0, 1, 4, 5]))))
    return found


PINS = st.dictionaries(
    # Some ids are not in the corpus: the pin of an absent article waits for the article.
    st.sets(st.integers(0, 9), min_size=2, max_size=2).map(frozenset),
    st.sampled_from(Relation),
    max_size=4,
)


def relations(
    subjects: Sequence[Subject], common: set[int], pins: Pins | None = None
) -> dict[tuple[int, int], Related]:
    """Return the relation of each related pair, under both orders of the two ids."""
    seen = {s.id: Profile.of(s.fingerprint, common, s.published) for s in subjects}
    found = {}
    for a, b in combinations(seen, 2):
        related = relate(seen[a], seen[b], RULES, (pins or {}).get(frozenset((a, b))))
        if related:
            found[a, b] = found[b, a] = related
    return found


def in_order(subjects: Sequence[Subject]) -> list[int]:
    return [s.id for s in sorted(subjects, key=lambda s: s.order)]


@pytest.mark.long("dedup", "migrations")
@given(corpora(), PINS)
def test_the_canonical_articles_are_the_first_maximal_independent_set(
    subjects: list[Subject], pins: Pins
) -> None:
    common = set(common_sentences([s.fingerprint for s in subjects], RULES))
    found_relations = relations(subjects, common, pins)
    duplicates = {pair for pair, r in found_relations.items() if r.relation is Relation.DUPLICATE}
    ids = in_order(subjects)
    independent = [
        set(chosen)
        for size in range(len(ids) + 1)
        for chosen in combinations(ids, size)
        if not any(pair in duplicates for pair in combinations(chosen, 2))
    ]
    maximal = [
        chosen
        for chosen in independent
        if all(any((id, other) in duplicates for other in chosen) for id in ids if id not in chosen)
    ]
    # Take the set with the earliest article; among several, the one with the next earliest article, and so
    # on.
    first = max(maximal, key=lambda chosen: [id in chosen for id in ids])
    found, _ = marks(subjects, common, RULES, pins)
    assert {id for id, mark in found.items() if mark.status is not Status.DUPLICATE} == first


@given(corpora(), st.sets(st.integers(1, 10), max_size=3), PINS, st.sampled_from([1, 2, 3, 50]))
def test_every_mark_says_what_is_true(
    subjects: list[Subject], common: set[int], pins: Pins, most: int
) -> None:
    found, pairs = marks(subjects, common, replace(RULES, similar_pairs=most), pins)
    related = relations(subjects, common, pins)
    place = {id: i for i, id in enumerate(in_order(subjects))}
    canonical = {id for id, mark in found.items() if mark.status is not Status.DUPLICATE}
    assert found.keys() == place.keys()
    for id, mark in found.items():
        if mark.status is Status.DUPLICATE:
            original = mark.duplicate_of
            assert original in canonical
            reason = related[id, original]
            assert reason.relation is Relation.DUPLICATE
            assert (mark.score, mark.reason) == (reason.scores.score, reason.rule.value)
            assert place[original] < place[id]
            for other in canonical:
                rival = related.get((id, other))
                if rival and rival.relation is Relation.DUPLICATE and place[other] < place[id]:
                    assert (rival.scores.score, -place[other]) <= (mark.score, -place[original])
        else:
            partners = [related[id, other] for other in canonical if (id, other) in related]
            best = max((r.scores.score for r in partners), default=None)
            assert mark.duplicate_of is None
            assert mark.status is (Status.SIMILAR if partners else Status.UNIQUE)
            assert mark.score == best
            assert mark.reason == min(
                (r.rule.value for r in partners if r.scores.score == best), default=None
            )
    everything = {
        (id, other): r
        for (id, other), r in related.items()
        if other in canonical
        and (id in canonical or (r.relation is Relation.DUPLICATE and place[other] < place[id]))
    }

    def before(id: int, one: int, other: int) -> bool:
        """Return whether `one` matches `id` better than `other`: by score, then by rule, then by place."""
        a, b = everything[id, one], everything[id, other]
        rules = (a.rule.value, b.rule.value) if id in canonical else ("", "")
        if a.scores.score != b.scores.score:
            return a.scores.score > b.scores.score
        return (rules[0], place[one]) < (rules[1], place[other])

    expected = set()
    for (id, other), r in everything.items():
        if place[other] > place[id]:
            continue
        own = sum(before(id, o, other) for i, o in everything if i == id and place[o] < place[id])
        of_all = sum(before(other, o, id) for i, o in everything if i == other) if id in canonical else 1
        if own < most or r.rule is Rule.PINNED or of_all == 0:
            expected.add(Pair.of(id, other, r))
    assert pairs == expected


@pytest.mark.long("dedup", "migrations")
@given(corpora(), PINS, st.randoms(use_true_random=False))
def test_no_mark_depends_on_the_order_of_input_or_on_ids(
    subjects: list[Subject], pins: Pins, chooser: random.Random
) -> None:
    common = common_sentences([s.fingerprint for s in subjects], RULES)
    shuffled = list(subjects)
    chooser.shuffle(shuffled)
    assert common_sentences([s.fingerprint for s in shuffled], RULES) == common
    expected_marks, expected_pairs = marks(subjects, common, RULES, pins)
    assert marks(shuffled, common, RULES, pins) == (expected_marks, expected_pairs)
    # With other ids and the same order keys, the marks are the same under the new ids.
    renamed = [replace(s, id=1000 - s.id) for s in shuffled]
    expected = {
        1000 - id: replace(mark, duplicate_of=None if mark.duplicate_of is None else 1000 - mark.duplicate_of)
        for id, mark in expected_marks.items()
    }
    other_pins = {frozenset(1000 - id for id in pair): relation for pair, relation in pins.items()}
    assert marks(renamed, common, RULES, other_pins)[0] == expected


@given(corpora(), PINS)
def test_similar_is_symmetric(subjects: list[Subject], pins: Pins) -> None:
    found, pairs = marks(subjects, set(), RULES, pins)
    similar = {frozenset((p.article_id, p.other_id)) for p in pairs if p.relation == "similar"}
    for pair in similar:
        assert {found[id].status for id in pair} == {Status.SIMILAR}
    assert {id for pair in similar for id in pair} == {
        id for id, mark in found.items() if mark.status is Status.SIMILAR
    }


@pytest.mark.long("dedup", "migrations")
@given(corpora(), PINS, st.integers(1, 3))
def test_marks_do_not_depend_on_how_many_pairs_are_kept(
    subjects: list[Subject], pins: Pins, most: int
) -> None:
    few, kept = marks(subjects, set(), replace(RULES, similar_pairs=most), pins)
    found, everything = marks(subjects, set(), replace(RULES, similar_pairs=10_000), pins)
    assert few == found
    assert kept <= everything
    pinned = sum(pair.rule == "pinned" for pair in everything)
    assert len(kept) <= len(subjects) * (most + 1) + pinned


def test_a_chain_has_no_links_through_duplicates() -> None:
    # Articles 1 and 2 are duplicates, and 2 and 3, but not 1 and 3. So 3 is canonical: it resembles only 2,
    # which is a duplicate of 1.
    one, two, three = ([1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6])
    subjects = [subject(i, i, fingerprint(s, content=i)) for i, s in enumerate((one, two, three), 1)]
    found, pairs = marks(subjects, set(), RULES)
    assert found[1] == Mark(Status.SIMILAR, None, 2 / 6, "sentences")
    assert found[2] == Mark(Status.DUPLICATE, 1, 3 / 5, "sentences")
    assert found[3] == Mark(Status.SIMILAR, None, 2 / 6, "sentences")
    assert pairs == {
        Pair(2, 1, "duplicate", "sentences", 0.6, 0.6, 0.0, 0.75),
        Pair(3, 1, "similar", "sentences", 2 / 6, 2 / 6, 0.0, 0.0),
    }
    # If article 2 is the earliest, both others are its duplicates.
    found, _ = marks([replace(subjects[1], order=(START, b"")), subjects[0], subjects[2]], set(), RULES)
    assert [found[i].duplicate_of for i in (1, 2, 3)] == [2, None, 2]


def test_a_duplicate_of_two_points_to_the_closer_and_is_paired_with_both() -> None:
    rules = replace(RULES, duplicate_sentence_jaccard=0.5)
    first, second, third = [1, 2, 3, 4, 5, 6], [4, 5, 6, 7, 8, 9], [3, 4, 5, 6, 7, 8, 9]
    subjects = [subject(i, i, fingerprint(s, content=i)) for i, s in enumerate((first, second, third), 1)]
    found, pairs = marks(subjects, set(), replace(rules, similar_sentence_jaccard=0.44))
    assert found[3] == Mark(Status.DUPLICATE, 2, 6 / 7, "sentences")
    assert {(p.article_id, p.other_id) for p in pairs} == {(3, 2)}
    found, pairs = marks(
        subjects, set(), replace(rules, similar_sentence_jaccard=0.4, duplicate_sentence_jaccard=0.4)
    )
    assert found[3] == Mark(Status.DUPLICATE, 2, 6 / 7, "sentences")
    assert {(p.article_id, p.other_id) for p in pairs} == {(3, 2), (3, 1)}


def test_an_empty_corpus_has_no_marks() -> None:
    assert marks([], set(), RULES) == ({}, set())
    assert common_sentences([], RULES) == {}
    assert marks([], {}, RULES, {frozenset((1, 2)): Relation.DUPLICATE}) == ({}, set())


def test_articles_that_are_pinned_as_unrelated_may_still_be_duplicates_of_a_third() -> None:
    subjects = [subject(i, i, fingerprint([1, 2, 3], content=5)) for i in (1, 2, 3)]
    found, pairs = marks(subjects, set(), RULES, {frozenset((2, 3)): Relation.UNRELATED})
    assert [found[i].duplicate_of for i in (1, 2, 3)] == [None, 1, 1]
    assert {(p.article_id, p.other_id) for p in pairs} == {(2, 1), (3, 1)}


def test_a_pin_beats_equal_content() -> None:
    one, two = (subject(i, i, fingerprint([1, 2, 3], content=5)) for i in (1, 2))
    found, pairs = marks([one, two], set(), RULES, {frozenset((1, 2)): Relation.UNRELATED})
    assert found == {1: Mark(Status.UNIQUE), 2: Mark(Status.UNIQUE)}
    assert pairs == set()
    found, pairs = marks([one, two], set(), RULES, {frozenset((1, 2)): Relation.SIMILAR})
    assert found == {i: Mark(Status.SIMILAR, None, 1.0, "pinned") for i in (1, 2)}
    assert pairs == {Pair(2, 1, "similar", "pinned", 1.0, 1.0, 0.0, 1.0)}


def test_a_pin_holds_for_pairs_that_have_nothing_in_common() -> None:
    one, two = subject(1, 1, fingerprint([1, 2, 3], content=5)), subject(2, 2, short(6))
    found, pairs = marks([one, two], set(), RULES, {frozenset((1, 2)): Relation.DUPLICATE})
    assert found == {1: Mark(Status.UNIQUE), 2: Mark(Status.DUPLICATE, 1, 0.0, "pinned")}
    assert pairs == {Pair(2, 1, "duplicate", "pinned", 0.0, 0.0, 0.0, 0.0)}


def test_a_pin_that_frees_an_article_lets_its_copies_follow_it() -> None:
    subjects = [subject(i, i, fingerprint([1, 2, 3], content=5)) for i in range(4)]
    found, _ = marks(subjects, set(), RULES, {frozenset((0, 1)): Relation.UNRELATED})
    # Article 1 is canonical now. Articles 2 and 3 are copies of both 0 and 1, and their marks name the
    # earlier one.
    assert [found[i].duplicate_of for i in range(4)] == [None, None, 0, 0]


def test_short_articles_are_duplicates_by_content_or_unique() -> None:
    subjects = [subject(i, i, short(content)) for i, content in enumerate([7, 8, 7, 9, 8])]
    found, _ = marks(subjects, set(), RULES)
    assert [found[i].duplicate_of for i in range(5)] == [None, None, 0, None, 1]
    assert {mark.status for mark in found.values()} == {Status.UNIQUE, Status.DUPLICATE}
    assert {mark.reason for mark in found.values()} == {None, "content"}


def carriers(sentence: int, buckets: Sequence[Sequence[int]]) -> list[Fingerprint]:
    made = fingerprint([sentence], content=1)
    return [replace(made, buckets=tuple(keys)) for keys in buckets]


def test_copies_of_a_wire_report_do_not_make_its_sentences_common_but_different_stories_do() -> None:
    copies = carriers(1, [(1, 2, 3, 4)] * 300)
    assert common_sentences(copies, RULES) == {}
    footers = carriers(9, [(i, i, i, i) for i in range(RULES.common_stories)])
    assert common_sentences(footers, RULES) == {}
    more = carriers(9, [(50, 50, 50, 50)])
    assert common_sentences([*footers, *more], RULES) == {9: 3.0}
    # A copy of every article adds carriers but no story; so does another copy of one article.
    assert common_sentences([*footers, *footers], RULES) == {}
    assert common_sentences([*footers, *carriers(9, [(0, 0, 0, 0)])], RULES) == {}
    assert common_sentences([*footers, *more, *footers, *more], RULES) == {9: 3.0}


@pytest.mark.parametrize(
    ("pins", "expected"), [({}, {9}), ({9: False}, set()), ({9: True}, {9}), ({1: True, 7: False}, {1, 9})]
)
def test_pins_outweigh_the_count(pins: dict[int, bool], expected: set[int]) -> None:
    found = carriers(9, [(i, i, i, i) for i in range(RULES.common_stories + 1)])
    common = common_sentences(found, RULES, pins)
    assert common.keys() == expected
    assert common.get(1, 0.0) == 0.0  # no article carries this sentence, and it is common all the same
    assert common.get(9, 3.0) == 3.0


@pytest.mark.long("dedup", "migrations")
@given(corpora(), st.dictionaries(st.integers(1, 10), st.booleans(), max_size=3), st.integers(1, 4))
def test_common_sentences_are_those_of_more_effective_stories_than_the_limit(
    subjects: list[Subject], pins: dict[int, bool], limit: int
) -> None:
    rules = replace(RULES, common_stories=limit)
    fingerprints = [s.fingerprint for s in subjects]
    common = common_sentences(fingerprints, rules, pins)
    for sentence in range(1, 12):
        found = [f for f in fingerprints if sentence in f.sentence_hashes]
        drawn = list(product(found, repeat=2))
        agree = [sum(a.buckets[band] == b.buckets[band] for a, b in drawn) for band in range(rules.bands)]
        c = Fraction(sum(agree), rules.bands * (len(drawn) or 1))
        effective = 1 / c if c else Fraction(0)
        assert (sentence in common) == pins.get(sentence, effective > limit)
        if sentence in common:
            assert common[sentence] == pytest.approx(float(effective))


BANDS16 = replace(RULES, bands=16, common_stories=10)


def test_edited_copies_of_a_report_do_not_pass_for_stories() -> None:
    # Each copy keeps the bucket of a band with the probability 0.36. So two copies have it in common with the
    # probability 0.36² = 0.13, like two texts with a Jaccard of 0.6.
    chooser = random.Random(1)
    copies = carriers(
        1,
        [
            [band if chooser.random() < 0.36 else chooser.getrandbits(60) for band in range(16)]
            for _ in range(300)
        ],
    )
    assert common_sentences(copies, BANDS16) == {}
    assert 7 < common_sentences(copies, replace(BANDS16, common_stories=6))[1] < 9
    # With 900 different stories beside the 300 copies, the sentence is common.
    others = carriers(1, [[chooser.getrandbits(60) for _ in range(16)] for _ in range(900)])
    assert common_sentences([*copies, *others], BANDS16).keys() == {1}


def test_furniture_is_common_if_its_pages_agree_in_one_band_but_not_in_two() -> None:
    # Pages of one template that agree in one of 16 bands count as nearly 16 effective stories, more than the
    # limit of 10. If they agree in two bands, they count as fewer than 8.
    for bands, expected in ((1, {1}), (2, set())):
        pages = carriers(1, [[*range(bands), *[100 + i] * (16 - bands)] for i in range(1_000)])
        assert common_sentences(pages, BANDS16).keys() == expected
