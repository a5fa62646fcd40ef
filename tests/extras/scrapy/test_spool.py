"""The spool: entries are on disk, and are delivered in order, at least once, after any interruption."""

from __future__ import annotations

import multiprocessing
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dedup import Article, LoadReport
from dedup.base.errors import ClosedError, DatabaseError, SpoolError, UnreachableError
from dedup.extras.scrapy.spool import Spool
from dedup.files.reading import Reading
from dedup.store.load import preview_file

WHEN = datetime(2024, 5, 1, 12, tzinfo=UTC)
STRANGE = Article(
    "ключ\n",
    'A "quoted"\nline \0 with \ud800 and \u2028.',
    "Ti\ttle",
    "https://a.example",
    "P",
    WHEN,
    WHEN,
    "en",
)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool.jsonl")


def given(count: int, name: str = "a") -> list[Article]:
    return [Article(f"{name}{i}", f"Text {i} of {name}.", published_at=WHEN) for i in range(count)]


def names(articles: list[Article]) -> list[str]:
    return [article.source_id for article in articles]


def test_what_is_kept_is_delivered_in_order_and_then_gone(spool: Spool) -> None:
    assert not spool
    for article in [*given(3), STRANGE]:
        spool.add(article)
    assert spool
    found: list[Article] = []
    assert spool.deliver(found.append) == 4
    assert names(found) == ["a0", "a1", "a2", "ключ\n"]
    assert found[3].text == 'A "quoted"\nline  with  and \u2028.'
    assert (found[3].title, found[3].published_at, found[3].added_at) == ("Ti\ttle", WHEN, WHEN)
    assert not spool
    assert spool.deliver(found.append) == 0


def test_an_article_keeps_the_time_when_it_came(spool: Spool) -> None:
    before = datetime.now(UTC)
    spool.add(given(1)[0])
    found: list[Article] = []
    spool.deliver(found.append)
    assert found[0].added_at is not None
    assert before <= found[0].added_at <= datetime.now(UTC)


def test_load_reads_the_file(spool: Spool) -> None:
    for article in [*given(2), STRANGE]:
        spool.add(article)
    shown = preview_file(spool.path, Reading({}, None, None, None, False))
    assert (shown.report.lines, shown.report.refused) == (3, 0)
    assert isinstance(shown.report, LoadReport)
    assert names(list(shown.articles)) == ["a0", "a1", "ключ\n"]


def test_an_outage_in_a_delivery_keeps_everything(spool: Spool) -> None:
    for article in given(3):
        spool.add(article)
    sent: list[str] = []

    def send(article: Article) -> None:
        if len(sent) == 2:
            raise UnreachableError("gone")
        sent.append(article.source_id)

    with pytest.raises(UnreachableError):
        spool.deliver(send)
    found: list[Article] = []
    assert spool.deliver(found.append) == 3
    assert names(found) == ["a0", "a1", "a2"]


@pytest.mark.parametrize("error", [ClosedError, MemoryError])
def test_what_is_not_the_articles_fault_is_not_held_against_it(spool: Spool, error: type[Exception]) -> None:
    spool.add(given(1)[0])

    def send(_: Article) -> None:
        raise error

    with pytest.raises(error):
        spool.deliver(send)
    assert spool
    assert not spool.refused.exists()


def test_refused_entries_are_put_aside_and_the_others_delivered(spool: Spool) -> None:
    for article in given(4):
        spool.add(article)

    def send(article: Article) -> None:
        if article.source_id == "a1":
            raise DatabaseError("this one never")
        if article.source_id == "a2":
            raise RuntimeError
        found.append(article)

    found: list[Article] = []
    assert spool.deliver(send) == 2
    assert names(found) == ["a0", "a3"]
    assert not spool
    assert names(delivered(Spool(spool.refused))) == ["a1", "a2"]


def delivered(spool: Spool) -> list[Article]:
    found: list[Article] = []
    spool.deliver(found.append)
    return found


@pytest.mark.parametrize("torn", [b'{"source_id": "half", "te', b'[1]\n{"source_id": 3}\n\xff\n', b"\n"])
def test_lines_that_are_no_articles_harm_no_other(spool: Spool, torn: bytes) -> None:
    spool.add(given(1)[0])
    with spool.path.open("ab") as file:
        file.write(torn)  # a killed program wrote part of a line
    spool.add(given(2)[1])
    assert names(delivered(spool)) == ["a0", "a1"]
    assert spool.refused.read_bytes().split() == torn.split()


def test_what_comes_during_a_delivery_is_delivered_too(spool: Spool) -> None:
    spool.add(given(1)[0])
    found: list[str] = []

    def send(article: Article) -> None:
        found.append(article.source_id)
        if len(found) < 5:
            spool.add(Article(f"more {len(found)}", "Text."))

    assert spool.deliver(send) == 5
    assert found == ["a0", "more 1", "more 2", "more 3", "more 4"]
    assert not spool


def add_all(path: str, name: str, count: int) -> None:
    spool = Spool(path)
    for article in given(count, name):
        spool.add(article)


@pytest.mark.long("dedup", "migrations")
def test_processes_share_a_file_while_one_delivers(spool: Spool) -> None:
    context = multiprocessing.get_context("forkserver")
    found: list[Article] = []
    processes = [context.Process(target=add_all, args=(str(spool.path), name, 100)) for name in "abc"]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        spool.deliver(found.append)
    spool.deliver(found.append)
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len(found) == len(set(names(found))) == 300
    for name in "abc":
        assert [n for n in names(found) if n[0] == name] == names(given(100, name))


def test_two_deliver_at_once_and_each_article_goes_once(spool: Spool) -> None:
    for article in given(2):
        spool.add(article)
    inside, go_on = threading.Event(), threading.Event()
    found: list[Article] = []

    def slowly(article: Article) -> None:
        inside.set()
        assert go_on.wait(60)
        found.append(article)

    thread = threading.Thread(target=spool.deliver, args=(slowly,))
    thread.start()
    try:
        assert inside.wait(60)
        assert Spool(spool.path).deliver(found.append) == 0
    finally:
        go_on.set()
        thread.join(60)
    assert names(found) == ["a0", "a1"]


def test_it_becomes_no_larger_than_it_may(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.jsonl", max_bytes=300)
    spool.add(given(1)[0])
    with pytest.raises(SpoolError, match="larger than 300 bytes"):
        spool.add(Article("long", "word " * 60))
    assert names(delivered(spool)) == ["a0"]
    spool.add(given(2)[1])


def test_a_file_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match="cannot be used: No such file"):
        Spool(tmp_path / "none" / "spool.jsonl").add(given(1)[0])
    (tmp_path / "folder").mkdir()
    with pytest.raises(SpoolError, match="cannot be used: Is a directory"):
        Spool(tmp_path / "folder").add(given(1)[0])


def test_a_line_is_on_disk_when_add_returns(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Any] = []
    fsync = os.fsync

    def watching(descriptor: int) -> None:
        synced.append(spool.path.stat().st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watching)
    spool.add(given(1)[0])
    size = spool.path.stat().st_size
    assert synced == [size, size]  # fsync of the file, and of its folder
    spool.add(given(2)[1])
    assert synced == [size, size, spool.path.stat().st_size]
