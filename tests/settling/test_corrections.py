"""Corrections of stored articles: phrases of each language, edits of articles, and edits of the list."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from dedup import Article, Deduplicator
from dedup.base.errors import InputError
from dedup.db.database import Database
from tests.corpora import sql

pytestmark = pytest.mark.long("dedup", "migrations")

BODY = "The ferry to the islands ran {0} minutes late on Monday, and nobody at the pier of {0} knew why. " * 9

NOTES = {
    "en": "Correction: An earlier version of this article said nine.",
    "en2": "An earlier version of this story misstated the hour.",
    "en3": "\u2022 This article was amended on 9 March 2016 to correct the hour.",
    "en4": "(This story corrects the hour in paragraph 3)",
    "en5": "This story has been updated to correct the hour.",
    "en6": "Corrections & Clarifications: The ferry left at nine.",
    "en7": "(Refiles to fix the hour in headline)",
    "en8": "Editor's note: Due to an editing error, the hour was wrong.",
    "de": "Korrektur: Die F\u00e4hre fuhr um neun.",
    "de2": "Anmerkung der Redaktion: In einer fr\u00fcheren Version dieses Artikels stand zehn.",
    "de3": "Richtigstellung: Die F\u00e4hre fuhr um neun.",
    "fr": "Rectificatif : le bac est parti \u00e0 neuf heures.",
    "fr2": "Une version pr\u00e9c\u00e9dente de cet article indiquait dix heures.",
    "es": "Fe de errores: el barco sali\u00f3 a las nueve.",
    "es2": "Correcci\u00f3n: el barco sali\u00f3 a las nueve.",
    "es3": "Una versi\u00f3n anterior de este art\u00edculo dec\u00eda las diez.",
    "it": "Errata corrige: il traghetto \u00e8 partito alle nove.",
    "it2": "(Corregge l'ora nel titolo)",
    "pt": "Corre\u00e7\u00e3o: o barco saiu \u00e0s nove.",
    "pt2": "Erramos: o barco saiu \u00e0s nove.",
    "nl": "Rectificatie: de veerboot vertrok om negen uur.",
    "sv": "R\u00e4ttelse: f\u00e4rjan gick klockan nio.",
    "da": "Rettelse: f\u00e6rgen sejlede klokken ni.",
}


@pytest.fixture
def corpus(database: Database) -> Iterator[Deduplicator]:
    with Deduplicator(database.url) as dd:
        yield dd


def stored(corpus: Deduplicator) -> dict[str, tuple[str, str]]:
    with corpus._database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT source_id, phrase, place FROM dedup.correction JOIN dedup.article ON id = article_id"
        ).fetchall()
    return {source_id: (phrase, place) for source_id, phrase, place in rows}


def noted(source_id: str, number: int, note: str, *, first: bool = False) -> Article:
    body = BODY.format(number)
    return Article(source_id, f"{note} {body}" if first else f"{body}\n\n{note}")


def test_phrases_of_each_language_are_found(corpus: Deduplicator) -> None:
    corpus.load(noted(key, n, note, first=n % 2 == 0) for n, (key, note) in enumerate(NOTES.items()))
    corpus.load(Article(f"plain {n}", BODY.format(n)) for n in range(100, 110))
    corpus.backfill()
    found = stored(corpus)
    assert sorted(found) == sorted(NOTES)
    assert {key: place for key, (_, place) in found.items()} == {
        key: "end" if n % 2 else "beginning" for n, key in enumerate(NOTES)
    }
    assert corpus.verify().right


def test_all_ways_of_an_article_end_in_the_same_corrections(corpus: Deduplicator) -> None:
    corpus.load([noted("loaded", 1, NOTES["en"]), Article("plain", BODY.format(2))])
    corpus.submit(noted("hook", 3, NOTES["de"]))
    corpus.backfill()
    expected = {"loaded": ("Correction:", "end"), "hook": ("Korrektur:", "end")}
    assert stored(corpus) == expected
    # Only the title has the phrase.
    corpus.submit(Article("plain", BODY.format(2), title="CORRECTED-Ferry late"))
    corpus.load([Article("hook", BODY.format(4))])
    corpus.backfill()
    assert stored(corpus) == {"loaded": expected["loaded"], "plain": ("Corrected:", "headline")}
    corpus.load([Article("loaded", "")])  # the empty text fails, and a failed article has no correction
    corpus.delete("plain")
    corpus.backfill()
    assert stored(corpus) == {}
    assert corpus.verify().right


def test_another_list_has_all_read_again(corpus: Deduplicator) -> None:
    corpus.load([noted("a", 1, NOTES["en"]), noted("b", 2, "This page was mended on Monday.")])
    corpus.backfill()
    assert stored(corpus) == {"a": ("Correction:", "end")}
    try:
        corpus.corrections.add("  This page   was mended ")
        corpus.corrections.remove("Correction:")
        assert stored(corpus) == {}  # a phrase that was removed from the list counts for no article
        corpus.backfill()
        assert stored(corpus) == {
            "a": ("An earlier version of this article", "end"),
            "b": ("This page was mended", "end"),
        }
        listed = {one.phrase: one.articles for one in corpus.corrections.phrases()}
        assert listed["This page was mended"] == 1
        assert "Correction:" not in listed
    finally:  # all tests share the list
        corpus.corrections.add("Correction:")
        corpus.corrections.remove("This page was mended")


def test_a_phrase_that_cannot_be_is_refused(corpus: Deduplicator) -> None:
    for phrase in ("", "Oops", "x" * 81):
        with pytest.raises(InputError, match="5 to 80 characters"):
            corpus.corrections.add(phrase)
    with pytest.raises(InputError, match="`dedup corrections` lists them"):
        corpus.corrections.remove("Nothing at all")
    with pytest.raises(InputError, match="NUL"):
        corpus.corrections.add("Correction\0:")


@pytest.mark.parametrize("seed", range(3))
def test_corrections_depend_on_corpus_and_list_alone(corpus: Deduplicator, seed: int) -> None:
    chooser = random.Random(seed)
    given = [noted(key, n, note) for n, (key, note) in enumerate(list(NOTES.items())[:6])]
    corpus.load([Article(given[0].source_id, BODY.format(77))])
    for article in chooser.sample(given, len(given)):
        if chooser.random() < 0.5:
            corpus.submit(article)
        else:
            corpus.load([article])
        if chooser.random() < 0.3:
            corpus.backfill()
    corpus.backfill()
    assert sorted(stored(corpus)) == sorted(article.source_id for article in given)
    assert corpus.verify().right


def test_verify_finds_and_repairs_a_wrong_correction(corpus: Deduplicator, database: Database) -> None:
    corpus.load([noted("a", 1, NOTES["en"]), Article("b", BODY.format(2))])
    corpus.backfill()
    sql(
        database,
        "DELETE FROM dedup.correction",
        "INSERT INTO dedup.correction SELECT id, 'Refiles', 'end' FROM dedup.article WHERE source_id = 'b'",
        "INSERT INTO dedup.correction VALUES (-1, 'Refiles', 'end')",
    )
    found = corpus.verify()
    said = " ".join(found.differences)
    assert "a: credits none, should be correction 'Correction:' (end)" in said
    assert "b: credits correction 'Refiles' (end), should be none" in said
    assert "corrections that belong to no article or no phrase: 1" in said
    corpus.repair(found)
    corpus.backfill()
    assert corpus.verify().right
    assert stored(corpus) == {"a": ("Correction:", "end")}
