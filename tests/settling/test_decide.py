"""Decisions in arrays are those of the oracle, however many articles are decided at a time."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.rules import oracle
from dedup.rules.marks import Mark, Pair, Status
from dedup.rules.oracle import Pins, Subject
from dedup.rules.pair import Relation
from dedup.rules.pairs import RULES
from dedup.settling.memory.decide import Decisions, Profiles, decide
from dedup.settling.memory.keys import Entries, in_slices, shared
from tests.rules.test_oracle import RULES as SETTINGS
from tests.rules.test_oracle import corpora, fingerprint, subject


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
        np.array([f.shingle_count for f in made], np.int32),
        signature,
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
    """A pair is flagged as the best match of its earlier article if that article's mark tells of it."""
    pairs = found.pairs
    flagged = pairs.earlier[found.best_match]
    assert len(set(flagged.tolist())) == len(flagged)
    for i in np.flatnonzero(found.best_match).tolist():
        earlier = pairs.earlier[i]
        assert (pairs.score[i], pairs.rule[i]) == (found.score[earlier], found.rule[earlier])


def check_components(found: Decisions) -> None:
    """Related articles are in one component; its name is its first member."""
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
