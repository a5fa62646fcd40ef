"""`verify` finds and repairs tampering with every column that later answers need (promise 16)."""

from __future__ import annotations

import random
import re

import psycopg
import pytest

from dedup.base.errors import InputError
from dedup.db.database import Database
from dedup.runs.waiting import find_waiting
from dedup.settling.backfill import backfill
from dedup.settling.hook import store_for_later
from dedup.settling.verify import Verification, repair, verify
from dedup.store import rulebooks
from dedup.text.punkt import PunktModel
from tests.conftest import empty
from tests.corpora import (
    answer,
    article,
    assert_counted,
    assert_right,
    change_settings,
    code,
    load,
    make_function,
    of,
    window,
)
from tests.loops import each

OFF = "SET session_replication_role = replica; ALTER TABLE dedup.article DISABLE TRIGGER ALL; "
"""Statements that switch off every trigger and foreign key."""

ON = "; ALTER TABLE dedup.article ENABLE TRIGGER ALL; SELECT dedup.fire_always()"


TAMPERING = {
    # Tampering with marks.
    f"UPDATE dedup.article_mark SET status = 'unique', duplicate_of = NULL {of('a1')}": "a1: marked",
    f"UPDATE dedup.article_mark SET score = 0.5 {of('a1')}": "a1: marked",
    f"UPDATE dedup.article_mark SET reason = 'containment' {of('a1')}": "a1: marked",
    f"UPDATE dedup.article_mark SET status = 'failed', reason = 'empty' {of('a2')}": "it can be read",
    f"UPDATE dedup.article_mark SET status = 'unique', reason = NULL {of('empty')}": "cannot be read",
    "UPDATE dedup.article_mark SET takes_part = false": "takes no part",
    f"UPDATE dedup.article_mark SET takes_part = true {of('empty')}": "was never settled",
    "INSERT INTO dedup.pair_pin VALUES ('a0', 'a9', 'duplicate');"
    " UPDATE dedup.article_mark SET stale = false": "a9: ",
    "INSERT INTO dedup.pair_pin VALUES ('a0', 'a1', 'unrelated');"
    " UPDATE dedup.article_mark SET stale = false": "a1: marked",
    f"DELETE FROM dedup.article_mark {of('a1')}": "articles whose mark is missing",
    f"UPDATE dedup.article_mark SET time = now() {of('a1')}": "or disagrees with the article",
    "INSERT INTO dedup.article_mark (id, time) VALUES (4711, now())": "marks that belong to no article",
    # Tampering with fingerprints, also of articles that are not settled yet.
    "UPDATE dedup.fingerprint SET shingle_count = 1": "does not match the text",
    "UPDATE dedup.fingerprint SET word_count = 1": "does not match the text",
    "UPDATE dedup.fingerprint SET version = 1": "does not match the text",
    "UPDATE dedup.fingerprint SET content_hash = 1": "does not match the text",
    "UPDATE dedup.fingerprint SET buckets = '{}'": "does not match the text",
    "UPDATE dedup.fingerprint SET signature = ''": "does not match the text",
    f"UPDATE dedup.article_mark SET stale = true {of('a3')};"
    " UPDATE dedup.fingerprint SET sentence_hashes = '{1}' WHERE article_id = (SELECT id FROM dedup.article"
    " WHERE source_id = 'a3')": "a3: the stored fingerprint does not",
    "UPDATE dedup.fingerprint SET revision = 5": "from another revision",
    "UPDATE dedup.article SET revision = 5": "from another revision",
    "UPDATE dedup.fingerprint SET canonical = NOT canonical": "canonical flag",
    "DELETE FROM dedup.fingerprint": "has no fingerprint",
    "INSERT INTO dedup.fingerprint SELECT a.id, 1, 0, 1, '{}', '', '{}', 1, 1, true"
    " FROM dedup.article_mark a WHERE a.status = 'failed'": "failed but has a fingerprint",
    # Tampering with credits.
    "DELETE FROM dedup.credit": "a4: credits none, should be AFP (byline)",
    "UPDATE dedup.credit SET place = 'end'": "a4: credits AFP (end), should be AFP (byline)",
    "UPDATE dedup.credit SET agency_id = g.id FROM dedup.agency g WHERE g.name = 'dpa'": "a4: credits dpa",
    "UPDATE dedup.credit SET agency_id = 4711": "a4: credits agency 4711 (byline)",
    "UPDATE dedup.credit SET article_id = 4711": "credits that belong to no article or no agency: 1",
    "UPDATE dedup.credit SET article_id = a.id FROM dedup.article a"
    " WHERE a.source_id = 'empty'": "empty: it failed but has credits",
    # Tampering with pairs.
    "DELETE FROM dedup.match": "missing from the matches",
    "UPDATE dedup.match SET containment = 0.1": "wrongly in the matches",
    "UPDATE dedup.match SET rule = 'pinned'": "wrongly in the matches",
    "UPDATE dedup.match SET best_match = false": "the matches",
    "INSERT INTO dedup.match (article_id, other_id, relation, rule, score, sentence_jaccard,"
    " signature_jaccard, containment) SELECT f.id, a.id, 'similar', 'content', 1, 1, 1, 1"
    " FROM dedup.article a, dedup.article_mark f"
    " WHERE a.source_id = 'a0' AND f.status = 'failed'": "or pairs",
    f"{OFF} DELETE FROM dedup.article WHERE source_id = 'a0' {ON}": "belong to no article",
    # Tampering with counts and state.
    "INSERT INTO dedup.common_sentence (sentence_hash, carriers, effective_stories)"
    " VALUES (7, 99, 99)": "common sentence 7",
    "DELETE FROM dedup.common_sentence": "common sentence",
    "UPDATE dedup.common_sentence SET carriers = 3": "common sentence",
    "INSERT INTO dedup.sentence_count (sentence_hash, carriers, pairs) VALUES (7, 99, 0)": "sentence 7",
    "DELETE FROM dedup.sentence_count": "count of sentence",
    "UPDATE dedup.corpus_state SET settled_through = '2000-01-01'": "later than `settled_through`",
    "UPDATE dedup.corpus_state SET rule_digest = 'another'": "made with other settings",
    "UPDATE dedup.corpus_state SET fingerprint_digest = 'another'": "made with other settings",
    "UPDATE dedup.setting SET adopted = '9' WHERE name = 'common_stories'": "made with other settings",
    "ALTER TABLE dedup.article DISABLE TRIGGER article_edit": "triggers that are not ENABLE ALWAYS",
    "ALTER TABLE dedup.fingerprint ENABLE TRIGGER fingerprint_came": "triggers that are not ENABLE ALWAYS",
    "DELETE FROM dedup.key_segment; DELETE FROM dedup.recent_key": "missing some index entries",
    "ALTER TABLE dedup.settle_turn DISABLE TRIGGER ALL; DELETE FROM dedup.settle_turn": "settle_turn",
}


def check(database: Database, sample: int | None = None) -> Verification:
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
    return verify(database, rulebook, sample=sample)


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a settled corpus with duplicates, similar articles, a common sentence and a failed article."""
    change_settings(database, common_stories=2, furniture_sentences=100)
    load(database, *(article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(10)))
    load(
        database, article("a4", [*window(4, 6), code(99)], 4, byline="Ada Roe, AFP"), article("empty", [], 50)
    )
    backfill(database, workers=0, factory=make_function)
    assert check(database).differences == []
    return database


def tamper(database: Database, statement: str) -> None:
    with psycopg.connect(database.url) as connection:
        connection.execute("SET dedup.settling = 'on'")
        connection.execute(statement.encode())


@pytest.mark.long("dedup", "migrations")
@each("statement", TAMPERING)  # all cases share a corpus, because each case repairs it
def test_what_was_tampered_with_is_found_and_healed(filled: Database, statement: str) -> None:
    tamper(filled, statement)
    found = check(filled)
    assert any(TAMPERING[statement] in line for line in found.differences), found.differences
    repair(filled, found.repairs)
    backfill(filled, workers=0, factory=make_function)
    assert check(filled).differences == []
    assert_right(filled)
    assert_counted(filled)


def test_sentence_parameters_that_are_not_those_of_their_checksum(filled: Database) -> None:
    def train() -> None:
        with filled.transaction(settling=True) as cursor:
            rulebooks.store_model(cursor, "xx", PunktModel(frozenset({"abc"})), 1)

    train()
    backfill(filled, workers=0, factory=make_function)
    again = "are damaged: train them again .* `dedup train-sentences xx FILE`"
    tamper(filled, "UPDATE dedup.sentence_model SET abbrev_types = 'def'")
    found = check(filled)
    assert re.search(again, "\n".join(found.by_hand))
    assert not found.repairs.others, "a repair could not restore them"
    tamper(filled, "UPDATE dedup.sentence_model SET collocations = 'no tab'")
    with pytest.raises(InputError, match=again):
        check(filled)
    train()
    assert check(filled).differences == []
    with filled.transaction() as cursor:
        assert not find_waiting(cursor).settling, "equal parameters change nothing"


BOOKKEEPING = [
    f"UPDATE dedup.article_mark SET score = 0.51 {of('a1')}",
    "UPDATE dedup.article_mark SET status = 'unique', duplicate_of = NULL, score = NULL, reason = NULL"
    f" {of('a1')}",
    "UPDATE dedup.fingerprint SET revision = 5 WHERE article_id = (SELECT min(id) FROM dedup.article)",
    "DELETE FROM dedup.match WHERE article_id = (SELECT id FROM dedup.article WHERE source_id = 'a1')",
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statement", BOOKKEEPING)
def test_a_sample_misses_no_row_of_the_bookkeeping(filled: Database, statement: str) -> None:
    tamper(filled, statement)
    found = check(filled, sample=1)
    assert found.found
    assert any("not in the sample" in line for line in found.skipped)


def test_what_is_not_checked_is_said(filled: Database) -> None:
    load(filled, article("pending", window(3, 6), 3))
    with psycopg.connect(filled.url) as connection:
        connection.execute("SELECT FROM dedup.article WHERE source_id = 'a1' FOR UPDATE")
        store_for_later(filled, article("a1", window(9, 6), 4))
    tamper(filled, "INSERT INTO dedup.sentence_pin VALUES (8, true)")
    tamper(filled, "UPDATE dedup.article SET byline = 'dpa' WHERE source_id IN ('a2', 'a4')")
    skipped = " ".join(check(filled).skipped)
    assert "the marks of 1 pending or stale" in skipped
    assert "1 deferred version of articles" in skipped
    assert "the common sentences" in skipped
    assert "the credits of 2 articles, which wait to be read" in skipped


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", range(4))
def test_deleted_rows_are_found_and_repaired(database: Database, seed: int) -> None:
    """Rows of fingerprints, pairs or counts are deleted at random, and no trigger notices."""
    rng = random.Random(seed)
    for _ in range(3):
        empty(database)
        change_settings(database, common_stories=rng.choice([2, 3]))
        names = range(rng.randint(6, 14))
        load(database, *(article(f"a{i}", [*window(rng.randrange(14), 6), code(99)], i) for i in names))
        backfill(database, workers=0, factory=make_function)
        before = answer(database)
        table = rng.choice(["fingerprint", "match", "sentence_count", "common_sentence"])
        tamper(
            database,
            f"SET session_replication_role = replica; ALTER TABLE dedup.{table} DISABLE TRIGGER ALL;"
            f" DELETE FROM dedup.{table} WHERE random() < 0.5;"
            f" ALTER TABLE dedup.{table} ENABLE TRIGGER ALL; SELECT dedup.fire_always()",
        )
        found = check(database)
        repair(database, found.repairs)
        backfill(database, workers=0, factory=make_function)
        assert answer(database) == before
        assert check(database).differences == []
        assert_counted(database)
