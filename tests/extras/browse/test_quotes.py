"""Pages of quotes: the sentences that outlets share, and the articles that contain a quote."""

from __future__ import annotations

import re

from dedup import Deduplicator
from tests.corpora import article, code, sentence, window
from tests.extras.browse.conftest import Browser, Document, Opening, fill, newsroom_articles


def said(page: str) -> str:
    return " ".join(Document(page).words.split())


def test_quotes_with_their_figures(reading: Browser) -> None:
    words = said(reading.page("/quotes"))
    assert "Sentences that several outlets share." in words
    assert "first in this corpus" in words.lower()
    assert re.search(r"Counted \d{4}-\d\d-\d\d|Counted \d", words)
    first = Document(reading.page("/quotes", by="stories")).links
    assert any(link.startswith("/quote?hash=") for link in first)


def test_only_those_with_quotation_marks(reading: Browser) -> None:
    everything, spoken = (reading.page("/quotes", speech=speech) for speech in ("", "only"))
    assert 0 < spoken.count("data-item") < everything.count("data-item")
    assert all(re.search('["«»„“”]', found) for found in quoted(spoken))


def quoted(page: str) -> list[str]:
    return re.findall(r'href="/quote\?hash=[^"]+">(.*?)</a>', page.replace("&#34;", '"'))


def test_a_quote_leads_to_its_articles(reading: Browser) -> None:
    page = reading.page("/quotes")
    address = re.findall(r'href="(/quote\?hash=[^"]+)"', page)[0]
    one = reading.page(address)
    assert "Articles with this sentence" in said(one)
    assert one.count('<p class="headline"') >= 3


def test_a_common_one_is_said_to_be_common(opening: Opening, corpus_url: str) -> None:
    outlets = ("Wire", "Herald", "Post")
    given = [
        article(f"n{n}", [*window(n * 9, 6, ring=500), code(490)], n, publication=outlets[n % 3])
        for n in range(12)
    ]
    fill(corpus_url, given)
    with Deduplicator(corpus_url) as dd:
        dd.keep_sentences()
    site = opening(corpus_url)
    (address,) = re.findall(r'href="(/quote\?hash=[^"]+)"', page := site.page("/quotes"))
    assert sentence(code(490)) in page
    assert "yes, ignored" in page
    one = site.page(address)
    assert "A common sentence, which many stories have" in said(one)
    assert one.count('<p class="headline"') == 12


def test_before_they_are_counted_the_page_says_how(opening: Opening, corpus_url: str) -> None:
    fill(corpus_url, newsroom_articles()[:3])
    site = opening(corpus_url)
    assert "run dedup sentences to count quotes" in said(site.page("/quotes"))
    assert site.get("/quote", None, hash="1").status == 404
    assert site.get("/quotes", None, by="words").status == 400
    with Deduplicator(corpus_url) as dd:
        dd.keep_sentences()
    assert "None yet" in said(site.page("/quotes"))
