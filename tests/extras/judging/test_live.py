"""Judgements and the stored corpus: scores of its stories, and the effect of other thresholds."""

from __future__ import annotations

import pytest

from dedup.base.errors import InputError
from dedup.db.database import Database
from dedup.extras.judging import judgements
from dedup.settling.backfill import backfill
from dedup.store import rulebooks
from tests.corpora import article, change_settings, load, make_function, window


def ring(database: Database, count: int = 6) -> None:
    """Store articles of six sentences. Neighbours share five sentences, so their sentence Jaccard is 5/7."""
    load(database, *(article(f"r{i}", window(i, 6, ring=100), i) for i in range(count)))


def settled(database: Database) -> None:
    ring(database)
    backfill(database, workers=0, factory=make_function)


def test_what_other_thresholds_would_change_by_hand(database: Database) -> None:
    change_settings(database, duplicate_signature_jaccard=1, similar_signature_jaccard=1)
    settled(database)
    with database.transaction() as cursor:
        present = rulebooks.load_settings(cursor)
        # At present only neighbours (5/7) match: r1, r3 and r5 are duplicates of r0, r2 and r4.
        # At 0.5 articles two apart (4/8) match, too: r1 and r2 are duplicates of r0, r4 and r5 of r3.
        found = judgements.what_would_change(
            cursor, present, present.with_values({"duplicate_sentence_jaccard": 0.5}), 100
        )
    assert (found.articles, found.duplicates, found.duplicates_then) == (6, 3, 4)
    assert (found.joined, found.left, found.moved) == (2, 1, 1)


def test_pending_articles_have_no_marks_to_score(database: Database) -> None:
    ring(database)
    with pytest.raises(InputError, match="must be settled first: run `dedup backfill`"):
        judgements.marked_stories(database)
