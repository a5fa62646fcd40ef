"""Feeds of all kinds and WordPress exports become articles; broken and hostile feeds do no harm."""

from __future__ import annotations

import gzip
import io
import sys
import tracemalloc
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.files import entries, feeds
from dedup.files.readers import ArticleReader, Reject, read_articles
from dedup.files.report import Understanding
from tests.files import feed_files
from tests.files.feed_files import STORM, TRAMS, blocks, post, rss, rss_item, wordpress
from tests.loops import each

pytest.importorskip("trafilatura")


def read(path: Path, content: str | bytes, **how: Any) -> tuple[list[Article], list[Reject], ArticleReader]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with read_articles(path, **how) as reader:
        items = list(reader)
    found = [item for item in items if isinstance(item, Article)]
    return found, [item for item in items if isinstance(item, Reject)], reader


def flat(text: str) -> str:
    return " ".join(text.split())


def test_an_export_of_wordpress_gives_its_published_posts_and_pages(tmp_path: Path) -> None:
    found, refused, reader = read(
        tmp_path / "export.xml",
        wordpress(
            post(1, blocks(STORM)),
            post(2, STORM, kind="page", title="About us"),
            post(3, "", kind="attachment", status="inherit"),
            post(4, STORM, kind="revision", status="inherit"),
            post(5, "", kind="nav_menu_item"),
            post(6, STORM, status="draft"),
            post(7, STORM, status="draft"),
            post(8, STORM, status="private"),
        ),
    )
    assert not refused
    assert [article.source_id for article in found] == [f"https://courier.example/?p={n}" for n in (1, 2)]
    assert [flat(article.text) for article in found] == [STORM, STORM]
    first = found[0]
    assert (first.title, first.url) == ("Harbour bridge shut after storm", "https://courier.example/1/")
    assert (first.publication, first.language) == ("Courier", "en-US")
    assert first.published_at == datetime(2026, 3, 12, 7, 10, tzinfo=UTC)
    understood = reader.understood
    assert understood.format == "wxr"
    assert understood.left_out == {
        **{"attachment": 1, "revision": 1, "nav_menu_item": 1},
        **{"draft": 2, "private": 1},
    }
    assert understood.records == 2
    assert understood.fields["text"] == {"content:encoded": 2}


@each(
    ("body", "text"),
    [
        ("One line.\n\nAnother <em>line</em>.", "One line.\nAnother line."),
        ("Said [sic] and [applause].", "Said [sic] and [applause]."),
        ('<p>A.</p>[gallery ids="1,2"]<p>B.</p>', "A.\nB."),
        ('<p>A.</p>[caption id="a" width="9"]<img src="x"/> A photo.[/caption]<p>B.</p>', "A.\nB."),
        ('[vc_row][vc_column width="1/2"]<p>A.</p>[/vc_column][/vc_row]', "A."),
        ("<p>A.</p>[embed]https://video.example/1[/embed]", "A."),
        (
            '<!-- wp:heading {"level":3} --><h3>Head</h3><!-- /wp:heading --><p>A&nbsp;&amp; B.</p>',
            "Head\nA & B.",
        ),
    ],
)
def test_a_body_of_wordpress_becomes_its_text(tmp_path: Path, body: str, text: str) -> None:
    [article], _, _ = read(tmp_path / "export.xml", wordpress(post(1, body)))
    assert article.text.replace("\xa0", " ") == text


def test_rss_has_what_an_article_needs(tmp_path: Path) -> None:
    full = (
        f"<content:encoded><![CDATA[<p>{TRAMS}</p>]]></content:encoded><source url='x'>Vantage Wire</source>"
    )
    found, refused, reader = read(
        tmp_path / "feed.rss",
        rss(
            [
                rss_item("a", STORM, title="A & B"),
                rss_item("b", "A teaser.", hours=1, more=full),
                f"<item><title>C</title><link>/c</link><guid isPermaLink='false'>77</guid><dc:date>2026-03-12"
                f"T08:00:00+02:00</dc:date><description>{STORM}</description></item>",
            ]
        ),
    )
    assert not refused
    assert [flat(article.text) for article in found] == [STORM, TRAMS, STORM]
    assert [article.source_id for article in found] == [
        "https://mercury.example/a",
        "https://mercury.example/b",
        "mercury.example/77",  # a mere number could name an article of another feed, too
    ]
    assert [article.publication for article in found] == ["Mercury", "Vantage Wire", "Mercury"]
    assert [article.url for article in found] == [f"https://mercury.example/{name}" for name in "abc"]
    assert found[2].published_at == datetime(2026, 3, 12, 6, tzinfo=UTC)
    assert reader.understood.format == "rss"


def test_atom_has_what_an_article_needs(tmp_path: Path) -> None:
    found, refused, reader = read(tmp_path / "feed.atom", feed_files.ATOM)
    assert not refused
    first, second = found
    assert first.text == "Le gardien est parti & la lampe reste.\nPersonne ne vient."
    assert (first.source_id, first.url) == ("tag:phare.example,2026:1", "https://phare.example/1")
    assert (first.title, first.publication, first.language) == ("Le dernier gardien", "Le Phare", "fr")
    assert first.published_at == datetime(2026, 3, 12, 8, tzinfo=UTC)
    assert second.text == "Un texte simple: 1 < 2 & 3."
    assert second.published_at == datetime(2026, 3, 12, 10, tzinfo=UTC)
    assert reader.understood.format == "atom"


def test_rss_of_the_first_edition_has_its_items_beside_the_channel(tmp_path: Path) -> None:
    [article], _, _ = read(tmp_path / "feed.xml", feed_files.RDF)
    assert (article.source_id, article.title) == ("https://wache.example/1", "Sturm")
    assert (article.publication, article.language) == ("Hafenwache", "de")
    assert article.published_at == datetime(2026, 3, 12, 6, 10, tzinfo=UTC)


def test_names_can_be_mapped_and_a_feed_may_be_packed_or_come_through_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "<content:encoded>The whole text.</content:encoded>"
    content = rss([rss_item("a", "The teaser.", more=more)])
    [article], _, _ = read(tmp_path / "a.rss", content, fields={"text": "description", "source_id": "link"})
    assert article.text == "The teaser."
    [article], _, _ = read(tmp_path / "a.rss.gz", gzip.compress(content.encode()))
    assert article.text == "The whole text."
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    with read_articles("-", format="xml") as reader:
        assert [item.source_id for item in reader] == ["https://mercury.example/a"]


@each(
    ("written", "title"),
    [
        ("AT&T & Söhne", "AT&T & Söhne"),
        ("5 < 6", "5 < 6"),
        ("Caf&eacute;&nbsp;&rsquo;", "Café\xa0’"),
        ("a\x0bb\x01", "ab"),
        ("<![CDATA[<b>x</b> & y]]>", "x & y"),
        ("&#8217;&unknown;", "’&unknown;"),
    ],
)
def test_what_feeds_get_wrong_is_mended_and_the_next_entry_is_whole(
    tmp_path: Path, written: str, title: str
) -> None:
    items = [
        f"<item><title>{written}</title><guid>a:1</guid><description>A text.</description></item>",
        rss_item("b", STORM),
    ]
    first, second = read(tmp_path / "feed.xml", rss(items))[0]
    assert first.title == title
    assert first.text == "A text."
    assert second.text == STORM


def test_a_lost_end_a_raw_tag_and_a_prefix_nobody_declared_cost_no_other_entry(tmp_path: Path) -> None:
    items = [
        "<item><guid>https://a.example/1</guid><description>One<br>two <img src='x'> three",
        "<item><guid>https://a.example/2</guid><foo:bar>x</foo:bar><description>Four.</description></item>",
        rss_item("c", STORM),
    ]
    found, refused, reader = read(tmp_path / "feed.xml", "\n\n  " + rss(items))
    assert [flat(article.text) for article in found] == ["One two three", "Four.", STORM]
    assert not refused
    assert not reader.truncated


def test_a_feed_that_breaks_off_says_so_and_keeps_what_came(tmp_path: Path) -> None:
    whole = rss([rss_item("a", STORM), rss_item("b", TRAMS)])
    found, [refused], reader = read(tmp_path / "feed.xml", whole[: whole.index("A surcharge")])
    assert [article.text for article in found] == [STORM]
    assert (refused.line, refused.reason) == (3, entries.CUT_OFF)
    assert reader.truncated


@each("encoding", ["utf-8", "utf-8-sig", "iso-8859-1", "windows-1252", "windows-1251", "gb18030"])
def test_the_encoding_is_the_one_that_the_document_names(tmp_path: Path, encoding: str) -> None:
    word = {"windows-1251": "гавань", "gb18030": "港口"}.get(encoding, "Überfahrt")
    declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    content = rss([rss_item("a", word)], declaration=declared).encode(encoding)
    [article], _, _ = read(tmp_path / "feed.xml", content)
    assert article.text == word


@each(
    ("charset", "encoding"),
    [(said, real) for said in ("utf-16", "utf-16-be") for real in ("utf-16-be", "utf-8")]
    + [("UTF-16", "utf-16-le"), ("utf-16", "utf-16"), ("utf-32-le", "utf-32-le")],
)
def test_utf_16_that_only_http_names_is_read_and_a_wrong_name_is_ignored(charset: str, encoding: str) -> None:
    # Because of the space before the root, the reader does not notice that the document is UTF-16.
    content = f" {rss([rss_item('a', 'Überfahrt')], declaration='')}".encode(encoding)
    [(_, _, entry)] = entries.read_document("x", [content], charset=charset).entries
    assert not isinstance(entry, str)
    assert "<p>Überfahrt</p>" in {one.text for one in entry}


def test_bytes_of_windows_in_a_feed_that_says_utf_8_are_read_as_such(tmp_path: Path) -> None:
    content = rss([rss_item("a", "The mayor's word – über"), rss_item("b", "ß")]).encode()
    content = content.replace("–".encode(), b"\x96")
    first, second = read(tmp_path / "feed.xml", content)[0]
    assert (first.text, second.text) == ("The mayor's word – über", "ß")


def bomb() -> str:
    names = "abcdefghij"
    rules = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise(names))
    return f'<!DOCTYPE rss [<!ENTITY a "{"ha" * 100}">{rules}]>'


@each(
    "declaration",
    [
        bomb(),
        '<!DOCTYPE rss [<!ENTITY j SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE rss [<!ENTITY % j SYSTEM "http://127.0.0.1:1/x.dtd"> %j;]>',
        '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://127.0.0.1:1/rss-0.91.dtd">',
        '<?xml-stylesheet href="file:///etc/passwd"?>',
    ],
)
def test_a_document_type_does_nothing(tmp_path: Path, declaration: str) -> None:
    more = "<dc:creator x='&j;'>&j;</dc:creator>"
    item = rss_item("a", STORM, title="T", more=more).replace("<title>T", "<title>&j;|T")
    tracemalloc.start()
    [article], _, _ = read(tmp_path / "feed.xml", rss([item], declaration=declaration))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert article.text == STORM
    assert article.title == "&j;|T"
    assert peak < 30_000_000


def test_an_entry_that_is_too_large_or_has_too_many_values_is_refused_and_no_other(tmp_path: Path) -> None:
    items = [rss_item("a", STORM), rss_item("b", "long " * 10_000), rss_item("c", TRAMS)]
    found, [refused], _ = read(tmp_path / "feed.xml", rss(items), max_record_bytes=5_000)
    assert [article.text for article in found] == [STORM, TRAMS]
    assert refused.reason.startswith("the record has 50,")
    items[1] = f"<item>{'<a/>' * 1_000_001}</item>"
    found, [refused], _ = read(tmp_path / "feed.xml", rss(items))
    assert [article.text for article in found] == [STORM, TRAMS]
    assert refused.reason == "the record has more than 1,000,000 values"


@pytest.mark.long("dedup", "migrations")
def test_memory_holds_one_entry(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    items = [post(number, blocks(STORM) * 20) for number in range(2_000)]
    path.write_text(wordpress(*items), "utf-8")
    del items
    tracemalloc.start()
    source = feeds.FeedSource(str(path), 1_000_000)
    count = sum(1 for _ in source.records(feeds.FIELDS, (), Understanding("export", "xml")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    source.close()
    assert count == 2_000
    assert path.stat().st_size > 10_000_000
    assert peak < 3_000_000


@each(
    ("content", "words"),
    [
        ("", "not XML"),
        ("guid,text\n", "not XML"),
        ("<html><body>Not found</body></html>", "<html>, which is not RSS"),
        ("<urlset><url><loc>https://a.example/1</loc></url></urlset>", "is a sitemap"),
    ],
)
def test_what_is_no_feed_is_refused_with_the_way_out(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(tmp_path / "feed.xml", content)


def test_an_entry_without_a_text_or_an_id_is_refused(tmp_path: Path) -> None:
    items = [
        "<item><title>Only a title</title><guid>https://a.example/1</guid></item>",
        "<item><title>Nobody's</title><description>A text.</description></item>",
        "<item><guid>https://a.example/2</guid><description>&lt;img src='x'&gt;</description></item>",
    ]
    found, refused, _ = read(tmp_path / "feed.xml", rss(items))
    assert not found
    assert [one.reason for one in refused] == [
        "text is missing",
        "source_id is missing",
        "the HTML has no text",
    ]
    assert [one.source_id for one in refused] == ["https://a.example/1", None, "https://a.example/2"]


def test_dates_of_feeds_are_read_as_the_dates_of_other_files(tmp_path: Path) -> None:
    items = [rss_item(str(day), STORM) for day in range(20)]
    content = rss(items).replace("Thu, 12 Mar 2026 06:10:00 +0000", "13/03/2026 06:10", 19)
    found, _, _ = read(tmp_path / "feed.xml", content)
    assert {article.published_at for article in found} == {
        datetime(2026, 3, day, 6, 10, tzinfo=UTC) for day in (12, 13)
    }
    with pytest.raises(InputError, match="are unreadable or ambiguous"):
        read(tmp_path / "feed.xml", content.replace("13/03", "13/33"))
    found, _, _ = read(tmp_path / "feed.xml", content.replace("13/03", "13/33"), lose_dates=True)
    assert sum(article.published_at is None for article in found) == 19


@given(st.data())
def test_however_a_document_comes_its_entries_are_the_same(data: st.DataObject) -> None:
    pieces = st.sampled_from(
        [
            "<item>",
            "</item>",
            "<item/>",
            "<![CDATA[",
            "]]>",
            "<!--",
            "-->",
            "<a>",
            "</a>",
            "&x;",
            "x",
            "é",
            "\n",
            "<",
        ]
    )
    content = (
        "<rss><channel>" + "".join(data.draw(st.lists(pieces, max_size=30))) + "</channel></rss>"
    ).encode()
    size = data.draw(st.integers(1, 20))

    def cut(step: int) -> list[tuple[int, bytes]]:
        chunks = [content[at : at + step] for at in range(0, len(content), step)]
        document = entries.read_document("x", chunks)
        return [(line, raw) for line, raw, _ in document.entries]

    assert cut(size) == cut(len(content))
