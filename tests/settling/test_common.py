"""Common sentences, and the effects of their changes (docs/semantics.md, section 2)."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import psycopg
import pytest

from dedup.base.article import Article
from dedup.db.database import Database
from dedup.settling.backfill import BackfillReport, backfill
from dedup.store import pins
from dedup.text.fingerprint import ALGORITHM_REVISION
from tests.corpora import (
    Code,
    answer,
    article,
    assert_consistent,
    assert_right,
    change_settings,
    code,
    deduplicator,
    load,
    make_function,
    sentence,
    sentence_hash,
    window,
)

pytestmark = pytest.mark.timeout(120)

BYLINE = code(500)
"""A sentence that articles of different stories share."""


def run(database: Database, full: bool | None = None) -> BackfillReport:
    report = backfill(database, workers=0, factory=make_function, full_count=full)
    assert_right(database)
    return report


def pin(database: Database, given: Code, common: bool) -> None:
    with database.transaction() as cursor:
        pins.pin_sentence(cursor, sentence_hash(given), common, None)


def with_byline(first: int, count: int) -> list[Article]:
    """Make articles of different stories that share a byline."""
    return [
        article(f"by {i}", [*window(20 * i, 6, ring=10_000), BYLINE], i) for i in range(first, first + count)
    ]


def test_a_wire_story_printed_300_times_keeps_its_sentences(database: Database) -> None:
    rng = random.Random(1)
    copies = []
    for i in range(300):
        codes = window(0, 20, ring=100)
        for _ in range(rng.randrange(3)):  # change a word in up to two sentences
            codes[rng.randrange(len(codes))] += rng.randrange(2)
        codes = codes[: rng.choice((20, 20, 19, 18))]
        copies.append(article(f"copy {i:03}", codes, i))
    load(database, *copies)
    run(database)
    found = answer(database)
    assert found.common == {}
    assert found.marks["copy 000"][0] == "unique"
    assert {mark[1] for name, mark in found.marks.items() if name != "copy 000"} == {"copy 000"}


@pytest.mark.long("dedup", "migrations")
def test_copies_with_lines_of_their_own_do_not_pass_for_stories(database: Database) -> None:
    """Copies count as one story even if every third copy has two paragraphs more.

    Different articles, in contrast, count as many stories.
    """
    copies = [
        article(
            f"copy {i:02}",
            [*window(0, 12, ring=100), *([code(900 + i), code(950 + i)] if i % 3 == 0 else [])],
            i,
        )
        for i in range(60)
    ]
    load(database, *copies, *with_byline(20, 11))
    change_settings(database, common_stories=2)
    run(database)
    assert list(answer(database).common) == [sentence_hash(BYLINE)]
    change_settings(database, common_stories=1)
    run(database)
    stories = answer(database).common
    assert sorted(stories) == sorted(map(sentence_hash, [BYLINE, *window(0, 12, ring=100)]))
    assert all(1 < stories[sentence_hash(c)] < 2 for c in window(0, 12, ring=100))


def test_furniture_that_is_most_of_its_pages_is_common(database: Database) -> None:
    """Pages that share some buckets by chance still count as many stories."""
    furniture = [code(800 + i) for i in range(7)]
    pages = [article(f"page {i:02}", [*furniture, *window(20 * i, 4, ring=10_000)], i) for i in range(60)]
    load(database, *pages)
    run(database)
    found = answer(database)
    assert sorted(found.common) == sorted(map(sentence_hash, furniture))
    assert all(10 < stories < 60 for stories in found.common.values())


def test_as_many_stories_as_the_limit_are_not_too_many(database: Database) -> None:
    """Ten unlike articles have exactly 10 effective stories, which do not exceed a limit of 10."""
    load(database, *with_byline(0, 10))
    run(database)
    assert answer(database).common == {}
    change_settings(database, common_stories=9)
    run(database)
    assert answer(database).common == {sentence_hash(BYLINE): 10.0}


def test_ten_stories_in_two_papers_each_are_ten(database: Database) -> None:
    """Copies in second papers, loaded later, leave the number of effective stories at ten."""
    first = with_byline(0, 10)
    load(database, *first)
    run(database)
    load(database, *(replace(a, source_id=f"again {i}") for i, a in enumerate(first)))
    run(database, full=False)
    assert answer(database).common == {}
    load(database, *with_byline(10, 1))
    run(database, full=False)
    ((sentence, stories),) = answer(database).common.items()
    assert sentence == sentence_hash(BYLINE)
    assert stories == pytest.approx(21**2 / (10 * 2**2 + 1))


def test_a_corpus_of_an_older_revision_is_fingerprinted_and_counted_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = with_byline(0, 10)
    twice = [replace(a, source_id=f"again {i}") for i, a in enumerate(first)]
    load(database, *first, *twice)

    def stored() -> tuple[list[tuple[int, bytes]], list[int], int]:
        with database.transaction() as cursor:
            made = cursor.execute("SELECT version, signature FROM dedup.fingerprint").fetchall()
            common = cursor.execute("SELECT sentence_hash FROM dedup.common_sentence").fetchall()
            revision = cursor.execute("SELECT algorithm_revision FROM dedup.corpus_state").fetchall()
            return made, [row[0] for row in common], revision[0][0]

    with monkeypatch.context() as older:
        # Compute as revision 2 did: a signature has the lowest byte of each value, without mixing. Common
        # sentences are counted by pairs of two different carriers only.
        older.setattr("dedup.text.fingerprint.ALGORITHM_REVISION", 2)
        older.setattr("dedup.store.rulebooks.ALGORITHM_REVISION", 2)
        # Use the Python code, which can be patched.
        older.setattr("dedup.text.fingerprint.library", lambda: None)
        older.setattr("dedup.text.batch.signature", lambda values: values.astype(np.uint8))
        older.setattr(
            "dedup.store.common_sentences.is_common", lambda m, p, b, limit: p * limit < b * m * (m - 1)
        )
        with database.transaction() as cursor:
            cursor.execute("UPDATE dedup.corpus_state SET algorithm_revision = 2")
        backfill(database, workers=0)
        before, common, revision = stored()
        assert (common, revision) == ([sentence_hash(BYLINE)], 2)
    report = backfill(database, workers=0)
    assert report.fingerprinted == len(first) + len(twice)
    after, common, revision = stored()
    assert (common, revision) == ([], ALGORITHM_REVISION)
    assert not {row[0] for row in before} & {row[0] for row in after}
    assert not {bytes(row[1]) for row in before} & {bytes(row[1]) for row in after}
    assert_right(database)
    assert not backfill(database, workers=0).fingerprinted


@pytest.mark.long("dedup", "migrations")
def test_a_sentence_of_10_000_articles_is_common(database: Database) -> None:
    with psycopg.connect(database.url) as connection:
        connection.execute("""
            INSERT INTO dedup.article (source_id, text)
            SELECT 'a' || i, 'A text.' FROM generate_series(1, 10000) i
        """)
        connection.execute("""
            INSERT INTO dedup.fingerprint
                (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                 word_count, shingle_count)
            SELECT id, 1, 0, hashint8extended(id, 1),
                   ARRAY[4711] || ARRAY(SELECT hashint8extended(id, k) FROM generate_series(100, 104) k),
                   decode(repeat(lpad(to_hex(id), 8, '0'), 64), 'hex'),
                   ARRAY(SELECT hashint8extended(id, k) FROM generate_series(200, 215) k), 100, 30
            FROM dedup.article
        """)
    report = backfill(database, workers=0, factory=make_function)
    assert (report.common_entered, report.settled, report.compared) == (1, 10_000, 0)
    found = answer(database)
    assert found.common == {4711: 10_000}
    assert {mark[0] for mark in found.marks.values()} == {"unique"}


def test_a_sentence_becomes_common_and_stops_being_it(database: Database) -> None:
    load(database, *with_byline(0, 10))
    assert run(database).common_entered == 0
    load(database, *with_byline(10, 1))
    report = run(database)
    assert (report.common_entered, report.common_left) == (1, 0)
    assert answer(database).common == {sentence_hash(BYLINE): 11}
    with database.transaction() as cursor:
        row = cursor.execute("SELECT example FROM dedup.common_sentence").fetchone()
    assert row == (sentence(BYLINE),)
    with database.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.article WHERE source_id = 'by 3'")
    report = run(database)
    assert (report.common_entered, report.common_left) == (0, 1)
    assert answer(database).common == {}


def test_articles_alike_only_in_a_common_sentence_are_not_alike(database: Database) -> None:
    signatures = {"duplicate_signature_jaccard": 0.9, "similar_signature_jaccard": 0.9}
    change_settings(database, common_stories=2, text_min_words=6, evidence_sentences=1, **signatures)
    short = [article(f"s{i}", [code(600 + i), BYLINE], i) for i in range(8)]
    load(database, *short[:2])
    run(database)
    assert set(answer(database).status().values()) == {"similar"}
    load(database, *short[2:])
    run(database)
    assert set(answer(database).status().values()) == {"unique"}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("full", [True, False])
def test_counting_what_changed_is_counting_everything(database: Database, full: bool) -> None:
    change_settings(database, common_stories=3)
    articles = with_byline(0, 12)
    for start in range(0, 12, 3):
        load(database, *articles[start : start + 3])
        run(database, full)
    deduplicator(database).delete_many([f"by {i}" for i in range(10)])
    run(database, full)
    assert answer(database).common == {}


def test_pinned_sentences(database: Database) -> None:
    load(database, *with_byline(0, 12))
    run(database)
    pin(database, BYLINE, False)
    assert run(database).common_left == 1
    assert answer(database).common == {}
    own = window(0, 6)[0]
    pin(database, own, True)
    run(database)
    assert answer(database).common == {sentence_hash(own): 1}
    with database.transaction() as cursor:
        assert pins.unpin_sentences(cursor, [sentence_hash(own), sentence_hash(BYLINE)]) == 2
    run(database)
    assert answer(database).common == {sentence_hash(BYLINE): 12}


def test_a_pinned_sentence_keeps_its_count_while_others_are_counted(database: Database) -> None:
    load(database, *with_byline(0, 5))
    pin(database, BYLINE, True)
    run(database)
    assert answer(database).common == {sentence_hash(BYLINE): 5}
    load(database, article("another", window(9_000, 6, ring=10_000), 0))
    assert run(database, full=False).common_entered == 0
    assert answer(database).common == {sentence_hash(BYLINE): 5}


def test_a_pinned_sentence_that_nobody_carries(database: Database) -> None:
    load(database, *with_byline(0, 3))
    pin(database, code(700), True)
    run(database)
    assert answer(database).common == {sentence_hash(code(700)): 0}


def test_the_hook_never_changes_what_is_common(database: Database) -> None:
    load(database, *with_byline(0, 12))
    run(database)
    before = answer(database).common
    corpus = deduplicator(database)
    for given in with_byline(12, 5):
        assert corpus.submit(given).status == "unique"
    corpus.delete_many([f"by {i}" for i in range(12)])
    assert answer(database).common == before
    assert_consistent(database)
    run(database)
    assert answer(database).common == {}
