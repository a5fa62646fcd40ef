"""Settling stays fast as the corpus grows: it reads few rows, and no whole table.

See docs/reliability.md, promise 8. The planner's statistics are as misleading as possible: they were taken
when every article was pending. Postgres itself counts the rows, per transaction and table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database, hold_settle_lock, one_row
from dedup.settling import hook, segments
from dedup.settling.backfill import backfill
from dedup.settling.lookup import lookup
from dedup.settling.settle import settle
from dedup.store import changes, common_sentences, credits, opening, rulebooks, settling, stories
from dedup.store.fingerprints import count, waiting_page
from tests.conftest import Server
from tests.corpora import article, make_function, window

pytestmark = pytest.mark.timeout(300)

ARTICLES = 20_000
LARGE = ("article", "article_mark", "fingerprint", "match", "common_sentence", "sentence_count")
ROWS = 600
"""Maximum number of rows that may be fetched for an article, which has about 10 relatives and 36 keys."""

SHARED = 10
"""Number of needless fingerprints that a look-up of all keys may fetch: keys are stored with fewer bits, so
different keys may look equal."""

FILL = """
    SET LOCAL dedup.settling = 'on';
    INSERT INTO dedup.article (source_id, published_at, publication, url, text)
    SELECT 'synthetic ' || i, timestamptz '2020-01-01' + i * interval '1 minute', 'Outlet ' || i %% 50,
           'https://example.com/' || i, 'A text.'
    FROM generate_series(1, %(count)s) i;
    INSERT INTO dedup.fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature,
                                   buckets, word_count, shingle_count)
    SELECT id, 1, 0, hashint8extended(id, 1),
           ARRAY(SELECT hashint8extended(id, k) FROM generate_series(100, 119) k),
           decode(repeat(lpad(to_hex(id), 8, '0'), 64), 'hex'),
           ARRAY(SELECT hashint8extended(id, k) FROM generate_series(200, 215) k),
           400, 100
    FROM dedup.article;
    ANALYZE dedup.article, dedup.fingerprint;
    UPDATE dedup.fingerprint SET canonical = article_id %% 4 <> 0;
    UPDATE dedup.article_mark SET takes_part = true,
                             status = CASE WHEN id %% 4 <> 0 THEN 'similar' ELSE 'duplicate' END,
                             duplicate_of = CASE WHEN id %% 4 = 0 THEN id - 1 END, score = 0.8,
                             reason = 'sentences';
    INSERT INTO dedup.match
    SELECT id, id - 1, CASE WHEN id %% 4 <> 0 THEN 'similar' ELSE 'duplicate' END,
           'sentences', 0.8, 0.8, 0.8, 0.9
    FROM dedup.article WHERE id > 1;
    INSERT INTO dedup.common_sentence (sentence_hash, carriers, effective_stories)
    SELECT hashint8extended(id, 3), 11, 11 FROM dedup.article;
    INSERT INTO dedup.sentence_count (sentence_hash, carriers, pairs)
    SELECT hashint8extended(id, 3), 11, 0 FROM dedup.article;
    DELETE FROM dedup.sentence_change;
    UPDATE dedup.corpus_state SET recount_all = false, settled_through = now();
"""


@pytest.fixture(scope="module")
def large(server: Server) -> Iterator[Database]:
    """Yield a corpus of synthetic articles and a few submitted articles."""

    database = Database(server.create("dedup_plans"))
    opening.initialize(database)
    with psycopg.connect(database.url, cursor_factory=psycopg.ClientCursor) as connection:
        for table in LARGE:  # autovacuum would correct the statistics in the middle of the tests
            connection.execute(f"ALTER TABLE dedup.{table} SET (autovacuum_enabled = false)".encode())
        connection.execute(FILL, {"count": ARTICLES})
    assert segments.merge(database, 0)
    with Deduplicator(database.url) as corpus:
        for i in range(10):
            corpus.submit(article(f"real {i}", window(i, 6), i))
    yield database
    database.close()


Change = Callable[[Cursor], object]


@contextmanager
def rolled_back(database: Database, *, settling: bool = False) -> Iterator[Cursor]:
    """Open a transaction in a separate session, because Postgres counts rows per session.

    Args:
        settling: take the settle lock, as every transaction that settles does.
    """
    connection = database.connect()
    connection.patience = 300  # the explained statements take long
    with connection.transaction(force_rollback=True), connection.cursor(binary=True) as cursor:
        if settling:
            hold_settle_lock(cursor)
        yield cursor
    connection.close()


def rows_read(cursor: Cursor) -> dict[str, tuple[int, int]]:
    """Return for each table the rows that this transaction read by sequential scans and by index scans."""
    found = cursor.execute(
        "SELECT relname, seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables"
        " WHERE schemaname = 'dedup'::regnamespace::text"
    ).fetchall()
    return {name: (by_scan, by_index or 0) for name, by_scan, by_index in found if name in LARGE}


def check(cursor: Cursor, most: int = ROWS, lookups: int = 5) -> None:
    found = rows_read(cursor)
    assert all(by_scan == 0 for by_scan, _ in found.values()), found
    _, fingerprints = found.pop("fingerprint")
    assert fingerprints <= most + lookups * SHARED, fingerprints
    assert all(by_index <= most for _, by_index in found.values()), found


def rulebook_of(cursor: Cursor) -> rulebooks.Rulebook:
    return rulebooks.load_rulebook(cursor)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "given",
    [
        article("new", window(3, 6), 20),
        article("late", window(3, 6), -20),
        article("alone", window(500, 6, ring=10_000), 20),
        article("real 4", window(8, 6), 3),
        article("real 0", window(5, 6), 30),
    ],
    ids=["new", "comes late", "unlike all", "edit", "edit of an original"],
)
def test_a_hook(large: Database, given: Any) -> None:
    with rolled_back(large, settling=True) as cursor:
        rulebook = rulebook_of(cursor)
        hook.submit(cursor, rulebook, given, hook.fingerprint(rulebook, given))
        check(cursor)
    with rolled_back(large) as cursor:
        made = hook.fingerprint(rulebook, given).fingerprint
        assert made
        hook.settle_new(lambda *asked: cursor.execute(*asked).fetchall(), rulebook, given, made)
        check(cursor)


@pytest.mark.long("dedup", "migrations")
def test_a_deletion(large: Database) -> None:
    with rolled_back(large, settling=True) as cursor:
        hook.delete(cursor, rulebook_of(cursor).settings, ["real 0", "real 5"])
        check(cursor)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM dedup.article WHERE source_id = 'synthetic 4711'",
        "DELETE FROM dedup.article WHERE source_id IN ('real 0', 'real 1', 'real 2')",
        "UPDATE dedup.article SET text = 'Another text.' WHERE source_id = 'synthetic 4711'",
        "UPDATE dedup.article SET published_at = now() WHERE source_id = 'real 0'",
    ],
)
def test_plain_sql(large: Database, statement: str) -> None:
    with rolled_back(large) as cursor:
        cursor.execute(statement.encode())
        check(cursor)


@pytest.mark.long("dedup", "migrations")
def test_many_deletions_by_plain_sql(large: Database) -> None:
    with rolled_back(large) as cursor:
        cursor.execute("DELETE FROM dedup.article WHERE source_id LIKE 'synthetic 1___'")
        found = rows_read(cursor)
        # Only the condition of the DELETE reads all articles, once.
        assert found["article"][0] <= ARTICLES + 100, found
        assert found["match"][0] == found["fingerprint"][0] == 0, found


@pytest.mark.long("dedup", "migrations")
def test_a_look_up(large: Database) -> None:
    with rolled_back(large) as cursor:
        assert lookup(cursor, rulebook_of(cursor), article("new", window(3, 6), 20)).is_duplicate
        check(cursor)


@pytest.mark.long("dedup", "migrations")
def test_a_batch(large: Database) -> None:
    with rolled_back(large, settling=True) as cursor:
        cursor.execute("SELECT count(*) FROM dedup.make_stale(ARRAY(SELECT generate_series(1001, 1100)))")
        assert len(settle(cursor, rulebook_of(cursor).settings, limit=1_000).ids) == 100
        # 50 rows for each article: it looks up 36 keys, and also finds others with the same index entries.
        check(cursor, 100 * 50, 100)


@pytest.mark.long("dedup", "migrations")
def test_looking_for_work(large: Database) -> None:
    with rolled_back(large, settling=True) as cursor:
        # A backfill analyses these tables at its end.
        cursor.execute("ANALYZE dedup.article, dedup.article_mark, dedup.fingerprint")
        assert count(cursor, "unfingerprinted") == count(cursor, "unsettled") == 0
        assert not waiting_page(cursor, None, 500).articles
        assert not settle(cursor, rulebook_of(cursor).settings, limit=1_000).ids
        check(cursor, 10)


@pytest.mark.long("dedup", "migrations")
def test_a_page_of_waiting_articles_reads_few_rows(large: Database) -> None:
    """Pages that sort 1,000,000 waiting articles would take hours."""
    with rolled_back(large, settling=True) as cursor:
        cursor.execute("UPDATE dedup.article SET revision = revision + 1")
        cursor.execute("UPDATE dedup.article_mark SET stale = true")
        after = None
        for _ in range(3):
            before = rows_read(cursor)
            page = waiting_page(cursor, after, 100)
            assert len(page.articles) == 100
            after = page.last
            for table, (by_scan, by_index) in rows_read(cursor).items():
                assert by_scan == before[table][0]
                assert by_index - before[table][1] <= 4 * 100, table


@pytest.mark.long("dedup", "migrations")
def test_counting_what_changed(large: Database) -> None:
    with rolled_back(large, settling=True) as cursor:
        cursor.execute("ANALYZE dedup.article, dedup.article_mark, dedup.fingerprint")
        rulebook = rulebook_of(cursor)
        given = article("new", window(3, 6), 20)
        hook.submit(cursor, rulebook, given, hook.fingerprint(rulebook, given))
        _, taken, _ = common_sentences.take_changes(cursor)
        counts = common_sentences.count_changed(cursor, rulebook.settings)
        changes = common_sentences.find_changes(cursor, counts, rulebook.settings, everything=False)
        common_sentences.apply(cursor, changes, common_sentences.find_rescored(cursor, changes), {})
        common_sentences.finish(cursor, counts, taken, rulebook.settings, everything=False)
        check(cursor)


@pytest.mark.long("dedup", "migrations")
def test_a_backfill_with_nothing_new(large: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    backfill(large, workers=0, factory=make_function)
    statements: list[object] = []
    execute = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *given: Any, **more: Any) -> Any:
        statements.append(query)
        return execute(cursor, query, *given, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    backfill(large, workers=0, factory=make_function)
    assert len(statements) < 40, statements


STATISTICS = {
    "as they are": "",
    "never analysed": "UPDATE pg_class SET reltuples = -1, relpages = 0",
    "analysed when empty": "UPDATE pg_class SET reltuples = 0, relpages = 0",
    "analysed when nearly empty": "UPDATE pg_class SET reltuples = 1, relpages = 1000",
    "analysed when a thousand times as large": "UPDATE pg_class SET reltuples = 2e7, relpages = 1000000",
}
"""Statements that give the planner right or wrong statistics of tables and indexes."""


@contextmanager
def explained(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Yield the statements of the program with the rows that passed through the nodes of their plans.

    Rows that a join reads and discards count too; the statistics of the tables leave them out.
    """
    found: dict[str, int] = {}
    execute = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *given: Any, **more: Any) -> Any:
        text = query if isinstance(query, bytes) else str(query).encode()
        words = [line for line in text.split(b"\n") if not line.strip().startswith(b"--")]
        first = b" ".join(words).split(None, 1)[0].upper()
        if first in (b"SELECT", b"WITH", b"INSERT", b"UPDATE", b"DELETE"):
            execute(cursor, "SAVEPOINT explained")
            plan = execute(
                cursor, b"EXPLAIN (ANALYZE, TIMING off, FORMAT json) " + text, *given, **more
            ).fetchone()
            execute(cursor, "ROLLBACK TO explained")
            name = text.decode().strip()
            found[name] = max(found.get(name, 0), rows_through(plan[0][0]["Plan"]))
        return execute(cursor, query, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", counted)
        yield found


def rows_through(plan: dict[str, Any]) -> int:
    own = plan["Actual Rows"] + sum(n for key, n in plan.items() if key.startswith("Rows Removed by"))
    below = sum(rows_through(part) for part in plan.get("Plans", ()))
    return int(own * plan["Actual Loops"]) + below


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_no_statement_of_settling_depends_on_statistics(
    large: Database, statistics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rolled_back(large, settling=True) as cursor:
        rulebook = rulebook_of(cursor)
        ids = list(range(1001, 1101)) + list(range(ARTICLES + 1, ARTICLES + 11))
        withdrawn = bigints([id for id in ids if id % 2 == 0])
        if STATISTICS[statistics]:
            cursor.execute(
                STATISTICS[statistics].encode()
                + b" WHERE relnamespace = 'dedup'::regnamespace AND relkind IN ('r', 'i')"
            )
            cursor.execute(
                "DELETE FROM pg_statistic WHERE starelid IN"
                " (SELECT oid FROM pg_class WHERE relnamespace = 'dedup'::regnamespace)"
            )
        cursor.execute("SELECT count(*) FROM dedup.make_stale(%s)", [bigints(ids)])
        cursor.execute("SELECT dedup.withdraw(%s)", [withdrawn])
        check(cursor, 110 * 80, 110 * 2)
        with explained(monkeypatch) as statements:
            assert len(settle(cursor, rulebook.settings, limit=1_000).ids) >= 110
            kept = [id for id in ids if id % 4]
            settling.find_later_best_matches(cursor, rulebook.settings, kept)
            settling.find_lowest(cursor, rulebook.settings, kept)
            settling._drop_pairs(cursor, rulebook.settings, [(id, id - 1) for id in kept])
        written = ("INSERT INTO dedup.match", "DELETE FROM dedup.match", "clear_best_match(", "drop_pairs(")
        assert [start for start in written if not any(start in text for text in statements)] == []
        assert {text: rows for text, rows in statements.items() if rows > 110 * 80} == {}
        check(cursor, 110 * 80, 110 * 2)
        given = article("early", window(3, 6), -20)
        with explained(monkeypatch) as statements:
            hook.submit(cursor, rulebook, given, hook.fingerprint(rulebook, given))
        assert {text: rows for text, rows in statements.items() if rows > 2_000} == {}


def believe(cursor: Cursor, statistics: str) -> None:
    """Make the planner believe these statistics of the tables and their indexes."""
    if STATISTICS[statistics]:
        cursor.execute(
            STATISTICS[statistics].encode()
            + b" WHERE relnamespace = 'dedup'::regnamespace AND relkind IN ('r', 'i')"
        )
        cursor.execute(
            "DELETE FROM pg_statistic WHERE starelid IN"
            " (SELECT oid FROM pg_class WHERE relnamespace = 'dedup'::regnamespace)"
        )


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_a_story_reads_its_articles(large: Database, statistics: str) -> None:
    with rolled_back(large) as cursor:
        believe(cursor, statistics)
        assert stories.story(cursor, "real 1").copies
        assert_few(cursor, 50, "story")


def assert_few(cursor: Cursor, most: int, name: str) -> None:
    read = rows_read(cursor)
    assert {table: rows for table, (rows, _) in read.items() if rows} == {}, name
    # A statement may read a page of sentences or pairs, but few articles.
    for table in ("article", "article_mark"):
        articles = read.pop(table, (0, 0))[1]
        assert articles <= most, (name, table, articles)
    assert set(read) <= set(LARGE)
    assert all(rows <= 2_000 for _, rows in read.values()), (name, read)


@pytest.mark.long("dedup", "migrations")
def test_a_page_of_changes_reads_only_its_rows(large: Database) -> None:
    """A page of changes reads neither earlier nor later rows, and scans no table."""
    with rolled_back(large, settling=True) as cursor:
        assert changes.keep_journal(cursor, wanted=True)
        cursor.execute("UPDATE dedup.article_mark SET score = 0.9")
        since = changes.changes(cursor, None, ARTICLES // 2)[-1].cursor
        before = rows_read(cursor)
        assert len(changes.changes(cursor, since, 100)) == 100
        after = rows_read(cursor)
    for table, (by_scan, by_index) in after.items():
        assert by_scan == before[table][0]
        assert by_index - before[table][1] <= 2 * 100  # the originals are read too


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_storing_credits_reads_those_of_its_articles_alone(
    large: Database, statistics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Storing credits reads only the credits of its articles, whatever statistics the planner has.

    A first backfill begins with an empty table; a plan for that table would read all rows for each chunk.
    """
    found = {
        id: credits.Notices(((1 + id % 2, "end"),), ("Corrects", "end") if id % 3 else None)
        for id in range(9_901, 10_101)
    }
    with rolled_back(large, settling=True) as cursor:
        cursor.execute("INSERT INTO dedup.credit SELECT id, 1, 'end' FROM dedup.article WHERE id <= 10000")
        cursor.execute("INSERT INTO dedup.correction SELECT article_id, 'Refiles', 'end' FROM dedup.credit")
        believe(cursor, statistics)
        with explained(monkeypatch) as rows:
            credits.write(cursor, found)
        assert max(rows.values()) <= 10 * len(found), rows
        assert credits.load(cursor, list(found)) == found


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_the_representative_of_a_story_reads_only_articles_of_the_story(
    large: Database, statistics: str
) -> None:
    queries = (
        "SELECT * FROM dedup.story_representative WHERE story_id = 9999",
        "SELECT * FROM dedup.current_article WHERE story_id = 9999",
        "SELECT * FROM dedup.current_article WHERE story_source_id = 'synthetic 9999'",
    )
    for query in queries:
        with rolled_back(large) as cursor:
            believe(cursor, statistics)
            plan = one_row(cursor, f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {query}".encode())[0]
            assert rows_through(plan[0]["Plan"]) < 100, query
