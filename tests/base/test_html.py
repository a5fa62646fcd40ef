"""HTML: how it is recognised, the text it has, and the limits that keep hostile pages harmless."""

from __future__ import annotations

import logging
import re
import socket
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.base.html import MAX_HTML_CHARACTERS, extract, looks_like_html, plain_title

WORDS = "The ferry to Port Marlow was late again on Monday, and nobody on the pier was surprised. "
PAGE = (
    "<!DOCTYPE html><html><head><title>Ferry late</title><script>var a = '<p>no</p>';</script></head>"
    "<body><nav><ul><li><a href='/'>Home</a></li><li><a href='/sport'>Sport</a></li></ul></nav>"
    f"<article><h1>Ferry late</h1><p>{WORDS * 2}</p><p>It &amp; the caf&eacute; {WORDS}</p></article>"
    "<footer>Copyright 2024</footer></body></html>"
)


@pytest.mark.parametrize(
    "text",
    [
        PAGE,
        "<html>",
        " \n<!doctype HTML>\n<p>",
        "<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'>",
        "<body class='a'>words",
        "<p>Short.</p>",
        "<p>One.<p>Two.",
        "\n<div class='a'><p>One.</p></div>",
        "Words first.<br><br/>Then others.<br />More.",
        "The mayor <b>said</b> so <a href='x'>here</a>.",
        "<P>LOUD</P>",
        "<img src='a.jpg' alt='Rain > sun in Brig'>",
        "<picture><source srcset='a.webp'/>\n<img src='a.jpg'></picture>",
        "<audio src='a.mp3'>No sound here.</audio>",
        "<svg viewBox='0 0 9 9'><path d='M0 0'/></svg>",
        "<embed src='a'>",
        "<iframe src='https://a.example'>",
        " <br/> ",
        "<hr>",
        "&nbsp;&#160;",
        "<!-- gone - for now -->",
    ],
)
def test_what_looks_like_html(text: str) -> None:
    assert looks_like_html(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain words & nothing else.",
        "a < b and c > d",
        "a<b, p<q, i<j>k",
        "if (a<b && b<c) { x(); } List<String> y; vector<int> z; map<a, b> c;",
        "Ann Field <ann@example.org>, Bob <bob@example.org>, Cy <cy@example.org>",
        "See <https://example.org/a> and <https://example.org/b> and <http://c.example>",
        "Use the <p> tag for a paragraph.",
        "A paragraph is written <p>like this</p> and ends.",
        "<p> is the tag of a paragraph.",
        "<3 <3 <3",
        "<<<>>>",
        "<item><name>xml</name></item>",
        "<img> shows a picture",
        "AT&T",
        "&nbsp; is a space",
        "<!-- never ends",
        "<a 'b>",
    ],
)
def test_what_does_not_look_like_html(text: str) -> None:
    assert not looks_like_html(text)


def test_the_text_of_a_page_is_its_article() -> None:
    pytest.importorskip("trafilatura")
    text = extract(PAGE)
    assert WORDS.strip() in text
    assert "It & the café" in text
    assert not [piece for piece in ("<", "var a", "Sport") if piece in text]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Short.</p>", "Short."),
        ("<p>One.</p><p>Two <b>bold</b>.</p>", "One.\nTwo bold."),
        ("<div>Caf&eacute; &lt;open&gt;</div>", "Café <open>"),
        ("One<br>Two", "One\nTwo"),
        ("<p>a\0\ud800b</p>", "ab"),
        ("<!-- no --><p>yes</p><style>no</style><script>no</script>", "yes"),
        ("<p>1 < 2</p>", "1 < 2"),
        ("<p title='a > b'>c</p>", "c"),
        ("Lead.<p>Two.</p>Tail.", "Lead.\nTwo.\nTail."),
        ("Lead<br>two <img src='x'>three", "Lead\ntwo three"),
        ("<h3>Head</h3><p>One.</p><p>One.</p>", "Head\nOne.\nOne."),
    ],
)
def test_a_fragment_has_all_its_text(html: str, text: str) -> None:
    pytest.importorskip("trafilatura")
    assert extract(html) == text


@pytest.mark.parametrize(
    "html", ["", " ", "<p></p>", "<html><body></body></html>", "<script>x</script>", "<!-- x"]
)
def test_html_without_text_is_refused(html: str) -> None:
    pytest.importorskip("trafilatura")
    with pytest.raises(InputError, match="the HTML has no text"):
        extract(html)


def test_without_trafilatura_the_way_to_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(InputError, match=re.escape(installing("html"))):
        extract("<p>a</p>")
    assert looks_like_html("<p>a</p>")


def test_nothing_is_fetched_and_nothing_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("trafilatura")

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was to be fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    linked = (
        '<!DOCTYPE html SYSTEM "http://x.example/a.dtd" [<!ENTITY e SYSTEM "file:///etc/hostname">]><html><head>'
        '<link rel="stylesheet" href="http://x.example/a.css"><base href="http://x.example/"></head><body>'
        f'<img src="http://x.example/a.png"><iframe src="http://x.example"></iframe><p>{WORDS}&e;</p></body></html>'
    )
    with caplog.at_level(logging.DEBUG):
        assert "ferry" in extract(linked)
        for html in ("http://x.example/", "<p>x</p>", "<", "\0", "<html><p>"):
            try:
                extract(html)
            except InputError:
                continue
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name.startswith("trafilatura")] == []


HOSTILE = {
    "deep": "<div>" * 100_000 + "text" + "</div>" * 100_000,
    "open": "<p><b><i>" * 100_000 + "text",
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">text</p>",
    "attributes behind a sign": "<p a='>' " + " ".join(f"a{n}=1" for n in range(100_000)) + ">text</p>",
    "signs": "<p>text" + "<" * 1_000_000,
    "tags that never end": "<p>text</p>" + "<a b='" * 200_000,
    "comments that never end": "<p>text</p>" + "<!--" * 250_000,
    "scripts that never end": "<p>text</p>" + "<script>" * 200_000,
    "quotes": "<p>text</p><p " + "\"'" * 300_000 + ">",
    "lists": "<ul><li>text" * 100_000,
    "tables": "<table><tr><td>text" * 50_000,
    "entities": "<p>text" + "&" * 1_000_000,
    "data": "<p>text</p><script type='application/ld+json'>" + "[" * 500_000 + "</script>",
    "picture": f"<p>text<img src='data:image/png;base64,{'A' * 2_000_000}'></p>",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_end_soon_with_their_text(html: str) -> None:
    pytest.importorskip("trafilatura")
    began = time.process_time()
    looks_like_html(html)
    assert "text" in extract(html)
    assert time.process_time() - began < 20  # without the limits some of these pages take minutes


def test_a_page_that_is_too_long_is_refused() -> None:
    pytest.importorskip("trafilatura")
    with pytest.raises(InputError, match="the HTML is longer than 5,000,000 characters"):
        extract("<p>" + "x" * MAX_HTML_CHARACTERS)


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Council &amp; budget", "Council & budget"),
        ("&ldquo;No&rdquo;, says mayor&#8217;s &#x201c;man", "“No”, says mayor’s “man"),
        ("<b>Coun</b>cil", "Council"),
        ("  <h1 class='big'>Council\n<br/>votes</h1> ", "Council votes"),
        ("<a href='/x?a=1&b=2'>Council</a> <I>votes</I>", "Council votes"),
        ("The &lt;b&gt; tag", "The <b> tag"),
        ("A &amp;amp; B", "A &amp; B"),
        ("<p></p>", ""),
        ("&#0;", "\ufffd"),
    ],
)
def test_a_title_of_html_is_read_as_a_browser_shows_it(title: str, plain: str) -> None:
    assert plain_title(title) == plain


@pytest.mark.parametrize(
    "title",
    [
        "", " Council  votes ", "AT&T &c. R&D", "1 < 2 > 0", "a<b, c>d", "<Live> Budget", "I <3 Oslo",
        "A <a b> c", "Fish &chips;", "&copy 2024", "A & B; C",
    ],
)  # fmt: skip
def test_a_title_without_html_stays_as_it_is(title: str) -> None:
    assert plain_title(title) == title


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("piece", ["<", "<b ", "<b a='", "&", "&#", "&a", "</", "<a \t", "<p\n"])
def test_the_longest_title_is_done_soon(piece: str) -> None:
    began = time.process_time()
    plain_title(piece * (2_000_000 // len(piece)))
    assert time.process_time() - began < 10  # a pattern that backtracks would take hours


PIECES = st.sampled_from(
    ["<p>", "</p>", "<a href='", "'", '"', ">", "<", "/", "<!--", "-->", "<script>", "</script", "=", "&lt;",
     "&#0;", "&", "x", " ", "\n", "\0", "\ud800", "<br/>", "<td>", "<html>", "<!DOCTYPE html>", "<?", "é"]
)  # fmt: skip


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_html_has_a_text_or_a_clear_error(html: str) -> None:
    pytest.importorskip("trafilatura")
    looks_like_html(html)
    try:
        assert extract(html).strip()
    except InputError as error:
        assert str(error) == "the HTML has no text"  # noqa: PT017
