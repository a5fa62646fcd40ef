"""Mutated feeds and entries are read, or refused with a reason."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.files import entries
from dedup.files.entries import read_document
from dedup.files.readers import Reject, read_articles
from dedup.files.record import make_article
from tests.conftest import Told
from tests.files import feed_files
from tests.files.feed_files import STORM, TRAMS, post, rss, rss_item, wordpress
from tests.loops import each

pytest.importorskip("trafilatura")
pytest.importorskip("tld")

SEED = 11
FEED = "https://www.mercury.example/feed"
AT_HOME = r"(?:https?://)?(?:[\w-]+\.)*mercury\.example(?::\d+)?[/#?]"

LINKS = (
    *(
        "http://[",
        "http://[::1",
        "http://[SITE]/story",
        "//[x",
        "http://a\u2100b/",
        "http://a:b:c/",
        "http:///",
    ),
    *(
        "https://www.mercury.example:99999/",
        "\u0130://x",
        "http://\ud83d/",
        "javascript:alert(1)",
        "http://x/\\@y/",
    ),
)
REFERENCES = (
    *(
        "&#xD83D;&#xDE00;",
        "&#55357;&#56832;",
        "&#xD83D;",
        "&#xDE00;&#xD83D;",
        "&#0;",
        "&#xFFFE;",
        "&#x110000;",
    ),
    *("&#9999999;", "&#xX;", "&nbsp;", "&lol;", "&amp;#xD83D;&amp;#xDE00;", "&Xfr;", "&#XD83D;", "&bne;"),
)
ENCODINGS = (
    *(
        "zlib",
        "base64",
        "hex",
        "rot13",
        "bz2",
        "uu",
        "quopri",
        "idna",
        "punycode",
        "undefined",
        "unicode_escape",
    ),
    *(
        "raw_unicode_escape",
        "utf-7",
        "utf-16",
        "utf-32",
        "utf-16-be",
        "mbcs",
        "oem",
        "hz",
        "iso2022_kr",
        "cp037",
    ),
    *("charmap", "nope", "utf_8_sig", "shift_jis", "big5hkscs", "x" * 200, "..", "unknown-8", "ISO-8859-1"),
)
TAGS = (
    *(
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "</item>",
        "<item>",
        "<item/>",
        "</rss>",
        "<?x y?>",
        "<!DOCTYPE a [",
        "]>",
    ),
    *(
        "<br>",
        "<a:b:c>",
        "<:x>",
        "<x:y/>",
        "<" * 50,
        "<a " * 50,
        "<x>" * 300,
        "&" * 50,
        "<guid/>",
        "<link href='http://['/>",
    ),
    *(
        "<author><name>a</name></author>",
        "<content type='xhtml'><!-- c --><?pi?><div/></content>",
        "<source/>",
    ),
    *(
        "xmlns:dc='urn:x'",
        "xmlns='urn:y'",
        "xml:lang='\u2100'",
        "<pubDate>0000-00-00</pubDate>",
        "<dc:date>9999-99</dc:date>",
    ),
)
BYTES = (
    b"\0",
    b"\xff",
    b"\xed\xa0\xbd",
    b"\xef\xbf\xbe",
    b"\x1b[2J",
    b"\xc0\x80",
    b"\xf0\x9f",
    b"\xef\xbb\xbf",
    b"\xfe\xff",
)


def bases() -> list[str]:
    return [
        rss([rss_item("a", STORM), rss_item("b", TRAMS, hours=1)]),
        wordpress(post(1, STORM), post(2, TRAMS)),
        feed_files.ATOM,
        feed_files.RDF,
        "<urlset xmlns:news='http://www.google.com/schemas/sitemap-news/0.9'><url><loc>http://a.example/1</loc>"
        "<news:news><news:title>A</news:title></news:news></url></urlset>",
        "<sitemapindex><sitemap><loc>http://a.example/1</loc><lastmod>2999-01-01</lastmod></sitemap></sitemapindex>",
    ]


def mutated(dice: random.Random, base: str) -> tuple[bytes, str | None]:
    """Return a feed with one to six random faults, and the encoding that the HTTP header names."""
    content = base.encode()
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(content) + 1)
        match dice.randrange(7):
            case 0:
                places = [found.span(1) for found in re.finditer(rb">(https?://[^<]*)<", content)]
                start, end = dice.choice(places or [(at, at)])
                content = (
                    content[:start] + dice.choice(LINKS).encode("utf-8", "surrogatepass") + content[end:]
                )
            case 1:
                content = content[:at] + dice.choice(REFERENCES).encode() + content[at:]
            case 2:
                content = content[:at] + dice.choice(TAGS).encode() + content[at:]
            case 3:
                content = content[:at] + dice.choice(BYTES) + content[at:]
            case 4:
                content = content[:at] + content[at + dice.randrange(1, 60) :]
            case 5:
                opened = re.finditer(rb"<(?:guid|link|title|description|id)[^>]*>", content)
                at = dice.choice([found.end() for found in opened] or [at])
                fault = dice.choice((*REFERENCES, *LINKS)).encode("utf-8", "replace")
                content = content[:at] + fault + content[at:]
            case _:
                declared = f"<?xml version='1.0' encoding='{dice.choice(ENCODINGS)}'?>".encode()
                content = declared + re.sub(rb"^\s*<\?xml[^>]*\?>", b"", content)
    if dice.random() < 0.1:
        content = content.decode("utf-8", "replace").encode(
            dice.choice(["utf-16", "utf-16-le", "cp1252"]), "replace"
        )
    return content, dice.choice([None, None, *ENCODINGS])


def polled_articles(content: bytes, charset: str | None) -> Iterator[Article]:
    """Yield the articles of an answer as `dedup watch` reads it; the only error raised is InputError."""
    from dedup.extras.watch import identity, polled, sitemaps

    size = len(content) // 3 + 1
    document = read_document(
        "feed", (content[at : at + size] for at in range(0, len(content), size)), charset=charset
    )
    if document.root == "sitemapindex":
        sitemaps.children(document)
        return
    for entry in polled.entries(document, None, fetched=False):
        ids = identity.ids_of(FEED, entry.source_id, entry.found.get("url"))
        for source_id in (ids.shared, ids.own):
            if source_id:
                assert re.match(AT_HOME, source_id)
        with suppress(InputError):
            yield make_article({**entry.found, "source_id": ids.shared or ids.own})[0]
    assert all(reason and line for line, reason in document.refused)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("watch")
@pytest.mark.parametrize(
    "count", [500, pytest.param(10_000, marks=[pytest.mark.torture, pytest.mark.timeout(600)])]
)
def test_however_a_feed_is_mutated_it_is_read_or_refused_with_a_reason(
    tmp_path: Path, count: int, told: Told
) -> None:
    dice = random.Random(SEED)
    made, path, articles, refused = bases(), tmp_path / "feed.xml", 0, 0
    for number in range(count):
        content, charset = mutated(dice, dice.choice(made))
        try:
            articles += len(list(polled_articles(content, charset)))
        except InputError:
            refused += 1
        path.write_bytes(content)
        with suppress(InputError), read_articles(path, lose_dates=True) as reader:
            items = list(reader)
            assert all(item.reason for item in items if isinstance(item, Reject)), number
    assert articles > count / 4
    assert refused < count / 2
    told(
        "11, 17",
        f"seed {SEED}, {articles:,} articles read, {refused:,} feeds refused",
        f"{count:,} mutated feeds",
    )


def faulty(dice: random.Random) -> str:
    """Return an entry with faults inside it; no fault opens or closes an element."""
    words = "".join(dice.choice((*REFERENCES, " words ", "\ufffe", "]]>", "<br>", "AT&T")) for _ in range(4))
    guid = dice.choice(("", words, *LINKS)).encode("utf-8", "replace").decode()
    link = dice.choice(("", "https://mercury.example/x", *LINKS)).encode("utf-8", "replace").decode()
    date = dice.choice(("", "Thu, 99 Mar 99999", "-1", "9" * 400))
    return (
        f"<item><title>{words}</title><guid>{guid}</guid><link>{link}</link><pubDate>{date}</pubDate>"
        f"<description>{words}</description></item>"
    )


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("watch")
def test_a_faulty_entry_costs_no_other_entry(tmp_path: Path) -> None:
    from dedup.extras.watch import polled

    dice = random.Random(SEED)
    wanted = {"https://mercury.example/a": STORM, "https://mercury.example/b": TRAMS}
    path = tmp_path / "feed.xml"
    for _ in range(300):
        content = rss([rss_item("a", STORM), faulty(dice), faulty(dice), rss_item("b", TRAMS, hours=1)])
        document = read_document("feed", [content.encode()])
        found = {
            entry.source_id: entry.found.get("text")
            for entry in polled.entries(document, None, fetched=False)
        }
        assert {key: found.get(key) for key in wanted} == wanted, content
        path.write_text(content, "utf-8")
        with read_articles(path, lose_dates=True) as reader:
            items = list(reader)
        loaded = {item.source_id: item.text for item in items if isinstance(item, Article)}
        assert {key: loaded.get(key) for key in wanted} == wanted, content
        assert sum(isinstance(item, (Article, Reject)) for item in items) == 4, content


@each(
    "head",
    ["<link>http://[</link>", "<link>//a\u2100b/</link>", "<language>&#xD83D;</language>", "<link>x</link>"],
)
def test_a_head_that_cannot_be_read_costs_no_entry(tmp_path: Path, head: str) -> None:
    path = tmp_path / "feed.xml"
    path.write_text(
        rss([rss_item("a", STORM)]).replace("<link>https://mercury.example/</link>", head), "utf-8"
    )
    with read_articles(path) as reader:
        assert [item.text for item in reader if isinstance(item, Article)] == [STORM]


@each(
    "smile",
    [
        "&#xD83D;&#xDE00;",
        "&#55357;&#56832;",
        "&#xd83d;&#XDE00;",
        "&amp;#xD83D;&amp;#xDE00;",
        "&#x1F600;",
        "\U0001f600",
    ],
)
def test_an_emoji_is_one_however_it_is_written(tmp_path: Path, smile: str) -> None:
    path = tmp_path / "feed.xml"
    words = f"<title>Oh {smile}</title><description>Oh {smile} so good.</description>"
    path.write_text(rss([f"<item><guid>urn:1</guid>{words}</item>"]), "utf-8")
    with read_articles(path) as reader:
        [article] = reader
    assert isinstance(article, Article)
    assert (article.text, article.title) == ("Oh \U0001f600 so good.", "Oh \U0001f600")


@pytest.mark.extra("watch")
@each("encoding", ["zlib", "idna", "undefined", "rot13", "unicode_escape", "punycode"])
def test_a_feed_in_an_encoding_that_is_none_of_texts_is_read_as_utf_8(tmp_path: Path, encoding: str) -> None:
    content = rss([rss_item("a", f"{STORM} \xe9")]).replace("<?xml version='1.0'?>", "")
    declared = f'<?xml version="1.0" encoding="{encoding}"?>{content[content.index("<rss") :]}'
    path = tmp_path / "feed.xml"
    path.write_text(declared, "utf-8")
    with read_articles(path) as reader:
        assert [item.text for item in reader if isinstance(item, Article)] == [f"{STORM} \xe9"]
    assert len(list(polled_articles(content[content.index("<rss") :].encode(), encoding))) == 1


def growing(name: str, size: int) -> bytes:
    """Return a feed of one kind with `size` parts, to time how reading grows."""
    items = {
        "unclosed": "<item>" * size,
        "sections": "<item><![CDATA[" * size,
        "authors": f"<item>{'<author>Ann Other</author>' * size}</item>",
        "names": "".join(f"<item><n{at}>x</n{at}><guid>{at}</guid></item>" for at in range(size)),
        "heads": f"<link>http://a.example/{'x' * size}</link>" + "<item><link>/a</link></item>" * size,
        "titles": f"<title>{'x' * size}</title>" + "<item><guid>a</guid></item>" * size,
        "references": f"<item><title>{'&#xD83D;&nbsp;' * size}</title></item>",
    }
    spaces = " ".join(f'xmlns:p{at}="urn:{at}"' for at in range(size if name == "spaces" else 0))
    body = items.get(name, "<item><guid>a</guid></item>" * size)
    return f"<rss {spaces}><channel>{body}</channel></rss>".encode()


def seconds(content: bytes) -> float:
    began = time.process_time()
    list(polled_articles(content, None))
    return time.process_time() - began


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("watch")
@pytest.mark.parametrize(
    "name",
    ["unclosed", "sections", "authors", "names", "heads", "titles", "references", "spaces"],
)
def test_the_time_to_read_a_feed_grows_with_its_size_and_no_faster(name: str) -> None:
    few, many = (min(seconds(growing(name, size)) for _ in range(2)) for size in (1_000, 8_000))
    # 8 times as many parts take 8 times as long; comparing each part with all others would take 64 times.
    assert many < max(20 * few, 0.5), (few, many)


@pytest.mark.long("dedup", "migrations")
@each("piece", ["<item/>", "\n<item>\n</item>"])
def test_a_document_is_cut_into_entries_in_a_time_that_grows_with_its_size_and_no_faster(piece: str) -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        cutter = entries._Cutter([piece * count], "item", "rss", 1_000)
        lines = [line for line, _, _ in cutter.pieces()]
        assert lines[-1] == 1 + piece.count("\n") * (count - 1) + piece.startswith("\n")
        return time.process_time() - began

    few, many = (min(seconds(count) for _ in range(2)) for count in (10_000, 80_000))
    assert many < max(20 * few, 0.5), (few, many)
