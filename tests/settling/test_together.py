"""A worker, an attached table and a horizon at the same time give the right marks."""

from __future__ import annotations

import pytest

from dedup.db.database import Database
from dedup.runs import waiting
from tests.attached import attach, marks, news, owned, put, right
from tests.corpora import archived, at, deduplicator, settle, text, wait_until, window
from tests.settling.test_daemon import working

pytestmark = pytest.mark.timeout(120)

FAR = 60 * 24 * 40
"""Minutes after the first articles: later than 30 days, so that a window of 30 days excludes them."""


def waits(database: Database) -> bool:
    with database.transaction() as cursor:
        return bool(waiting.find_waiting(cursor))


def test_a_worker_follows_an_attached_table(database: Database) -> None:
    with owned(database) as owner:

        def told(column: str) -> list[tuple[object, ...]]:
            return owner.execute(f"SELECT {column} FROM news ORDER BY id".encode()).fetchall()

        news(owner)
        attach(database, mark_columns=True)
        with working(database.url):
            put(owner, 1, window(0, 6), 0)
            put(owner, 2, window(0, 6), 1)
            wait_until(
                lambda: owner.execute("SELECT dedup_duplicate_of FROM news WHERE id = 2").fetchone() == (1,)
            )
            owner.execute("DELETE FROM news WHERE id = 1")
            wait_until(lambda: told("dedup_status") == [("unique",)])
            wait_until(lambda: not waits(database))
        right(database)


def test_rows_before_the_horizon_are_archived_and_come_back_with_another_date(database: Database) -> None:
    with owned(database) as owner:
        news(owner)
        attach(database, mark_columns=True)
        put(owner, 1, window(0, 6), 0)
        put(owner, 2, window(0, 6), 1)
        put(owner, 3, window(20, 6), FAR)
        with deduplicator(database) as dd:
            settle(database)
            dd.settings.change({"keep_window": "30d"}, for_good=True)
            settle(database)
        assert archived(database) == {"news/1", "news/2"}
        assert marks(database)["news/2"][0] == "duplicate"
        owner.execute("UPDATE news SET day = %s WHERE id = 2", [at(FAR + 1)])
        settle(database)
        assert archived(database) == {"news/1"}
        assert marks(database)["news/2"][0] == "unique"
        assert owner.execute("SELECT dedup_status FROM news WHERE id = 2").fetchone() == ("unique",)
        owner.execute("UPDATE news SET body = %s WHERE id = 1", [text(window(40, 6))])
        settle(database)
        assert "news/1" in archived(database)
        assert marks(database)["news/1"][0] == "failed", (
            "an archived article with a new text is compared with nothing"
        )
        owner.execute("DELETE FROM news WHERE id = 1")
        right(database)


def test_a_worker_moves_the_horizon_that_somebody_asked_for(database: Database) -> None:
    with owned(database) as owner:
        news(owner)
        attach(database)
        put(owner, 1, window(0, 6), 0)
        put(owner, 2, window(20, 6), FAR)
        with working(database.url):
            wait_until(lambda: not waits(database))
            with database.transaction(settling=True) as cursor:
                cursor.execute("UPDATE dedup.corpus_state SET horizon_wanted = %s", [at(10)])
            wait_until(lambda: archived(database) == {"news/1"})
        right(database)
