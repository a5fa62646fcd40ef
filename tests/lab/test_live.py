"""The live corpus in the lab: its own settings, its stories, and what other thresholds would change."""

from __future__ import annotations

import pytest

from dedup.corpus import rulebooks
from dedup.corpus.database import Database
from dedup.engine.backfill import backfill
from dedup.errors import InputError
from dedup.lab.judging import live
from dedup.settings import Settings
from tests.corpora import article, change_settings, load, make_reader, window


def ring(database: Database, count: int = 6) -> None:
    """Articles of six sentences; neighbours share five, so their sentence Jaccard is 5/7."""
    load(database, *(article(f"r{i}", window(i, 6, ring=100), i) for i in range(count)))


def settled(database: Database) -> None:
    ring(database)
    backfill(database, workers=0, factory=make_reader)


def test_an_empty_corpus_is_refused(database: Database) -> None:
    with pytest.raises(InputError, match="`dedup load FILE` first"):
        live.read(database)


def test_the_newest_articles_are_taken(database: Database) -> None:
    settled(database)
    assert [document.id for document in live.read(database, 2)] == ["r5", "r4"]


def test_pairs_are_found_with_the_settings_of_the_corpus(database: Database) -> None:
    strict = {"duplicate_sentence_jaccard": 0.8, "duplicate_signature_jaccard": 0.95}
    change_settings(database, **strict, similar_signature_jaccard=0.65)
    settled(database)
    corpus = live.read(database)
    own, *others = live.find_pairs(database, corpus, [])
    assert others == []
    assert own.threshold == 0.95
    assert not own.accepted.any()


def test_picked_pairs_carry_the_opinion_of_every_method(database: Database) -> None:
    settled(database)
    corpus = live.read(database)
    results = live.find_pairs(database, corpus, [])
    picked = live.picks(corpus, results, Settings(), total=10, seed=0)
    assert {pick.stratum_size >= pick.stratum_picked >= 1 for pick in picked} == {True}
    assert all(pick.scores["dedup"] is not None for pick in picked)


def test_nothing_to_judge(database: Database) -> None:
    settled(database)
    alone = live.read(database, 1)
    with pytest.raises(InputError, match="no method finds a pair"):
        live.picks(alone, live.find_pairs(database, alone, []), Settings(), total=10, seed=0)


def test_what_other_thresholds_would_change_by_hand(database: Database) -> None:
    change_settings(database, duplicate_signature_jaccard=1, similar_signature_jaccard=1)
    settled(database)
    with database.transaction() as cursor:
        present = rulebooks.load_settings(cursor)
        # r1, r3, r5 are the duplicates of r0, r2, r4. At 4/8 three in a row are one story: r1, r2 and r4, r5.
        found = live.what_would_change(
            cursor, present, present.with_values({"duplicate_sentence_jaccard": 0.5}), 100
        )
    assert (found.articles, found.duplicates, found.duplicates_then) == (6, 3, 4)
    assert (found.joined, found.left, found.moved) == (2, 1, 1)


def test_pending_articles_have_no_marks_to_score(database: Database) -> None:
    ring(database)
    with pytest.raises(InputError, match="run `dedup backfill` first"):
        live.marked_stories(database)
