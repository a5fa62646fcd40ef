"""`dedup.scrapy` in a real spider, which crawls a local newspaper of a hundred pages."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.logformatter import LogFormatter
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from dedup import Article, Deduplicator, Verdict
from dedup.base.errors import InputError
from dedup.db.database import Database
from dedup.extras.scrapy.pipeline import PRIORITY
from dedup.scrapy import DedupPipeline, Options
from dedup.settling.backfill import backfill
from tests.conftest import empty
from tests.corpora import START, Answer, answer, assert_equal, assert_right, load, text, window
from tests.extras.scrapy.stoppable import stoppable
from tests.loops import each

pytestmark = pytest.mark.timeout(240)

PAGES = 100
SECONDS = 150
REACTORS = {
    "asyncio": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "Twisted's default": None,
}
FILES = "scrapy.pipelines.files.FilesPipeline"
ODD = {97: "empty", 98: "number"}
"""Pages with items that are not articles."""


@dataclass
class NewspaperSite:
    """A web site of invented articles, many of them near-duplicates of others.

    Attributes:
        before: function that is called with a page's number before the page is served.
        newest_first: whether the front page lists the newest article first.
    """

    odd: dict[int, str] = field(default_factory=dict)
    before: Callable[[int], None] = lambda _: None
    newest_first: bool = False
    address: str = ""

    def page(self, number: int) -> str:
        paragraphs = "".join(f"<p>{one}</p>" for one in text(_codes(number)).split("\n\n"))
        return (
            f"<html><body><article class='{self.odd.get(number, 'plain')}'><h1>Story {number}</h1>"
            f"<time datetime='{_when(number)}'></time>{paragraphs}</article></body></html>"
        )

    def articles(self) -> list[Article]:
        """Return the articles of all readable pages, as a person would copy them."""
        return [
            Article(
                f"{self.address}/{number}",
                text(_codes(number)),
                f"Story {number}",
                published_at=_when(number),
            )
            for number in range(PAGES)
            if number not in self.odd
        ]


def _codes(number: int) -> list[int]:
    return window(number * 2 % 60, 6, ring=60)


def _when(number: int) -> str:
    return (START + timedelta(minutes=number)).isoformat()


@contextmanager
def served(newspaper: NewspaperSite) -> Iterator[NewspaperSite]:
    """Serve the newspaper on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                numbers = range(PAGES)[:: -1 if newspaper.newest_first else 1]
                links = "".join(f"<li><a href='/{number}'>{number}</a></li>" for number in numbers)
                page = f"<html><body><ul>{links}</ul></body></html>"
            else:
                newspaper.before(int(self.path[1:]))
                page = newspaper.page(int(self.path[1:]))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    newspaper.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield newspaper
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Crawled:
    """The statistics, items and log of a crawl."""

    stats: dict[str, Any]
    items: list[dict[str, Any]]
    log: str

    def count(self, name: str) -> int:
        return int(self.stats.get(f"dedup/{name}", 0))


def crawl(folder: Path, address: str, url: str, **settings: Any) -> Crawled:
    """Run the spider in a separate process, and return its statistics, items and log."""
    items, stats = folder / "items.jsonl", folder / "stats.json"
    given = {
        "DEDUP_DATABASE_URL": url,
        "DEDUP_SPOOL": str(folder / "spool-{name}.jsonl"),
        "FEEDS": {str(items): {"format": "jsonlines", "overwrite": True}},
        **settings,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.extras.scrapy.spider", address, json.dumps(given), str(stats)],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "DEDUP_TIMEOUT_HOOK": "20"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in items.read_text("utf-8").splitlines()] if items.exists() else []
    return Crawled(json.loads(stats.read_text("utf-8")), found, done.stderr)


def by_a_backfill(database: Database, articles: list[Article]) -> Answer:
    """Return the answer of a load and a backfill in an emptied corpus."""
    empty(database)
    load(database, *articles)
    backfill(database, workers=0)
    return assert_right(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("reactor", ["asyncio", pytest.param("Twisted's default", marks=pytest.mark.torture)])
def test_a_crawl_gives_every_item_its_verdict(
    database: Database, corpus_url: str, tmp_path: Path, reactor: str
) -> None:
    with served(NewspaperSite()) as newspaper:
        done = crawl(tmp_path, newspaper.address, corpus_url, TWISTED_REACTOR=REACTORS[reactor])
    assert ("Asyncio" in done.stats["reactor"]) is (reactor == "asyncio")
    assert len(done.items) == done.stats["item_scraped_count"] == PAGES
    backfill(database, workers=0)
    found = answer(database)
    counted = {status: done.count(status) for status in ("unique", "similar", "duplicate")}
    assert sum(counted.values()) == PAGES
    assert all(counted.values())
    assert {item["dedup"]["id"] for item in done.items} == set(found.marks)
    assert [line for line in done.log.splitlines() if "ERROR" in line or "[dedup" in line] == []
    assert list(tmp_path.glob("spool*")) == []
    assert_equal(found, by_a_backfill(database, newspaper.articles()))


@pytest.mark.long("dedup", "migrations")
def test_the_item_of_a_late_original_names_its_copies(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    with served(NewspaperSite(newest_first=True)) as newspaper:
        done = crawl(tmp_path, newspaper.address, corpus_url, DEDUP_DROP=True, CONCURRENT_REQUESTS=1)
    backfill(database, workers=0)
    copies = {name for name, mark in answer(database).marks.items() if mark[0] == "duplicate"}
    told = [item["dedup"] for item in done.items]
    named = {copy["id"] for verdict in told for copy in verdict["copies"]}
    passed = {verdict["id"] for verdict in told}
    assert len(passed & copies) > 10
    assert passed & copies <= named
    assert done.count("overtaken") == sum(bool(verdict["copies"]) for verdict in told)


def test_a_dropped_item_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    crawler = get_crawler()
    pipeline = DedupPipeline(crawler, Options(drop=True))
    item = {"url": "copy", "body": "words of the text"}
    caplog.set_level(logging.NOTSET)  # as Scrapy does: its handler filters instead
    with pytest.raises(DropItem, match="duplicate of original") as dropped:
        pipeline._with_verdict(item, Verdict("copy", "duplicate", "original", 1.0, "content"))
    told = LogFormatter().dropped(item, dropped.value, None, crawler._create_spider())  # as Scrapy does
    logging.getLogger("scrapy.core.scraper").log(told["level"], told["msg"], told["args"])
    assert "words" not in caplog.text
    assert "dropped 'copy': duplicate of 'original' (content)" in caplog.text


@pytest.mark.torture
def test_duplicates_can_be_dropped(database: Database, corpus_url: str, tmp_path: Path) -> None:
    with served(NewspaperSite()) as newspaper:
        # Request pages one after another, so that the earliest article of each story is stored first.
        done = crawl(
            tmp_path,
            newspaper.address,
            corpus_url,
            DEDUP_DROP=True,
            DEDUP_ITEM_FIELD="",
            CONCURRENT_REQUESTS=1,
        )
    dropped = done.count("dropped")
    assert dropped == done.count("duplicate") == done.stats["item_dropped_count"] > 10
    assert "Dropped: " not in done.log, "Scrapy's own line with the whole item is replaced"
    assert len(done.items) == PAGES - dropped
    assert not any("dedup" in item for item in done.items)
    assert len(answer(database).marks) == PAGES


@pytest.mark.torture
def test_items_that_are_no_articles_pass_on_and_are_counted(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    with served(NewspaperSite({**ODD, 0: "dataclass", 1: "undated"})) as newspaper:
        done = crawl(tmp_path, newspaper.address, corpus_url)
    assert len(done.items) == PAGES
    assert done.count("repaired") == 1
    assert done.count("no_article") == len(ODD) + 1
    assert sum("items that are not articles" in line for line in done.log.splitlines()) == 1
    assert sum("dedup" in item for item in done.items) == PAGES - len(ODD) - 1
    assert len(answer(database).marks) == PAGES - len(ODD) - 1


@pytest.mark.torture
def test_an_item_without_a_field_for_the_verdict_passes_on(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    with served(NewspaperSite(dict.fromkeys(range(PAGES), "dataclass"))) as newspaper:
        done = crawl(tmp_path, newspaper.address, corpus_url, DEDUP_FIELDS={})
    assert [set(item) for item in done.items] == [{"url", "text"}] * PAGES
    assert sum("Page has no field 'dedup'" in line for line in done.log.splitlines()) == 1
    # The url is the id, since these items have no source_id.
    assert len(answer(database).marks) == PAGES


@pytest.mark.long("dedup", "migrations")
def test_a_server_that_is_stopped_in_mid_crawl_loses_no_item(database: Database, tmp_path: Path) -> None:
    with stoppable() as server:
        stop, start = threading.Lock(), threading.Lock()

        def once(lock: threading.Lock, work: Callable[[], None]) -> None:
            if lock.acquire(blocking=False):
                work()

        def before(number: int) -> None:
            if number == 30:
                once(stop, server.stop)
            elif number == 70:
                once(start, server.start)

        with served(NewspaperSite(before=before)) as newspaper:
            done = crawl(
                tmp_path, newspaper.address, server.url, DEDUP_RETRY_SECONDS=0.05, CONCURRENT_REQUESTS=4
            )
        with Deduplicator(server.url) as corpus:
            corpus.backfill(workers=0)
        stopped = Database(server.url)
        try:
            found = answer(stopped)
        finally:
            stopped.close()
    assert len(done.items) == PAGES
    spooled = done.count("spooled")
    assert 10 <= spooled < PAGES
    assert (done.count("delivered"), done.count("lost")) == (spooled, 0)
    assert sum("dedup" in item for item in done.items) == PAGES - spooled
    assert sum("during the outage articles are kept in" in line for line in done.log.splitlines()) == 1
    assert (tmp_path / "spool-newspaper.jsonl").read_bytes() == b""
    assert_equal(found, by_a_backfill(database, newspaper.articles()))


@pytest.mark.long("dedup", "migrations")
def test_a_crawl_without_a_database_leaves_a_file_that_load_takes(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    with served(NewspaperSite()) as newspaper:
        done = crawl(tmp_path, newspaper.address, "postgresql://nobody@127.0.0.1:1/none")
    assert len(done.items) == done.count("spooled") == PAGES
    assert sum("WARNING" in line for line in done.log.splitlines()) == 1
    with Deduplicator(corpus_url) as corpus:
        report = corpus.load(tmp_path / "spool-newspaper.jsonl", rejects=tmp_path / "rejects.jsonl")
        corpus.backfill(workers=0)
    assert (report.new, report.refused) == (PAGES, 0)
    assert_equal(answer(database), by_a_backfill(database, newspaper.articles()))


@pytest.mark.torture
def test_items_pass_on_even_when_the_spool_is_full(tmp_path: Path) -> None:
    with served(NewspaperSite()) as newspaper:
        done = crawl(
            tmp_path, newspaper.address, "postgresql://nobody@127.0.0.1:1/none", DEDUP_SPOOL_BYTES=5_000
        )
    assert len(done.items) == PAGES
    assert done.count("spooled") + done.count("lost") == PAGES
    assert done.count("spooled") > 0
    assert sum("their articles are not stored" in line for line in done.log.splitlines()) == 1


def test_fields_of_an_item_are_kept_with_its_article(database: Database, corpus_url: str) -> None:
    item = {"source_id": "a", "text": "The ferry was late.", "topic": "sea", "kept": {"page": 3}}
    crawler = get_crawler(settings_dict={"DEDUP_DATABASE_URL": corpus_url, "DEDUP_KEEP": ["topic", "desk"]})
    [given] = processed(crawler, item)
    assert (given["dedup"]["status"], given["dedup"]["repairs"]) == ("unique", [])
    with Deduplicator(corpus_url) as corpus:
        assert [mark["kept"] for mark in corpus.marks(kept=True)] == [{"page": 3, "topic": "sea"}]


def processed(crawler: Crawler, *items: dict[str, Any]) -> list[Any]:
    """Pass items through a pipeline in this process; return them as later pipelines get them."""

    async def work() -> list[Any]:
        pipeline = DedupPipeline.from_crawler(crawler)
        await pipeline.open_spider()
        given = [await pipeline.process_item(item) for item in items]
        await pipeline.close_spider()
        return given

    return asyncio.run(work())


def test_an_item_with_a_bad_date_gets_a_verdict_that_names_the_date(
    database: Database, corpus_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    crawler = get_crawler(settings_dict={"DEDUP_DATABASE_URL": corpus_url})
    body = "The ferry was late on every day of the week."
    items = [{"source_id": name, "text": body, "published_at": f"some time in week {name}"} for name in "ab"]
    first, second = (item["dedup"] for item in processed(crawler, *items))
    assert (first["status"], second["status"], second["duplicate_of"]) == ("unique", "duplicate", "a")
    [repair] = second["repairs"]
    assert (repair["field"], repair["value"]) == ("published_at", "some time in week b")
    assert crawler.stats is not None
    assert (crawler.stats.get_value("dedup/repaired"), crawler.stats.get_value("dedup/no_article")) == (
        2,
        None,
    )
    [told] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "published_at is not a time" in told
    assert "week" not in told


@each(
    ("pipelines", "place"),
    [({}, PRIORITY), ({"dedup.scrapy.DedupPipeline": 700}, 700), ({DedupPipeline: None}, None)],
)
def test_the_add_on_enables_the_pipeline_unless_the_settings_place_it(
    pipelines: dict[Any, int | None], place: int | None
) -> None:
    settings = {"ADDONS": {"dedup.scrapy.Addon": 300}, "ITEM_PIPELINES": {FILES: 100, **pipelines}}
    enabled = get_crawler(settings_dict=settings).settings.getdict("ITEM_PIPELINES")
    [(_, found)] = [(key, at) for key, at in enabled.items() if key != FILES]
    assert (len(enabled), found) == (2, place)


def test_settings_that_name_a_field_that_articles_do_not_have_are_refused() -> None:
    with pytest.raises(InputError, match="articles have no titel; the fields are source_id, text, title"):
        Options.read(Settings({"DEDUP_FIELDS": {"titel": "headline"}}))
    wrong: list[Any] = ["title=headline", ["title"], {"title": None}]
    for fields in wrong:
        with pytest.raises(InputError, match="DEDUP_FIELDS must be a dict of names"):
            Options.read(Settings({"DEDUP_FIELDS": fields}))


def test_a_wrong_map_of_fields_stops_the_crawl(tmp_path: Path) -> None:
    with served(NewspaperSite()) as newspaper:
        done = crawl(tmp_path, newspaper.address, "", DEDUP_FIELDS={"titel": "headline"})
    assert "InputError: DEDUP_FIELDS: articles have no titel" in done.log
    assert not any(name.startswith("downloader/") for name in done.stats)
