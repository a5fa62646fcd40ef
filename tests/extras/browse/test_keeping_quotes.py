"""Quotes are sentences that several outlets share; they are counted, kept, and deleted with their texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Database
from dedup.extras.browse.questions.sentences import Quote
from dedup.settling import sentences
from dedup.settling.backfill import backfill
from dedup.store import quotes as quoting
from tests.corpora import article, at, code, deduplicator, load, sentence, sentence_hash, window

SAID = code(70)  # a sentence of three stories
FOOTER = code(71)  # a sentence of all fifteen stories
SPOKEN = "“We will reopen the ferry line in May,” said the harbour master of Port Marlow."


@pytest.fixture
def said(database: Database) -> Database:
    """A corpus in which four outlets print three stories that quote `SAID`. `FOOTER` is in every article."""
    outlets = ["Wire", "Herald", "Courier", "Post"]
    given = [
        article(f"n{n}", [*window(n * 9, 6, ring=500), FOOTER], n + 10, publication=outlets[n % 4])
        for n in range(12)
    ]
    given += [
        article(f"q{n}", [*window(200 + n * 9, 6, ring=500), SAID, FOOTER], 60 - n, publication=outlets[n])
        for n in range(3)
    ]
    given.append(replace(given[-1], source_id="copy", publication="Post"))
    load(database, *given)
    backfill(database, workers=0)
    return database


def quotes(database: Database, order: str = "outlets", **options: object) -> dict[int, Quote]:
    page = deduplicator(database).browsing.quotes(order, **options)  # type: ignore[arg-type]
    return {one.sentence_hash: one for one in page.quotes}


def test_outlets_stories_and_articles_are_counted(said: Database) -> None:
    assert quotes(said) == {}
    assert deduplicator(said).keep_sentences().quotes == 2
    found = quotes(said)
    footer, spoken = found[sentence_hash(FOOTER)], found[sentence_hash(SAID)]
    assert (spoken.outlets, spoken.stories, spoken.articles, spoken.common) == (4, 3, 4, False)
    assert (footer.outlets, footer.stories, footer.articles, footer.common) == (4, 15, 16, True)
    # Two outlets have the sentence first, at the same time; the lower source_id gives the words.
    assert (spoken.words, spoken.source_id, spoken.publication) == (sentence(SAID), "copy", None)
    assert (footer.source_id, footer.publication, footer.appeared_at) == ("n0", "Wire", at(10))
    # Two outlets have `FOOTER`, `SAID`, and the six other sentences that `q2` and `copy` share.
    assert deduplicator(said).keep_sentences(outlets=2).quotes == 8


def test_the_view_says_the_same(said: Database) -> None:
    sentences.keep(said)
    with said.transaction() as cursor:
        rows = cursor.execute("SELECT words, outlets, stories, common, speech FROM dedup.quote").fetchall()
    assert sorted(rows) == sorted(
        (one.words, one.outlets, one.stories, one.common, one.speech) for one in quotes(said).values()
    )


def test_both_orders_page_by_page(said: Database) -> None:
    sentences.keep(said, outlets=2)
    browsing = deduplicator(said).browsing
    for order in ("outlets", "stories"):
        whole = browsing.quotes(order).quotes
        figures = [(getattr(one, order), one.sentence_hash) for one in whole]
        assert figures == sorted(figures, reverse=True)
        pages, after = [], None
        while True:
            page = browsing.quotes(order, after=after, limit=3)
            pages.append(page.quotes)
            after = page.after
            if after is None:
                break
        assert [len(page) for page in pages] == [3, 3, 2]
        assert sum(pages, ()) == whole
    with pytest.raises(InputError, match="no order"):
        browsing.quotes("words")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not a token of this list"):
        browsing.quotes(after="x")
    with pytest.raises(InputError, match="from 1 to 10,000"):
        browsing.quotes(limit=10_001)


def test_only_what_somebody_said(database: Database) -> None:
    for n, outlet in enumerate(("Wire", "Herald", "Courier")):
        told = article(f"q{n}", [*window(n * 9, 8, ring=500), SAID], n, publication=outlet)
        load(database, replace(told, text=f"{told.text}\n\n{SPOKEN}"))
    backfill(database, workers=0)
    sentences.keep(database)
    assert {one.words: one.speech for one in quotes(database).values()} == {
        SPOKEN: True,
        sentence(SAID): False,
    }
    assert [one.words for one in quotes(database, speech=True).values()] == [SPOKEN]


def test_one_quote_with_its_articles_the_earliest_first(said: Database) -> None:
    sentences.keep(said)
    page = deduplicator(said).browsing.quote(sentence_hash(SAID))
    assert [line.source_id for line in page.articles][2:] == ["q1", "q0"]
    assert {line.source_id for line in page.articles} == {"copy", "q0", "q1", "q2"}
    with pytest.raises(NotFoundError, match="not a stored quote"):
        deduplicator(said).browsing.quote(1)


def test_words_go_with_the_text_that_they_are_from(said: Database) -> None:
    sentences.keep(said)
    deduplicator(said).delete("copy")
    assert list(quotes(said)) == [sentence_hash(FOOTER)]
    backfill(said, workers=0)
    sentences.keep(said)
    again = quotes(said)[sentence_hash(SAID)]
    assert (again.source_id, again.outlets) == ("q2", 3)
    load(said, article("q2", window(300, 6, ring=500), 58))
    assert sentence_hash(SAID) not in quotes(said)


def test_what_is_edited_while_it_is_counted_is_not_kept(
    said: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    replacing = quoting.replace

    def edited(*given: Any) -> int:
        load(said, article("copy", window(400, 6, ring=500), 58))
        return replacing(*given)

    monkeypatch.setattr(quoting, "replace", edited)
    sentences.keep(said)
    with said.transaction() as cursor:
        rows = cursor.execute("SELECT sentence_hash FROM dedup.quoted_sentence").fetchall()
    assert rows == [(sentence_hash(FOOTER),)]


def test_stopped_the_quotes_of_before_stay(said: Database) -> None:
    sentences.keep(said)
    before = quotes(said)
    report = sentences.keep(said, outlets=2, stop=lambda: True)
    assert report.stopped
    assert quotes(said) == before
