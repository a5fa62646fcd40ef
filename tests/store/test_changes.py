"""`Deduplicator.changes` reports changed marks in order, misses none and reports none twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dedup import Deduplicator
from dedup.api.operation import Operation
from dedup.base.article import Article
from dedup.base.errors import BusyError, CursorError, InputError, RightsError
from dedup.base.timeouts import Timeouts
from dedup.db.database import Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.store import pins
from dedup.store import window as window_of
from dedup.store.changes import MarkChange
from tests.conftest import Server
from tests.corpora import (
    answer,
    article,
    assert_right,
    at,
    change_settings,
    code,
    deduplicator,
    load,
    make_function,
    settle,
    sql,
    text,
    wait_until,
    window,
)
from tests.db.test_restore import program, run
from tests.db.test_roles import made_roles, url_of
from tests.replica import Replica, journal, place
from tests.settling.test_concurrency import blocked

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def kept(database: Database) -> Iterator[Database]:
    """Yield an empty corpus that keeps a journal."""
    with journal(database):
        yield database


def family(count: int = 6) -> list[Article]:
    return [article(f"a{i}", window(i, 6), i) for i in range(count)]


def reader_of(database: Database) -> Replica:
    """Return a reader that has read all changes."""
    reader = Replica(database)
    reader.read_all()
    return reader


def copied(database: Database) -> Replica:
    """Store an article and its copy; return a reader that has read both marks."""
    for name, minute in (("a", 0), ("b", 1)):
        deduplicator(database).submit(article(name, window(0, 6), minute))
    return reader_of(database)


def short(found: list[MarkChange]) -> list[tuple[str, str, str | None]]:
    return [(change.id, change.status, change.duplicate_of) for change in found]


# Tests of starting and stopping the journal.


def test_it_is_off_until_it_is_started(database: Database) -> None:
    load(database, article("a", window(0, 6), 0))
    settle(database)
    with pytest.raises(InputError, match=r"no journal of marks is kept.*dedup changes --start"):
        Replica(database).read()
    with database.transaction() as cursor:
        made = cursor.execute("SELECT count(*) FROM pg_trigger WHERE starts_with(tgname::text, 'journal')")
        assert made.fetchone() == (0,)
        assert cursor.execute("SELECT count(*) FROM dedup.journal_mark").fetchone() == (0,)


def test_to_start_it_again_changes_nothing(kept: Database) -> None:
    reader = Replica(kept)
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    reader.read_all()
    with Operation(kept.url) as owner:
        assert owner.start_journal() is False
    assert reader.read() == []


@pytest.mark.long("dedup", "migrations")
def test_who_has_an_insert_open_is_waited_for_and_not_for_ever(database: Database) -> None:
    with (
        psycopg.connect(database.url) as other,
        Operation(database.url, timeouts=Timeouts(lock=0.2)) as owner,
    ):
        other.execute("INSERT INTO dedup.article (source_id, text) VALUES ('a', 'words')")
        with pytest.raises(BusyError):
            owner.start_journal()
        other.commit()
        try:
            assert owner.start_journal() is True
        finally:
            owner.stop_journal()


def test_a_stopped_journal_leaves_nothing_and_its_cursors_no_longer_count(kept: Database) -> None:
    reader = Replica(kept)
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    reader.read_all()
    with Operation(kept.url) as owner:
        assert owner.stop_journal() is True
        assert owner.stop_journal() is False
        with pytest.raises(InputError, match="no journal"):
            reader.read()
        assert owner.start_journal() is True
    with pytest.raises(CursorError, match=r"another history.*without --since"):
        reader.read()
    reader_of(kept).assert_equal()


@pytest.mark.parametrize(
    "given", ["x", "0", "a.1.2.3.4", "0123456789ab.1.2.3", "0123456789ab.1.2.3.-4", "'; drop"]
)
def test_what_is_no_cursor_is_wrong_usage(kept: Database, given: str) -> None:
    with pytest.raises(InputError, match="not a cursor of changes"):
        deduplicator(kept).changes(given)


def test_a_cursor_of_nobody_is_refused(kept: Database) -> None:
    with pytest.raises(CursorError):
        deduplicator(kept).changes("0123456789ab.1.2.3.4")


@pytest.mark.parametrize("limit", [0, -1, 100_001])
def test_a_page_is_bounded(kept: Database, limit: int) -> None:
    with pytest.raises(InputError, match="limit"):
        deduplicator(kept).changes(limit=limit)


# Tests of the reported changes.


def test_first_every_mark_then_what_changes(database: Database) -> None:
    load(database, *family())
    settle(database)
    with journal(database):
        reader = Replica(database)
        assert [change.id for change in reader.read_all(2)] == [f"a{i}" for i in range(6)]
        reader.assert_equal()
        verdict = deduplicator(database).submit(article("late", window(0, 6), 100))
        assert verdict.duplicate_of == "a0"
        (change,) = reader.read()
        assert (change.id, change.status, change.duplicate_of, change.score, change.reason) == (
            *("late", "duplicate", "a0", 1.0),
            verdict.reason,
        )
        assert reader.read() == []


def test_marks_that_change_during_the_first_reading_are_reported_once(database: Database) -> None:
    load(database, *family())
    settle(database)
    with journal(database):
        reader = Replica(database)
        reader.read(3)
        # This article changes marks that were read already, and marks that were not.
        deduplicator(database).submit(article("early", window(4, 6), -1))
        settle(database)
        changed = [change.id for change in reader.read_all(1)]
        assert len(changed) == len(set(changed))
        reader.assert_equal()


def test_of_a_mark_that_changed_twice_the_last_change_is_told(kept: Database) -> None:
    dd, reader = deduplicator(kept), Replica(kept)
    dd.submit(article("b", window(0, 6), 5))
    dd.submit(article("a", window(0, 6), 4))  # b becomes a copy of a
    settle(kept)
    dd.delete("a")
    settle(kept)
    assert short(reader.read_all())[-1] == ("b", "unique", None)
    assert [name for name, *_ in short(Replica(kept).read_all())].count("b") == 1


def test_a_mark_that_is_settled_again_and_stays_is_not_told(kept: Database) -> None:
    load(kept, *family())
    settle(kept)
    reader = reader_of(kept)
    change_settings(kept, similar_pairs=49)
    for engine in ("postgres", "memory"):
        sql(kept, "UPDATE dedup.corpus_state SET rule_digest = NULL")
        backfill(kept, workers=0, factory=make_function, engine=engine)
        assert reader.read() == []


def test_other_settings_tell_the_marks_that_differ(kept: Database) -> None:
    load(kept, *family())
    settle(kept)
    reader = reader_of(kept)
    before = answer(kept).marks
    change_settings(kept, duplicate_sentence_jaccard=0.9, duplicate_signature_jaccard=0.95)
    settle(kept)
    after = answer(kept).marks
    assert {change.id for change in reader.read_all()} == {a for a in after if after[a] != before[a]} != set()
    reader.assert_equal()


def test_a_new_article_is_told_when_it_has_a_mark(kept: Database) -> None:
    reader = Replica(kept)
    load(kept, *family(3), article("empty", [], 3))
    assert reader.read() == []
    settle(kept)
    assert {(name, status) for name, status, _ in short(reader.read_all())} >= {("empty", "failed")}
    reader.assert_equal()


def test_a_pin_and_its_end_are_told(kept: Database) -> None:
    load(kept, *family())
    settle(kept)
    reader = reader_of(kept)
    for pin in (True, False):
        with kept.transaction() as cursor:
            if pin:
                pins.pin_pair(cursor, "a0", "a1", Relation.UNRELATED)
            else:
                pins.unpin_pair(cursor, "a0", "a1")
        settle(kept)
        assert "a1" in {change.id for change in reader.read_all()}
        reader.assert_equal()


def test_an_edit_takes_the_mark_away_until_there_is_another(kept: Database) -> None:
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    reader = reader_of(kept)
    sql(kept, "UPDATE dedup.article SET text = 'Other words.'")
    assert short(reader.read()) == [("a", "pending", None)]
    settle(kept)
    assert short(reader.read()) == [("a", "unique", None)]


def test_a_deletion_is_told_after_what_became_of_the_copies(kept: Database) -> None:
    reader = copied(kept)
    sql(kept, "DELETE FROM dedup.article WHERE source_id = 'a'")
    assert short(reader.read_all()) == [("b", "pending", None), ("a", "deleted", None)]
    settle(kept)
    reader.read_all()
    reader.assert_equal()


def test_who_begins_after_a_deletion_is_not_told_of_it(kept: Database) -> None:
    dd = deduplicator(kept)
    for name in "abc":
        dd.submit(article(name, window(ord(name) * 20, 6, ring=10_000), 0))
    sql(kept, "DELETE FROM dedup.article WHERE source_id = 'a'")
    reader = Replica(kept)
    reader.read(1)
    sql(kept, "DELETE FROM dedup.article WHERE source_id = 'b'")
    assert short(reader.read_all()) == [("c", "unique", None), ("b", "deleted", None)]


def test_an_article_that_comes_again_under_the_same_key_is_there(kept: Database) -> None:
    dd, reader = deduplicator(kept), Replica(kept)
    dd.submit(article("a", window(0, 6), 0))
    reader.read_all()
    dd.delete("a")
    dd.submit(article("a", window(3, 6), 0))
    assert [status for _, status, _ in short(reader.read_all())] == ["deleted", "unique"]
    reader.assert_equal()


def test_another_source_id_is_told_with_the_copies_that_name_it(kept: Database) -> None:
    reader = copied(kept)
    sql(kept, "UPDATE dedup.article SET source_id = 'z' WHERE source_id = 'a'")
    assert sorted(short(reader.read_all())) == [
        *(("a", "deleted", None), ("b", "duplicate", "z"), ("z", "unique", None)),
    ]
    settle(kept)
    reader.read_all()
    reader.assert_equal()


def test_a_prune_tells_the_marks_that_it_changes_and_not_that_they_are_archived(kept: Database) -> None:
    load(kept, *family(), article("copy", window(0, 6), 50), article("old", window(30, 6, ring=99), -5))
    settle(kept)
    reader = reader_of(kept)
    before = answer(kept).marks
    with kept.transaction(settling=True) as cursor:
        window_of.request_move(cursor, at(3))
    settle(kept)
    after = answer(kept).marks
    assert {change.id for change in reader.read_all()} == {a for a in after if after[a] != before[a]}
    assert before["copy"][1] == "a0"
    assert after["copy"][1] != "a0"
    assert after["old"] == before["old"]
    reader.assert_equal()


def test_truncate_begins_another_history(kept: Database) -> None:
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    reader = reader_of(kept)
    sql(kept, "TRUNCATE dedup.article CASCADE")
    with pytest.raises(CursorError):
        reader.read()
    deduplicator(kept).submit(article("b", window(0, 6), 0))
    assert short(Replica(kept).read_all()) == [("b", "unique", None)]


# Tests of transactions that commit late or roll back.


def test_a_transaction_that_commits_late_is_not_missed(kept: Database) -> None:
    """Positions follow the order of commits: a transaction that would take a later position waits."""
    dd, reader = deduplicator(kept), Replica(kept)
    for name in "ab":
        dd.submit(article(name, window(ord(name) * 20, 6, ring=10_000), 0))
    reader.read_all()
    with psycopg.connect(kept.url) as slow, psycopg.connect(kept.url) as insert:
        insert.execute("INSERT INTO dedup.article (source_id, text) VALUES ('new', 'words')")
        slow.execute("UPDATE dedup.article SET text = 'Others.' WHERE source_id = 'a'")
        other = threading.Thread(target=sql, args=(kept, "DELETE FROM dedup.article WHERE source_id = 'b'"))
        other.start()
        wait_until(lambda: blocked(kept))
        assert reader.read() == []
        slow.commit()
        other.join()
        assert short(reader.read_all()) == [("a", "pending", None), ("b", "deleted", None)]
        insert.commit()  # an insert takes no position and blocks no other transaction
    settle(kept)
    reader.read_all()
    reader.assert_equal()


def test_what_is_rolled_back_is_not_told_and_leaves_no_gap(kept: Database) -> None:
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    reader = reader_of(kept)
    with psycopg.connect(kept.url) as connection:
        connection.execute("DELETE FROM dedup.article")
        connection.rollback()
        connection.execute("UPDATE dedup.article SET text = 'Others.'")
        connection.execute("SAVEPOINT here")
        connection.execute("DELETE FROM dedup.article")
        connection.execute("ROLLBACK TO here")
        connection.commit()
    before = reader.told[-1][0]
    assert short(reader.read_all()) == [("a", "pending", None)]
    assert reader.told[-1][0] == before + 1


def test_reported_changes_are_on_disk(kept: Database) -> None:
    """Check that a transaction with async_commit waits for the disk once the journal records changes."""
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    for statement, found in (("SELECT 1", "off"), ("DELETE FROM dedup.article", "local")):
        with kept.transaction(async_commit=True) as cursor:
            cursor.execute(statement.encode())
            assert cursor.execute("SELECT current_setting('synchronous_commit')").fetchone() == (found,)


# Tests of journals that are restored, restarted or lose changes.


def test_a_start_of_the_server_is_no_reason_to_begin_again(kept: Database) -> None:
    dd, reader = deduplicator(kept), Replica(kept)
    dd.submit(article("a", window(0, 6), 0))
    reader.read_all()
    sql(kept, "UPDATE dedup.journal SET server_started = server_started - interval '1 day'")
    assert reader.read() == []
    dd.submit(article("b", window(50, 6, ring=99), 0))
    assert short(reader.read()) == [("b", "unique", None)]
    with kept.transaction() as cursor:
        rows = cursor.execute("SELECT number, position FROM dedup.journal ORDER BY number").fetchall()
    assert rows == [(1, 2), (2, 3)]


def test_a_server_that_went_on_from_an_older_state_refuses_readers_of_later_changes(kept: Database) -> None:
    """A server that restored an older state refuses readers that have read later changes.

    The test removes the rows of the last transactions, as a failover would lose them.
    """
    dd, ahead, behind = deduplicator(kept), Replica(kept), Replica(kept)
    dd.submit(article("a", window(0, 6), 0))
    behind.read_all()
    older = "CREATE TABLE public.older AS SELECT * FROM dedup.journal"
    with psycopg.connect(kept.url, autocommit=True) as connection:
        connection.execute(older.encode())
        dd.submit(article("lost", window(50, 6, ring=99), 0))
        ahead.read_all()
        connection.execute("DELETE FROM dedup.article WHERE source_id = 'lost'")
        connection.execute("DELETE FROM dedup.journal_deleted")
        connection.execute("UPDATE dedup.journal SET position = (SELECT position FROM public.older)")
        connection.execute("DROP TABLE public.older")
    with pytest.raises(CursorError):
        ahead.read()
    sql(kept, "UPDATE dedup.journal SET server_started = server_started - interval '1 day'")
    for i in range(5):  # the lost positions are given again
        dd.submit(article(f"b{i}", window(100 + 20 * i, 6, ring=999), 0))
    with pytest.raises(CursorError):
        ahead.read()
    assert [change.id for change in behind.read_all()] == [f"b{i}" for i in range(5)]
    behind.assert_equal()


def test_a_reader_that_would_miss_a_mark_is_refused_although_its_position_is_older(kept: Database) -> None:
    """A mark that changes twice is reported with the second change only.

    Here the server loses the second change, so the reader would never get the mark.
    """
    dd, reader = deduplicator(kept), Replica(kept)
    for i in range(4):
        dd.submit(article(f"a{i}", window(20 * i, 6, ring=999), 0))
    with kept.transaction() as cursor:
        (position,) = cursor.execute("SELECT position FROM dedup.journal").fetchone() or (0,)
    sql(kept, "UPDATE dedup.article SET text = 'Others.' WHERE source_id = 'a0'")
    reader.read(2)
    assert reader.told[-1][0] < position
    sql(kept, f"UPDATE dedup.journal SET position = {position}")
    with pytest.raises(CursorError):
        reader.read()


@pytest.mark.parametrize("change", ["disabled for a while", "made again"])
def test_triggers_that_were_away_are_noticed(kept: Database, change: str) -> None:
    deduplicator(kept).submit(article("a", window(0, 6), 0))
    reader = reader_of(kept)
    sql(kept, "ALTER TABLE dedup.article_mark DISABLE TRIGGER journal_updated")
    with pytest.raises(InputError, match="no journal"):
        reader.read()
    if change == "made again":
        with Operation(kept.url) as owner:
            assert owner.start_journal() is True
    else:
        sql(kept, "UPDATE dedup.article SET text = 'Others.'", "SELECT dedup.fire_always()")
    with pytest.raises(CursorError):
        reader.read()
    reader_of(kept).assert_equal()


@pytest.mark.long("dedup", "migrations")
def test_a_restored_journal_refuses_cursors_of_the_other_database(
    kept: Database, server: Server, tmp_path: Path
) -> None:
    load(kept, *family())
    settle(kept)
    reader = reader_of(kept)
    dump = str(tmp_path / "dump")
    run(program("pg_dump"), "-Fc", "-n", "dedup", "-f", dump, "-d", kept.url)
    with closing(Database(server.create("dedup_changes"))) as target:
        run(program("pg_restore"), "--no-owner", "-d", target.url, dump, check=False)
        moved = Replica(target)
        moved.since, moved.marks = reader.since, reader.marks
        with pytest.raises(CursorError):
            moved.read()
        moved = Replica(target)
        moved.read_all()
        moved.assert_equal()
        deduplicator(target).submit(article("late", window(0, 6), 100))
        assert short(moved.read()) == [("late", "duplicate", "a0")]
    server.drop("dedup_changes")
    assert reader.read() == []


def test_who_comes_after_deletions_are_forgotten_begins_again(kept: Database) -> None:
    dd, early, late = deduplicator(kept), Replica(kept), Replica(kept)
    for i in range(6):
        dd.submit(article(f"a{i}", window(20 * i, 6, ring=999), 0))
    early.read_all()
    late.read(2)
    dd.delete("a0")
    dd.delete("a1")
    late.read_all()
    sql(kept, "UPDATE dedup.journal_deleted SET deleted_at = deleted_at - interval '31 days'")
    begun = Replica(kept)
    begun.read(1)
    dd.delete("a2")
    with kept.transaction() as cursor:
        assert cursor.execute("SELECT source_id FROM dedup.journal_deleted").fetchall() == [("a2",)]
    with pytest.raises(CursorError, match="or is too old: the journal may lack deletions"):
        early.read()
    for reader in (late, begun, Replica(kept)):
        reader.read_all()
        reader.assert_equal()


def test_what_is_kept_is_bounded_by_the_articles(kept: Database) -> None:
    load(kept, *family())
    for i in range(4):
        sql(kept, f"UPDATE dedup.article SET text = text || ' More {i}.'")
        settle(kept)
    with kept.transaction() as cursor:
        counts = cursor.execute(
            "SELECT (SELECT count(*) FROM dedup.journal_mark), (SELECT count(*) FROM dedup.journal),"
            " (SELECT position > 8 FROM dedup.journal)"
        ).fetchone()
    assert counts == (6, 1, True)


# Tests of rights.


def test_roles_that_read_views_read_changes_and_roles_that_settle_write_them(kept: Database) -> None:
    with (
        made_roles(kept.url, ("worker", "scraper", "analyst", "counter", "reader")) as names,
        Operation(kept.url) as owner,
    ):
        owner.grant(**{kind: [name] for kind, name in names.items()})  # type: ignore[arg-type]
        with Deduplicator(url_of(kept, names["worker"])) as worker:
            worker.submit(article("a", window(0, 6), 0))
        for kind in ("worker", "analyst", "counter", "reader"):
            with closing(Database(url_of(kept, names[kind]))) as own, own.transaction() as cursor:
                rows = cursor.execute("SELECT source_id, status FROM dedup.changes()").fetchall()
            assert rows == [("a", "unique")]
        with Deduplicator(url_of(kept, names["scraper"])) as scraper:
            scraper.submit(article("b", window(0, 6), 1))
            with pytest.raises(RightsError):
                scraper.changes()
        with (
            Operation(url_of(kept, names["worker"])) as worker_as_owner,
            pytest.raises(RightsError, match="owner"),
        ):
            worker_as_owner.start_journal()
    settle(kept)
    assert_right(kept)


@pytest.mark.long("dedup", "migrations")
def test_a_corpus_in_another_schema_has_a_journal_of_its_own(kept: Database, server: Server) -> None:
    with closing(Database(server.create("dedup_changes_of"), schema="cables")) as other:
        from dedup.store import opening

        opening.initialize(other)
        with pytest.raises(InputError, match="no journal"):
            Replica(other).read()
        with journal(other):
            deduplicator(other).submit(article("a", window(0, 6), 0))
            assert short(Replica(other).read()) == [("a", "unique", None)]
    server.drop("dedup_changes_of")
    assert Replica(kept).read() == []


def test_marks_of_two_engines_are_told_alike(kept: Database) -> None:
    given = [*family(14), *(article(f"b{i}", [*window(i, 6), code(99)], 20 + i) for i in range(14))]
    load(kept, *given)
    backfill(kept, workers=0, factory=make_function, engine="memory")
    reader = Replica(kept)
    reader.read_all(5)
    reader.assert_equal()
    sql(kept, f"UPDATE dedup.article SET text = $${text(window(2, 6))}$$ WHERE source_id < 'a4'")
    backfill(kept, workers=0, factory=make_function, engine="postgres")
    reader.read_all(3)
    reader.assert_equal()
    positions = [place(change)[0] for change in Replica(kept).read_all()]
    assert positions == sorted(positions)
