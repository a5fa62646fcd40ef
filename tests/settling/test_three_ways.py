"""Three ways in mixed order: every article comes by the hook, by a load, and by plain SQL (promise 2)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dedup.base.article import ARTICLE_FIELDS, Article
from dedup.db.database import Database
from tests.corpora import (
    answer,
    assert_counted,
    assert_equal,
    assert_right,
    change_settings,
    deduplicator,
    load,
    settle,
)
from tests.settling.test_crash import news

ARTICLES = 60
BACKFILLS = 6
"""Number of backfills in each pass over all articles."""

VERSIONS = """
    SELECT 'article', id::text, xmin::text FROM dedup.article
    UNION ALL SELECT 'fingerprint', article_id::text, xmin::text FROM dedup.fingerprint
    UNION ALL SELECT 'match', article_id || ' ' || other_id, xmin::text FROM dedup.match
    UNION ALL SELECT 'common', sentence_hash::text, xmin::text FROM dedup.common_sentence
    UNION ALL SELECT 'count', sentence_hash::text, xmin::text FROM dedup.sentence_count
"""
"""A query for every row, with the transaction that wrote it."""


def by_hook(database: Database, given: Article) -> None:
    deduplicator(database).submit(given)


def by_load(database: Database, given: Article) -> None:
    load(database, given)


def by_sql(database: Database, given: Article) -> None:
    """Insert an article as another program does, unless it is stored already; triggers do the other work."""
    names = ", ".join(ARTICLE_FIELDS)
    holders = ", ".join(f"%({name})s" for name in ARTICLE_FIELDS)
    with database.transaction() as cursor:
        cursor.execute(
            f"INSERT INTO dedup.article ({names}) VALUES ({holders})"
            " ON CONFLICT (source_id) DO NOTHING".encode(),
            {name: getattr(given, name) for name in ARTICLE_FIELDS},
        )


WAYS: list[Callable[[Database, Article], None]] = [by_hook, by_load, by_sql]


def everything(database: Database, given: list[Article], rng: random.Random) -> None:
    """Send each article three times, once by each way, in random order with some backfills between."""
    deferred = [(way, article) for way in WAYS for article in given]
    steps: list[Any] = [*deferred, *[None] * BACKFILLS]
    rng.shuffle(steps)
    for step in steps:
        if step is None:
            settle(database)
        else:
            step[0](database, step[1])
    settle(database)


def versions(database: Database) -> set[tuple[Any, ...]]:
    with database.transaction() as cursor:
        return set(cursor.execute(VERSIONS.encode()).fetchall())


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_times_in_three_ways_is_once_and_the_second_pass_writes_nothing(
    database: Database, seed: int
) -> None:
    change_settings(database, common_stories=4)
    given = [replace(article, added_at=article.published_at) for article in news(ARTICLES, seed)]
    load(database, *given)
    settle(database)
    clean = assert_right(database)
    assert clean.pairs
    with database.transaction() as cursor:
        cursor.execute("TRUNCATE dedup.article CASCADE")
    rng = random.Random(seed)
    everything(database, given, rng)
    assert_equal(answer(database), clean)
    assert_counted(database)
    before = versions(database)
    assert len(before) > 2 * ARTICLES
    everything(database, given, rng)
    assert versions(database) == before
