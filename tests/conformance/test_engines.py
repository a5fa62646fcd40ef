"""Conformance: every engine gives the same marks, pairs and common sentences for the same corpora.

See docs/semantics.md, section 8. The reference is the oracle, which reads the corpus itself: it needs no
database and no order of arrival. A new engine needs one small class in this file.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Protocol
from unittest.mock import patch

import pytest

from dedup import AsyncDeduplicator
from dedup.base.machine import EngineName
from dedup.base.settings import Settings
from dedup.db.database import Database
from dedup.rules import oracle
from dedup.rules.decide import COMPARED_AT_ONCE
from dedup.rules.marks import order_key, published_second
from dedup.settling.backfill import backfill
from dedup.store import pins, window
from tests.conformance.corpora import CORPORA, Corpus
from tests.corpora import (
    Answer,
    answer,
    assert_counted,
    assert_equal,
    change_settings,
    code,
    deduplicator,
    fingerprint,
    load,
    make_function,
    sentence_hash,
    unsettled,
)

pytestmark = pytest.mark.timeout(120)


class Engine(Protocol):
    """An engine that stores a corpus in an empty database, and settles it by the settings of the corpus."""

    name: str

    def run(self, database: Database, corpus: Corpus) -> None:
        """Store the articles and the pins in any order, and settle everything."""


class OneAtATime:
    """Half of the pins are stored, the hook takes articles in a random order, the other pins are stored, and
    a backfill runs."""

    def __init__(self, seed: int) -> None:
        self.name, self._seed = f"one at a time, order {seed}", seed

    def run(self, database: Database, corpus: Corpus) -> None:
        given = random.Random(self._seed).sample(corpus.articles, len(corpus.articles))
        half = len(corpus.pairs) // 2
        pin(database, corpus, slice(None, half))
        with deduplicator(database) as hook:
            for article in given:
                hook.submit(article)
        pin(database, corpus, slice(half, None))
        backfill(database, workers=0, factory=make_function)


class AsyncHook:
    """The asyncio hook takes several articles at once; half of the pins are stored before, half
    afterwards."""

    name = "async hook"

    def run(self, database: Database, corpus: Corpus) -> None:
        given = random.Random(4).sample(corpus.articles, len(corpus.articles))
        half = len(corpus.pairs) // 2
        pin(database, corpus, slice(None, half))

        async def submit() -> None:
            async with AsyncDeduplicator(database.url) as hook:
                await hook.submit_many(given, at_once=3)

        asyncio.run(submit())
        pin(database, corpus, slice(half, None))
        backfill(database, workers=0, factory=make_function)


class Batches:
    """A load, and a backfill that settles a fixed number of articles at a time."""

    def __init__(self, size: int) -> None:
        self.name, self._size = f"batches of {size:,}", size

    def run(self, database: Database, corpus: Corpus) -> None:
        pin(database, corpus)
        load(database, *corpus.articles)
        backfill(database, batch=self._size, workers=0, factory=make_function)


class NightByNight:
    """Several loads, the latest articles first, each with a backfill that updates the counts of sentences."""

    name = "night by night, backwards"

    def run(self, database: Database, corpus: Corpus) -> None:
        given = corpus.articles[::-1]
        for start in range(0, len(given), 7):
            load(database, *given[start : start + 7])
            backfill(database, batch=5, workers=0, factory=make_function, full_count=False)
        pin(database, corpus)
        backfill(database, workers=0, factory=make_function, full_count=False)


class InMemory:
    """A load, and a backfill that settles all articles at once in memory.

    Args:
        memory: bytes that the backfill may take; with few, keys are sorted in slices.
        at_once: comparisons in one step; the default covers any corpus of these tests.
    """

    def __init__(self, name: str, *, memory: int = 1 << 30, at_once: int = COMPARED_AT_ONCE) -> None:
        self.name, self._memory, self._at_once = name, memory, at_once

    def run(self, database: Database, corpus: Corpus) -> None:
        pin(database, corpus)
        load(database, *corpus.articles)
        at_once = patch.dict("dedup.rules.decide.decide.__kwdefaults__", at_once=self._at_once)
        with at_once, patch("dedup.store.memory_engine.ARRAY_ARTICLES", 7):
            backfill(database, workers=0, factory=make_function, engine="memory", memory=self._memory)


class InMemoryNightByNight:
    """Several loads, the latest articles first; every second backfill settles all at once in memory."""

    name = "in memory, night by night, backwards"

    def run(self, database: Database, corpus: Corpus) -> None:
        given = corpus.articles[::-1]
        pin(database, corpus, slice(None, 1))
        engines: list[EngineName] = ["memory", "postgres", "memory"]
        for number, start in enumerate(range(0, len(given), 11)):
            load(database, *given[start : start + 11])
            backfill(database, workers=0, factory=make_function, engine=engines[number % 3])
        pin(database, corpus, slice(1, None))
        backfill(database, workers=0, factory=make_function, engine="memory")


ENGINES: list[Engine] = [
    OneAtATime(1),
    OneAtATime(2),
    OneAtATime(3),
    AsyncHook(),
    Batches(1),
    Batches(3),
    Batches(1_000),
    NightByNight(),
    InMemory("in memory"),
    InMemory("in memory, slice by slice", memory=20_000),
    InMemoryNightByNight(),
    InMemory("in memory, steps of 1", at_once=1),
    InMemory("in memory, steps of 7", at_once=7),
]


@cache
def reference(name: str, horizon: datetime | None = None, *, prints: bool = False) -> Answer:
    """Return the oracle's answer for the articles of a corpus that are not before the horizon."""
    corpus = with_prints(name) if prints else CORPORA[name]()
    settings = Settings().with_values(corpus.settings)
    found = Answer()
    subjects, names = [], {}
    for number, article in enumerate(corpus.articles):
        assert article.added_at is not None
        order = order_key(settings, article.published_at, article.added_at, article.source_id)
        if horizon is not None and order[0] < horizon:
            continue
        made = fingerprint(settings, article.text, article.language, article.title)
        if isinstance(made, str):
            found.marks[article.source_id] = ("failed", None, None, made)
            continue
        subjects.append(
            oracle.Subject(number, order, made, published_second(settings, order[0], article.published_at))
        )
        names[number] = article.source_id
    numbers = {source_id: number for number, source_id in names.items()}
    said = {frozenset((numbers[a], numbers[b])): r for a, b, r in corpus.pairs if {a, b} <= numbers.keys()}
    pinned = {sentence_hash(c): common for c, common in corpus.sentences.items()}
    found.common = oracle.common_sentences([s.fingerprint for s in subjects], settings, pinned)
    marks, pairs = oracle.marks(subjects, found.common, settings, said)
    for number, mark in marks.items():
        original = None if mark.duplicate_of is None else names[mark.duplicate_of]
        found.marks[names[number]] = (mark.status.value, original, mark.score, mark.reason)
    for p in pairs:
        scores = (p.score, p.sentence_jaccard, p.signature_jaccard, p.containment)
        found.pairs[names[p.article_id], names[p.other_id]] = (p.relation, p.rule, *scores)
    return found


def with_prints(name: str) -> Corpus:
    """Return a corpus with `damaged_print=on`: all articles with enough letters have prints."""
    corpus = CORPORA[name]()
    return replace(corpus, settings=corpus.settings | {"damaged_print": "on"})


def pin(database: Database, corpus: Corpus, which: slice = slice(None)) -> None:
    """Store the pinned sentences of a corpus, and all or some of its pinned pairs."""
    with database.transaction() as cursor:
        for a, b, relation in corpus.pairs[which]:
            pins.pin_pair(cursor, a, b, relation)
        for given, common in corpus.sentences.items():
            pins.pin_sentence(cursor, sentence_hash(given), common, None)


MORE_OF_THE_SAME = ("one at a time, order 2", "one at a time, order 3", "batches of 3")
"""Engines that run with the torture tests only, because other engines run the same code."""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "engine",
    [pytest.param(e, marks=pytest.mark.torture) if e.name in MORE_OF_THE_SAME else e for e in ENGINES],
    ids=lambda engine: engine.name,
)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CORPORA)
def test_an_engine_gives_the_oracles_answer(database: Database, name: str, engine: Engine) -> None:
    corpus = CORPORA[name]()
    change_settings(database, **corpus.settings)
    engine.run(database, corpus)
    assert unsettled(database) == set()
    assert_equal(answer(database), reference(name))
    assert_counted(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("engine", [ENGINES[n] for n in (0, 4, 6, 9)], ids=lambda engine: engine.name)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CORPORA)
def test_with_prints_an_engine_gives_the_oracles_answer(
    database: Database, name: str, engine: Engine
) -> None:
    corpus = with_prints(name)
    change_settings(database, **corpus.settings)
    engine.run(database, corpus)
    assert unsettled(database) == set()
    assert_equal(answer(database), reference(name, prints=True))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("engine", [ENGINES[n] for n in (0, 4, 7, 9)], ids=lambda engine: engine.name)
@pytest.mark.parametrize(
    "name",
    [n if n == "mix_1" else pytest.param(n, marks=pytest.mark.torture) for n in CORPORA],
)
def test_with_a_horizon_an_engine_gives_the_oracles_answer_to_what_is_inside(
    database: Database, name: str, engine: Engine
) -> None:
    """The first backfill moves the horizon to the middle of the corpus; articles come on both sides of it."""
    corpus = CORPORA[name]()
    settings = change_settings(database, **corpus.settings)
    times = sorted(
        order_key(settings, a.published_at, a.added_at, a.source_id)[0] for a in corpus.articles if a.added_at
    )
    horizon = times[len(times) // 2]
    with database.transaction(settling=True) as cursor:
        window.request_move(cursor, horizon)
    engine.run(database, corpus)
    assert unsettled(database) == set()
    wanted, found = reference(name, horizon), answer(database)
    inside = wanted.marks.keys()
    assert not [pair for pair in found.pairs if len(inside & set(pair)) == 1]
    found.marks = {id: mark for id, mark in found.marks.items() if id in inside}
    found.pairs = {pair: scores for pair, scores in found.pairs.items() if inside >= set(pair)}
    assert_equal(found, wanted)
    assert_counted(database)


STATUSES = {
    "chains": {"similar", "duplicate"},
    "wire_story": {"similar", "duplicate"},
    "boilerplate": {"unique"},
    "twice": {"unique", "duplicate"},
    "templates": {"duplicate", "unique"},
    "families": {"similar", "duplicate"},
    "briefs": {"unique", "duplicate"},
    "excerpts": {"similar", "duplicate", "unique"},
    "pinned_pairs": {"unique", "similar", "duplicate"},
    "pins_of_copies": {"unique", "similar", "duplicate"},
    "unreadable": {"failed", "unique", "duplicate"},
    "reprints": {"similar", "duplicate"},
    "furniture": {"duplicate", "unique"},
}
RULES = {
    "chains": {"sentences"},
    "excerpts": {"content", "containment"},
    "pinned_pairs": {"pinned", "content"},
    "without_shingles": {"content"},
}


@pytest.mark.long("dedup", "migrations")
def test_the_corpora_are_about_what_they_say() -> None:
    """Check that each corpus has the marks, rules and common sentences that it is meant to test."""
    for name, statuses in STATUSES.items():
        assert {mark[0] for mark in reference(name).marks.values()} == statuses, name
    for name, rules in RULES.items():
        assert {pair[1] for pair in reference(name).pairs.values()} >= rules, name
    assert {len(reference(name).common) for name in ("wire_story", "chains", "excerpts")} == {0}
    assert len(reference("boilerplate").common) == 1
    assert reference("twice").common == {sentence_hash(code(9_700)): 11.0}
    assert len(reference("templates").common) == 7
    marks = reference("wrong_dates").status()
    assert {name for name, status in marks.items() if status == "unique"} == {"old", "ancient 2"}
    everything = [pair[1] for name in CORPORA for pair in reference(name).pairs.values()]
    assert set(everything) == {"pinned", "content", "sentences", "signature", "damaged", "containment"}


def test_pins_act_on_originals_and_not_on_copies() -> None:
    """Some pins of a corpus have an effect, and some pins of copies have none."""
    for name in ("pins_of_copies", "mix_with_many_pins"):
        found = reference(name)
        said = [tuple(pair[:2]) for pair in CORPORA[name]().pairs]
        acting = [pair for pair in said if pair in found.pairs or pair[::-1] in found.pairs]
        copies = {source_id for source_id, mark in found.marks.items() if mark[0] == "duplicate"}
        assert len(acting) > 1, name
        assert len([pair for pair in said if copies & set(pair) and pair not in acting]) > 2, name
