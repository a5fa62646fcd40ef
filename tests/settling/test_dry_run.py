"""A dry run reports which marks the next backfill changes, and changes nothing."""

from __future__ import annotations

import pytest

from dedup.base.errors import InputError, SettingError
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.settling.memory.dry_run import dry_run
from dedup.store import rulebooks
from tests.conformance.corpora import CORPORA
from tests.conformance.test_engines import pin
from tests.corpora import answer, article, change_settings, load, make_function, window

CHANGES = {
    "none": {},
    "reprints": {"reprint_days": 0},
    "more duplicates": {"duplicate_sentence_jaccard": 0.4},
    "common": {"common_stories": 2, "similar_pairs": 1},
    "order": {"canonical_order": "added"},
    "texts": {"sentence_min_characters": 60, "stop_word_length": 5, "reprint_days": 0},
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["mix_1", "reprints", "pinned_pairs"])
def test_a_dry_run_foretells_the_backfill(database: Database, name: str, changes: dict[str, object]) -> None:
    corpus = CORPORA[name]()
    change_settings(database, **corpus.settings)
    pin(database, corpus)
    load(database, *corpus.articles)
    backfill(database, workers=0, factory=make_function)
    before = answer(database)

    told = dry_run(database, changes, memory=100_000_000)

    assert answer(database) == before
    with database.transaction() as cursor:
        assert not rulebooks.find_adoption(cursor)
    change_settings(database, **changes)
    if "stop_word_length" not in changes:
        assert dry_run(database, memory=100_000_000) == told
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


def test_texts_that_would_fail_are_told(database: Database) -> None:
    load(database, article("long", range(0, 400, 4)), article("copy", range(0, 400, 4), 1))
    load(database, article("other", range(4_000, 4_024, 4)))
    backfill(database, workers=0, factory=make_function)
    told = dry_run(database, {"text_max_characters": 1_000}, memory=100_000_000)
    assert told.counts == {"duplicate -> failed": 1, "unique -> failed": 1}
    assert {(one.id, one.new_status, one.new_duplicate_of) for one in told.differences} == {
        (name, "failed", None) for name in ("long", "copy")
    }
    assert told.articles == 3


def test_settings_that_cannot_be_tried_are_refused(database: Database) -> None:
    for changes, words in (
        ({"hash_key": "k" * 32}, "hash_key cannot be tried"),
        ({"keep_window": "90d"}, "dedup prune --older-than AGE --dry-run"),
        ({"thresholds": 1}, "unknown setting"),
    ):
        with pytest.raises(SettingError, match=words):
            dry_run(database, changes)
    load(database, *(article(f"a{i}", window(i, 6)) for i in range(3)))
    backfill(database, workers=0, factory=make_function)
    with pytest.raises(InputError, match="new fingerprints of 3 articles need 1 MB"):
        dry_run(database, {"text_min_words": 6}, memory=2_000)
