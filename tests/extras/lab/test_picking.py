"""The lab on a stored corpus: its newest articles, its settings, and the pairs that are picked."""

from __future__ import annotations

import pytest

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.db.database import Database
from dedup.extras.lab import picking
from tests.corpora import change_settings, deduplicator
from tests.extras.judging.test_live import settled


def test_an_empty_corpus_is_refused(database: Database) -> None:
    with pytest.raises(InputError, match="`dedup load FILE` first"):
        picking.read(deduplicator(database), 100)


def test_the_newest_articles_are_taken(database: Database) -> None:
    settled(database)
    assert [document.id for document in picking.read(deduplicator(database), 2)] == ["r5", "r4"]


def test_pairs_are_found_with_the_settings_of_the_corpus(database: Database) -> None:
    strict = {"duplicate_sentence_jaccard": 0.8, "duplicate_signature_jaccard": 0.95}
    change_settings(database, **strict, similar_signature_jaccard=0.65)
    settled(database)
    corpus = picking.read(deduplicator(database), 100)
    own, *others = picking.find_pairs(deduplicator(database), corpus, [])
    assert others == []
    assert own.threshold == 0.95
    assert not own.accepted.any()


def test_picked_pairs_carry_the_opinion_of_every_method(database: Database) -> None:
    settled(database)
    corpus = picking.read(deduplicator(database), 100)
    results = picking.find_pairs(deduplicator(database), corpus, [])
    picked = picking.picks(corpus, results, Settings(), total=10, seed=0)
    assert {pick.stratum_size >= pick.stratum_picked >= 1 for pick in picked} == {True}
    assert all(pick.scores["dedup"] is not None for pick in picked)


def test_nothing_to_judge(database: Database) -> None:
    settled(database)
    dd = deduplicator(database)
    alone = picking.read(dd, 1)
    with pytest.raises(InputError, match="no method finds a pair"):
        picking.picks(alone, picking.find_pairs(dd, alone, []), Settings(), total=10, seed=0)
