"""Views of a small corpus, against rows that the tests spell out."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from dedup.db.database import Database
from dedup.settling.backfill import backfill
from tests.corpora import START, article, load, rows, window

PAGES = [Path(__file__).parents[2] / name for name in ("README.md", "docs/analyst.md")]


@pytest.fixture
def newsroom(database: Database) -> Database:
    """Store `a` with two copies, `s` similar to it, an unrelated `u`, and `f`, which has no text."""
    load(
        database,
        article("a", window(0, 6), 1, publication="Wire", title="A"),
        article("c1", window(0, 6), 61, publication="Herald"),
        article("c2", window(1, 6), 121, publication="Courier"),
        article("s", window(3, 6), 180, publication="Herald"),
        article("u", window(20, 6, ring=100), 24 * 60, publication="Wire"),
        article("f", [], 24 * 60),
    )
    backfill(database, workers=0)
    return database


def test_canonical_article(newsroom: Database) -> None:
    load(newsroom, article("p", window(0, 6), 30))
    found = rows(newsroom, "SELECT source_id, status, stale FROM dedup.canonical_article ORDER BY 1")
    # The view leaves out duplicates only: failed and unsettled articles are included.
    assert found == [
        ("a", "similar", False),
        ("f", "failed", False),
        ("p", "pending", False),
        ("s", "similar", False),
        ("u", "unique", False),
    ]


def test_duplicate(newsroom: Database) -> None:
    found = rows(
        newsroom,
        "SELECT source_id, original_source_id, reason, delay,"
        " score = greatest(sentence_jaccard, signature_jaccard)"
        " FROM dedup.duplicate ORDER BY 1",
    )
    assert found == [
        ("c1", "a", "content", timedelta(hours=1), True),
        ("c2", "a", "sentences", timedelta(hours=2), True),
    ]


def test_story(newsroom: Database) -> None:
    found = rows(
        newsroom,
        "SELECT source_id, articles, copies, copied_by, copy_source_ids, last_at - first_at"
        " FROM dedup.story ORDER BY copies DESC, 1",
    )
    assert found == [
        ("a", 3, 2, ["Courier", "Herald"], ["c1", "c2"], timedelta(hours=2)),
        ("f", 1, 0, [], [], timedelta(0)),
        ("s", 1, 0, [], [], timedelta(0)),
        ("u", 1, 0, [], [], timedelta(0)),
    ]


def test_story_article_has_every_article(newsroom: Database) -> None:
    found = rows(newsroom, "SELECT source_id, story_source_id, delay FROM dedup.story_article ORDER BY 1")
    assert found == [
        ("a", "a", timedelta(0)),
        ("c1", "a", timedelta(hours=1)),
        ("c2", "a", timedelta(hours=2)),
        ("f", "f", timedelta(0)),
        ("s", "s", timedelta(0)),
        ("u", "u", timedelta(0)),
    ]


def test_similar_pair_in_both_directions(newsroom: Database) -> None:
    found = rows(newsroom, "SELECT source_id, other_source_id FROM dedup.similar_pair ORDER BY 1")
    assert found == [("a", "s"), ("s", "a")]


def test_article_sentence(newsroom: Database) -> None:
    found = rows(
        newsroom,
        "SELECT position, common FROM dedup.article_sentence WHERE source_id = 'a' ORDER BY position",
    )
    assert found == [(i, False) for i in range(1, 7)]


def test_publication_overlap(newsroom: Database) -> None:
    found = rows(
        newsroom,
        "SELECT publication, original_publication, duplicates, median_delay"
        " FROM dedup.publication_overlap ORDER BY 1",
    )
    assert found == [("Courier", "Wire", 1, timedelta(hours=2)), ("Herald", "Wire", 1, timedelta(hours=1))]


def test_daily_mark(newsroom: Database) -> None:
    query = "SELECT * FROM dedup.daily_mark ORDER BY day"
    second = ((START + timedelta(days=1)).date(), 2, 1, 0, 0, 0, 1, 0, 0, 0)
    assert rows(newsroom, query) == [(START.date(), 4, 0, 2, 2, 0, 0, 0, 0, 0), second]
    with newsroom.transaction() as cursor:
        cursor.execute(
            "UPDATE dedup.article SET published_at = published_at - interval '1 s' WHERE source_id = 'c2'"
        )
    load(newsroom, article("p", window(0, 6), 30))
    assert rows(newsroom, query) == [(START.date(), 5, 0, 2, 2, 1, 0, 1, 0, 0), second]


@pytest.mark.long("dedup", "migrations", "docs")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_queries_of_the_pages_run(newsroom: Database, page: Path) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    queries = [query for block in blocks for query in block.split(";") if query.strip()]
    assert len(queries) >= 3
    for query in queries:
        rows(newsroom, query)
