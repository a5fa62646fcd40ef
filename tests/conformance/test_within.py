"""A corpus with several scopes gets the same marks and pairs as a separate corpus for each scope."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedup.db.database import Database
from dedup.store import pins
from tests.conformance.corpora import CORPORA, Corpus
from tests.conformance.test_engines import Batches, Engine, InMemory, NightByNight, OneAtATime, reference
from tests.corpora import (
    Answer,
    answer,
    assert_counted,
    assert_equal,
    change_settings,
    code,
    sentence_hash,
    unsettled,
)

SCOPES = ("1", "2", None)
"""Scopes with equal articles; each `source_id` begins with the scope of the article."""

ENGINES: list[Engine] = [OneAtATime(1), Batches(3), NightByNight(), InMemory("in memory")]


def within(corpus: Corpus) -> Corpus:
    """Return a corpus that has the articles and pinned pairs of the given corpus once in each scope."""
    return Corpus(
        [
            replace(one, source_id=f"{scope}/{one.source_id}", scope=scope)
            for one in corpus.articles
            for scope in SCOPES
        ],
        corpus.settings,
        [(f"{scope}/{a}", f"{scope}/{b}", said) for a, b, said in corpus.pairs for scope in SCOPES],
    )


def wanted(name: str) -> Answer:
    """Return the oracle's answers for each scope alone, as one answer."""
    alone, found = reference(name), Answer()
    for scope in SCOPES:
        change = sentence_hash(code(0), scope) ^ sentence_hash(code(0))
        for source_id, (status, original, score, reason) in alone.marks.items():
            named = original and f"{scope}/{original}"
            found.marks[f"{scope}/{source_id}"] = (status, named, score, reason)
        for (later, earlier), pair in alone.pairs.items():
            found.pairs[f"{scope}/{later}", f"{scope}/{earlier}"] = pair
        found.common |= {key ^ change: stories for key, stories in alone.common.items()}
    return found


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("name", ["boilerplate", "chains", "briefs", "pinned_pairs", "mix_1", "reprints"])
def test_each_scope_is_a_corpus_of_its_own(database: Database, name: str, engine: Engine) -> None:
    corpus = within(CORPORA[name]())
    change_settings(database, **corpus.settings)
    if CORPORA[name]().sentences:
        with database.transaction() as cursor:
            for given, common in CORPORA[name]().sentences.items():
                for scope in SCOPES:
                    pins.pin_sentence(cursor, sentence_hash(given, scope), common, None, scope)
    engine.run(database, corpus)
    assert unsettled(database) == set()
    assert_equal(answer(database), wanted(name))
    assert_counted(database)
