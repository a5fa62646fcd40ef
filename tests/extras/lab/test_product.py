"""Row 0 of the lab is dedup itself: equal fingerprints, scores and stories (docs/semantics.md, 1 to 5)."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.extras.lab.documents import UNDATED, Document, DocumentSet
from dedup.extras.lab.methods.product import Product, fingerprinted
from dedup.text.fingerprint import Fingerprinter
from dedup.text.punkt import NEUTRAL
from tests import corpora

TEXTS = [corpora.text(corpora.window(start, 6)) for start in (3, 4, 10)]
BRIEF = "The port was closed."


def made(*documents: Document) -> tuple[Product, DocumentSet]:
    corpus = DocumentSet(documents)
    product = Product()
    product.fit(corpus)
    return product, corpus


def test_a_corpus_of_texts() -> None:
    found = fingerprinted(DocumentSet.of_texts([*TEXTS, BRIEF, "..."]), Settings())
    assert [f is not None for f in found] == [True, True, True, True, False]
    product, _ = made(*DocumentSet.of_texts([*TEXTS, BRIEF, "..."]))
    assert product.candidates().__next__().tolist() == [[0, 1]]
    assert product.score(np.array([[0, 1], [0, 2], [0, 4]], np.int32)).tolist() == [
        np.float32(5 / 7),
        0.0,
        0.0,
    ]


def test_fingerprints_are_those_of_the_product_with_title_language_and_models() -> None:
    document = Document("a", BRIEF, "Title", language="de")
    wanted = Fingerprinter(Settings(), {"de": NEUTRAL}).fingerprint(BRIEF, "de", "Title")
    assert fingerprinted(DocumentSet([document]), Settings(), {"de": NEUTRAL}) == [wanted]


def test_briefs_are_told_apart_by_their_titles() -> None:
    product, corpus = made(
        Document("a", BRIEF, "One"), Document("b", BRIEF, "Two"), Document("c", BRIEF, "one!")
    )
    pairs = next(product.candidates())
    assert pairs.tolist() == [[0, 2]]
    accepted = product.accepts(pairs, product.score(pairs))
    assert product.groups(len(corpus), pairs, accepted).tolist() == [0, 1, 0]


def test_groups_are_stories_by_the_order_of_the_marks() -> None:
    # Text 1 is a duplicate of texts 0 and 2 (5 of 7 sentences). These two are not duplicates of each other.
    # So the stories depend on the dates.
    chain = [corpora.text(corpora.window(start, 6, ring=100)) for start in range(3)]
    settings = Settings(duplicate_signature_jaccard=1)
    for days, expected in (((0, 1, 2), [0, 0, 2]), ((1, 0, 2), [1, 1, 1]), ((2, 1, 0), [0, 2, 2])):
        documents = [
            Document(str(i), text, published_at=UNDATED + timedelta(days=day))
            for i, (text, day) in enumerate(zip(chain, days, strict=True))
        ]
        product = Product(threshold=1.0, settings=settings)
        product.fit(DocumentSet(documents))
        pairs = next(product.candidates())
        accepted = product.accepts(pairs, product.score(pairs))
        assert product.groups(3, pairs, accepted).tolist() == expected


def test_the_language_of_the_command_line_counts_where_an_article_names_none() -> None:
    assert Document.of(Article("a", "x"), "de").language == "de"
    assert Document.of(Article("a", "x", language="fr"), "de").language == "fr"
