"""Judgements and the stored corpus: scores of its stories, and the effect of other thresholds."""

from __future__ import annotations

import pytest

from dedup.base.errors import InputError
from dedup.db.database import Database
from dedup.extras.judging import judgements
from dedup.settling.backfill import backfill
from dedup.store import setting_rows
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
        present = setting_rows.load_settings(cursor)
        # At present only neighbours are duplicates: r1 of r0, r3 of r2, and r5 of r4. r0 and r2, like all
        # articles two apart, have a Jaccard of 4/8. So at 0.5, r1 and r2 are duplicates of r0, and r4 and r5
        # are duplicates of r3.
        found = judgements.what_would_change(
            cursor, present, present.with_values({"duplicate_sentence_jaccard": 0.5}), 100
        )
    assert (found.articles, found.duplicates, found.duplicates_then) == (6, 3, 4)
    assert (found.joined, found.left, found.moved) == (2, 1, 1)


def test_pending_articles_have_no_marks_to_score(database: Database) -> None:
    ring(database)
    with pytest.raises(InputError, match="must be settled first: run `dedup backfill`"):
        judgements.marked_stories(database)
