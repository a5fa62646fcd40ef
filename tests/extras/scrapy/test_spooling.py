"""Promise 10 of docs/reliability.md: an outage harms no caller and loses no article."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dedup import Article, Deduplicator, Verdict
from dedup.base.errors import ClosedError, DatabaseError, SpoolError, UnreachableError
from dedup.db.database import Database
from dedup.spooling import SpoolingDeduplicator
from tests.corpora import article, assert_right, stored, wait_until, window
from tests.extras.scrapy.stoppable import Stoppable, stoppable
from tests.failover import read_only

pytestmark = pytest.mark.timeout(180)

ARTICLES = [article(f"a{i:02}", window(i % 14, 6), i) for i in range(40)]
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
def own_server() -> Iterator[Stoppable]:
    with stoppable() as server:
        yield server


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_without_an_outage_it_is_a_deduplicator(
    database: Database, corpus_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SpoolingDeduplicator(corpus_url, spool=tmp_path / "spool.jsonl") as dd:
        found = [dd.submit(one) for one in ARTICLES]
    assert "pending" not in {verdict.status for verdict in found if verdict}
    assert None not in found
    assert list(tmp_path.iterdir()) == []
    assert warnings(caplog) == []
    with Deduplicator(corpus_url) as dd:
        dd.backfill(workers=0)
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_an_outage_is_told_once_and_everything_is_delivered_when_it_is_over(
    own_server: Stoppable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "spool.jsonl"
    with SpoolingDeduplicator(own_server.url, spool=path, retry_seconds=0.01) as dd:
        before = [dd.submit(one) for one in ARTICLES[:10]]
        own_server.stop()
        during = [dd.submit(one) for one in ARTICLES[10:20]]
        assert during == [None] * 10
        assert len(path.read_bytes().splitlines()) == 10
        own_server.start()
        wait_until(dd.connect)
        assert (dd.delivered, path.read_bytes()) == (10, b"")
        after = [dd.submit(one) for one in ARTICLES[20:30]]
        own_server.stop()
        assert [dd.submit(one) for one in ARTICLES[30:]] == [None] * 10
        own_server.start()
    assert None not in [*before, *after]
    assert path.read_bytes() == b""  # closing delivers the remaining articles
    told = warnings(caplog)
    assert len(told) == 2
    assert all(str(path) in one and "text" not in one for one in told)
    assert sum("takes articles again" in record.getMessage() for record in caplog.records) == 2
    database = Database(own_server.url)
    try:
        with Deduplicator(own_server.url) as corpus:
            corpus.backfill(workers=0)
        assert set(assert_right(database).marks) == {one.source_id for one in ARTICLES}
    finally:
        database.close()


def test_what_an_earlier_program_kept_is_delivered_first(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "spool.jsonl"
    with SpoolingDeduplicator(NOWHERE, spool=path) as dd:
        assert dd.submit(article("a", window(0, 6), 0, title="Old")) is None
        assert dd.submit(ARTICLES[1]) is None
    with SpoolingDeduplicator(corpus_url, spool=path) as dd:
        assert dd.delivered == 2
        assert dd.submit(article("a", window(0, 6), 0, title="New")) is not None
    with Deduplicator(corpus_url) as corpus:
        found = corpus.get("a")
        assert found is not None
        assert found.article.title == "New"


def test_load_and_backfill_take_what_a_program_left(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "spool.jsonl"
    with SpoolingDeduplicator(NOWHERE, spool=path) as dd:
        for one in ARTICLES:
            assert dd.submit(one) is None
    with Deduplicator(corpus_url) as corpus:
        assert corpus.load(path, rejects=tmp_path / "rejects.jsonl").new == len(ARTICLES)
        corpus.backfill(workers=0)
    assert set(assert_right(database).marks) == {one.source_id for one in ARTICLES}


def test_while_the_spool_is_delivered_other_threads_do_not_wait_and_overtake_nothing(
    database: Database, corpus_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spool.jsonl"
    with SpoolingDeduplicator(NOWHERE, spool=path) as dd:
        dd.submit(article("a", window(0, 6), 0, title="First"))
    inside, go_on = threading.Event(), threading.Event()
    submit = Deduplicator.submit

    def slowly(self: Deduplicator, given: Article, **more: Any) -> Verdict:
        if given.title == "First":
            inside.set()
            assert go_on.wait(60)
        return submit(self, given, **more)

    monkeypatch.setattr(Deduplicator, "submit", slowly)
    dd = SpoolingDeduplicator(corpus_url, spool=path)
    with ThreadPoolExecutor(1) as thread:
        opening = thread.submit(dd.connect)
        try:
            assert inside.wait(60)
            assert dd.submit(article("a", window(0, 6), 0, title="Second")) is None
        finally:
            go_on.set()
        assert opening.result(60)
    assert dd.submit(article("b", window(0, 6), 0)) is not None
    dd.close()
    with Deduplicator(corpus_url) as corpus:
        found = corpus.get("a")
    assert found is not None
    assert found.article.title == "Second"
    assert not dd.spool


@pytest.mark.long("dedup", "migrations")
def test_many_threads_through_an_outage(own_server: Stoppable, tmp_path: Path) -> None:
    given = [article(f"a{i:03}", window(i % 14, 6), i) for i in range(200)]
    reached, went_down = threading.Event(), threading.Event()
    path = tmp_path / "spool.jsonl"
    with SpoolingDeduplicator(own_server.url, spool=path, retry_seconds=0.01) as dd:

        def submit(number: int) -> Verdict | None:
            if number == 50:
                reached.set()
                assert went_down.wait(60)
            return dd.submit(given[number])

        with ThreadPoolExecutor(8) as threads:
            found = [threads.submit(submit, number) for number in range(len(given))]
            assert reached.wait(60)
            own_server.stop()
            went_down.set()
            wait_until(lambda: sum(one.done() for one in found) > 100)
            own_server.start()
            kept = [one.result(120) for one in found].count(None)
    assert kept >= 1
    assert dd.delivered == kept
    database = Database(own_server.url)
    try:
        with Deduplicator(own_server.url) as corpus:
            corpus.backfill(workers=0)
        assert len(assert_right(database).marks) == len(given)
    finally:
        database.close()


def test_one_article_that_the_database_refuses_is_no_outage(
    database: Database,
    corpus_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    submit = Deduplicator.submit

    def refusing(self: Deduplicator, given: Article, **more: Any) -> Verdict:
        if given.source_id == "a01":
            raise DatabaseError("the server refused (SQLSTATE 54000)")
        return submit(self, given, **more)

    monkeypatch.setattr(Deduplicator, "submit", refusing)
    with SpoolingDeduplicator(corpus_url, spool=tmp_path / "spool.jsonl") as dd:
        found = [dd.submit(one) for one in ARTICLES[:4]]
    assert [verdict is None for verdict in found] == [False, True, False, False]
    assert [path.name for path in tmp_path.iterdir()] == ["spool.jsonl.refused"]
    assert len(warnings(caplog)) == 1


def test_a_spool_that_is_full_is_an_error(tmp_path: Path) -> None:
    with SpoolingDeduplicator(NOWHERE, spool=tmp_path / "spool.jsonl", max_bytes=800) as dd:
        assert dd.submit(ARTICLES[0]) is None
        with pytest.raises(SpoolError, match="larger than 800 bytes"):
            dd.submit(ARTICLES[1])


def test_a_database_that_is_down_is_not_asked_for_every_article(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def down(*_: Any, **__: Any) -> None:
        nonlocal asked
        asked += 1
        raise UnreachableError("nobody there")

    monkeypatch.setattr(Deduplicator, "__init__", down)
    with SpoolingDeduplicator(NOWHERE, spool=tmp_path / "spool.jsonl", retry_seconds=3_600) as dd:
        for one in ARTICLES:
            assert dd.submit(one) is None
        assert asked == 1
        assert not dd.connect()
    assert asked == 2  # the second attempt is at the end of the block


def test_a_closed_one_says_so(tmp_path: Path) -> None:
    dd = SpoolingDeduplicator(NOWHERE, spool=tmp_path / "spool.jsonl")
    dd.close()
    dd.close()
    with pytest.raises(ClosedError):
        dd.submit(ARTICLES[0])


def test_while_a_database_may_only_be_read_articles_are_kept_and_delivered_after_it(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    with SpoolingDeduplicator(corpus_url, spool=tmp_path / "spool.jsonl", retry_seconds=0.01) as dd:
        with read_only(corpus_url):
            assert dd.submit(ARTICLES[0]) is None
        wait_until(dd.connect)
    assert list(stored(database)) == [ARTICLES[0].source_id]
    assert not dd.spool.refused.exists()
