"""Crafted articles of strangers change only their own marks: attacks by words and by dates.

The attacks use the public functions of the package. Attacks by words succeed without a hash key; the tests
check that too, because otherwise the tests with a key would prove nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from dedup.base.article import Article
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.text.hashing import Hasher
from dedup.text.normalize import words
from dedup.text.signature import minhash, shingles
from tests import corpora
from tests.conftest import empty

KEY = "6bd0a35f1ae24c5d9d0c83b45a7f2e11"
HASHER = Hasher()
POSITIONS = 192  # forged values in a signature of 256: the Jaccard is 0.75, all buckets are equal
CANDIDATES = 150_000  # shingles to try, so many that the lowest hash is below those of 1,000 others


def smallest(items: list[str]) -> list[str]:
    """Return the strings that have the smallest value under one of the public hash functions."""
    # The functions are affine modulo 2^32, so two values of a function determine all its other values.
    low = np.array([HASHER.shingle(item.split()) for item in items], np.uint32)
    zero = minhash(np.array([0], np.uint32), POSITIONS)
    slope = minhash(np.array([1], np.uint32), POSITIONS) - zero
    return [items[i] for i in sorted({int(np.argmin(low * a + b)) for a, b in zip(slope, zero, strict=True)})]


@cache
def crafted() -> list[str]:
    """Return triples of words; each is a shingle with a very small MinHash value under one function."""
    return smallest([f"of harbour{number} nothing" for number in range(CANDIDATES)])


def unrelated(number: int, sentences: int = 200) -> str:
    """Return an article of about 1,000 shingles that no other article has."""
    return corpora.text(corpora.code(number * sentences + i) for i in range(sentences))


def poisoned(number: int) -> str:
    """Return an unrelated article with the crafted words in a new order, so that no sentence is shared."""
    block = random.Random(number).sample(crafted(), len(crafted()))
    return f"{unrelated(number)}\n\n{' '.join(block)}."


def salad(victim: str) -> str:
    """Return a text with the shingles that decide the signature of `victim`, but without its sentences."""
    return " ".join(f"{shingle} harbour nothing" for shingle in smallest(sorted(shingles(words(victim), 4))))


def marks(database: Database, given: Iterable[Article], key: str) -> dict[str, str]:
    """Return the marks of a corpus of these articles, under a hash key."""
    empty(database)
    corpora.change_settings(database, hash_key=key)
    corpora.load(database, *given)
    backfill(database, workers=0)
    corpora.assert_right(database)
    return corpora.answer(database).status()


@pytest.fixture
def articles() -> list[Article]:
    return [
        Article(f"a{number:02}", unrelated(number), published_at=corpora.at(number)) for number in range(12)
    ]


@pytest.mark.long("dedup", "migrations")
def test_words_that_make_unrelated_articles_duplicates_need_a_corpus_without_a_key(
    database: Database, articles: list[Article]
) -> None:
    with_words = [
        Article(a.source_id, poisoned(number), published_at=a.published_at)
        for number, a in enumerate(articles)
    ]
    alone = dict.fromkeys((a.source_id for a in articles), "unique")
    assert len(crafted()) <= POSITIONS
    assert marks(database, articles, "") == alone
    assert marks(database, with_words, "") == alone | dict.fromkeys(list(alone)[1:], "duplicate:a00")
    assert marks(database, with_words, KEY) == alone


@pytest.mark.long("dedup", "migrations")
def test_a_text_made_of_a_signature_takes_the_place_of_an_article_only_without_a_key(
    database: Database, articles: list[Article]
) -> None:
    """The thief's text is made from the victim's signature, and its date is a day earlier."""
    thieves = [
        Article(f"thief-{a.source_id}", salad(a.text), published_at=corpora.at(-1_440)) for a in articles[:4]
    ]
    alone = marks(database, articles, KEY)
    assert set(alone.values()) == {"unique"}
    robbed = marks(database, [*articles, *thieves], "")
    assert [robbed[a.source_id] for a in articles] == [
        *(f"duplicate:{thief.source_id}" for thief in thieves),
        *["unique"] * 8,
    ]
    safe = marks(database, [*articles, *thieves], KEY)
    assert {name: safe[name] for name in alone} == alone


NOW = datetime.now(UTC)
STORY = corpora.text(corpora.window(0, 6))
CLAIMS = [
    datetime(1, 1, 1, tzinfo=UTC),  # the zero of times in .NET
    datetime(1601, 1, 1, tzinfo=UTC),  # the zero of times in Windows
    NOW + timedelta(hours=48),
    datetime(9999, 12, 31, tzinfo=UTC),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: str(claim.year))
def test_a_date_that_cannot_be_true_makes_no_thief_the_original(database: Database, claim: datetime) -> None:
    with corpora.deduplicator(database) as dd:
        dd.submit(Article("paper", STORY, published_at=NOW - timedelta(hours=1)))
        assert dd.submit(Article("thief", STORY, published_at=claim)).duplicate_of == "paper"
    assert corpora.assert_right(database).status() == {"paper": "unique", "thief": "duplicate:paper"}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("changed", [{"earliest_year": 1990}, {"canonical_order": "added"}])
def test_an_old_date_makes_a_thief_the_original_unless_a_setting_excludes_it(
    database: Database, changed: dict[str, object]
) -> None:
    """A date of 1700 may be right, because some archives are that old. Only a setting can exclude it."""
    for values, status in (
        ({}, {"paper": "duplicate:thief", "thief": "unique"}),
        (changed, {"paper": "unique", "thief": "duplicate:paper"}),
    ):
        empty(database)
        corpora.change_settings(database, **values)
        with corpora.deduplicator(database) as dd:
            dd.submit(Article("paper", STORY, published_at=NOW))
            dd.submit(Article("thief", STORY, published_at=datetime(1700, 1, 1, tzinfo=UTC)))
        backfill(database, workers=0)
        assert corpora.assert_right(database).status() == status


@pytest.mark.parametrize("days", [1, 400])
def test_with_the_order_of_arrival_no_claimed_date_counts(database: Database, days: int) -> None:
    corpora.change_settings(database, canonical_order="added")
    with corpora.deduplicator(database) as dd:
        dd.submit(Article("paper", STORY, published_at=NOW))
        dd.submit(Article("thief", STORY, published_at=NOW - timedelta(days=days)))
    assert corpora.assert_right(database).status() == {"paper": "unique", "thief": "duplicate:paper"}
