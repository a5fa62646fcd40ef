"""Pages about the newsroom: their words, their markup, and all of their links."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from http.client import HTTPConnection
from urllib.parse import parse_qsl

import pytest

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.extras.browse.app import POLICY
from dedup.extras.browse.asking import go
from dedup.extras.browse.editing import ACTIONS
from dedup.extras.browse.views import PLACES
from dedup.extras.pages.environment import outside
from tests.corpora import misread, text, window
from tests.extras.browse.conftest import Browser, Document, Opening, crawl, fill, form_of, words_of
from tests.extras.serve.conftest import SECONDS

DAM = "vantage-0311-tarnhollow"
STORM, UPDATE = "vantage-0312-storm", "vantage-0312-storm-update"
NAMES = [place for place in PLACES if place.name]


@pytest.fixture(scope="module")
def crawled(reading: Browser) -> dict[str, str]:
    """Return all pages by address."""
    return crawl(reading)


@pytest.mark.long("dedup", "migrations")
def test_every_link_of_every_page_answers(crawled: dict[str, str]) -> None:
    kinds = {address.partition("?")[0] for address in crawled}
    assert kinds >= {"/", "/story", "/article", "/compare", "/search", "/new", "/health", "/outlets"}
    assert len(crawled) > 50


@pytest.mark.long("dedup", "migrations")
def test_every_page_is_whole_has_one_heading_and_its_own_title(crawled: dict[str, str]) -> None:
    for address, page in crawled.items():
        document = Document(page)
        assert document.unclosed == [], address
        names = [tag for tag, _ in document.tags]
        assert names.count("h1") == names.count("main") == 1, address
        assert names[: names.index("body")].count("title") == 1, address
        ids = [attrs["id"] for _, attrs in document.tags if attrs.get("id")]
        assert len(ids) == len(set(ids)), address
        labels = {attrs.get("aria-labelledby") for _, attrs in document.tags} - {None}
        assert {name for label in labels for name in (label or "").split()} <= set(ids), address


@pytest.mark.long("dedup", "migrations")
def test_no_page_has_a_style_or_a_script_of_its_own(crawled: dict[str, str]) -> None:
    for address, page in crawled.items():
        for tag, attrs in Document(page).tags:
            assert "style" not in attrs, address
            assert not [name for name in attrs if name.startswith("on")], address
            assert tag != "style", address
            assert tag != "script" or attrs["src"], address
            assert tag not in ("iframe", "object", "embed", "base", "img"), address


@pytest.mark.long("dedup", "migrations")
def test_read_only_pages_have_no_form_that_changes_anything(crawled: dict[str, str]) -> None:
    actions = {
        attrs["action"]
        for page in crawled.values()
        for tag, attrs in Document(page).tags
        if tag == "form" and attrs.get("method") == "post"
    }
    assert actions == {"/new"}


@pytest.mark.long("dedup", "migrations")
def test_today_begins_with_the_newest_day(reading: Browser) -> None:
    page = reading.page("/")
    assert "Friday 13 March 2026" in page
    assert reading.page("/", first="2026-03-13", last="2026-03-13").count("Friday 13 March 2026") >= 2
    words = " ".join(Document(reading.page("/", first="2026-03-11", last="2026-03-13")).words.split())
    assert "Wednesday 11 March 2026 to Friday 13 March 2026" in words
    assert "Thousands leave homes below Tarn Hollow dam" in words
    assert "14 copies" in words


@pytest.mark.long("dedup", "migrations")
def test_a_story_shows_who_had_it_when(reading: Browser) -> None:
    page = reading.page("/story", id="newsbasket-0311-tarnhollow-a")
    words = Document(page).words
    assert page.count('<circle class="dot') == 15
    assert page.count('<circle class="dot strong"') == 1
    assert "+22 min" in words
    assert "Versions of one outlet" in words
    assert go("/compare", a=DAM, b="newsbasket-0311-tarnhollow-a").replace("&", "&amp;") in page


@pytest.mark.long("dedup", "migrations")
def test_two_versions_side_by_side_with_the_rule_above(reading: Browser) -> None:
    page = reading.page("/compare", a=UPDATE, b=STORM)
    assert "<h1>The same text except for four sentences</h1>" in page
    assert "Duplicate by sentences: sentence Jaccard 0.810 is at least 0.7" in page
    assert "<ins>By two in the afternoon" in page
    assert "<del>Most customers would be reconnected" in page
    assert "common sentence" in page
    assert "The copy adds 3 sentences, the numbers 9,000, 12.40 to its original." in page
    assert page.index("Storm Ottilie cuts power") < page.index("Power back for most")


@pytest.mark.long("dedup", "migrations")
def test_of_a_misread_text_the_letters_are_marked(opening: Opening, corpus_url: str) -> None:
    with Deduplicator(corpus_url) as dd:
        dd.settings.change({"damaged_print": "on"})
    whole = text(window(0, 20, ring=1_000))
    given = {"read": whole, "misread": misread(whole, 12)}
    fill(
        corpus_url,
        [
            Article(source_id=name, text=body, published_at=datetime(2026, 3, 12, hour, tzinfo=UTC))
            for hour, (name, body) in enumerate(given.items())
        ],
    )
    page = opening(corpus_url).page("/compare", a="misread", b="read")
    assert "<h1>The same text, with letters that a scan misread</h1>" in page
    assert "Duplicate by damaged: misread copy: print Jaccard" in page
    assert page.count("<li>each text has a share of 0.") == 1
    assert "<dt>Print Jaccard</dt>" in page
    marks = re.findall(r"<(?:mark|ins|del)>([^<]+)<", page)
    assert len(marks) > 20
    assert max(map(len, marks)) < 8


@pytest.mark.long("dedup", "migrations")
def test_an_article_with_its_mark_and_its_text(reading: Browser) -> None:
    words = Document(reading.page("/article", id=UPDATE)).words
    assert "duplicate of vantage-0312-storm" in words.lower()
    assert "By two in the afternoon all but 9,000 customers had been reconnected" in words
    assert "sentence Jaccard 0.810" in words
    assert "Adds 3 sentences, the numbers 9,000, 12.40 to its original." in words
    for name in (STORM, DAM):  # both articles are originals
        assert "to its original" not in reading.page("/article", id=name)
    assert "Adds nothing to its original." in reading.page("/article", id="newsbasket-0311-tarnhollow-a")


@pytest.mark.long("dedup", "migrations")
def test_search_by_words_shows_where_they_are(reading: Browser) -> None:
    words = " ".join(
        Document(reading.page("/search", words="spillway", publication="Newsbasket")).words.split()
    )
    assert "Thousands leave homes below Tarn Hollow dam" in words
    assert "<mark>" in reading.page("/search", words="loudhailers")
    assert "Nothing found" in reading.page("/search", words="nosuchwordanywhere")
    assert 'role="alert"' in reading.page("/search", words="spillway", after="x")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.usefixtures("database")
def test_search_by_words_without_the_index_says_what_to_do(opening: Opening, corpus_url: str) -> None:
    assert "dedup init --search" in opening(corpus_url).page("/search", words="storm")


@pytest.mark.long("dedup", "migrations")
def test_today_is_one_outlet_one_language_or_everything(reading: Browser) -> None:
    days = {"first": "2026-03-11", "last": "2026-03-13"}
    words = words_on(reading.page("/", publication="vantage wire", **days))
    assert "Only articles of Vantage Wire" in words
    assert "Newsbasket" not in words.partition("Outlets")[2]
    assert "Did you mean Vantage Wire" in words_on(reading.page("/", publication="VANTAGE", **days))
    every = reading.page("/", whole="yes", by="day", language="EN")
    words = words_on(every)
    assert "The whole corpus" in words
    assert "2026-03-12" in words
    assert "in the language en" in words
    assert go("/", first="2026-03-12", last="2026-03-12", language="en").replace("&", "&amp;") in every


@pytest.mark.long("dedup", "migrations")
def test_forms_offer_the_outlets_that_there_are(reading: Browser) -> None:
    for path in ("/", "/search", "/outlets", go("/outlet", publication="Newsbasket")):
        document = Document(reading.page(path))
        lists = {attrs.get("list") for tag, attrs in document.tags if tag == "input"} - {None}
        assert lists == {"outlets", "languages", "agencies", "families"}
        offered = {attrs.get("value") for tag, attrs in document.tags if tag == "option"}
        assert {"Vantage Wire", "Newsbasket", "en", "AP"} <= offered


@pytest.mark.long("dedup", "migrations")
def test_an_outlet_says_how_much_of_it_is_original(reading: Browser) -> None:
    words = words_on(reading.page("/outlet", publication="Vantage Wire"))
    assert "In the whole corpus" in words
    assert "It copied nobody." not in words.partition("Who copies it")[2]
    assert "Thousands leave homes below Tarn Hollow dam" in words
    page = reading.page("/outlet", publication="Newsbasket")
    assert "From whom it copies" in page
    assert go("/copied", copier="Newsbasket", original="Vantage Wire").replace("&", "&amp;") in page
    assert "was first" not in words_on(reading.page("/outlet", publication="nobody"))


@pytest.mark.long("dedup", "migrations")
def test_undated_articles_have_a_heap_of_their_own(opening: Opening, corpus_url: str) -> None:
    body = "The council voted for night trams on Monday and said that repairs take nine days. "
    fill(
        corpus_url,
        [
            Article("dated", body * 3, "Dated", published_at="2026-03-11T10:00Z"),
            Article("undated", "A lighthouse keeper counted the gulls on the pier. " * 3, "Undated"),
        ],
    )
    pages = opening(corpus_url)
    every = pages.page("/", whole="yes", by="year")
    assert "20261100 %00 undated1100 %00" in words_on(every)
    assert go("/search", dated="no") in every
    heap = words_on(pages.page("/search", dated="no"))
    assert "Undated unique" in heap
    assert "Dated unique" not in heap.replace("Undated unique", "")
    assert pages.get("/search", None, dated="perhaps").status == 200


def words_on(page: str) -> str:
    """Return the text of a page on one line."""
    return " ".join(Document(page).words.split())


@pytest.mark.long("dedup", "migrations")
def test_charts_say_what_they_show_and_weeks_have_a_year(reading: Browser) -> None:
    page = reading.page("/", first="2026-01-01", last="2026-03-31", by="week")
    titles = re.findall("<figcaption>(.*?)</figcaption>", page)
    assert titles == ["Articles by hour of the day", "Articles by week; the main colour shows originals"]
    ticks = re.findall(r'<text class="tick[^>]*>(\d\d [A-Z][^<]*)<', page)
    assert ticks[0] == "29 Dec 2025"
    assert all(re.fullmatch(r"\d\d \w{3} 20\d\d", tick) for tick in ticks)


@pytest.mark.long("dedup", "migrations")
def test_earlier_and_later_lead_to_days_that_have_articles(opening: Opening, corpus_url: str) -> None:
    days = {"old": "2026-01-05", "mid": "2026-02-20", "new": "2026-03-11"}
    outlets = {"old": "Herald", "mid": "Wire", "new": "Herald"}
    fill(
        corpus_url,
        [
            Article(
                name,
                text(window(20 * n, 20 * n + 12, ring=1_000)),
                name,
                publication=outlets[name],
                published_at=f"{day}T10:00Z",
            )
            for n, (name, day) in enumerate(days.items())
        ]
        + [Article("undated", text(window(90, 96, ring=1_000)), "undated")],
    )
    site = opening(corpus_url)

    def steps(page: str) -> dict[str, str]:
        links = re.findall(r'<a href="/\?([^"]*)" rel="(?:prev|next)">(\w+)</a>', page)
        found = {name: dict(parse_qsl(unescape(query))) for query, name in links}
        return {name: f"{one['first']} {one['last']}" for name, one in found.items()}

    assert "Wednesday 11 March 2026" in site.page("/")
    assert steps(site.page("/")) == {"earlier": "2026-02-20 2026-02-20"}
    assert steps(site.page("/", first=days["mid"])) == {
        "earlier": "2026-01-05 2026-01-05",
        "later": "2026-03-11 2026-03-11",
    }
    assert steps(site.page("/", first=days["new"], publication="Herald")) == {
        "earlier": "2026-01-05 2026-01-05"
    }
    week = steps(site.page("/", first="2026-02-15", last="2026-02-21"))
    assert week == {"earlier": "2025-12-30 2026-01-05", "later": "2026-03-11 2026-03-17"}


@pytest.mark.long("dedup", "migrations")
def test_the_strongest_ties_are_a_list_without_copies_of_oneself(opening: Opening, corpus_url: str) -> None:
    stories = [text(window(20 * n, 20 * n + 12, ring=1_000)) for n in range(3)]
    printed = [("Wire", 0, 8), ("Wire", 0, 9), ("Herald", 0, 10), ("Wire", 1, 8), ("Herald", 1, 9)]
    articles = [
        Article(
            f"{outlet} {story} {hour}",
            stories[story],
            "A",
            None,
            outlet,
            datetime(2026, 3, 12, hour, tzinfo=UTC),
        )
        for outlet, story, hour in printed
    ]
    articles += [Article(f"{name} undated", stories[2], "B", None, name) for name in ("Gazette", "Herald")]
    fill(corpus_url, articles)
    page = opening(corpus_url).page("/outlets", whole="yes")
    words = words_on(page)
    assert "1 is a copy that an outlet made of its own articles" in words
    assert "Herald from Wire 2 copies by Herald of Wire, half within 1 h 30 min" in words
    assert "Gazette and Herald 1 story, first unknown" in words
    assert "Wire from Wire" not in words
    assert page.count('class="tie"') == 2
    assert page.count("marker-end") == 1


@pytest.mark.long("dedup", "migrations")
def test_a_search_says_how_many_and_where(reading: Browser, opening: Opening) -> None:
    page = reading.page("/search", words="dam spillway")
    words = words_on(page)
    count = int(re.search(r"Search (\d+) articles", words)[1])  # type: ignore[index]
    assert page.count("<li data-item>") == count
    assert "Articles found, by day" in words
    narrowed = go("/search", words="dam spillway", publication="Newsbasket").replace("&", "&amp;")
    (only,) = re.findall(rf'href="{re.escape(narrowed)}"><bdi>Newsbasket</bdi></a> (\d+)<', page)
    words = words_on(reading.page("/search", words="dam spillway", publication="Newsbasket"))
    assert f"Search {only} articles" in words
    assert "Newsbasket: any of the outlets" in words


@pytest.mark.long("dedup", "migrations")
def test_all_words_of_a_search_are_highlighted(reading: Browser) -> None:
    page = reading.page("/search", words="thousands spillway")
    marked = {word.lower() for word in re.findall("<mark>(.*?)</mark>", page)}
    assert marked == {"thousands", "spillway"}
    assert "<bdi><mark>Thousands</mark> leave homes below" in page


@pytest.mark.long("dedup", "migrations")
def test_families_and_origins_are_shown_and_narrow_what_is_shown(opening: Opening, corpus_url: str) -> None:
    whole = text(window(0, 12))
    printed = [("wire", "Wire"), ("herald", "Herald"), ("sun", "Sunday Herald"), ("post", "Post")]
    fill(
        corpus_url,
        [
            Article(name, f"BRIG (AP) - {whole}", name, None, outlet, f"2026-03-11T{9 + n:02}:00Z")
            for n, (name, outlet) in enumerate(printed)
        ],
    )
    with Operation(corpus_url) as owner, owner._database.transaction() as cursor:
        cursor.execute("INSERT INTO dedup.outlet (name, family) VALUES ('Herald', 'Roe & Sons')")
        cursor.execute("INSERT INTO dedup.outlet (name, alias_of) VALUES ('Sunday Herald', 'Herald')")
    site = opening(corpus_url)
    words = words_on(site.page("/", first="2026-03-11"))
    assert "AP: 3 copies in 3 other outlets" in words
    assert words.count("Roe & Sons") == 2
    words = words_on(site.page("/", first="2026-03-11", family="roe & sons"))
    assert "of the family Roe & Sons" in words
    assert "Sunday Herald" in words.partition("Outlets")[2]
    assert "Post" not in words.partition("Outlets")[2]
    named = {
        "/outlets": {},
        "/outlet": {"publication": "Herald"},
        "/copied": {"copier": "Herald", "original": "Wire"},
    }
    for path, given in named.items():
        page = words_on(site.page(path, first="2026-03-11", family="Roe & Sons", **given))
        assert "outlets of the family Roe & Sons" in page or "articles of the family Roe & Sons" in page, path
    page = site.page("/search", credit="AP")
    assert go("/search", family="Roe & Sons", credit="AP").replace("&", "&amp;") in page
    assert "2 articles" in words_on(site.page("/search", credit="AP", family="Roe & Sons"))
    for path in ("/story", "/article"):
        page = words_on(site.page(path, id="wire"))
        assert re.search(r"wire AP, printed by 3 outlets; 1 origin original", page), path
    told = json.loads(site.get("/", None, first="2026-03-11", table="biggest", format="json").raw)["rows"][0]
    assert (told["origin_kind"], told["origin"]) == ("agency", "AP")


@pytest.mark.long("dedup", "migrations")
def test_undated_articles_are_found_last(opening: Opening, corpus_url: str) -> None:
    fill(
        corpus_url,
        [
            Article("undated", text(window(0, 6)), "Undated one", language="en"),
            Article(
                "dated", text(window(9, 15)), "Dated one", published_at="2026-03-11T10:00Z", language="en"
            ),
        ],
    )
    words = words_on(opening(corpus_url).page("/search", language="en"))
    assert words.index(" Dated one") < words.index("Undated one")
    assert "2 articles" in words


@pytest.mark.long("dedup", "migrations")
def test_furniture_gives_no_article_its_name(opening: Opening, corpus_url: str) -> None:
    furniture = "This is the free newsletter of the Harbour Gazette for all its readers."
    with Deduplicator(corpus_url) as dd:
        dd.settings.change({"common_stories": "3"})
    texts = [f"Menu.\n\n{furniture} {text(window(20 * n, 20 * n + 12, ring=1_000))}" for n in range(5)]
    fill(corpus_url, [Article(f"a{n}", body, None, None, "Gazette") for n, body in enumerate(texts)])
    page = words_on(opening(corpus_url).page("/search", publication="Gazette"))
    assert "free newsletter" not in page
    for body in texts:
        assert body.partition(furniture)[2].split(".")[0].strip()[:40] in page


@pytest.mark.long("dedup", "migrations")
def test_is_this_new(reading: Browser) -> None:
    form = reading.page("/new")
    text = Document(reading.page("/article", id=DAM)).words.partition("Text\n")[2].partition("Compare it")[0]
    said = words_of(reading.send(form, "/new", text=text.strip(), title=""))
    assert "No: it is a copy" in said
    assert "Thousands leave homes below Tarn Hollow dam" in said
    said = words_of(
        reading.send(form, "/new", text="A lighthouse keeper counted the gulls. " * 20, title="x")
    )
    assert "Yes: no stored article is like this text" in said
    assert reading.send(form, "/new", text=" ", title="").status == 400


@pytest.mark.long("dedup", "migrations")
def test_equal_articles_of_two_scopes_are_two_stories(opening: Opening, corpus_url: str) -> None:
    body = text(window(0, 8))
    fill(corpus_url, [Article(name, body, f"Of {name}", scope=name) for name in ("ann", "bob")])
    browser = opening(corpus_url)
    article = Document(browser.page("/article", id="ann"))
    assert "unique" in article.words.lower()
    found = words_on(browser.page(next(link for link in article.links if link.startswith("/search?scope="))))
    assert "Of ann" in found
    assert "Of bob" not in found
    assert "Not compared" in words_on(browser.page("/compare", a="ann", b="bob"))
    assert "Of bob" not in words_on(browser.page("/story", id="ann"))
    form = browser.page("/new")
    said = words_of(browser.send(form, "/new", text=body, title="", scope="ann"))
    assert "No: it is a copy" in said
    assert "Of ann" in said
    assert "Yes: no stored article" in words_of(browser.send(form, "/new", text=body, title="", scope="eve"))
    assert "Yes: no stored article" in words_of(browser.send(form, "/new", text=body, title="", scope=""))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("path", "query", "status", "words"),
    [
        ("/story", {"id": "nobody"}, 404, "nobody"),
        ("/story", {}, 404, "names no article"),
        ("/article", {"id": "nobody"}, 404, "nobody"),
        ("/compare", {"a": DAM, "b": "nobody"}, 404, "nobody"),
        ("/compare", {"a": DAM, "b": DAM}, 400, "same"),
        ("/", {"first": "2026-13-01"}, 400, "2026-11-20"),
        ("/", {"first": "2026-03-12", "last": "2026-03-11"}, 400, "before"),
        ("/", {"colour": "red"}, 400, "unknown parameter"),
        ("/sentence", {"hash": "one"}, 400, "whole number"),
        ("/sentence", {"hash": "1"}, 404, "sentence 1 is neither common nor pinned."),
        ("/quote", {"hash": "1"}, 404, "sentence 1 is not a stored quote."),
        ("/story", {"id": DAM, "after": "x"}, 400, ""),
        ("/nothing", {}, 404, "the pages begin at /"),
    ],
)
def test_what_cannot_be_shown_is_said(
    reading: Browser, path: str, query: dict[str, str], status: int, words: str
) -> None:
    reply = reading.get(path, None, **query)
    assert reply.status == status
    assert words in words_of(reply).lower()
    assert Document(reply.raw.decode()).unclosed == []


def every_answer(reading: Browser) -> Iterator[tuple[str, str]]:
    yield from (("GET", place.path) for place in PLACES)
    yield from (("GET", path) for path in ("/nothing", "/story?id=nobody", "/?first=x"))
    yield from (("GET", link) for link in assets(reading))
    yield from (("POST", path) for path in ("/new", "/enter", "/", "/judge"))


def assets(reading: Browser) -> list[str]:
    document = Document(reading.page("/new"))
    return [
        attrs.get("href") or attrs.get("src") or ""
        for tag, attrs in document.tags
        if tag in ("link", "script")
    ]


@pytest.mark.long("dedup", "migrations")
def test_every_answer_has_the_headers_that_protect(reading: Browser) -> None:
    for method, path in every_answer(reading):
        reply = reading.door.ask(method, path)
        assert reply.headers["content-security-policy"] == POLICY, path
        assert reply.headers["x-content-type-options"] == "nosniff", path
        assert reply.headers["referrer-policy"] == "same-origin", path
        assert "access-control-allow-origin" not in reply.headers
        assert reply.headers["cache-control"].startswith("public" if path in assets(reading) else "no-store")
    for part in ("default-src 'none'", "style-src 'self'", "script-src 'self'", "form-action 'self'"):
        assert part in POLICY
    assert "unsafe" not in POLICY


@pytest.mark.long("dedup", "migrations")
def test_head_is_answered_without_a_body(reading: Browser) -> None:
    connection = HTTPConnection("127.0.0.1", reading.door.port, timeout=SECONDS)
    connection.request("HEAD", "/new")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connection.close()


@pytest.mark.long("dedup", "migrations")
def test_a_read_only_server_has_no_address_that_changes_anything(reading: Browser) -> None:
    _, form = form_of(reading.page("/new"), "/new")
    for action in ACTIONS:
        reply = reading.post(action.path, form)
        assert reply.status in (404, 405), action.path
    for place in PLACES:
        if place.path != "/new":
            assert reading.post(place.path, {}).status in (404, 405), place.path


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("url", "leads"),
    [
        ("https://example.org/a?b=c", True),
        ("HTTP://example.org", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//example.org/a", False),
        ("https:///a", False),
        ("https://[::1", False),
        ("https://example.org/\u0000", False),
        ("java\nscript:alert(1)", False),
        (" https://example.org", False),
        (None, False),
    ],
)
def test_only_addresses_of_the_web_are_links(url: str | None, leads: bool) -> None:
    assert (outside(url) == url and url is not None) == leads


@pytest.mark.long("dedup", "migrations")
def test_an_article_without_a_title_is_called_by_its_first_words(opening: Opening, corpus_url: str) -> None:
    start = "The harbour at Port Marlow\nwas closed on Monday, the harbour master said, and no ship came in. "
    text = start + " ".join(f"Pier {n} stood empty all day, said the guard of pier {n}." for n in range(20))
    titles = {"first": None, "second": " "}
    fill(
        corpus_url,
        [
            Article(name, text, title, None, "Gazette", datetime(2026, 3, 12, hour, tzinfo=UTC))
            for hour, (name, title) in enumerate(titles.items(), 8)
        ],
    )
    site = opening(corpus_url)
    called = "The harbour at Port Marlow was closed on Monday, the harbour master said, and…"
    for path, query in (("/", {}), ("/story", {"id": "first"}), ("/article", {"id": "second"})):
        page = " ".join(Document(site.page(path, **query)).words.split())
        assert called in page, path
        assert "Untitled" not in page


@pytest.mark.long("dedup", "migrations")
def test_a_badge_says_how_many_copies_an_original_has(reading: Browser) -> None:
    page = Document(reading.page("/article", id=DAM)).words
    assert re.search(r"original, \d+ copies", page)
    assert "unique" not in page.partition("Related articles")[0]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("day", ["0001-01-01", "2026-02-28", "9999-12-31"])
def test_links_to_other_ranges_lead_to_ranges(reading: Browser, day: str) -> None:
    links = Document(reading.page("/", first=day, last=day)).links
    ranges = [dict(parse_qsl(link.partition("?")[2])) for link in links if "first=" in link]
    assert len(ranges) >= 3  # links to the week, the month, and the nearest days with articles
    assert all(one["first"] <= one["last"] for one in ranges)
