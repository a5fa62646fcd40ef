"""The oracle against the properties of SEMANTICS 2 and 5, by brute force over all subsets of tiny corpora."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.marks import Mark, Pair, Status
from dedup.rules.oracle import Subject, common_sentences, marks
from dedup.rules.pair import Judgement, Profile, Relation, judge
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint

RULES = Settings(
    common_stories=2,
    duplicate_sentence_jaccard=0.6,
    duplicate_signature_jaccard=0.7,
    similar_sentence_jaccard=0.3,
    similar_signature_jaccard=0.3,
    evidence_sentences=1,
    evidence_shingles=12,
)
START = datetime(2024, 5, 1, tzinfo=UTC)
SIZE = 8


def fingerprint(
    sentences: Sequence[int], signature: Sequence[int] = (), content: int = 0, sketch: int = 0
) -> Fingerprint:
    # A bucket stands for two positions, so that a fair share of pairs has one in common.
    return Fingerprint(
        version=1,
        content_hash=content,
        sentence_hashes=tuple(sentences),
        signature=np.array(signature, np.uint32),
        buckets=tuple(10 * i + signature[i] + 3 * signature[i + 1] for i in range(0, len(signature), 2)),
        sketch=sketch,
        word_count=100,
        shingle_count=100,
    )


def subject(id: int, minute: int, made: Fingerprint) -> Subject:
    return Subject(id, (START + timedelta(minutes=minute), b"%d" % id), made)


@st.composite
def corpora(draw: st.DrawFn, size: int = 7) -> list[Subject]:
    """Articles made of runs of a few sentences, so that many pairs lie close to the thresholds."""
    found = []
    for id in range(draw(st.integers(0, size))):
        first = draw(st.integers(1, 6))
        sentences = range(first, first + draw(st.integers(0, 5)))
        signature = draw(
            st.sampled_from([[], [0] * 8, [0] * 6 + [1] * 2, [0] * 4 + [1] * 4, [1] * 8, [2] * 8])
        )
        content = draw(st.sampled_from([0, *[100 + id] * 5]))
        made = fingerprint(sentences, signature, content, sketch=draw(st.integers(0, 3)))
        found.append(subject(id, draw(st.integers(0, 3)), made))
    return found


def relations(subjects: Sequence[Subject], common: set[int]) -> dict[tuple[int, int], Judgement]:
    """Every related pair by both ids, in both directions."""
    seen = {s.id: Profile.of(s.fingerprint, common) for s in subjects}
    found = {}
    for a, b in combinations(seen, 2):
        judgement = judge(seen[a], seen[b], RULES)
        if judgement:
            found[a, b] = found[b, a] = judgement
    return found


def in_order(subjects: Sequence[Subject]) -> list[int]:
    return [s.id for s in sorted(subjects, key=lambda s: s.order)]


@given(corpora())
def test_the_canonical_articles_are_the_first_maximal_independent_set(subjects: list[Subject]) -> None:
    common = common_sentences([s.fingerprint for s in subjects], RULES)
    duplicates = {pair for pair, j in relations(subjects, common).items() if j.relation is Relation.DUPLICATE}
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
    # The first is the one that has the earliest article, and of those the next earliest, and so on.
    first = max(maximal, key=lambda chosen: [id in chosen for id in ids])
    found, _ = marks(subjects, common, RULES)
    assert {id for id, mark in found.items() if mark.status is not Status.DUPLICATE} == first


@given(corpora(), st.sets(st.integers(1, 10), max_size=3))
def test_every_mark_says_what_is_true(subjects: list[Subject], common: set[int]) -> None:
    found, pairs = marks(subjects, common, RULES)
    related = relations(subjects, common)
    place = {id: i for i, id in enumerate(in_order(subjects))}
    canonical = {id for id, mark in found.items() if mark.status is not Status.DUPLICATE}
    assert found.keys() == place.keys()
    for id, mark in found.items():
        if mark.status is Status.DUPLICATE:
            original = mark.duplicate_of
            assert original in canonical
            judgement = related[id, original]
            assert judgement.relation is Relation.DUPLICATE
            assert (mark.score, mark.reason) == (judgement.scores.score, judgement.rule.value)
            assert place[original] < place[id]
            for other in canonical:
                rival = related.get((id, other))
                if rival and rival.relation is Relation.DUPLICATE and place[other] < place[id]:
                    assert (rival.scores.score, -place[other]) <= (mark.score, -place[original])
        else:
            partners = [related[id, other].scores.score for other in canonical if (id, other) in related]
            assert mark.duplicate_of is None
            assert mark.status is (Status.SIMILAR if partners else Status.UNIQUE)
            assert mark.score == (max(partners) if partners else None)
            assert (mark.reason is None) == (not partners)
    expected = {
        Pair.of(id, other, judgement)
        for (id, other), judgement in related.items()
        if other in canonical and place[other] < place[id]
        if id in canonical or judgement.relation is Relation.DUPLICATE
    }
    assert pairs == expected


@given(corpora(), st.randoms(use_true_random=False))
def test_no_mark_depends_on_the_order_of_input_or_on_ids(
    subjects: list[Subject], chooser: random.Random
) -> None:
    common = common_sentences([s.fingerprint for s in subjects], RULES)
    shuffled = list(subjects)
    chooser.shuffle(shuffled)
    assert common_sentences([s.fingerprint for s in shuffled], RULES) == common
    assert marks(shuffled, common, RULES) == marks(subjects, common, RULES)
    # Other ids, the same order keys: the same marks under other names.
    renamed = [replace(s, id=1000 - s.id) for s in shuffled]
    expected = {
        1000 - id: replace(mark, duplicate_of=None if mark.duplicate_of is None else 1000 - mark.duplicate_of)
        for id, mark in marks(subjects, common, RULES)[0].items()
    }
    assert marks(renamed, common, RULES)[0] == expected


@given(corpora())
def test_similar_is_symmetric(subjects: list[Subject]) -> None:
    found, pairs = marks(subjects, set(), RULES)
    similar = {frozenset((p.article_id, p.other_id)) for p in pairs if p.relation == "similar"}
    for pair in similar:
        assert {found[id].status for id in pair} == {Status.SIMILAR}
    assert {id for pair in similar for id in pair} == {
        id for id, mark in found.items() if mark.status is Status.SIMILAR
    }


def test_a_chain_has_no_links_through_duplicates() -> None:
    # 1-2 and 2-3 are duplicates, 1-3 are not: 3 is canonical, although its neighbour 2 is a duplicate.
    one, two, three = ([1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6])
    subjects = [subject(i, i, fingerprint(s, content=i)) for i, s in enumerate((one, two, three), 1)]
    found, pairs = marks(subjects, set(), RULES)
    assert found[1] == Mark(Status.SIMILAR, None, 2 / 6, "sentences")
    assert found[2] == Mark(Status.DUPLICATE, 1, 3 / 5, "sentences")
    assert found[3] == Mark(Status.SIMILAR, None, 2 / 6, "sentences")
    assert pairs == {
        Pair(2, 1, "duplicate", 0.6, 0.0, 0.75),
        Pair(3, 1, "similar", 2 / 6, 0.0, 0.5),
    }
    # If 2 is the earliest, both others are its duplicates.
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
    assert common_sentences([], RULES) == set()


def test_copies_of_a_wire_report_do_not_make_its_sentences_common_but_different_stories_do() -> None:
    copies = [fingerprint([1, 2], sketch=5) for _ in range(300)]
    assert common_sentences(copies, RULES) == set()
    footers = [fingerprint([9, 100 + i], sketch=i) for i in range(RULES.common_stories)]
    assert common_sentences(footers, RULES) == set()
    assert common_sentences([*footers, fingerprint([9], sketch=50)], RULES) == {9}
    assert common_sentences([*footers, fingerprint([9], sketch=0)], RULES) == set()


@pytest.mark.parametrize(
    ("pins", "expected"), [({}, {9}), ({9: False}, set()), ({9: True}, {9}), ({1: True, 7: False}, {1, 9})]
)
def test_pins_outweigh_the_count(pins: dict[int, bool], expected: set[int]) -> None:
    carriers = [fingerprint([9, i], sketch=i) for i in range(RULES.common_stories + 1)]
    assert common_sentences(carriers, RULES, pins) == expected


@given(corpora(), st.dictionaries(st.integers(1, 10), st.booleans(), max_size=3))
def test_common_sentences_are_those_of_many_stories_and_not_copies_of_few(
    subjects: list[Subject], pins: dict[int, bool]
) -> None:
    rules = replace(RULES, common_concentration=0.3, bands=2, rows=2)
    fingerprints = [s.fingerprint for s in subjects]
    common = common_sentences(fingerprints, rules, pins)
    for sentence in range(1, 12):
        found = [f for f in fingerprints if sentence in f.sentence_hashes]
        many = len({f.sketch for f in found}) > rules.common_stories
        copies = [
            a.sketch == b.sketch and a.buckets[band : band + 1] == b.buckets[band : band + 1]
            for a, b in permutations(found, 2)
            for band in range(rules.bands)
        ]
        assert (sentence in common) == pins.get(sentence, many and sum(copies) < 0.3 * len(copies))


STORY = (1,) * 32
"""A signature of 16 buckets: that of a report."""


def test_copies_that_were_edited_do_not_pass_for_stories() -> None:
    # A third of the copies have a sketch of their own: that of a paper's own lines around the report.
    copies = [fingerprint([1, 2], STORY, sketch=5 if i % 3 else 1000 + i) for i in range(300)]
    assert len({copy.sketch for copy in copies}) == 101
    assert common_sentences(copies, RULES) == set()
    # The line under the report is common all the same where more other stories carry it.
    others = [fingerprint([2], (7, *[i] * 31), sketch=i) for i in range(2000, 2900)]
    assert common_sentences([*copies, *others], RULES) == {2}


def test_boilerplate_that_is_the_sketch_of_most_of_its_pages_is_common() -> None:
    pages = [fingerprint([1], (1, 1, *[i] * 30), sketch=5 if i % 4 else i) for i in range(1000)]
    assert common_sentences(pages, RULES) == {1}
