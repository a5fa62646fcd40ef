"""The window: articles that leave it, stay, or cross the horizon (docs/semantics.md, section 10)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.errors import BusyError, InputError, RightsError
from dedup.base.machine import EngineName
from dedup.base.progress import SilentProgress
from dedup.base.timeouts import Timeouts
from dedup.db.database import Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import BackfillReport
from dedup.settling.verify import repair, verify
from dedup.settling.window import ARTICLES_PER_TRANSACTION, Window
from dedup.store import fingerprints, pins, rulebooks, setting_rows, verdicts, window
from tests.conftest import empty
from tests.corpora import (
    Answer,
    answer,
    archived,
    article,
    assert_counted,
    assert_right,
    at,
    blocked,
    change_settings,
    code,
    deduplicator,
    load,
    of,
    settle,
    sql,
    text,
    unsettled,
    wait_until,
)
from tests.runs.test_waits import held

STORY = [code(number) for number in range(6)]
OTHER = [code(number) for number in range(20, 26)]

FROZEN = ("failed", None, None, window.NEVER_COMPARED)
"""The mark of an article that was archived before it had a mark."""


def prune(database: Database, minute: float, **options: Any) -> BackfillReport:
    """Move the horizon to a minute, and settle everything."""
    with database.transaction(settling=True) as cursor:
        window.request_move(cursor, at(minute))
    return settle(database, **options)


def spanning() -> list[Article]:
    """Return a story and an unrelated article. The story has an original and a copy before minute 3, and two
    copies after it."""
    return [
        article("original", STORY, 0),
        article("early copy", STORY, 1),
        article("late copy", STORY, 5),
        article("latest copy", STORY, 6),
        article("other", OTHER, 7),
    ]


@pytest.fixture
def pruned(database: Database) -> Database:
    """Settle a corpus with a story that spans the horizon."""
    load(database, *spanning())
    settle(database)
    prune(database, 3)
    return database


def test_a_story_that_spans_the_horizon_goes_on_inside_with_its_earliest_copy(pruned: Database) -> None:
    found = assert_right(pruned)
    assert archived(pruned) == {"original", "early copy"}
    assert found.status() == {
        "original": "unique",
        "early copy": "duplicate:original",
        "late copy": "unique",
        "latest copy": "duplicate:late copy",
        "other": "unique",
    }
    assert found.pairs.keys() == {("early copy", "original"), ("latest copy", "late copy")}
    with pruned.transaction() as cursor:
        rows = cursor.execute("SELECT source_id, archived, copies FROM dedup.story ORDER BY 1").fetchall()
        assert rows == [("late copy", False, 1), ("original", True, 1), ("other", False, 0)]
        assert cursor.execute("SELECT count(*) FROM dedup.fingerprint").fetchone() == (3,)


def test_waiting_articles_are_settled_before_the_horizon_moves(database: Database) -> None:
    """An article that leaves the window at once is first compared with all stored articles."""
    load(database, *spanning())
    report = prune(database, 3)
    assert report.archived == 2
    assert answer(database).marks["early copy"][:2] == ("duplicate", "original")
    assert answer(database).marks["late copy"][0] == "unique"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("way", ["hook", "load", "sql"])
def test_an_article_that_comes_too_late_is_archived_and_told_so(pruned: Database, way: str) -> None:
    late = article("late", STORY, 2)
    if way == "hook":
        verdict = deduplicator(pruned).submit(late)
        assert (verdict.status, verdict.reason, verdict.archived) == ("failed", window.NEVER_COMPARED, True)
        assert not verdict.provisional
        assert str(verdict).endswith("; archived")
    elif way == "load":
        load(pruned, late)
        settle(pruned)
    else:
        with pruned.transaction() as cursor:
            cursor.execute(
                "INSERT INTO dedup.article (source_id, text, published_at) VALUES (%s, %s, %s)",
                ["late", late.text, late.published_at],
            )
        assert unsettled(pruned) == {"late"}
        settle(pruned)
    assert assert_right(pruned).marks["late"] == FROZEN
    assert "late" in archived(pruned)
    assert unsettled(pruned) == set()


def test_looking_up_an_article_before_the_horizon_says_what_would_become_of_it(pruned: Database) -> None:
    verdict = deduplicator(pruned).lookup(article("new", STORY, 2))
    assert (verdict.status, verdict.reason, verdict.archived) == ("failed", window.NEVER_COMPARED, True)
    assert deduplicator(pruned).lookup(article("new", STORY, 4)).status == "unique"
    assert deduplicator(pruned).lookup(article("new", STORY, 8)).duplicate_of == "late copy"


def test_an_archived_article_that_is_submitted_again_keeps_its_mark(pruned: Database) -> None:
    before = answer(pruned)
    verdict = deduplicator(pruned).submit(article("early copy", STORY, 1))
    assert (verdict.status, verdict.duplicate_of, verdict.archived) == ("duplicate", "original", True)
    assert answer(pruned) == before
    with pruned.transaction() as cursor:
        marked = verdicts.marked_article(cursor, "early copy")
    assert marked is not None
    assert marked.verdict == verdict


@pytest.mark.parametrize("by_hook", [True, False])
def test_an_edited_text_before_the_horizon_loses_its_mark(pruned: Database, by_hook: bool) -> None:
    if by_hook:
        assert deduplicator(pruned).submit(article("early copy", OTHER, 1)).archived
    else:
        sql(pruned, f"UPDATE dedup.article SET text = '{text(OTHER)}' WHERE source_id = 'early copy'")
        settle(pruned)
    found = assert_right(pruned)
    assert found.marks["early copy"] == FROZEN
    assert ("early copy", "original") not in found.pairs


def test_another_title_or_a_date_before_the_horizon_changes_no_archived_mark(pruned: Database) -> None:
    before = answer(pruned)
    sql(pruned, "UPDATE dedup.article SET title = 'Another' WHERE source_id = 'original'")
    assert unsettled(pruned) == set()
    sql(pruned, f"UPDATE dedup.article SET published_at = '{at(2)}' WHERE source_id = 'early copy'")
    settle(pruned)
    assert answer(pruned).marks == before.marks
    assert_right(pruned)


def test_a_date_inside_brings_an_archived_article_back(pruned: Database) -> None:
    sql(pruned, f"UPDATE dedup.article SET published_at = '{at(4)}' WHERE source_id = 'original'")
    settle(pruned)
    found = assert_right(pruned)
    assert archived(pruned) == {"early copy"}
    assert found.status() == {
        "original": "unique",
        "early copy": "duplicate:original",  # the mark that it had when it left the window
        "late copy": "duplicate:original",
        "latest copy": "duplicate:original",
        "other": "unique",
    }


def test_a_failed_article_that_comes_back_is_read(pruned: Database) -> None:
    load(pruned, article("late", OTHER, 2))
    settle(pruned)
    assert deduplicator(pruned).submit(article("late", OTHER, 9)).duplicate_of == "other"
    assert_right(pruned)


def test_failed_articles_are_archived_as_others_are_and_keep_their_reason(database: Database) -> None:
    load(database, *spanning(), article("early empty", [], 1), article("empty", [], 5))
    settle(database)
    prune(database, 3)
    mark = answer(database).marks["empty"]
    assert mark[0] == "failed"
    assert answer(database).marks["early empty"] == mark
    assert archived(database) == {"original", "early copy", "early empty"}
    # An article that comes too late is archived before its text is read.
    load(database, article("late empty", [], 2))
    settle(database)
    assert answer(database).marks["late empty"] == FROZEN
    # A failed article inside gets a date before the horizon; it is archived only when the horizon moves.
    sql(database, f"UPDATE dedup.article SET published_at = '{at(2)}' WHERE source_id = 'empty'")
    settle(database)
    assert archived(database) == {"original", "early copy", "early empty", "late empty"}
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
    assert verify(database, rulebook).right
    prune(database, 4)
    assert answer(database).marks["empty"] == mark
    assert "empty" in archived(database)
    assert_right(database)


@pytest.mark.parametrize("by_hook", [True, False])
def test_a_date_before_the_horizon_archives_an_article(pruned: Database, by_hook: bool) -> None:
    if by_hook:
        assert deduplicator(pruned).submit(article("late copy", STORY, 2)).archived
        assert unsettled(pruned) == set()
    else:
        sql(pruned, f"UPDATE dedup.article SET published_at = '{at(2)}' WHERE source_id = 'late copy'")
        settle(pruned)
    found = assert_right(pruned)
    assert found.marks["latest copy"][0] == "unique"
    assert found.marks["late copy"][0] == "unique"  # keeps its last mark
    assert archived(pruned) == {"original", "early copy", "late copy"}


def test_a_mark_that_points_inside_does_not_leave(pruned: Database) -> None:
    """An archived copy does not keep a mark that names an original inside, because that mark might change."""
    sql(pruned, f"UPDATE dedup.article SET published_at = '{at(2)}' WHERE source_id = 'latest copy'")
    settle(pruned)
    assert assert_right(pruned).marks["latest copy"] == FROZEN


def test_when_an_archived_original_is_deleted_its_archived_copies_say_so(pruned: Database) -> None:
    assert deduplicator(pruned).delete("original")
    found = assert_right(pruned)
    assert found.marks["early copy"] == ("failed", None, None, "archived: its original was deleted")
    assert unsettled(pruned) == set()
    sql(pruned, "DELETE FROM dedup.article WHERE id IN (SELECT id FROM dedup.article_mark WHERE archived)")
    assert_right(pruned)


def test_a_pin_across_the_horizon_waits(pruned: Database) -> None:
    before = answer(pruned)
    with pruned.transaction() as cursor:
        pins.pin_pair(cursor, "original", "other", Relation.DUPLICATE)
    settle(pruned)
    assert answer(pruned) == before
    sql(pruned, f"UPDATE dedup.article SET published_at = '{at(4)}' WHERE source_id = 'original'")
    settle(pruned)
    assert assert_right(pruned).marks["other"][1] == "original"


def test_common_sentences_count_what_is_inside(database: Database) -> None:
    change_settings(database, common_stories=2)
    shared = code(50)
    given = [article(str(n), [shared, *(code(100 * n + i) for i in range(5))], n) for n in range(1, 6)]
    load(database, *given)
    settle(database)
    assert len(answer(database).common) == 1
    prune(database, 4)
    assert answer(database).common == {}
    assert_right(database)
    assert_counted(database)


def test_the_horizon_never_goes_back_and_a_nearer_one_is_refused(pruned: Database) -> None:
    dd = deduplicator(pruned)
    for given in ("2024-02-01", "1y"):
        with pytest.raises(InputError, match="cannot go back"):
            dd.prune(given)
    with pytest.raises(InputError, match="is no horizon: write a number of days"):
        dd.preview_prune("yesterday")
    prune(pruned, 2)
    with pruned.transaction() as cursor:
        assert window.load(cursor).horizon == at(3)
    empty(pruned)
    with pytest.raises(InputError, match="no article is settled"):
        dd.prune("1y")


def test_a_preview_counts_what_a_prune_does(database: Database) -> None:
    day = 24 * 60
    load(database, article("a", STORY, 0), article("b", STORY, 9 * day), article("c", OTHER, 10 * day + 5))
    settle(database)
    before = answer(database)
    found = deduplicator(database).preview_prune("2d")
    assert (found.horizon, found.present) == (at(8 * day), None)
    assert (found.articles, found.archived, found.settled_again) == (1, 0, 1)
    assert answer(database) == before
    report = deduplicator(database).prune("2d")
    assert (report.archived, report.settled) == (1, 1)
    assert archived(database) == {"a"}


def test_a_standing_window_moves_the_horizon_with_the_newest_article(database: Database) -> None:
    day = 24 * 60
    with database.transaction(settling=True) as cursor:
        rulebooks.change_settings(cursor, {"keep_window": "3d"})
    load(database, *(article(str(n), [code(100 * n + i) for i in range(6)], n * day + 7) for n in range(6)))
    settle(database)
    assert archived(database) == {"0", "1"}
    with database.transaction() as cursor:
        assert window.load(cursor).horizon == at(2 * day)
    # A date in the future, from a wrong clock, moves the horizon to the present and no further.
    load(database, Article("future", text(OTHER), added_at="9000-01-01T00:00:00Z"))
    settle(database)
    assert archived(database) == {str(n) for n in range(6)}
    with database.transaction() as cursor:
        row = cursor.execute("SELECT horizon <= now() FROM dedup.corpus_state").fetchone()
    assert row == (True,)
    # Without the setting the horizon stays, and no article comes back.
    with database.transaction(settling=True) as cursor:
        rulebooks.change_settings(cursor, {"keep_window": None})
    settle(database)
    assert archived(database) == {str(n) for n in range(6)}
    assert_right(database)


@pytest.mark.parametrize("kept", [None, "3d"])
def test_advance_takes_the_settle_lock_only_to_move_the_horizon(database: Database, kept: str | None) -> None:
    change_settings(database, keep_window=kept)
    load(database, *(article(str(n), [code(100 * n + i) for i in range(6)], n * 24 * 60) for n in range(6)))
    settle(database)
    hasty = Database(database.url, Timeouts(lock=0.1))
    keeper = Window(hasty, SilentProgress(), lambda: False)
    try:
        with held(database, "SELECT dedup.settle_lock()"):
            assert not keeper.advance()
            sql(database, f"UPDATE dedup.corpus_state SET horizon_wanted = '{at(5 * 24 * 60)}'")
            with pytest.raises(BusyError):
                keeper.advance()
        assert keeper.advance()
        assert not keeper.advance()
    finally:
        hasty.close()


def test_where_others_moved_the_horizon_meanwhile_it_is_not_moved_again(pruned: Database) -> None:
    keeper = Window(pruned, SilentProgress(), lambda: False)
    with pruned.transaction(settling=True) as cursor:
        window.request_move(cursor, at(6))
    with ThreadPoolExecutor(1) as threads:
        with pruned.transaction(settling=True) as cursor:
            assert window.move(cursor, at(6))
            moved = threads.submit(keeper.advance)
            wait_until(lambda: blocked(pruned) or moved.done())
        assert moved.result(30) is False
    with pruned.transaction() as cursor:
        state = window.load(cursor)
    assert (state.horizon, state.wanted) == (at(6), None)


def test_a_window_puts_no_other_setting_in_force(database: Database) -> None:
    load(database, *spanning())
    settle(database)
    change_settings(database, keep_window="90d")
    with database.transaction() as cursor:
        assert setting_rows.load_settings(cursor).keep_window == "90d"
        assert not rulebooks.find_adoption(cursor)
    assert unsettled(database) == set()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statements", range(0, 40, 3))
def test_a_prune_that_is_stopped_anywhere_is_finished_by_the_next_backfill(
    database: Database, statements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.settling.window.ARTICLES_PER_TRANSACTION", 1)
    assert ARTICLES_PER_TRANSACTION > 1
    load(database, *spanning())
    settle(database)
    left = statements

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    prune(database, 3, stop=stop)
    settle(database)
    assert archived(database) == {"original", "early copy"}
    assert assert_right(database).status()["latest copy"] == "duplicate:late copy"


def test_another_canonical_order_divides_the_articles_again(database: Database) -> None:
    load(
        database,
        article("published early, added late", STORY, 0, added_at=at(9)),
        article("published late, added early", OTHER, 8, added_at=at(1)),
        article("both early", STORY, 1, added_at=at(2)),
    )
    settle(database)
    prune(database, 5)
    assert archived(database) == {"published early, added late", "both early"}
    change_settings(database, canonical_order="added")
    settle(database)
    assert archived(database) == {"published late, added early", "both early"}
    found = assert_right(database)
    assert found.marks["published early, added late"][0] == "unique"


def test_retries_and_new_fingerprints_leave_the_archive_alone(pruned: Database) -> None:
    load(pruned, article("late", STORY, 2))
    settle(pruned)
    before = answer(pruned)
    with pruned.transaction(settling=True) as cursor:
        assert fingerprints.retry(cursor, "archived", 100) == 0
    change_settings(pruned, text_min_words=6, bands=8)
    settle(pruned)
    after = assert_right(pruned)
    assert {n: after.marks[n] for n in archived(pruned)} == {n: before.marks[n] for n in archived(pruned)}
    assert archived(pruned) == {"original", "early copy", "late"}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("table", ["fingerprint", "match", "pair_pin", "common_sentence"])
def test_truncate_leaves_the_archive_alone(pruned: Database, table: str) -> None:
    before = answer(pruned)
    sql(pruned, f"TRUNCATE dedup.{table}")
    settle(pruned)
    after = assert_right(pruned)
    assert after.marks == before.marks


def test_only_dedup_archives(pruned: Database) -> None:
    with pytest.raises(RightsError, match="only dedup writes the marks"), pruned.transaction() as cursor:
        cursor.execute("UPDATE dedup.article_mark SET archived = false")


TAMPERING: dict[str, str] = {
    f"UPDATE dedup.article_mark SET archived = false, status = 'unique' {of('original')}": "wrongly archived",
    f"UPDATE dedup.article_mark SET archived = true, takes_part = false {of('other')}": "wrongly archived",
    "INSERT INTO dedup.fingerprint SELECT a.id, 1, a.revision, 1, '{}', '', '{}', 1, 1, true"
    " FROM dedup.marked_article a WHERE a.source_id = 'original'": "it is archived but has a fingerprint",
    "UPDATE dedup.article_mark SET status = 'duplicate', score = 1, reason = 'content', duplicate_of ="
    f" (SELECT id FROM dedup.article WHERE source_id = 'original') {of('late copy')}": "its original is",
    "INSERT INTO dedup.match SELECT a.id, o.id, 'duplicate', 'content', 1, 1, 1, 1, false"
    " FROM dedup.article a, dedup.article o WHERE a.source_id = 'late copy'"
    " AND o.source_id = 'original'": "pairs of an archived",
    "UPDATE dedup.corpus_state SET horizon = NULL, divided = NULL": "",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statement", TAMPERING)
def test_verify_knows_the_window_and_heals_it(pruned: Database, statement: str) -> None:
    with pruned.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
    clean = verify(pruned, rulebook)
    assert clean.right, clean.differences
    assert clean.articles == 3
    assert any("2 archived" in line for line in clean.skipped)
    with pruned.transaction(settling=True) as cursor:
        cursor.execute(statement.encode())
    found = verify(pruned, rulebook)
    if TAMPERING[statement]:
        assert any(TAMPERING[statement] in line for line in found.differences), found.differences
    repair(pruned, found.repairs)
    settle(pruned)
    assert verify(pruned, rulebook).right
    assert_right(pruned)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("engine", ["postgres", "memory"])
def test_what_crosses_the_horizon_while_a_backfill_works_is_archived_by_it(
    pruned: Database, engine: EngineName
) -> None:
    """While texts are read, an article comes, another gets an older date, and another a newer date."""
    load(pruned, *(article(f"new {n}", [code(400 + 10 * n + i) for i in range(6)], 8 + n) for n in range(4)))
    done: list[str] = []

    class Meddler:
        def start(self, stage: str, total: int | None) -> None:
            if stage not in done:
                done.append(stage)
                load(pruned, article(f"late {stage}", STORY, 2))
                back = f"new {len(done) % 4}"
                sql(
                    pruned,
                    f"UPDATE dedup.article SET published_at = '{at(2)}' WHERE source_id = '{back}'",
                )
                if len(done) == 2:
                    sql(
                        pruned,
                        f"UPDATE dedup.article SET published_at = '{at(4)}' WHERE source_id = 'original'",
                    )

        def advance(self, count: int, total: int | None = None) -> None:
            pass

    settle(pruned, engine=engine, progress=Meddler())
    assert len(done) > 2
    settle(pruned, engine=engine)
    assert_right(pruned)
    assert_counted(pruned)
    assert unsettled(pruned) == set()


@pytest.mark.long("dedup", "migrations")
def test_marks_inside_depend_on_what_is_inside_and_on_the_horizon(database: Database) -> None:
    """Articles before the horizon make no difference, whenever they left the window."""

    def bare(found: Answer) -> tuple[Any, ...]:
        inside = {name for name in found.marks if name not in archived(database)}
        return (
            {name: found.marks[name] for name in inside},
            {pair: scores for pair, scores in found.pairs.items() if inside.issuperset(pair)},
            found.common,
        )

    def at_the_end() -> None:
        load(database, *spanning())
        settle(database)
        prune(database, 3)

    def before_all() -> None:
        load(database, article("x", OTHER, 2))
        settle(database)
        prune(database, 3)
        for given in reversed(spanning()):
            deduplicator(database).submit(given)
        settle(database)

    def in_steps() -> None:
        load(database, *spanning())
        prune(database, 0.5)
        prune(database, 2, engine="memory")
        prune(database, 3)

    def never_there() -> None:
        load(database, *spanning()[2:], article("x", STORY, 0))
        prune(database, 3, engine="memory")

    seen = []
    ways: list[Callable[[], None]] = [at_the_end, before_all, in_steps, never_there]
    for way in ways:
        empty(database)
        way()
        seen.append(bare(assert_right(database)))
    assert all(found == seen[0] for found in seen)
    assert {name: mark[1] for name, mark in seen[0][0].items()} == {
        "late copy": None,
        "latest copy": "late copy",
        "other": None,
    }
