"""Decisions about arrays of articles equal the oracle's decisions, for any batch size."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.rules import oracle
from dedup.rules.decide import BestMatches, ComparedArrays, Decisions, Outside, PairArrays, Profiles, decide
from dedup.rules.keys import Entries, shared
from dedup.rules.marks import Mark, Pair, Status
from dedup.rules.oracle import Pins, Subject
from dedup.rules.pair import Profile, Relation, relate
from dedup.rules.pairs import RULES
from dedup.settling.memory.snapshot import in_slices
from dedup.text.fingerprint import Fingerprint
from tests.rules.test_oracle import RULES as SETTINGS
from tests.rules.test_oracle import corpora, fingerprint, subject
from tests.rules.test_pairs import SETTINGS as SETTINGS_OF_PAIRS


def entries(keys: list[list[int]]) -> Entries:
    owners = [place for place, own in enumerate(keys) for _ in own]
    return shared(np.array([k for own in keys for k in own], np.int64), np.array(owners, np.int32))


def profiles(subjects: list[Subject], common: set[int], pins: Pins) -> Profiles:
    made = [s.fingerprint for s in subjects]
    places = {s.id: place for place, s in enumerate(subjects)}
    sentences = [[h for h in f.sentence_hashes if h not in common] for f in made]
    size = max((len(f.signature) for f in made), default=0)
    signature = np.zeros((len(made), size), np.uint8)
    for row, f in zip(signature, made, strict=True):
        row[: len(f.signature)] = f.signature
    said = {
        (max(places[a], places[b]), min(places[a], places[b])): relation
        for (a, b), relation in ((tuple(pair), relation) for pair, relation in pins.items())
    }
    return Profiles(
        np.array([f.content_hash for f in made], np.int64),
        np.array([len(own) for own in sentences], np.int32),
        np.array(
            [len(f.sentence_hashes) - len(own) for f, own in zip(made, sentences, strict=True)], np.int32
        ),
        np.array([f.shingle_count for f in made], np.int32),
        signature,
        np.array([s.published for s in subjects], np.int64),
        (
            entries(sentences),
            entries([list(f.buckets) for f in made]),
            entries([[f.content_hash] for f in made]),
        ),
        said,
    )


def as_oracle(subjects: list[Subject], found: Decisions) -> tuple[dict[int, Mark], set[Pair]]:
    ids = [s.id for s in subjects]
    marks = {}
    for place, id in enumerate(ids):
        score, rule = float(found.score[place]), RULES[found.rule[place]].value
        original = int(found.original[place])
        if original >= 0:
            marks[id] = Mark(Status.DUPLICATE, ids[original], score, rule)
        elif score >= 0:
            marks[id] = Mark(Status.SIMILAR, None, score, rule)
        else:
            marks[id] = Mark(Status.UNIQUE)
    p = found.pairs
    pairs = {
        Pair(
            ids[p.later[i]],
            ids[p.earlier[i]],
            "duplicate" if p.duplicate[i] else "similar",
            RULES[p.rule[i]].value,
            float(p.score[i]),
            float(p.sentence_jaccard[i]),
            float(p.signature_jaccard[i]),
            float(p.containment[i]),
        )
        for i in range(len(p))
    }
    assert len(pairs) == len(p)
    return marks, pairs


def check(subjects: list[Subject], settings: Settings, pins: Pins, at_once: int) -> Decisions:
    common = oracle.common_sentences([s.fingerprint for s in subjects], settings)
    wanted = oracle.marks(subjects, common, settings, pins)
    ordered = sorted(subjects, key=lambda s: s.order)
    found = decide(profiles(ordered, set(common), pins), settings, at_once=at_once)
    assert as_oracle(ordered, found) == wanted
    check_best_match(ordered, found)
    check_components(found)
    return found


def check_best_match(ordered: list[Subject], found: Decisions) -> None:
    """Check that each pair flagged as best match has the same score and rule as the mark of its earlier
    article."""
    pairs = found.pairs
    flagged = pairs.earlier[found.best_match]
    assert len(set(flagged.tolist())) == len(flagged)
    for i in np.flatnonzero(found.best_match).tolist():
        earlier = pairs.earlier[i]
        assert (pairs.score[i], pairs.rule[i]) == (found.score[earlier], found.rule[earlier])


def check_components(found: Decisions) -> None:
    """Check that related articles are in one component, which is named after its first member."""
    component = found.component
    assert (component[component] == component).all()
    assert (component <= np.arange(len(component))).all()
    assert (component[found.pairs.later] == component[found.pairs.earlier]).all()


@st.composite
def pinned(draw: st.DrawFn) -> tuple[list[Subject], Pins]:
    subjects = draw(corpora(size=12))
    ids = [s.id for s in subjects]
    if len(ids) < 2:
        return subjects, {}
    pairs = st.lists(st.sampled_from(ids), min_size=2, max_size=2, unique=True).map(frozenset)
    return subjects, draw(st.dictionaries(pairs, st.sampled_from(list(Relation)), max_size=20))


@pytest.mark.long("dedup", "migrations")
@given(pinned(), st.sampled_from([1, 2, 5, 1_000]), st.integers(1, 3))
def test_decisions_are_those_of_the_oracle(
    given: tuple[list[Subject], Pins], at_once: int, kept: int
) -> None:
    check(given[0], SETTINGS.with_values({"similar_pairs": kept}), given[1], at_once)


@pytest.mark.long("dedup", "migrations")
@given(pinned(), st.integers(0, 4_095), st.sampled_from([1, 5, 1_000]), st.integers(1, 3))
def test_articles_beside_settled_originals_get_the_same_marks(
    given: tuple[list[Subject], Pins], chosen: int, at_once: int, kept: int
) -> None:
    """Articles decided beside settled originals get the same marks as if all were decided at once.

    The settled originals have best matches already; the decisions must report each better match.
    """
    settings = SETTINGS.with_values({"similar_pairs": kept})
    subjects, pins = sorted(given[0], key=lambda s: s.order), given[1]
    common = set(oracle.common_sentences([s.fingerprint for s in subjects], settings))
    everything = profiles(subjects, common, pins)
    wanted = decide(everything, settings)
    inside = np.array([bool(chosen >> i & 1) for i in range(len(subjects))], np.bool_)
    canonical = ~inside & (wanted.original < 0)
    before = [s for s, settled in zip(subjects, canonical, strict=True) if settled]
    ids = {s.id for s in before}
    known = decide(profiles(before, common, {p: r for p, r in pins.items() if p <= ids}), settings)
    best = BestMatches.none(len(subjects))
    places = np.flatnonzero(canonical)
    best.score[canonical], best.rule[canonical] = known.score, known.rule
    best.place[canonical] = [places[int(p)] if p >= 0 else -1 for p in known.best_place]

    found = decide(everything, settings, Outside(inside, canonical, best), at_once=at_once)

    told = inside | canonical
    assert (found.original[inside] == wanted.original[inside]).all()
    for name in ("score", "rule", "best_place"):
        assert (getattr(found, name)[told] == getattr(wanted, name)[told]).all(), name
    kept_inside = {*rows(wanted.pairs[inside[wanted.pairs.later]])}
    assert kept_inside <= {*rows(found.pairs)}
    now = {*rows(found.pairs[found.best_match])}
    told_of = wanted.pairs[wanted.best_match & (inside[wanted.pairs.later] | inside[wanted.pairs.earlier])]
    assert {*rows(told_of)} == now
    assert {*rows(found.pairs)} - kept_inside <= now
    across = found.across
    assert (inside[across.later] != inside[across.earlier]).all()


def rows(pairs: PairArrays) -> list[tuple[object, ...]]:
    return list(zip(*(getattr(pairs, name).tolist() for name in pairs.__slots__), strict=True))


@pytest.mark.long("dedup", "migrations")
@given(pinned(), SETTINGS_OF_PAIRS)
def test_relations_are_those_of_the_pair_rule(given: tuple[list[Subject], Pins], settings: Settings) -> None:
    subjects, pins = sorted(given[0], key=lambda s: s.order), given[1]
    made = [Profile.of(s.fingerprint, (), s.published) for s in subjects]
    everything = np.ones(len(subjects), np.bool_)
    comparison = ComparedArrays(profiles(subjects, set(), pins), settings, everything, 10)
    found = [row for step in comparison.steps() for row in rows(comparison.related(*step, everything))]
    expected = []
    for later, earlier in ((i, j) for i in range(len(subjects)) for j in range(i)):
        pin = pins.get(frozenset((subjects[later].id, subjects[earlier].id)))
        if r := relate(made[later], made[earlier], settings, pin):
            s = r.scores
            scores = (s.score, s.sentence_jaccard, s.signature_jaccard, s.containment)
            is_duplicate = r.relation is Relation.DUPLICATE
            expected.append((later, earlier, is_duplicate, RULES.index(r.rule), *scores))
    assert sorted(found) == expected


def test_nothing_is_compared_with_what_it_shares_nothing_with() -> None:
    made = [Fingerprint(1, i, (i,), np.full(8, i, np.uint8), (i, i), 50, 9) for i in range(20)]
    subjects = [subject(id, id, f) for id, f in enumerate(made)]
    found = decide(profiles(subjects, set(), {}), SETTINGS)
    assert (found.compared, found.original.max(), found.score.max()) == (0, -1, -1)
    assert not len(decide(profiles([], set(), {}), SETTINGS).original)


def test_a_larger_corpus_is_decided_alike_at_once_and_bit_by_bit() -> None:
    rng = random.Random(3)
    subjects = []
    for id in range(300):
        first = rng.randrange(60)
        signature = [rng.choice((0, 0, 1)) for _ in range(8)]
        made = fingerprint(range(first, first + rng.randrange(8)), signature, 1_000 + id)
        subjects.append(subject(id, rng.randrange(40), made))
    settings = SETTINGS.with_values({"similar_pairs": 4, "common_stories": 40})
    found = [check(subjects, settings, {}, at_once) for at_once in (1, 60, 10_000)]
    assert len({f.pairs.later.tobytes() for f in found}) <= 3
    assert (found[0].original >= 0).sum() > 50
    assert (found[0].component == found[2].component).all()


@pytest.mark.long("dedup", "migrations")
def test_slices_of_the_key_space_give_the_entries_of_the_whole() -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(-50, 50, 200) * 2**55
    places = np.repeat(np.arange(40, dtype=np.int32), 5)
    whole = set(zip(*(a.tolist() for a in shared(keys, places)), strict=True))

    def read() -> object:
        yield keys[:70], places[:70]
        yield keys[70:], places[70:]

    for count in (1, 2, 7):
        found = in_slices(count, read)  # type: ignore[arg-type]
        assert set(zip(*(a.tolist() for a in found), strict=True)) == whole
        assert len(found[0]) == len(whole)
