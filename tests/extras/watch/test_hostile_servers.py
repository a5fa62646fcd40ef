"""A server may send anything, slowly or for ever. It harms only its own feed, and leaves nothing behind.

The tests check promises 11, 15 and 17 of docs/reliability.md.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.base.printable import printable
from dedup.db.database import Database
from dedup.extras.watch import entries, feeds, fetching
from dedup.extras.watch import watch as watching
from dedup.extras.watch.fetching import Client, Fetched
from dedup.extras.watch.reaching import FetchError, StoppedError, _is_public
from dedup.extras.watch.sitemaps import MAX_CHILDREN
from tests.corpora import stored, wait_until
from tests.extras.watch.sites import Site, site
from tests.extras.watch.test_watch import LOOP, Watch, page
from tests.failover import read_only
from tests.files.feed_files import STORM, TRAMS, rss, rss_item
from tests.loops import each

pytest.importorskip("trafilatura")
pytest.importorskip("protego")


@pytest.fixture
def news() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.fixture
def poll(database: Database, corpus_url: str) -> Watch:
    return Watch(corpus_url)


def client() -> Client:
    return Client(stop=lambda: False, host_seconds=0)


@contextmanager
def speaker(speak: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a server that calls `speak` on each connection; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                speak(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


class Dripping:
    """A function that sends bytes again and again, until the client is gone."""

    def __init__(self, first: bytes, drop: bytes) -> None:
        self.first, self.drop = first, drop
        self.begun = self.ended = 0

    def __call__(self, connection: socket.socket) -> None:
        self.begun += 1
        try:
            connection.settimeout(0.02)
            connection.sendall(self.first)
            while True:
                with suppress(TimeoutError):
                    if not connection.recv(65_536):
                        return
                if self.drop:
                    connection.sendall(self.drop)
        finally:
            self.ended += 1


def asking() -> int:
    return sum(thread.name == "dedup-fetch" for thread in threading.enumerate())


@pytest.mark.long("dedup", "migrations")
@each(
    ("scheme", "first", "drop"),
    [
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n", b" "),
        ("http", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        ("http", b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        ("http", b"", b""),
        ("https", b"", b""),
    ],
)
def test_a_server_that_drips_keeps_neither_a_thread_nor_a_connection(
    scheme: str, first: bytes, drop: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TOTAL_SECONDS", 0.3)
    dripping = Dripping(first, drop)
    with speaker(dripping) as place:
        address = f"{scheme}://{place}/feed"
        with pytest.raises(FetchError, match="no whole answer within"):
            client().get(address, address)
        wait_until(lambda: dripping.begun == dripping.ended == 1 and not asking(), 5)


def test_a_client_that_is_stopped_keeps_no_connection() -> None:
    dripping, stop = Dripping(b"HTTP/1.1 200 OK\r\n\r\n", b" "), threading.Event()
    with speaker(dripping) as place:
        one = Client(stop=stop.is_set, host_seconds=0)
        address = f"http://{place}/feed"

        def ask() -> None:
            with suppress(StoppedError):
                one.get(address, address)

        thread = threading.Thread(target=ask)
        thread.start()
        wait_until(lambda: dripping.begun == 1)
        stop.set()
        thread.join(5)
        wait_until(lambda: dripping.ended == 1 and not asking(), 5)


def test_an_answer_leaves_no_connection_behind(news: Site) -> None:
    news.put("/feed", rss([]))
    for _ in range(3):
        client().get(f"{news.address}/feed", news.address)
    wait_until(lambda: not asking(), 5)


@each(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "192.88.99.1"),
        *(
            "192.0.0.8",
            "240.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1%eth0",
            "fec0::1",
            "fd00:ec2::254",
        ),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "ff02::1", "ff0e::1"),
        *("ff0e::7f00:1", "2002:e000:1::", "64:ff9b::e000:1"),
    ],
)
def test_an_address_within_the_own_network_is_none_of_the_internet(address: str) -> None:
    assert not _is_public(address)


@each(
    "address",
    ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "::ffff:93.184.216.34", "2002:5db8:d822::"],
)
def test_an_address_of_the_internet_may_be_asked(address: str) -> None:
    assert _is_public(address)


@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0", "64:ff9b::", "2002::"]))
def test_an_address_within_another_one_is_judged_by_itself(held: IPv4Address, around: str) -> None:
    base = int(IPv6Address(around))
    whole = base | (int(held) << 80 if around == "2002::" else int(held))
    assert _is_public(str(IPv6Address(whole))) == _is_public(str(held))


def test_behind_a_proxy_a_name_that_only_the_proxy_knows_is_refused(
    news: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", news.address)
    monkeypatch.delenv("no_proxy", raising=False)
    inside = "http://intranet.only-the-proxy-knows.invalid"
    with pytest.raises(FetchError, match="only the proxy may know its address"):
        client().get(f"{inside}/secret", "http://93.184.216.34/feed")
    assert news.asked == []
    news.put(f"{inside}/feed", rss([]))
    assert client().get(f"{inside}/feed", f"{inside}/feed").body  # the user gave this address


def test_a_feed_leads_to_no_other_feed_of_the_own_network(
    news: Site, poll: Watch, database: Database
) -> None:
    with site() as inside:
        inside.put("/secret", page(TRAMS))
        named = inside.put("/feed", rss([rss_item("b", TRAMS)]))
        teaser = rss([rss_item("a", "A teaser …")]).replace(
            "https://mercury.example/a", f"{inside.address}/secret"
        )
        stranger = news.put("/feed", teaser)
        moved = news.put("/moved", status=302, headers={"Location": f"{inside.address}/secret"})
        report = poll(named, stranger, moved, fetch=True)
        assert "own network" in report.problems[moved]
        assert inside.statuses("/secret") == []
    assert "A teaser …" in stored(database).values()


HEADERS = {
    "an ETag with a NUL": {"ETag": '"a\0b"'},
    "an ETag with an escape sequence": {"ETag": '"a\x1b[31mb\x9b"'},
    "a long ETag": {"ETag": f'"{"a" * 60_000}"'},
    "a time with a NUL": {"Last-Modified": "Th\0u"},
}


@pytest.mark.long("dedup", "migrations")
@each("headers", HEADERS.values())
def test_a_header_that_cannot_be_kept_harms_nothing(
    headers: dict[str, str], news: Site, poll: Watch, database: Database
) -> None:
    address = news.put("/feed", rss([rss_item("a", STORM)]), headers=headers, validated=False)
    for _ in range(2):
        assert poll(address).problems == {}
    assert {"If-None-Match", "If-Modified-Since"} & {*news.asked[-1][1]} == set()


LOCATIONS = {
    "a NUL": "http://\0/x",
    "an escape sequence": "http://127.0.0.2:1/\x1b]0;owned\x07\x1b[31mX\x9b31m",
    "no address": "http://[",
    "half an address": "http://[::1",
    "a host that is none": "http://a\xe2\x84\x80b/",
    "a port that is none": "http://127.0.0.1:99999/",
    "a label that is too long": f"http://{'a' * 70}.example/",
}


@pytest.mark.long("dedup", "migrations")
@each("location", LOCATIONS.values())
def test_a_redirect_to_what_is_no_address_is_the_fault_of_its_feed(
    location: str, news: Site, poll: Watch, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = news.put(f"/{len(news.replies)}", status=302, headers={"Location": location})
    with site() as other:
        right = other.put("/feed", rss([rss_item("a", STORM)]))
        report = poll(wrong, right)
    assert report.polls == 1
    assert set(report.problems) == {wrong}
    assert printable(report.problems[wrong]) == report.problems[wrong]
    assert all(printable(record.getMessage()) == record.getMessage() for record in caplog.records)
    with database.transaction() as cursor:
        row = cursor.execute("SELECT problem, not_before > now() FROM dedup.feed WHERE address = %s", [wrong])
        assert row.fetchone() == (report.problems[wrong], True)


def test_an_address_on_a_page_that_was_taken_for_a_feed_drives_no_terminal(news: Site, poll: Watch) -> None:
    links = "".join(
        f'<link rel="alternate" type="application/rss+xml" href="{href}">'
        for href in ("http://[", "/feed&#x9b;31m", "/feed&#27;]0;owned")
    )
    address = news.put("/", f"<!doctype html><html><head>{links}</head></html>")
    problem = poll(address).problems[address]
    assert "its feeds" in problem
    assert printable(problem) == problem


@each("pause", ["\xb2", "Wed, 01 Jan 99999999999999999999 00:00:00 GMT", "NaN", "-5"])
def test_a_pause_that_cannot_be_read_is_a_minute(pause: str, news: Site) -> None:
    address = news.put("/feed", status=429, headers={"Retry-After": pause})
    with pytest.raises(FetchError) as caught:
        client().get(address, address)
    assert caught.value.pause == fetching.PAUSE_SECONDS


@each(
    "encoding",
    ["zlib", "base64", "idna", "undefined", "punycode", "unicode_escape", "utf-7", "rot13", "nope"],
)
def test_a_page_in_no_encoding_of_text_is_read_all_the_same(encoding: str, news: Site) -> None:
    address = news.put("/page", "Bridge \\ud83d", headers={"Content-Type": f"text/html; charset={encoding}"})
    meta = news.put("/meta", f"<meta charset={encoding}>Bridge", headers={"Content-Type": "text/html"})
    for one in (address, meta):
        client().page(one, one).encode()  # the page has no lone surrogates


@each(("said", "real"), [("utf-16", "utf-16-be"), ("utf-16", "utf-8"), ("utf-16-le", "utf-16-le")])
def test_a_page_in_utf_16_is_read_and_one_that_only_says_so_too(said: str, real: str, news: Site) -> None:
    page = f"<html><meta charset={said}><body>Überfahrt"
    address = news.put("/page", page.encode(real), headers={"Content-Type": f"text/html; charset={said}"})
    assert client().page(address, address) == page


def test_a_damaged_answer_is_the_fault_of_its_feed(news: Site, poll: Watch) -> None:
    wrong = news.put("/feed", fetching.GZIP + b"damaged")
    assert wrong in poll(wrong).problems


NAMES = ["ETag", "Last-Modified", "Location", "Retry-After", "Content-Type", "Content-Encoding"]
NAMES += ["Content-Length", "Transfer-Encoding", "Connection", "X"]
VALUES = [
    "gzip",
    "gzip, gzip",
    "chunked",
    "identity",
    "close",
    "http://[",
    "//[::1",
    "http://127.0.0.1/",
    "/x",
]
VALUES += ["-1", "99999999999999999999", "text/html; charset=zlib", "\xb2", "http://a\xe2\x84\x80b/"]
HEADER = st.tuples(
    st.sampled_from([name.encode() for name in NAMES]),
    st.one_of(st.sampled_from([value.encode("latin-1") for value in VALUES]), st.binary(max_size=30)),
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([b"200", b"301", b"304", b"429", b"503", b"204", b"100", b"\xff"]),
    st.lists(HEADER, max_size=3),
    st.one_of(
        st.sampled_from([fetching.GZIP + b"damaged", b"5\r\nhello\r\n0\r\n\r\n"]), st.binary(max_size=50)
    ),
)
def test_whatever_a_server_says_is_an_answer_or_an_error_of_its_own(
    status: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    said = (
        b"HTTP/1.1 " + status + b" OK\r\n" + b"".join(b"%s: %s\r\n" % one for one in headers) + b"\r\n" + body
    )

    def speak(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(said)

    with speaker(speak) as place, suppress(FetchError):
        assert isinstance(client().get(f"http://{place}/", f"http://{place}/"), Fetched)


def index(*addresses: str) -> str:
    inside = "".join(f"<sitemap><loc>{address}</loc></sitemap>" for address in addresses)
    return f"<sitemapindex>{inside}</sitemapindex>"


def test_an_index_that_leads_to_indexes_is_read_once(news: Site, poll: Watch) -> None:
    own, other = f"{news.address}/sitemap.xml", f"{news.address}/other.xml"
    news.put(
        "/sitemap.xml", index(own, f"{own}#again", other, other, f"{other}#again", "http://[", "file:///etc")
    )
    news.put("/other.xml", index(own, other, f"{news.address}/third.xml"))
    report = poll(own, fetch=True)
    assert [path for path, _, _ in news.asked] == ["/sitemap.xml", "/other.xml"]
    assert "index of sitemaps within another index" in report.problems[other]
    assert report.polls == 1


def test_an_index_leads_to_so_many_sitemaps_and_no_more(
    news: Site, poll: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"/{number}.xml" for number in range(50)]
    long = f"{news.address}/{'long' * 1_000}.xml"
    escape = f"{news.address}/news\x9b31m.xml"
    top = news.put("/sitemap.xml", index(long, escape, *(news.address + name for name in names)))
    for name in names:
        news.put(name, index(top))
    poll(top, fetch=True)
    assert len(news.asked) == 1 + MAX_CHILDREN
    assert f"{50 - MAX_CHILDREN} of its 50 recent sitemaps are not read" in caplog.text


@pytest.mark.long("dedup", "migrations")
def test_a_sitemap_of_many_pages_is_read_over_several_polls(
    news: Site, poll: Watch, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "MAX_PAGES", 2)
    items = [rss_item(name, "A teaser …", hours=at) for at, name in enumerate("abcde")]
    address = news.put("/feed", rss(items).replace("https://mercury.example/", f"{news.address}/"))
    for name in "abcde":
        news.put(f"/{name}", page(f"{STORM} It was number {name}."))
    reports = [poll(address, fetch=True) for _ in range(4)]
    assert [(report.new, report.left) for report in reports] == [(2, 3), (2, 1), (1, 0), (0, 0)]
    assert [len(news.statuses(f"/{name}")) for name in "abcde"] == [1] * 5


def test_a_feed_that_the_database_refuses_is_left_alone_and_the_others_are_polled(
    news: Site, poll: Watch, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database raises an error for an entry, as it once did for an id too long for an index."""
    real = feeds.note_entry

    def note_entry(cursor: Any, feed: int, source_id: str, *more: Any) -> None:
        if source_id.endswith("/b"):
            cursor.execute("SELECT 'b'::integer")
        real(cursor, feed, source_id, *more)

    monkeypatch.setattr(feeds, "note_entry", note_entry)
    wrong = news.put("/wrong", rss([rss_item("b", TRAMS)]))
    right = news.put("/right", rss([rss_item("a", STORM)]))
    report = poll(wrong, right)
    assert set(report.problems) == {wrong}
    assert report.polls == 1
    with database.transaction() as cursor:
        cursor.execute("SELECT address FROM dedup.feed WHERE not_before > now()")
        assert cursor.fetchall() == [(wrong,)]


def test_a_program_that_ends_in_told_ends_the_watch(news: Site, database: Database, corpus_url: str) -> None:
    address = news.put("/feed", rss([rss_item("a", STORM)]))

    def told(*_: object) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        watching.watch([address], corpus_url, stop=lambda: False, once=True, told=told, host_seconds=0)


def test_while_the_database_may_only_be_read_feeds_wait(
    news: Site,
    poll: Watch,
    database: Database,
    corpus_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(watching, "DOWN_SECONDS", (0.01, 0.01))
    address = news.put("/feed", rss([rss_item("a", STORM)]))
    stop = threading.Event()
    running = threading.Thread(target=poll, args=(address,), kwargs=LOOP | {"stop": stop.is_set})
    with caplog.at_level(logging.INFO, "dedup.watch"):
        try:
            with read_only(corpus_url):
                running.start()
                wait_until(lambda: "waiting for it" in caplog.text or not running.is_alive())
            wait_until(lambda: len(stored(database)) == 1, 20)
        finally:
            stop.set()
            running.join(30)
