"""Feeds are polled politely and within limits, and every version of an entry is submitted once."""

from __future__ import annotations

import gzip
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError, UnreachableError
from dedup.base.verdict import Verdict
from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from dedup.extras.watch import fetching, reaching
from dedup.extras.watch import watch as watching
from dedup.files import feeds
from dedup.settling.submit import Submissions
from tests.cli.conftest import Dedup
from tests.cli.conftest import dedup as dedup
from tests.conftest import empty
from tests.corpora import stored, wait_until
from tests.extras.watch.sites import Site, site
from tests.files.feed_files import KEEPER, STORM, TRAMS, rss, rss_item
from tests.loops import each

pytest.importorskip("trafilatura")
pytest.importorskip("protego")


@pytest.fixture
def news() -> Iterator[Site]:
    with site() as made:
        yield made


class Watch:
    """A function that polls feeds once, and records the verdicts."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.told: list[tuple[Verdict, Article]] = []

    def __call__(self, *addresses: str, **how: Any) -> watching.WatchReport:
        def told(verdict: Verdict, article: Article) -> None:
            self.told.append((verdict, article))

        how = {"once": True, "host_seconds": 0.0, "stop": lambda: False, **how}
        return watching.watch(addresses, self._url, told=told, **how)

    def ids(self) -> list[str]:
        """Return the last part of each id that got a verdict since the last call."""
        found = [article.source_id.rpartition("/")[2] for _, article in self.told]
        self.told.clear()
        return found


@pytest.fixture
def poll(database: Database, corpus_url: str) -> Watch:
    return Watch(corpus_url)


def at_home(news: Site, items: Iterable[str], **how: str) -> str:
    """Return a feed with entries that link to the feed's own site."""
    return rss(items, **how).replace("https://mercury.example/", f"{news.address}/")


BAD_LINKS = ("http://[", "http://[::1", "http://a\u2100b/", "http://a:b:c/", "http://x:99999/")
LOOP = {"once": False, "every": 0.05}


def ready_again(database: Database) -> None:
    """End the pause after which a feed may be polled again."""
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.feed SET not_before = now() WHERE not_before IS NOT NULL")


def state(database: Database) -> dict[str, Any]:
    with database.transaction() as cursor:
        cursor.execute(
            "SELECT etag, failures, problem, extract(epoch FROM not_before - now()) FROM dedup.feed"
        )
        [(etag, failures, problem, wait)] = cursor.fetchall()[:1]
    return {"etag": etag, "failures": failures, "problem": problem, "wait": wait and float(wait)}


def page(text: str) -> str:
    menu = "<nav><a href='/'>Home</a></nav>"
    return f"<!doctype html><html><body>{menu}<article><h1>Title</h1><p>{text}</p></article></body></html>"


def test_each_entry_is_submitted_once_and_again_when_it_changes(
    news: Site, poll: Watch, database: Database
) -> None:
    items = [rss_item("b", TRAMS, hours=1), rss_item("a", STORM)]
    address = news.put("/feed", at_home(news, items))
    report = poll(address)
    assert (report.new, report.changed, report.polls) == (2, 0, 1)
    assert poll.ids() == ["a", "b"]  # the oldest entry first
    assert poll(address).new == 0
    assert news.statuses("/feed") == [200, 304]

    items[0] = rss_item("b", f"{TRAMS} Updated.", hours=1)
    news.put("/feed", at_home(news, [rss_item("c", STORM, hours=2), *items]))
    report = poll(address)
    assert (report.new, report.changed) == (1, 1)
    copies = {verdict.id: verdict.duplicate_of for verdict, _ in poll.told if verdict.is_duplicate}
    assert copies == {f"{news.address}/c": f"{news.address}/a"}
    assert poll.ids() == ["b", "c"]
    assert stored(database)[f"{news.address}/b"] == f"{TRAMS} Updated."


def test_an_entry_that_only_moved_in_the_feed_is_not_submitted_again(news: Site, poll: Watch) -> None:
    items = [rss_item(name, STORM) for name in "ab"]
    address = news.put("/feed", rss(items), validated=False)
    poll(address)
    news.put("/feed", rss(reversed(items)), validated=False)
    poll.ids()
    assert poll(address).new == 0
    assert poll.ids() == []
    assert news.statuses("/feed") == [200, 200]


def test_an_entry_in_two_feeds_is_submitted_once_and_an_outlet_can_be_named(
    news: Site, poll: Watch, database: Database
) -> None:
    first = news.put("/home", at_home(news, [rss_item("a", STORM)], title="Courier - Home"))
    second = news.put("/sport", at_home(news, [rss_item("a", STORM)], title="Courier - Sport"))
    poll(f"Courier={first}")
    poll(f"Courier={second}")
    assert poll.ids() == ["a"]
    with database.transaction() as cursor:
        assert cursor.execute("SELECT publication FROM dedup.article").fetchall() == [("Courier",)]


@pytest.mark.long("dedup", "migrations")
def test_a_feed_that_fails_is_left_alone_longer_each_time(
    news: Site, poll: Watch, database: Database
) -> None:
    address = news.put("/feed", status=500)
    waits = []
    for _ in range(3):
        report = poll(address, every=100.0)
        assert report.problems == {address: f"{address}: HTTP 500"}
        waits.append(state(database)["wait"])
        assert "paused" in poll(address).problems[address]  # the feed is not requested
        ready_again(database)
    assert [round(wait / 100) for wait in waits] == [1, 2, 4]
    assert len(news.asked) == 3
    news.put("/feed", rss([rss_item("a", STORM)]))
    assert poll(address).new == 1
    assert state(database) | {"etag": None} == {"etag": None, "failures": 0, "problem": None, "wait": None}


def test_a_server_that_asks_for_a_pause_gets_it_from_all_feeds(
    news: Site, poll: Watch, database: Database
) -> None:
    first = news.put("/first", status=429, headers={"Retry-After": "3600"})
    second = news.put("/second", rss([rss_item("a", STORM)]))
    report = poll(first, second)
    assert [path for path, _, _ in news.asked] == ["/first"]
    assert set(report.problems) == {first, second}
    found = state(database)
    assert 3_500 < found["wait"] <= 3_600
    assert found["failures"] == 0


@each("given", ["30", "Wed, 01 Jan 2020 00:00:00 GMT", "soon", "99999999999", ""])
def test_a_pause_is_a_second_at_least_and_a_day_at_most(given: str) -> None:
    assert 1 <= fetching._pause(given) <= 86_400


def test_redirects_are_followed_some_times_and_to_http_alone(news: Site, poll: Watch) -> None:
    end = news.put("/end", rss([rss_item("a", STORM)]))
    for number in range(5):
        to = f"/{number + 1}" if number < 4 else end
        news.put(f"/{number}", status=301, headers={"Location": to})
    assert poll(f"{news.address}/0").new == 1
    wrong = {
        news.put("/loop", status=302, headers={"Location": "/loop"}): "more than 5 redirects",
        news.put("/file", status=302, headers={"Location": "file:///etc/passwd"}): "must be an http or https",
        news.put("/inside", status=302, headers={"Location": "http://127.0.0.1:1/"}): "own network",
        news.put("/link", status=302, headers={"Location": "http://169.254.169.254/meta"}): "own network",
        news.put("/nowhere", status=302): "a redirect to nowhere",
    }
    report = poll(*wrong)
    assert {address: words in report.problems[address] for address, words in wrong.items()} == dict.fromkeys(
        wrong, True
    )


def test_a_name_that_leads_elsewhere_when_it_is_asked_is_refused(
    news: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    news.put("/secret", rss([]))
    port = int(news.address.rpartition(":")[2])
    answers = iter(["93.184.216.34"])
    known = socket.getaddrinfo

    def moving(host: Any, *given: Any, **options: Any) -> Any:
        return known(next(answers, "127.0.0.1") if host == "moving.example" else host, *given, **options)

    monkeypatch.setattr(socket, "getaddrinfo", moving)
    client = fetching.Client(stop=lambda: False, host_seconds=0)
    with pytest.raises(reaching.FetchError, match="own network"):
        client.get(f"http://moving.example:{port}/secret")
    assert news.statuses("/secret") == []


@each("address", ["file:///etc/passwd", "feed.xml", "ftp://a.example/feed", "Courier=feed", "http://", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="is not the address of a feed"):
        watching.watch([address], "postgresql://127.0.0.1:1/x", stop=lambda: True)


@pytest.mark.long("dedup", "migrations")
def test_an_answer_is_bounded_in_size_packed_or_not(
    news: Site, poll: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_BYTES", 100_000)
    bomb = gzip.compress(b" " * 50_000_000)
    addresses = [
        news.put("/plain", b" " * 200_000),
        news.put("/packed", bomb, headers={"Content-Encoding": "gzip"}),
        news.put("/file.gz", bomb),
    ]
    report = poll(*addresses)
    assert ["longer than 100,000 bytes" in report.problems[address] for address in addresses] == [True] * 3


def test_an_answer_that_drips_is_given_up(news: Site, poll: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "TOTAL_SECONDS", 0.3)
    ended = threading.Event()
    address = news.put("/feed", drip=lambda: not ended.wait(0.02))
    try:
        report = poll(address)
    finally:
        ended.set()
    assert report.problems[address] == f"{address}: no whole answer within 0.3 s"


def test_what_is_no_feed_says_so_and_the_others_are_polled(news: Site, poll: Watch) -> None:
    wrong = news.put("/page", "<html><body>Moved</body></html>")
    right = news.put("/feed", rss([rss_item("a", STORM)]))
    report = poll(wrong, right)
    assert "<html>, which is not RSS" in report.problems[wrong]
    assert report.new == 1


def test_a_page_that_was_taken_for_a_feed_names_its_feeds(news: Site, poll: Watch) -> None:
    link = '<link rel="alternate" type="application/rss+xml" title="RSS" href="/feed?a=1&amp;b=2">'
    address = news.put("/", f"<!doctype html><html><head>{link}</head><body></body></html>")
    assert poll(address).problems == {address: f"{address} is a page; its feeds: {news.address}/feed?a=1&b=2"}


def test_a_password_in_an_address_is_refused_and_not_told() -> None:
    with pytest.raises(InputError, match=r"at a\.example contains a user name or password") as error:
        watching.watch(["https://me:secret@a.example/feed"], "postgresql://127.0.0.1:1/x", stop=lambda: True)
    assert "secret" not in str(error.value)


def test_pages_are_read_where_a_feed_has_no_full_text(news: Site, poll: Watch, database: Database) -> None:
    whole = f"<content:encoded>{TRAMS}</content:encoded>"
    items = [rss_item(name, "A teaser …", more=whole if name == "b" else "") for name in "abc"]
    content = rss(items).replace("https://mercury.example/", f"{news.address}/")
    address = news.put("/feed", content)
    news.put("/a", page(STORM), headers={"Content-Type": "text/html"})
    report = poll(address, fetch=True)
    assert report.new == 3
    assert {key.rpartition("/")[2]: " ".join(text.split()) for key, text in stored(database).items()} == {
        "a": f"Title {STORM}",
        "b": TRAMS,
        "c": "A teaser …",  # its page does not exist
    }
    assert news.statuses("/b") == []
    assert poll(address, fetch=True).new == 0
    assert news.statuses("/a") == [200]


def test_robots_txt_is_obeyed_and_read_once(news: Site, poll: Watch, database: Database) -> None:
    news.put("/robots.txt", "User-agent: *\nDisallow: /*/secret\nCrawl-delay: 0\n")
    items = [rss_item(f"{name}/secret", "A teaser …") for name in "ab"]
    address = news.put("/feed", rss(items).replace("https://mercury.example/", f"{news.address}/"))
    assert poll(address, fetch=True).new == 2
    assert {path for path, _, _ in news.asked} == {"/feed", "/robots.txt"}
    assert news.statuses("/robots.txt") == [200]
    assert set(stored(database).values()) == {"A teaser …"}


SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
  <url><loc>{site}/story</loc><news:news>
    <news:publication><news:name>Courier</news:name><news:language>en</news:language></news:publication>
    <news:publication_date>2026-03-12T07:30:00+01:00</news:publication_date>
    <news:title>Harbour bridge shut</news:title></news:news></url>
  <url><loc>{site}/about</loc></url>
</urlset>
"""
INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <sitemap><loc>{site}/pages.xml</loc></sitemap>
  <sitemap><loc>{site}/news.xml.gz</loc><lastmod>2999-01-01</lastmod></sitemap>
</sitemapindex>
"""


def test_an_index_leads_to_the_news_sitemap_and_it_to_the_pages(
    news: Site, poll: Watch, database: Database
) -> None:
    address = news.put("/sitemap.xml", INDEX.format(site=news.address))
    news.put("/news.xml.gz", gzip.compress(SITEMAP.format(site=news.address).encode()))
    news.put("/story", page(STORM))
    report = poll(address)
    assert "add --fetch" in report.problems[f"{news.address}/news.xml.gz"]
    ready_again(database)
    report = poll(address, fetch=True)
    assert report.new == 1
    [(_, article)] = poll.told
    assert (article.source_id, article.title) == (f"{news.address}/story", "Harbour bridge shut")
    assert (article.publication, article.language) == ("Courier", "en")
    assert poll(address, fetch=True).new == 0
    assert [news.statuses(path) for path in ("/pages.xml", "/about", "/story")] == [[], [], [200]]
    assert news.statuses("/news.xml.gz")[-1] == 304


def test_a_page_that_is_not_to_be_had_now_is_asked_for_again(
    news: Site, poll: Watch, database: Database
) -> None:
    content = rss([rss_item("a", "A teaser …")]).replace("https://mercury.example/", f"{news.address}/")
    address = news.put("/feed", content)
    news.put("/a", status=503, headers={"Retry-After": "1"})
    assert poll(address, fetch=True).left == 1
    assert stored(database) == {}
    assert state(database)["etag"] is None  # the next request asks for the whole feed
    news.put("/a", page(STORM))
    assert poll(address, fetch=True).new == 1
    assert len(stored(database)) == 1


def test_it_goes_on_polling_until_it_is_told_to_stop(news: Site, poll: Watch, database: Database) -> None:
    address = news.put("/feed", rss([rss_item("a", STORM)]))
    stop = threading.Event()
    running = threading.Thread(target=poll, args=(address,), kwargs=LOOP | {"stop": stop.is_set})
    running.start()
    try:
        wait_until(lambda: 304 in news.statuses("/feed"))
        news.put("/feed", rss([rss_item("b", TRAMS, hours=1), rss_item("a", STORM)]))
        wait_until(lambda: len(stored(database)) == 2)
    finally:
        stop.set()
        running.join(30)
    assert poll.ids() == ["a", "b"]


def test_a_database_that_is_away_is_waited_for_and_nothing_is_lost(
    news: Site,
    poll: Watch,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(watching, "DOWN_SECONDS", (0.01, 0.01))
    address = news.put("/feed", rss([rss_item("a", STORM), rss_item("b", TRAMS, hours=1)]))
    real, away = Submissions.submit, [UnreachableError("the server is away")] * 3

    def submit(self: Submissions, article: Article, seconds: float) -> Verdict:
        if article.source_id.endswith("/b") and away:
            raise away.pop()
        return real(self, article, seconds)

    monkeypatch.setattr(Submissions, "submit", submit)
    stop = threading.Event()
    running = threading.Thread(target=poll, args=(address,), kwargs=LOOP | {"stop": stop.is_set})
    with caplog.at_level("INFO", "dedup.watch"):
        running.start()
        try:
            wait_until(lambda: len(stored(database)) == 2)
        finally:
            stop.set()
            running.join(30)
    assert poll.ids() == ["a", "b"]
    said = [record.getMessage() for record in caplog.records]
    assert said.count("the server is away; waiting for it") == 1
    assert "mayor" not in caplog.text


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", main.__name__, "watch", *arguments]


@pytest.mark.long("dedup", "migrations")
def test_a_kill_in_the_middle_loses_nothing_and_repeats_nothing(
    news: Site, poll: Watch, database: Database, corpus_url: str
) -> None:
    names = "abcde"
    texts = [f"{STORM} It was number {name}." for name in names]
    items = [rss_item(name, "A teaser …", hours=at) for at, name in enumerate(names)]
    address = news.put("/feed", rss(items).replace("https://mercury.example/", f"{news.address}/"))
    for name, text in zip(names, texts, strict=True):
        news.put(f"/{name}", page(text))
    reached, ended = threading.Event(), threading.Event()
    news.replies["/d"].before = lambda: reached.set() or ended.wait(60)  # type: ignore[func-returns-value]
    environment = {**os.environ, URL_VARIABLE: corpus_url}
    with subprocess.Popen(
        command(address, "--fetch", "--once"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as killed:
        assert reached.wait(60)
        assert len(stored(database)) == 3
        killed.kill()
    ended.set()
    news.replies["/d"].before = None
    poll(address, fetch=True)
    assert poll.ids() == ["d", "e"]
    assert len(stored(database)) == len(names)
    assert [len(news.statuses(f"/{name}")) for name in names] == [1, 1, 1, 2, 1]
    with database.transaction() as cursor:
        assert cursor.execute("SELECT count(*) FROM dedup.feed_entry").fetchone() == (len(names),)


def test_a_watch_that_goes_on_says_when_a_failed_feed_is_polled_again(
    news: Site, poll: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(watching.log, "warning", lambda words, *values, **_: said.append(words % values))
    poll(f"{news.address}/gone", once=False, stop=lambda: bool(said))
    assert "HTTP 404; polled again in 300 s" in said[0]


@pytest.mark.long("dedup", "migrations")
def test_ctrl_c_ends_it_after_the_entry_in_hand(news: Site, database: Database, corpus_url: str) -> None:
    address = news.put("/feed", rss([rss_item("a", STORM), rss_item("b", KEEPER, hours=1)]))
    environment = {**os.environ, URL_VARIABLE: corpus_url}
    with subprocess.Popen(
        command(address, "--json"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_until(lambda: len(stored(database)) == 2)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 0
    assert out.count('"status": "unique"') == 2
    assert "watch stopped" in err
    assert "mayor" not in err  # logs quote no article


def test_the_command_tells_each_verdict_and_fails_if_no_feed_can_be_read(
    dedup: Dedup, news: Site, tmp_path: Path
) -> None:
    address = news.put(
        "/feed", at_home(news, [rss_item("a", STORM, title="A\x1b[2Jtitle"), rss_item("b", STORM, hours=1)])
    )
    said = dedup("watch", address, "--once")
    assert said.code == 0
    assert said.out.splitlines() == [
        f"unique  {news.address}/a: A[2Jtitle",
        f"duplicate of {news.address}/a  {news.address}/b: A title",
    ]
    assert "2 new" in said.err
    said = dedup("watch", f"{news.address}/gone", "--once")
    assert said.code == 1
    # A command with --once names no time of the next poll; its caller decides that.
    assert "HTTP 404" in said.err
    assert "polled again" not in said.err
    assert dedup("watch", address, "--every", "2s").code == 2
    assert dedup("watch", "feed.xml").code == 2


def test_a_feed_that_is_cut_off_is_said_to_be_and_is_asked_for_whole_again(
    news: Site, poll: Watch, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    whole = at_home(news, [rss_item("a", STORM), rss_item("b", TRAMS, hours=1)])
    address = news.put("/feed", whole[: whole.rindex("<description>") + 9])
    report = poll(address)
    assert (report.new, report.polls, report.failed) == (1, 1, 0)
    assert report.problems == {address: "the feed breaks off; 1 entry was read"}
    assert "breaks off" in caplog.text
    found = state(database)
    assert (found["etag"], found["failures"]) == (None, 0)
    assert "breaks off" in found["problem"]
    news.put("/feed", whole)
    report = poll(address)
    assert (report.new, report.problems) == (1, {})
    assert state(database)["problem"] is None


def test_a_feed_that_takes_too_long_to_read_is_given_up_and_left_alone(
    news: Site, poll: Watch, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "READ_SECONDS", 0.0)
    address = news.put("/feed", rss(["<item/>"] * 1_000))
    report = poll(address)
    assert report.problems == {address: f"{address}: the feed takes longer than 0 s to read"}
    assert state(database)["failures"] == 1


@pytest.mark.long("dedup", "migrations")
@each(
    "hostile",
    [
        *(rss([rss_item("x", STORM).replace("https://mercury.example/x", link)]) for link in BAD_LINKS),
        rss([rss_item("x", STORM)]).replace("https://mercury.example/</link>", "http://[</link>"),
        rss([rss_item("x", STORM, title="A smile").replace("smile", "&#xD83D;&#xDE00;")]),
        f"<?xml version='1.0' encoding='idna'?><rss><channel>{rss_item('x', STORM)}</channel></rss>",
        "<sitemapindex><sitemap><loc>http://[</loc></sitemap></sitemapindex>",
        f"<sitemapindex><sitemap><loc>http://a.example/{'x' * 3_000}</loc></sitemap></sitemapindex>",
        "",
    ],
)
def test_whatever_one_feed_says_the_others_are_polled(
    news: Site, poll: Watch, database: Database, hostile: str
) -> None:
    empty(database)
    first = news.put("/hostile", hostile)
    second = news.put("/feed", at_home(news, [rss_item("a", KEEPER)]))
    poll(first, second)
    assert stored(database)[f"{news.address}/a"] == KEEPER


@pytest.mark.long("dedup", "migrations")
@each(
    "headers",
    [{"Content-Type": f"text/xml; charset={name}"} for name in ("idna", "zlib", "undefined", "x" * 99)],
)
def test_whatever_encoding_a_server_names_its_feed_and_its_pages_are_read(
    news: Site, poll: Watch, database: Database, headers: dict[str, str]
) -> None:
    empty(database)
    address = news.put("/feed", at_home(news, [rss_item("a", "A teaser …")]), headers=headers)
    news.put("/a", page(STORM), headers={"Content-Type": headers["Content-Type"].replace("xml", "html")})
    assert poll(address, fetch=True).new == 1
    [text] = stored(database).values()
    assert STORM in text


def test_an_entry_that_no_parser_can_bear_is_refused_alone_with_its_reason(
    news: Site, poll: Watch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = feeds.extract_text

    def fragile(found: dict[str, Any]) -> bool:
        if TRAMS in found["text"]:
            raise RecursionError(TRAMS)
        return real(found)

    monkeypatch.setattr(feeds, "extract_text", fragile)
    address = news.put("/feed", at_home(news, [rss_item("a", TRAMS), rss_item("b", STORM)]))
    report = poll(address)
    assert (report.new, report.refused, poll.ids()) == (1, 1, ["b"])
    assert "1 of its entries cannot be read; the first, in line" in caplog.text
    assert "RecursionError" in caplog.text
    assert TRAMS not in caplog.text


def test_a_page_that_no_parser_can_bear_leaves_the_article_with_what_its_feed_has(
    news: Site, poll: Watch, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page_of(self: fetching.Client, url: str) -> str:
        raise ValueError(url)

    monkeypatch.setattr(fetching.Client, "page", page_of)
    address = news.put("/feed", at_home(news, [rss_item("a", "A teaser …"), rss_item("b", STORM)]))
    assert poll(address, fetch=True).new == 2
    assert "A teaser …" in stored(database).values()


def test_an_error_of_a_caller_that_is_told_is_not_taken_for_a_fault_of_the_feed(
    news: Site, database: Database, corpus_url: str
) -> None:
    def told(*_: object) -> None:
        raise BrokenPipeError

    address = news.put("/feed", at_home(news, [rss_item("a", STORM)]))
    with pytest.raises(BrokenPipeError):
        watching.watch([address], corpus_url, stop=lambda: False, once=True, told=told)
