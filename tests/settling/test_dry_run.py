"""A dry run says which marks the next backfill changes, and changes nothing."""

from __future__ import annotations

import pytest

from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.settling.memory.dry_run import dry_run
from tests.conformance.corpora import CORPORA
from tests.conformance.test_engines import pin
from tests.corpora import answer, change_settings, load, make_function

CHANGES = {
    "none": {},
    "reprints": {"reprint_days": 0},
    "more duplicates": {"duplicate_sentence_jaccard": 0.4},
    "common": {"common_stories": 2, "similar_pairs": 1},
    "order": {"canonical_order": "added"},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["mix_1", "reprints", "pinned_pairs"])
def test_a_dry_run_foretells_the_backfill(database: Database, name: str, changes: dict[str, object]) -> None:
    corpus = CORPORA[name]()
    change_settings(database, **corpus.settings)
    pin(database, corpus)
    load(database, *corpus.articles)
    backfill(database, workers=0, factory=make_function)
    before = answer(database)
    change_settings(database, **changes)

    told = dry_run(database, memory=100_000_000)

    assert answer(database) == before
    backfill(database, workers=0, factory=make_function)
    after = answer(database)
    changed = {
        id: (*before.marks[id][:2], *mark[:2])
        for id, mark in after.marks.items()
        if mark[:2] != before.marks[id][:2]
    }
    assert {
        d.id: (d.status, d.duplicate_of, d.new_status, d.new_duplicate_of) for d in told.differences
    } == changed
    assert sum(told.counts.values()) == len(changed)
    for difference in told.differences:
        assert (difference.new_score, difference.new_reason) == after.marks[difference.id][2:]
    assert told.articles == sum(mark[0] != "failed" for mark in after.marks.values())
    assert told.unread == 0


def test_a_dry_run_lists_some_and_counts_all(database: Database) -> None:
    corpus = CORPORA["wire_story"]()
    load(database, *corpus.articles)
    backfill(database, workers=0, factory=make_function)
    change_settings(database, duplicate_sentence_jaccard=1, duplicate_signature_jaccard=1, text_min_words=6)
    told = dry_run(database, memory=100_000_000, limit=2)
    assert len(told.differences) == 2 < sum(told.counts.values())
    assert told.counts["duplicate -> similar"] > 2
    assert told.unread == len(corpus.articles)
