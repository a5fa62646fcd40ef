"""Pages in a real browser (scripts/browser-test): keyboard, narrow and wide windows, light and dark colours.

DEDUP_TEST_CHROMIUM names another Chromium. DEDUP_SCREENSHOTS names a folder for the documentation's pictures,
DEDUP_TEST_LOOK a folder for a picture of every page.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dedup import Deduplicator
from dedup.db.database import Database
from dedup.extras.browse import report
from dedup.extras.browse.asking import go
from dedup.extras.judging.judgements import Pick
from tests.extras.browse.conftest import Browser, fill, newsroom_articles, opened

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("DEDUP_TEST_CHROMIUM", "/usr/bin/chromium")
SCREENSHOTS = os.environ.get("DEDUP_SCREENSHOTS")

TOKEN = b"0123456789abcdef"
DAM = "vantage-0311-tarnhollow"
STORM, UPDATE = "vantage-0312-storm", "vantage-0312-storm-update"
RANGE = {"first": "2026-03-11", "last": "2026-03-13"}

PAGES = {
    "day": "/",
    "days": go("/", **RANGE),
    "everything by day": go("/", whole="yes", by="day", language="en"),
    "an outlet's days": go("/", publication="Newsbasket", **RANGE),
    "nearly an outlet": go("/", publication="vantage", **RANGE),
    "outlet": go("/outlet", publication="Newsbasket"),
    "outlet copied": go("/outlet", publication="Vantage Wire", **RANGE),
    "undated": go("/search", dated="no"),
    "empty day": go("/", first="2020-01-01"),
    "story": go("/story", id=DAM),
    "article": go("/article", id=UPDATE),
    "compare": go("/compare", a=STORM, b=UPDATE),
    "search": "/search",
    "found": go("/search", publication="Vantage Wire"),
    "words": go("/search", words="spillway"),
    "refused": go("/search", words="storm", after="x"),
    "new": "/new",
    "outlets": go("/outlets", **RANGE),
    "a family's ties": go("/outlets", family="Vantage", **RANGE),
    "sources": go("/sources", id=UPDATE),
    "also told by": go("/coverage", id=UPDATE),
    "copied": go("/copied", copier="Newsbasket", original="Vantage Wire", **RANGE),
    "sentences": "/sentences",
    "quotes": "/quotes",
    "judge": "/judge",
    "health": "/health",
    "nothing": "/nothing",
}
REFUSED = {"nothing": 404}
SIZES = {360: 740, 1600: 1000}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running browser."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: run scripts/browser-test"
    )
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}, or DEDUP_TEST_CHROMIUM")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(newsroom_url: str) -> Iterator[Browser]:
    """A server over the newsroom, with forms."""
    with opened() as start:
        yield start(newsroom_url, editing=True)


@contextmanager
def a_page(chromium: Any, origin: str, **options: Any) -> Iterator[Any]:
    """Yield a tab. Fail if the browser logs an error or warning, or requests anything from another host."""
    context = chromium.new_context(base_url=origin, **options)
    tab = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    tab.on(
        "console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None
    )
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    yield tab
    context.close()
    elsewhere = [url for url in asked if urlsplit(url).netloc != urlsplit(origin).netloc]
    assert elsewhere == []
    # Chromium itself logs the answer 404 to the console.
    assert [words for words in complaints if "status of 4" not in words] == []


def check(tab: Any) -> None:
    """Fail if the page scrolls sideways, or axe-core finds a fault."""
    from axe_playwright_python.sync_playwright import Axe

    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it scrolls sideways"
    found = Axe().run(tab).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []


def look(tab: Any, name: str) -> None:
    """Save a picture of the page if DEDUP_TEST_LOOK names a folder."""
    if folder := os.environ.get("DEDUP_TEST_LOOK"):
        tab.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_can_be_read_by_everyone(
    chromium: Any, site: Browser, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    size = {"width": width, "height": SIZES[width]}
    with a_page(chromium, site.origin, viewport=size, color_scheme=scheme) as tab:
        answer = tab.goto(PAGES[name])
        assert answer.status == REFUSED.get(name, 200)
        check(tab)
        for summary in tab.locator("summary").all()[:6]:
            summary.click()
        check(tab)
        look(tab, f"{name.replace(' ', '-')}-{width}-{scheme}")


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_judgements_tell_fits(
    chromium: Any, database: Database, corpus_url: str, width: int, scheme: str
) -> None:
    fill(corpus_url, [one for one in newsroom_articles() if "storm" in one.source_id])
    with opened() as start:
        site = start(corpus_url, editing=True)
        site.door.dd.judgements.pick([Pick(STORM, UPDATE, "0.7 to 1", 40, 1, {"dedup": 0.8})])
        site.door.dd.judgements.record((STORM, UPDATE), "Ann", "duplicate")
        size = {"width": width, "height": SIZES[width]}
        with a_page(chromium, site.origin, viewport=size, color_scheme=scheme) as tab:
            tab.goto(PAGES["health"])
            assert "Duplicates that are right" in tab.inner_text("main")
            check(tab)
            look(tab, f"health-judged-{width}-{scheme}")


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_and_stands_alone(
    chromium: Any, newsroom_url: str, tmp_path: Path, width: int, scheme: str
) -> None:
    file = tmp_path / "report.html"
    with Deduplicator(newsroom_url) as dd:
        file.write_text(report.of_story(dd, DAM), "utf-8")
    size = {"width": width, "height": SIZES[width]}
    with a_page(chromium, "file://", viewport=size, color_scheme=scheme) as tab:
        tab.goto(file.as_uri())
        look(tab, f"report-{width}-{scheme}")
        assert tab.evaluate("getComputedStyle(document.querySelector('.line')).display") == "grid"
        check(tab)


def focused(tab: Any, question: str) -> Any:
    return tab.evaluate(f"(() => {{ const at = document.activeElement; return {question}; }})()")


@pytest.mark.parametrize("name", PAGES)
def test_whatever_can_be_used_is_reached_by_tab_and_seen(chromium: Any, site: Browser, name: str) -> None:
    with a_page(chromium, site.origin, viewport={"width": 1200, "height": 900}) as tab:
        tab.goto(PAGES[name])
        usable = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
        everything = tab.evaluate(
            f'[...document.querySelectorAll("{usable}")].filter(one => one.checkVisibility()).length'
        )
        reached = set()
        for _ in range(min(4 * everything, 400)):
            tab.keyboard.press("Tab")
            if focused(tab, "at === document.body"):
                break
            reached.add(
                focused(tab, "[...document.querySelectorAll('*')].indexOf(at)"),
            )
            assert focused(tab, "parseFloat(getComputedStyle(at).outlineWidth) >= 2"), focused(
                tab, "at.outerHTML"
            )
        assert len(reached) >= min(everything, 90), name


def test_the_first_key_leads_past_the_navigation(chromium: Any, site: Browser) -> None:
    with a_page(chromium, site.origin) as tab:
        tab.goto("/")
        tab.keyboard.press("Tab")
        assert focused(tab, "at.textContent") == "Skip to the page"
        tab.keyboard.press("Enter")
        assert focused(tab, "at.id") == "main"


def test_keys_go_to_the_search_and_through_lists(chromium: Any, site: Browser) -> None:
    with a_page(chromium, site.origin) as tab:
        tab.goto(PAGES["days"])
        for key, expected in (("j", 0), ("j", 1), ("k", 0)):
            tab.keyboard.press(key)
            assert focused(
                tab, "[...document.querySelectorAll('[data-item]')].indexOf(at.closest('[data-item]'))"
            ) == (expected)
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/story?**")
        tab.keyboard.press("/")
        assert focused(tab, "at.name") == "words"
        tab.keyboard.type("j/k")
        assert focused(tab, "at.value") == "j/k"


def test_a_pair_is_judged_and_undone_by_keyboard(chromium: Any, database: Database, corpus_url: str) -> None:
    fill(corpus_url, [one for one in newsroom_articles() if "storm" in one.source_id])
    with opened() as start, a_page(chromium, (site := start(corpus_url, editing=True)).origin) as tab:
        tab.goto(PAGES["compare"])
        for words, name in (("Ann", "by"), ("another storm", "reason")):
            press_until(tab, f"at.name === '{name}'")
            tab.keyboard.type(words)
        press_until(tab, "at.value === 'unrelated'")
        tab.keyboard.press("Enter")
        tab.wait_for_url("**done=said**")
        assert "Ann said these are not the same story" in tab.inner_text("main")
        assert site.door.dd.pins.list()[0].reason == "another storm"
        press_until(tab, "at.textContent.startsWith('Undo')")
        tab.keyboard.press("Enter")
        tab.wait_for_url("**done=undone**")
        assert site.door.dd.pins.list() == []
        assert "duplicate" in tab.inner_text("main")


def press_until(tab: Any, question: str) -> None:
    for _ in range(100):
        tab.keyboard.press("Tab")
        if focused(tab, question):
            return
    pytest.fail(f"the keyboard does not reach {question}")


def test_pages_work_without_a_script(chromium: Any, site: Browser) -> None:
    with a_page(chromium, site.origin, java_script_enabled=False) as tab:
        tab.goto(PAGES["days"])
        tab.click("ol.stories a >> nth=0")
        tab.click("text=compare >> nth=1")
        assert "Two articles compared" in tab.inner_text("main") or "TWO ARTICLES" in tab.inner_text("main")
        tab.click("nav >> text=Is this new?")
        tab.fill("textarea", "Nothing like this was ever printed anywhere near this harbour.")
        tab.click("form.block button")
        assert "no stored article is like this text" in tab.inner_text("main")


def test_the_token_is_entered_once(chromium: Any, newsroom_url: str) -> None:
    with opened() as start, a_page(chromium, start(newsroom_url, token=TOKEN).origin) as tab:
        assert tab.goto(PAGES["story"]).status == 401
        check(tab)
        tab.keyboard.type(TOKEN.decode())
        tab.keyboard.press("Enter")
        tab.wait_for_selector('h1:has-text("Tarn Hollow")')
        assert tab.goto("/health").status == 200
        assert tab.evaluate("document.cookie") == ""


def test_a_page_of_another_site_changes_nothing(chromium: Any, database: Database, corpus_url: str) -> None:
    fill(corpus_url, [one for one in newsroom_articles() if "storm" in one.source_id])
    with opened() as start:
        site = start(corpus_url, editing=True)
        context = chromium.new_context()
        tab = context.new_page()
        tab.goto(f"{site.origin}{PAGES['compare']}")
        signature = tab.get_attribute("form.judge input[name=form]", "value")
        fields = {"by": "Eve", "say": "unrelated", "reason": "", "back": "compare", "form": signature}
        inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
        target = f"{site.origin}{go('/judge', a=STORM, b=UPDATE)}".replace("&", "&amp;")
        page = f'<form method="post" action="{target}">{inputs}<button>Win</button></form>'
        tab.route("http://evil.example/", lambda route: route.fulfill(body=page, content_type="text/html"))
        tab.goto("http://evil.example/")
        sent = []
        tab.on("request", lambda request: sent.append(request.method))
        tab.click("button")
        tab.wait_for_url(lambda url: "evil" not in url)
        assert "POST" in sent
        assert site.door.dd.pins.list() == []
        tab.goto(f"{site.origin}{PAGES['compare']}")
        assert tab.get_attribute("form.judge input[name=form]", "value") == signature
        tab.fill("form.judge input[name=by]", "Ann")
        tab.click("button[value=unrelated]")
        tab.wait_for_url("**done=said**")
        assert [pin.pinned_by for pin in site.door.dd.pins.list()] == ["Ann"]
        context.close()


COLOURS = 64  # more colours look no better, and make a picture three times as large

PICTURES = {
    "today": (PAGES["days"], {"width": 1000, "height": 820}),
    "story": (PAGES["story"], {"width": 1000, "height": 760}),
    "compare": (PAGES["compare"], {"width": 1000, "height": 820}),
}


@pytest.mark.skipif(not SCREENSHOTS, reason="scripts/browser-test --screenshots makes pictures")
@pytest.mark.parametrize("name", PICTURES)
def test_screenshot(chromium: Any, newsroom_url: str, name: str) -> None:
    from PIL import Image

    path, size = PICTURES[name]
    with opened() as start, a_page(chromium, start(newsroom_url).origin, viewport=size) as tab:
        tab.goto(path)
        made = Path(SCREENSHOTS or "") / f"browse-{name}.png"
        made.parent.mkdir(exist_ok=True)
        shown = Image.open(io.BytesIO(tab.screenshot()))
        shown.quantize(COLOURS).save(made, optimize=True)
        assert made.stat().st_size < 60_000
