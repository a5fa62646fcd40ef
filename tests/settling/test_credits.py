"""Credits of stored articles: read with the fingerprint, after an edit, and again when the list changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dedup import Article, Deduplicator
from dedup.base.errors import InputError
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.store import articles, credits

BODY = "The ferry to the islands ran {0} minutes late on Monday, and nobody at the pier of {0} knew why. " * 3
TEXTS = {
    "wire": "BRIG (AP) - " + BODY.format("ten"),
    "copy": BODY.format("ten"),
    "paper": BODY.format("ninety"),
    "mixed": BODY.format("forty") + "\nReuters contributed to this report.",
}


def article(source_id: str, **changed: Any) -> Article:
    return replace(Article(source_id, TEXTS[source_id], publication=f"The {source_id}"), **changed)


@pytest.fixture
def corpus(database: Database) -> Iterator[Deduplicator]:
    with Deduplicator(database.url) as dd:
        yield dd


def stored(corpus: Deduplicator) -> dict[str, list[tuple[str, str]]]:
    found = corpus.credits.of(list(TEXTS))
    return {source_id: [(one.agency, one.place) for one in one_of] for source_id, one_of in found.items()}


EXPECTED = {"wire": [("AP", "dateline")], "mixed": [("Reuters", "contribution")]}


def test_credits_are_read_by_a_backfill(corpus: Deduplicator) -> None:
    corpus.load(map(article, TEXTS))
    corpus.backfill()
    assert stored(corpus) == EXPECTED


def test_what_a_hook_stores_is_read_by_the_next_backfill(corpus: Deduplicator) -> None:
    for source_id in TEXTS:
        corpus.submit(article(source_id, byline="By Ada Roe, AFP" if source_id == "paper" else None))
    corpus.backfill()
    assert stored(corpus) == EXPECTED | {"paper": [("AFP", "byline")]}


def test_an_edit_of_text_or_byline_is_followed(corpus: Deduplicator) -> None:
    corpus.load(map(article, TEXTS))
    corpus.backfill()
    corpus.load(
        [article("wire", text=BODY.format("ten") + "\n\u00a9 dpa 2020"), article("copy", byline="AFP")]
    )
    corpus.load([article("mixed", text="")])
    corpus.backfill()
    assert stored(corpus) == {"wire": [("dpa", "copyright")], "copy": [("AFP", "byline")]}
    corpus.submit(article("copy", byline="Ada Roe"))
    corpus.backfill()
    assert stored(corpus) == {"wire": [("dpa", "copyright")]}


def test_another_list_has_all_read_again(corpus: Deduplicator) -> None:
    corpus.load([*map(article, TEXTS), Article("own", "BRIG (Vantage) - " + BODY.format("six"))])
    corpus.backfill()
    before = {one.name: one for one in corpus.credits.agencies()}
    try:
        corpus.credits.remove("AP")
        corpus.credits.add("Vantage Wire", ["Vantage", "Vantage Wire"], ["dateline"])
        corpus.backfill()
        assert stored(corpus) == {"mixed": [("Reuters", "contribution")]}
        assert corpus.credits.of(["own"])["own"][0].agency == "Vantage Wire"
        listed = {one.name: one for one in corpus.credits.agencies()}
        assert (listed["Vantage Wire"].places, listed["Vantage Wire"].articles) == (["dateline"], 1)
        assert "AP" not in listed
    finally:  # restore the agencies, which all tests share
        corpus.credits.add("AP", before["AP"].spellings)
        corpus.credits.remove("Vantage Wire")


def test_agency_copy_is_not_own_but_for_the_agency_itself(corpus: Deduplicator) -> None:
    ferry, snow = (
        BODY.format("ten"),
        "Snow fell on the hills above Brig, and the road to the pass was closed. " * 3,
    )
    fair = "The autumn fair of the village drew more visitors than the one of the year before. " * 3
    corpus.load(
        [
            Article("wire", "BRIG (AP) - " + ferry, publication="Associated Press"),
            Article("credited", "BRIG (AP) - " + snow, publication="Courier"),
            Article("photo", fair + "\nAda Roe/AP", publication="Courier"),
        ]
    )
    corpus.backfill()
    found = {one.publication: (one.settled, one.own) for one in corpus.credits.publications()}
    assert found == {"Associated Press": (1, 1), "Courier": (2, 1)}


def test_what_was_deleted_has_no_credits(corpus: Deduplicator, database: Database) -> None:
    corpus.load(map(article, TEXTS))
    corpus.backfill()
    corpus.delete("wire")
    corpus.delete("mixed")
    with database.transaction() as cursor:
        assert cursor.execute("SELECT * FROM dedup.credit").fetchall() == []


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", range(3))
def test_credits_depend_on_corpus_and_list_alone(corpus: Deduplicator, seed: int) -> None:
    chooser = random.Random(seed)
    order = chooser.sample(list(TEXTS), len(TEXTS))
    corpus.load([article(order[0], text="(dpa) - " + BODY.format("nine"))])
    for source_id in order:
        if chooser.random() < 0.5:
            corpus.submit(article(source_id))
        else:
            corpus.load([article(source_id)])
        if chooser.random() < 0.5:
            corpus.backfill()
    corpus.backfill()
    assert stored(corpus) == EXPECTED


def test_an_article_is_agency_copy_where_another_one_of_its_story_says_so(corpus: Deduplicator) -> None:
    corpus.load([article("copy"), article("wire"), article("paper"), article("mixed")])
    corpus.backfill()
    shares = {
        one.publication: (one.credited, one.agency_copy, one.share) for one in corpus.credits.publications()
    }
    assert shares == {
        "The wire": (1, 1, 1.0),
        "The copy": (0, 1, 1.0),
        "The paper": (0, 0, 0.0),
        "The mixed": (0, 0, 0.0),
    }
    story = corpus.stories()[0]
    assert corpus.credits.of_stories([story.id]) == {story.id: {"AP": 1}}


def test_an_agency_that_cannot_be_is_refused(corpus: Deduplicator) -> None:
    for name, spellings, places, said in [
        ("", ["AP"], [], "2 to 60 characters"),
        ("AP", [], [], "2 to 60 characters"),
        ("AP", ["A"], [], "2 to 60 characters"),
        ("AP", ["AP"], ["top"], "'top' is not a place"),
    ]:
        with pytest.raises(InputError, match=said):
            corpus.credits.add(name, spellings, places)
    with pytest.raises(InputError, match="`dedup agencies` lists them"):
        corpus.credits.remove("Nobody")


def test_credits_of_many_are_read_with_the_fingerprints(database: Database) -> None:
    with database.transaction() as cursor:
        articles.store(cursor, [Article(f"a{i}", f"BRIG (AP) - {i} {BODY.format(i)}") for i in range(300)])
    backfill(database, workers=2)
    with database.transaction() as cursor:
        assert credits.list_agencies(cursor)[0].articles == 300
        assert cursor.execute("SELECT count(*) FROM dedup.credit_unread").fetchone() == (0,)
