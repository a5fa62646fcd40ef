"""Tables as content management systems have them: outlets by number, bodies with markup, texts in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from dedup.base.errors import InputError
from dedup.db.database import Database
from tests.attached import attach, news, owned, right
from tests.corpora import at, deduplicator, sentence, text, window

pytestmark = pytest.mark.timeout(120)

Owner = psycopg.Connection[Any]


@pytest.fixture
def owner(database: Database) -> Iterator[Owner]:
    with owned(database) as connection:
        yield connection


def markup(start: int, length: int = 6, look: str = "plain") -> str:
    """A body as an editor of web pages leaves it."""
    parts = [sentence(code) for code in window(start, length)]
    if look == "plain":
        return "".join(f"<p>{part}</p>\n" for part in parts)
    photo = '<figure class="wp-block-image"><img src="https://example.org/a.jpg" alt=""/></figure>'
    return photo + "".join(f'<div class="par"><span lang="en">{part}</span></div>' for part in parts)


def post(owner: Owner, key: int, body: str | None, title: str = "A&amp;B <em>win</em>") -> None:
    insert = "INSERT INTO news (id, body, headline, day) VALUES (%s, %s, %s, %s)"
    owner.execute(insert, [key, body, title, at(key)])


def one(owner: Owner, query: str) -> Any:
    row = owner.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


# --- markup


def test_bodies_with_markup_are_compared_as_their_articles(database: Database, owner: Owner) -> None:
    news(owner)
    bodies = [markup(0), markup(0, look="rich"), text(window(0, 6)), markup(9), '<img src="a.jpg"><br><br>']
    for key, body in enumerate(bodies):
        post(owner, key, body)
    attach(database, html=True, mark_columns=True)
    found = right(database).status()
    assert found == {
        "news/0": "unique",
        "news/1": "duplicate:news/0",
        "news/2": "duplicate:news/0",
        "news/3": "unique",
        "news/4": "failed",
    }
    assert one(owner, "SELECT min(title) || max(title) FROM dedup.article") == "A&B winA&B win"
    owner.execute("UPDATE news SET body = body || '<p></p>', headline = '<b>C</b>' WHERE id = 0")
    assert right(database).status() == found, "other tags, the same words"
    assert one(owner, "SELECT title FROM dedup.article WHERE source_id = 'news/0'") == "C"
    dd = deduplicator(database)
    assert dd.attachments.sync() == 0, "a title is compared as it is kept"
    assert dd.verify().differences == []


def test_whoever_reads_a_body_with_markup_reads_its_article(database: Database, owner: Owner) -> None:
    news(owner)
    for key in (0, 1):
        post(owner, key, markup(key, look="rich"))
    attach(database, html=True)
    right(database)
    dd = deduplicator(database)
    stored = dd.get("news/0")
    assert stored is not None
    assert "<" not in stored.article.text
    assert sentence(window(0, 1)[0]) in stored.article.text
    explained = dd.explain("news/0", "news/1")
    assert len(explained.shared) == 5
    assert not [line for line in (*explained.shared, *explained.differing) if "<" in str(line)]
    page = dd.browsing.article("news/0")
    assert page.text is not None
    assert page.text.text == stored.article.text
    assert page.text.characters == len(stored.article.text)
    compared = dd.browsing.compare("news/0", "news/1")
    assert "<" not in compared.earlier_text.text + compared.later_text.text


def test_a_table_that_looks_like_html_is_refused_with_the_way_out(database: Database, owner: Owner) -> None:
    news(owner)
    for key in range(300):
        post(owner, key, markup(0) if key > 280 else "words")
    with pytest.raises(InputError, match=r"19 of 200 bodies looked at are HTML.* --html .* --no-html"):
        attach(database)
    attach(database, where="id < 281")
    deduplicator(database).attachments.detach("news")
    attach(database, html=False)
    assert right(database).status()["news/299"] == "duplicate:news/281"


def test_a_cluster_is_told_nothing_of_bodies_with_markup(
    database: Database, owner: Owner, tmp_path: Any
) -> None:
    news(owner)
    post(owner, 0, markup(0))
    attach(database, html=True)
    right(database)
    with pytest.raises(InputError, match="--html"):
        deduplicator(database).export_corpus(tmp_path / "corpus")
