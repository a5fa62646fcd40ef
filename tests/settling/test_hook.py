"""The hook for one article: verdicts, look-ups, limits, and several hooks at once."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

import psycopg
import pytest

from dedup import Article, Deduplicator
from dedup.base.schema import outer
from dedup.base.verdict import UNSETTLED_LIMIT
from dedup.db.connection import Connection
from dedup.db.database import Cursor, Database, hold_settle_lock
from dedup.settling import hook
from dedup.settling.backfill import backfill
from dedup.store import fast_path, rulebooks
from dedup.store.fast_path import Ask
from tests.corpora import Code, answer, article, assert_right, code, deduplicator, load, window
from tests.runs.proxy import proxy


def test_a_verdict_tells_what_and_why(database: Database) -> None:
    with deduplicator(database) as dd:
        assert dd.submit(article("first", window(0, 6), 0)).status == "unique"
        copy = dd.submit(article("copy", window(1, 6), 1))
        other = dd.submit(article("other", window(3, 6), 2))
    assert copy.is_duplicate
    assert (copy.duplicate_of, copy.reason, copy.matches[0].id) == ("first", "sentences", "first")
    assert copy.score == max(copy.matches[0].sentence_jaccard, copy.matches[0].signature_jaccard)
    assert (other.status, [match.id for match in other.matches]) == ("similar", ["first"])
    assert_right(database)


def test_new_articles_need_two_calls_at_most(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("this is no plain article")

    with deduplicator(database) as dd:
        dd.submit(article("first", window(0, 6), 0))
        load(database, article("waits", [code(n) for n in range(100, 106)], 1))
        monkeypatch.setattr(hook, "submit", refused)
        given = {"unique": (20, 6), "duplicate": (1, 6), "similar": (3, 6)}
        for minute, (status, (start, length)) in enumerate(given.items(), 2):
            codes = [code(n) for n in range(start, start + length)]
            told = dd.submit(article(status, codes, minute))
            assert (told.status, told.unsettled, told.provisional) == (status, 1, True)
        monkeypatch.undo()
        backfill(database, workers=0)
    assert_right(database)


def test_submit_new_counts_unsettled_articles_up_to_the_limit(database: Database) -> None:
    with database.transaction() as cursor:
        (body,) = cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = 'submit_new'").fetchone() or (
            "",
        )
    assert f"ORDER BY k.time, k.id LIMIT {UNSETTLED_LIMIT})" in body


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", range(4))
def test_submits_in_any_order_end_in_the_marks_of_the_oracle(database: Database, seed: int) -> None:
    random = Random(seed)
    with deduplicator(database) as dd:
        for n in range(60):
            start, length = random.randrange(14), random.choice((3, 4, 6, 6, 8))
            minute = n if random.random() < 0.7 else random.randrange(60)
            dd.submit(article(f"a{n}", window(start, length), minute))
            if n % 6 == 0:
                assert_right(database)
    assert_right(database)


def test_the_same_article_again_writes_nothing(database: Database) -> None:
    given = [article(f"a{i}", window(i * 3 % 14, 6), i) for i in range(12)]
    with deduplicator(database) as dd:
        for a in given:
            dd.submit(a)
        backfill(database, workers=0)
        before = _row_versions(database)
        again = [dd.submit(a) for a in reversed(given)]
    load(database, *given)
    backfill(database, workers=0)
    assert _row_versions(database) == before
    told = {v.id: f"{v.status}:{v.duplicate_of}" if v.is_duplicate else v.status for v in again}
    assert told == answer(database).status()


def test_a_look_up_says_what_submitting_would(database: Database) -> None:
    given = [article(f"a{i}", window(i * 5 % 14, 6), i) for i in range(14)]
    with deduplicator(database) as dd:
        for a in given:
            asked = dd.lookup(a)
            before = answer(database)
            told = dd.submit(a)
            assert asked == told
            assert before != answer(database)


def test_an_edit_that_takes_the_original_away_judges_its_copies_again(database: Database) -> None:
    with deduplicator(database) as dd:
        for minute, name in enumerate("abc"):
            dd.submit(article(name, window(0, 6), minute))
        assert dd.submit(article("a", window(8, 6), 0)).status == "unique"
    assert_right(database)


def test_an_edit_of_an_original_needs_two_calls_if_its_copies_stay(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with deduplicator(database) as dd:
        dd.submit(article("original", window(0, 6), 0))
        dd.submit(article("copy", window(1, 6), 1))
        dd.submit(article("same", window(0, 6), 2))
        dd.submit(article("later", window(9, 6), 3))
        with monkeypatch.context() as patched:
            patched.setattr(hook, "submit", lambda *_: pytest.fail("this is a plain edit"))
            told = dd.submit(article("original", window(0, 7), 0))
        assert (told.status, [copy.id for copy in told.copies]) == ("unique", ["copy", "same"])
        # The same article again gets the same verdict, now read from the tables.
        assert dd.submit(article("original", window(0, 7), 0)) == told
    assert_right(database)


EDITS: dict[str, tuple[list[Code], int]] = {
    "a copy becomes similar": (window(3, 6), 2),
    "a copy shares nothing": (window(7, 5), 2),
    "the original becomes a duplicate": (window(8, 6), 2),
    "the original becomes similar": (window(1, 7), 2),
    "the original moves after a copy": (window(0, 7), 9),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("pairs", [1, 50])
@pytest.mark.parametrize("another", [False, True], ids=["one original", "two originals"])
def test_an_edit_of_an_original_is_right_whatever_its_copies_become(
    database: Database, edit: str, pairs: int, another: bool
) -> None:
    with deduplicator(database) as dd:
        dd.settings.change({"similar_pairs": str(pairs)})
        dd.backfill(workers=0)
        dd.submit(article("earlier", window(8, 6), 0))
        if another:
            dd.submit(article("another", window(13, 6), 1))
        dd.submit(article("original", window(1, 6), 2))
        dd.submit(article("copy", window(0, 6), 3))
        dd.submit(article("far copy", window(2, 6), 4))
        told = dd.submit(article("original", *EDITS[edit]))
        assert dd.submit(article("original", *EDITS[edit])) == told
    assert_right(database)


def test_an_edit_leaves_a_partner_to_a_match_whose_pair_was_not_kept(database: Database) -> None:
    with deduplicator(database) as dd:
        dd.settings.change({"similar_pairs": "1"})
        dd.backfill(workers=0)
        starts = {"partner": 10, "other": 15, "match": 13, "edited": 8}
        for minute, (name, start) in enumerate(starts.items()):
            dd.submit(article(name, window(start, 6, ring=60), minute))
        # "match" matches "other" best. "partner" matches "edited" best, until the edit removes this pair.
        assert ("match", "partner") not in answer(database).pairs
        dd.submit(article("edited", window(30, 6, ring=60), 3))
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", range(8))
def test_each_of_many_edits_is_right(database: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random, ring = Random(seed), (20, 40, 60, 80)[seed % 4]
    settled: list[str] = []  # ids that were settled in full, as by a backfill

    def submit(*given: Any) -> Any:
        settled.append(given[2].source_id)
        return real(*given)

    real = hook.submit
    monkeypatch.setattr(hook, "submit", submit)
    with deduplicator(database) as dd:
        for turn in range(30):
            number = turn if turn < 12 else random.randrange(12)
            codes = window(random.randrange(ring), random.randint(4, 8), ring)
            given = article(f"a{number}", codes, 7 * number % 12)
            told = dd.submit(given)
            assert_right(database)
            before = len(settled)
            assert dd.submit(given) == told
            del settled[before:]  # the same article again needs no settling
    assert len(settled) < 25


def test_a_text_alone_is_later_than_everything(database: Database) -> None:
    with deduplicator(database) as dd:
        dd.submit(article("first", window(0, 6), 0))
        assert dd.lookup(article("x", window(0, 6)).text).duplicate_of == "first"
        assert dd.lookup("Too short.").status == "unique"
        assert dd.lookup("?").status == "failed"


def test_an_unreadable_article_is_stored_and_told(database: Database) -> None:
    with deduplicator(database) as dd:
        verdict = dd.submit(Article("empty", "\0 \n"))
    assert (verdict.status, verdict.reason) == ("failed", "empty: the text has no words")


@pytest.mark.parametrize(
    ("limits", "words"),
    [(("MAX_CASCADE",), "articles to settle"), (("MANY_CANDIDATES", "MAX_CANDIDATES"), "candidates")],
)
def test_a_limit_is_recorded_and_settled_by_the_backfill(
    database: Database, monkeypatch: pytest.MonkeyPatch, limits: tuple[str, ...], words: str
) -> None:
    load(database, *(article(f"a{i}", window(0, 6), 10 + i) for i in range(8)))
    load(database, *(article(f"b{i}", window(i, 6), 10) for i in (2, 4)))
    backfill(database, workers=0)
    with monkeypatch.context() as patched, deduplicator(database) as dd:
        for limit in limits:
            patched.setattr(f"dedup.settling.hook.{limit}", 1)
        verdict = dd.submit(article("first", window(0, 6), 1))
    with database.transaction() as cursor:
        reasons = cursor.execute(
            "SELECT DISTINCT limit_fired FROM dedup.marked_article"
            " WHERE (status = 'pending' OR stale) AND limit_fired IS NOT NULL"
        ).fetchall()
    assert len(reasons) == 1
    assert words in reasons[0][0]
    # Either the article itself could not be settled, or the articles that it made stale could not.
    if verdict.status == "pending":
        assert words in str(verdict.reason)
    else:
        assert (verdict.status, verdict.provisional) == ("similar", True)
    backfill(database, workers=0)
    assert_right(database)
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM dedup.marked_article WHERE limit_fired IS NOT NULL"
        ).fetchone()
    assert row == (0,)


@pytest.mark.long("dedup", "migrations")
def test_a_verdict_comes_while_a_backfill_is_at_work(database: Database, corpus_url: str) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(20)))
    reached, go_on = threading.Event(), threading.Event()

    class Watching:
        def start(self, stage: str, total: int) -> None:
            pass

        def advance(self, count: int, total: int | None = None) -> None:
            reached.set()
            assert go_on.wait(60)

    running = threading.Thread(
        target=backfill, args=(database,), kwargs={"workers": 0, "batch": 5, "progress": Watching()}
    )
    running.start()
    assert reached.wait(60)
    with Deduplicator(corpus_url) as dd:
        assert dd.submit(article("hook", [code(40 + i) for i in range(6)], 3)).status == "unique"
        beside = backfill(Database(corpus_url), workers=0)
        assert beside.already_running
    go_on.set()
    running.join(60)
    backfill(database, workers=0)
    assert_right(database)


def _submit(url: str, name: str, start: object, rounds: int) -> None:
    with Deduplicator(url) as dd:
        for i in range(rounds):
            a = article(f"{name}{i}", [code(100 + i * 6 + j) for j in range(6)], 0)
            start.wait()  # type: ignore[attr-defined]
            dd.submit(a)


@pytest.mark.long("dedup", "migrations")
def test_two_copies_at_the_same_instant_always_find_each_other(database: Database, corpus_url: str) -> None:
    rounds = 15
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    processes = [context.Process(target=_submit, args=(corpus_url, name, barrier, rounds)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(90)
        assert process.exitcode == 0
    marks = answer(database).status()
    assert all(marks[f"b{i}"] == f"duplicate:a{i}" for i in range(rounds))
    assert_right(database)


def test_settings_that_change_between_two_submits_are_noticed(database: Database) -> None:
    from tests.corpora import change_settings

    with deduplicator(database) as dd:
        dd.submit(article("a", window(0, 6), 0))
        change_settings(database, duplicate_sentence_jaccard=0.95, duplicate_signature_jaccard=0.95)
        backfill(database, workers=0)
        assert dd.submit(article("b", window(1, 6), 1)).status == "similar"
    assert_right(database)


def test_times_without_zone_are_utc(database: Database) -> None:
    given = article("a", window(0, 6), 0)
    assert given.published_at is not None
    naive = Article(
        "b", given.text, published_at=given.published_at.replace(tzinfo=None) + timedelta(hours=1)
    )
    with deduplicator(database) as dd:
        dd.submit(given)
        assert dd.submit(naive).duplicate_of == "a"


def _row_versions(database: Database) -> list[tuple[object, ...]]:
    with database.transaction() as cursor:
        return [
            row
            for table in ("article", "fingerprint", "match")
            for row in cursor.execute(f"SELECT xmin::text, ctid::text FROM dedup.{table} ORDER BY 2".encode())
        ]


def test_a_text_without_memory_to_read_it_has_not_failed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    with deduplicator(database) as dd:
        with monkeypatch.context() as patched:
            patched.setattr("dedup.settling.hook.fingerprint_task", fail)
            verdict = dd.submit(article("a", window(0, 6), 0))
        assert (verdict.status, verdict.reason) == (
            "pending",
            "not enough memory to read the text: the next backfill tries again",
        )
    backfill(database, workers=0)
    assert_right(database)


def test_while_the_whole_corpus_is_settled_at_once_a_hook_settles_nothing(database: Database) -> None:
    load(database, article("first", window(0, 6), 0), article("alone", window(40, 6, ring=100), 0))
    backfill(database, workers=0)
    with deduplicator(database) as dd:
        with database.transaction(settling=True) as cursor:
            cursor.execute("UPDATE dedup.corpus_state SET bulk_run = 1")
        told = [
            dd.submit(article("copy", window(0, 6), 1)),
            dd.submit(article("copy of a copy", window(0, 6), 2)),
            dd.submit(article("new", window(70, 6, ring=100), 3)),
            dd.submit(article("first", window(20, 6, ring=100), 4)),
        ]
        dd.delete("alone")
    assert [(v.status, v.duplicate_of, v.provisional) for v in told] == [
        ("duplicate", "first", True),
        ("duplicate", "first", True),
        ("unique", None, True),
        ("unique", None, True),
    ]
    with database.transaction(settling=True) as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM dedup.marked_article WHERE (status = 'pending' OR stale) AND NOT takes_part"
        ).fetchone()
        assert row == (4,)
        cursor.execute("UPDATE dedup.corpus_state SET bulk_run = NULL")
    backfill(database, workers=0)
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("minutes", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_newcomers_in_any_order_are_right(database: Database, minutes: tuple[int, ...]) -> None:
    """Some of these articles take the hook's fast path; the hook leaves the others to the general path."""
    given = [article(f"a{i}", window(2 * (i % 5), 6), minutes[i % 4] * 10 + i) for i in range(20)]
    given += [article(f"short {i}", [code(i % 3)], minutes[i % 4], title=f"Title {i % 2}") for i in range(8)]
    with deduplicator(database) as dd:
        for new in given:
            dd.submit(new)
            assert_right(database)


def test_the_fast_path_has_the_session_settings_of_all_settling(database: Database) -> None:
    """The call that settles a new article in the database sets the same session settings as a program that
    takes the settle lock."""
    with deduplicator(database) as dd:
        dd.submit(article("first", window(0, 6), 0))
    given = article("second", window(6, 6), 1)
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
        made = hook.fingerprint(rulebook, given).fingerprint
        assert made is not None
        before = _session(cursor)
    with database.transaction() as cursor:
        hold_settle_lock(cursor)
        settling = _session(cursor)
    with database.transaction() as cursor:
        assert fast_path.store_or_look_up(_within(cursor), rulebook, given, made).outcome == "stored"
        newcomer = _session(cursor)
    changed = {name for name in settling if settling[name] != before[name]}
    assert {"lock_timeout", "enable_seqscan", f"{outer(database.schema)}.settling"} <= changed
    assert newcomer == settling


def _within(cursor: Cursor) -> Ask:
    """Return a function that executes statements in the transaction of this cursor."""
    return lambda statement, values: cursor.execute(statement, values).fetchall()


def _session(cursor: Cursor) -> dict[str, str | None]:
    """Return all settings of a transaction."""
    return dict(
        cursor.execute(
            """
            SELECT name, setting FROM pg_settings
            UNION ALL SELECT 'dedup.settling', current_setting('dedup.settling', true)
            """
        ).fetchall()
    )


MEANWHILE: dict[str, str] = {
    "what it shares is edited": "UPDATE dedup.article SET text = 'Another text.' WHERE source_id = 'first'",
    "what it shares moves": "UPDATE dedup.article SET published_at = now() WHERE source_id = 'first'",
    "what it shares is deleted": "DELETE FROM dedup.article WHERE source_id = 'first'",
    "the same article is stored": """
        INSERT INTO dedup.article (source_id, text) VALUES ('copy', 'A text.')""",
    "the same article is deferred": """
        INSERT INTO dedup.deferred_article (source_id, text) VALUES ('copy', 'A text.')""",
    "it is pinned": """
        INSERT INTO dedup.pair_pin (source_id, other_source_id, relation)
        VALUES ('copy', 'first', 'unrelated')""",
    "a sentence becomes common": """
        INSERT INTO dedup.common_sentence (sentence_hash, carriers, effective_stories)
        SELECT sentence_hashes[1], 9, 9 FROM dedup.fingerprint LIMIT 1""",
}


BEFORE = "a transaction from before defers the same article"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("meanwhile", [*MEANWHILE, BEFORE, "another one shares it", "nothing"])
def test_a_duplicate_is_stored_if_nothing_has_changed(database: Database, meanwhile: str) -> None:
    """The fast path makes two calls without a lock between them; the second call must notice changes."""
    with deduplicator(database) as dd:
        dd.submit(article("first", window(0, 6), 0))
        given = article("copy", window(1, 6), 9)
        with database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        made = hook.fingerprint(rulebook, given).fingerprint
        assert made is not None
        asked: list[bytes] = []
        open_before = psycopg.connect(database.url)
        if meanwhile == BEFORE:
            open_before.execute(MEANWHILE["the same article is deferred"].encode())

        def ask(statement: bytes, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
            if asked and meanwhile == "another one shares it":
                dd.submit(article("other", window(4, 6), 5))
            elif asked and meanwhile == BEFORE:
                open_before.commit()
            elif asked and meanwhile != "nothing":
                with psycopg.connect(database.url) as other:
                    other.execute(MEANWHILE[meanwhile].encode())
            asked.append(statement)
            return database.ask(statement, values, 10)

        told = hook.settle_new(ask, rulebook, given, made)
        open_before.close()
        assert len(asked) == 2
        assert (told is not None) == (meanwhile == "nothing")
        assert bool(_stored(database, "copy")) == (meanwhile in ("nothing", "the same article is stored"))
        # Only settling may make a sentence common. Here the test has done so: the marks may be wrong, so they
        # are not checked.
        if meanwhile == "a sentence becomes common":
            return
        again = dd.submit(given)
        if told is not None:
            assert again == told
            assert told.duplicate_of == "first"
    backfill(database, workers=0)
    assert_right(database)


def _stored(database: Database, name: str) -> list[tuple[Any, ...]]:
    with database.transaction() as cursor:
        return cursor.execute("SELECT FROM dedup.article WHERE source_id = %s", [name]).fetchall()


@pytest.mark.parametrize("pooled", [False, True], ids=["plain", "pooled"])
def test_few_round_trips_to_the_server(
    database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch, pooled: bool
) -> None:
    """The hook calls the server once for an unrelated article, and twice if the article shares keys."""
    opened = Connection.open.__func__  # type: ignore[attr-defined]

    def lent(cls: type[Connection], *args: Any) -> Connection:
        found: Connection = opened(cls, *args)
        found.pooled, found.prepare_threshold = True, None
        return found

    def trips(given: Article) -> tuple[str, int]:
        before = between.turns
        return dd.submit(given).status, between.turns - before

    if pooled:
        monkeypatch.setattr(Connection, "open", classmethod(lent))
    with proxy(corpus_url) as between, deduplicator(Database(between.url)) as dd:
        for number in range(8):
            dd.submit(article(f"other {number}", window(100 * number, 6, ring=10_000), number))
        assert trips(article("new", window(5_000, 6, ring=10_000), 20)) == ("unique", 1)
        assert trips(article("shares one", [code(5_000), *window(7_000, 9, ring=10_000)], 21)) == (
            "unique",
            2,
        )
        assert trips(article("copy", window(5_000, 6, ring=10_000), 22)) == ("duplicate", 2)
        status, count = trips(article("like it", window(5_003, 6, ring=10_000), 23))
        assert (status, count <= 40) == ("similar", True)
    assert_right(database)
