"""Counts of sentences are updated from few rows, and equal the counts of a full count.

See docs/semantics.md, section 2.
"""

from __future__ import annotations

import random

import psycopg
import pytest

from dedup.base.article import Article
from dedup.db.database import Database
from dedup.settling import refresh as refresh_module
from dedup.settling.backfill import backfill
from dedup.settling.refresh import refresh
from dedup.store import common_sentences, pins, rulebooks, setting_rows
from tests.corpora import (
    article,
    assert_counted,
    at,
    change_settings,
    code,
    expected,
    fingerprint_waiting,
    load,
    make_function,
    sentence_hash,
    window,
)

pytestmark = pytest.mark.timeout(120)

FURNITURE = [code(900 + i) for i in range(3)]


def count(database: Database, *, full: bool = False) -> None:
    with database.transaction(settling=True) as cursor:
        while fingerprint_waiting(cursor):
            pass
        rulebook = rulebooks.load_rulebook(cursor)
    refresh(database, rulebook, full=full)


def assert_common(database: Database) -> None:
    """Check the counts and the common sentences against a full count."""
    assert_counted(database)
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT sentence_hash, effective_stories FROM dedup.common_sentence").fetchall()
    assert dict(rows) == expected(database).common


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.one_in(3)
def test_the_difference_is_a_recount(database: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(refresh_module, "CHANGES_PER_TRANSACTION", 2)
    rng = random.Random(seed)
    change_settings(database, common_stories=rng.choice((2, 3, 5)))
    names = [f"a{i}" for i in range(30)]
    count(database, full=True)
    for _ in range(12):
        for _ in range(rng.randint(1, 4)):
            chosen = rng.sample(names, rng.randint(1, 8))
            match rng.randrange(4):
                case 0:
                    with database.transaction() as cursor:
                        cursor.execute("DELETE FROM dedup.article WHERE source_id = ANY (%s)", [chosen])
                case 1:
                    with database.transaction() as cursor:
                        key = sentence_hash(rng.choice([*FURNITURE, *window(0, 6)]))
                        if rng.random() < 0.5:
                            pins.pin_sentence(cursor, key, rng.random() < 0.5, None)
                        else:
                            pins.unpin_sentences(cursor, [key])
                case _:
                    bodies = [
                        [*window(rng.randrange(9) * 2, 5, ring=18), rng.choice(FURNITURE)] for _ in chosen
                    ]
                    load(database, *map(article, chosen, bodies))
            if rng.random() < 0.5:  # an article may come, go and come again between two counts
                with database.transaction(settling=True) as cursor:
                    fingerprint_waiting(cursor)
        count(database)
        assert_common(database)


CARRIERS = 5_000
FILL = """
    INSERT INTO dedup.article (source_id, text) SELECT 'a' || i, 'A text.' FROM generate_series(1, %s) i
"""
PRINTS = """
    INSERT INTO dedup.fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature,
                                   buckets, word_count, shingle_count)
    SELECT id, 1, 0, hashint8extended(id, 1), ARRAY[{sentence}, hashint8extended(id, 2)], '',
           ARRAY(SELECT hashint8extended(id, k) FROM generate_series(200, 215) k), 100, 30
    FROM dedup.article
"""


@pytest.mark.long("dedup", "migrations")
def test_the_carriers_of_a_frequent_sentence_are_not_read_again(database: Database) -> None:
    frequent = code(990)
    with psycopg.connect(database.url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(FILL, [CARRIERS])
        connection.execute(PRINTS.format(sentence=sentence_hash(frequent)).encode())
    backfill(database, workers=0, factory=make_function)
    load(database, *(article(f"new {i}", [*window(40 * i, 6, ring=1_000), frequent], i) for i in range(3)))
    with database.transaction(settling=True) as cursor:
        fingerprint_waiting(cursor)
        settings = setting_rows.load_settings(cursor)
    connection = database.connect()  # a separate connection, because Postgres counts rows per session
    with connection.transaction(force_rollback=True), connection.cursor(binary=True) as cursor:
        common_sentences.take_changes(cursor)
        counts = common_sentences.count_changed(cursor, settings)
        row = cursor.execute(
            "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
            " WHERE relid = 'dedup.fingerprint'::regclass"
        ).fetchone()
    connection.close()
    found = {c.sentence_hash: (c.carriers, c.pairs) for c in counts}
    assert found[sentence_hash(frequent)] == (CARRIERS + 3, 0)
    assert row is not None
    assert row[0] < 300, row  # three articles with 16 buckets and 7 sentences each


def test_an_interrupted_count_is_done_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    change_settings(database, common_stories=2)
    load(database, *(article(f"a{i}", [*window(40 * i, 5, ring=1_000), *FURNITURE], i) for i in range(4)))
    monkeypatch.setattr(refresh_module, "CHANGES_PER_TRANSACTION", 1)
    real, calls = common_sentences.apply, 0

    def dying(*given: object, **named: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        real(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(common_sentences, "apply", dying)
        with pytest.raises(KeyboardInterrupt):
            count(database)
    count(database)
    assert_common(database)


def test_carriers_without_shingles_agree_band_by_band(database: Database) -> None:
    """Equal bucket keys of different bands do not count as agreement."""
    change_settings(database, common_stories=1, text_min_words=6)
    shared = "Merchants traded copper, silver, velvet, lanterns."
    bodies = [f"{shared} {'Harbour' + name} {'workers' + name} loaded barrels, timber." for name in "abca"]
    load(database, *(Article(str(i), body, published_at=at(i)) for i, body in enumerate(bodies)))
    count(database, full=True)
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT DISTINCT shingle_count, cardinality(buckets) FROM dedup.fingerprint")
        assert rows.fetchall() == [(0, 16)]
    assert_common(database)
