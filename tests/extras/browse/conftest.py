"""Fixtures for tests of pages: a real server over the settled newsroom, and a client like a browser."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

import pytest

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.cli.newsroom import newsroom
from dedup.db.database import Database
from dedup.extras.browse.app import make_app
from dedup.extras.browse.visitors import Visitors
from dedup.extras.serve.guard import LOOPBACK_NAMES
from dedup.extras.serve.limits import Limits
from tests.conftest import Server
from tests.extras.serve.conftest import Door, Reply, running

FORM = "application/x-www-form-urlencoded"
PLENTY = 10_000

VOID = frozenset(("meta", "link", "input", "br", "hr", "img", "rect", "circle", "path"))


class Document(HTMLParser):
    """A page, parsed like in a browser.

    Attributes:
        tags: every start tag with its attributes.
        words: text of the page, without tags.
        unclosed: elements that are never closed, or are closed in the wrong order.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.unclosed: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.unclosed += [name for name in self._open if name not in ("p", "li")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()
        else:
            self.unclosed.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.words += data

    @property
    def links(self) -> list[str]:
        """Return the addresses of the page's links, as they are written."""
        return [attrs["href"] or "" for tag, attrs in self.tags if tag == "a" and "href" in attrs]


@dataclass
class Browser:
    """A client like a browser: it keeps cookies, and sends the headers and forms that browsers send."""

    door: Door
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.door.port}"

    def get(self, path: str, headers: dict[str, str] | None = None, **query: str) -> Reply:
        """Request an address."""
        return self._kept(self.door.ask("GET", path, None, self._with_cookies(headers), **query))

    def page(self, path: str, **query: str) -> str:
        """Return the page at an address."""
        reply = self.get(path, None, **query)
        assert reply.status == 200, (path, query, words_of(reply))
        return reply.raw.decode()

    def post(self, path: str, fields: dict[str, str], headers: dict[str, str] | None = None) -> Reply:
        """Send the fields of a form, with the headers of a page of the same server."""
        given = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin"} | (headers or {})
        given = {name: value for name, value in given.items() if value}
        body = urlencode(fields).encode()
        return self._kept(self.door.ask("POST", path, body, self._with_cookies(given), kind=FORM))

    def send(self, page: str, path: str, **fields: str) -> Reply:
        """Fill in the first form of a page that leads to an address, and send it."""
        action, hidden = form_of(page, path)
        return self.post(action, {**hidden, **fields})

    def follow(self, reply: Reply) -> str:
        """Return the page to which an answer redirects."""
        assert reply.status == 303, words_of(reply)
        return self.page(reply.headers["location"])

    def _with_cookies(self, headers: dict[str, str] | None) -> dict[str, str]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return ({"Cookie": cookie} if cookie else {}) | (headers or {})

    def _kept(self, reply: Reply) -> Reply:
        if set_cookie := reply.headers.get("set-cookie"):
            name, _, value = set_cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply


def form_of(page: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the complete address and the hidden fields of the first form that leads to a path."""
    found = re.search(
        rf'<form[^>]*action="({re.escape(path)}(?:\?[^"]*)?)"[^>]*>(.*?)</form>', page, re.DOTALL
    )
    assert found, path
    pairs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', found[2])
    return unescape(found[1]), {name: unescape(value) for name, value in pairs}


def words_of(reply: Reply) -> str:
    """Return the text of a page on one line."""
    return " ".join(Document(reply.raw.decode("utf-8", "replace")).words.split())


DAYS = re.compile("first=(?!2026-03-1[1-3])")
"""Links to days outside the newsroom's three days. Without this limit a crawl would never end."""


EACH = 12
"""Maximum number of pages of each kind that `crawl` opens. All pages of a kind have the same template."""


def pages_of(page: str) -> list[str]:
    """Return the links of a page to other pages, without links to tables as data."""
    return [link for link in Document(page).links if "format=" not in link]


def crawl(browser: Browser, *, start: str = "/", days: bool = True) -> dict[str, str]:
    """Return the pages that can be reached by links, by address; of each kind at most `EACH` pages.

    Raises:
        AssertionError: a page does not answer.
    """
    opened: Counter[str] = Counter()
    seen: dict[str, str] = {}
    waiting = [start]
    while waiting:
        address = waiting.pop()
        if address in seen or (days and DAYS.search(address)):
            continue
        kind = address.partition("?")[0]
        opened[kind] += 1
        if opened[kind] > EACH:
            continue
        page = seen[address] = browser.page(address)
        for link in pages_of(page):
            parts = urlsplit(urljoin(browser.origin, link))
            if f"{parts.scheme}://{parts.netloc}" == browser.origin:
                waiting.append(f"{parts.path}?{parts.query}" if parts.query else parts.path)
    return seen


def corpus_of(server: Server, name: str, articles: list[Article]) -> str:
    """Make a separate database with settled articles, kept sentences and an index of words; return its
    URL."""
    url = server.create(name)
    Deduplicator.initialize(url)
    fill(url, articles)
    with Deduplicator(url) as dd:
        dd.keep_sentences()
    with Operation(url) as owner:
        owner.make_searchable()
    return url


def fill(url: str, articles: list[Article]) -> None:
    """Store and settle articles."""
    with Deduplicator(url) as dd:
        dd.load(articles)
        dd.backfill(workers=0)


def newsroom_articles() -> list[Article]:
    """Return the articles of the demonstration."""
    known = ("source_id", "text", "title", "url", "publication", "published_at", "language")
    return [
        Article(**{name: item[name] for name in known if item.get(name) is not None}) for item in newsroom()
    ]


@pytest.fixture(scope="session")
def newsroom_url(server: Server) -> str:
    """The address of a database with the settled newsroom; tests only read it."""
    return corpus_of(server, "dedup_newsroom", newsroom_articles())


Opening = Callable[..., Browser]


@contextmanager
def opened() -> Iterator[Opening]:
    """Yield a function that starts servers: `opening(url, token=b"…", editing=True)`."""
    with ExitStack() as stack:

        def start(
            url: str, *, token: bytes | None = None, limits: Limits | None = None, editing: bool = False
        ) -> Browser:
            dd = stack.enter_context(Deduplicator(url))
            visitors = Visitors(token, None if token else LOOPBACK_NAMES)
            app = make_app(dd, limits or Limits(rate=PLENTY), visitors, editing=editing)
            return Browser(stack.enter_context(running(dd, app)))

        yield start


@pytest.fixture(scope="module")
def reading(newsroom_url: str) -> Iterator[Browser]:
    """A server over the newsroom, without forms."""
    with opened() as start:
        yield start(newsroom_url)


@pytest.fixture
def opening(database: Database) -> Iterator[Opening]:
    """Yield a function that starts servers; the test names the corpus."""
    with opened() as start:
        yield start
