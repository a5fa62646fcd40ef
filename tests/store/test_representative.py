"""The article that represents a story: first, latest or fullest, against rules in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.base.errors import InputError
from dedup.cli import main
from dedup.db.database import Database
from tests.corpora import rows, sql, text, window

pytestmark = pytest.mark.long("dedup", "migrations")

ADDED = datetime(2024, 3, 10, tzinfo=UTC)
NOTE = "\n\nCorrection: nine."
TIMES = (
    *(None, ADDED - timedelta(days=2), ADDED - timedelta(days=2, hours=-5), ADDED - timedelta(hours=3)),
    *(ADDED + timedelta(days=9), datetime(1500, 1, 1, tzinfo=UTC)),  # implausible dates
)

LATEST_AND_FULLEST = (
    "SELECT l.source_id, f.source_id FROM dedup.story_representative"
    " JOIN dedup.article l ON l.id = latest_id JOIN dedup.article f ON f.id = fullest_id ORDER BY 1"
)


@pytest.fixture
def corpus(database: Database) -> Iterator[Deduplicator]:
    with Deduplicator(database.url) as dd:
        yield dd


def make(source_id: str, story: int, more: int, at: datetime | None, corrects: bool) -> Article:
    codes = [*window(100 * story, 8, ring=10_000), *range(9_000, 9_000 + more)]
    body = text(codes) + (NOTE if corrects else "")
    return Article(source_id, body, published_at=at, added_at=ADDED, title=f"T {source_id}")


def known(article: Article) -> datetime | None:
    at = article.published_at
    plausible = at is not None and at.year >= 1605 and at - ADDED <= timedelta(hours=24)
    return at if plausible else None


def expected(stored: dict[str, Article], members: list[str]) -> tuple[str, str]:
    """Return the latest and the fullest of the articles of a story."""
    oldest = datetime(1, 1, 1, tzinfo=UTC)

    def latest(name: str) -> tuple[Any, ...]:
        article = stored[name]
        return NOTE in article.text, known(article) or oldest, len(article.text.split())

    def fullest(name: str) -> tuple[Any, ...]:
        article = stored[name]
        return len(article.text.split()), NOTE in article.text, known(article) or oldest

    # If keys are equal, the lowest source_id wins, because `max` returns the first of equal items.
    return max(sorted(members), key=latest), max(sorted(members), key=fullest)


def check(database: Database, stored: dict[str, Article]) -> None:
    told = rows(database, "SELECT story_source_id, source_id FROM dedup.story_article")
    stories: dict[str, list[str]] = {}
    for story, name in told:
        stories.setdefault(story, []).append(name)
    found = rows(
        database,
        "SELECT s.source_id, f.source_id, l.source_id, b.source_id FROM dedup.story_representative r"
        " JOIN dedup.article s ON s.id = r.story_id JOIN dedup.article f ON f.id = r.first_id"
        " JOIN dedup.article l ON l.id = r.latest_id JOIN dedup.article b ON b.id = r.fullest_id",
    )
    wanted = [(story, story, *expected(stored, members)) for story, members in stories.items()]
    assert sorted(found) == sorted(wanted)
    current = rows(
        database,
        "SELECT story_source_id, source_id, title, correction IS NOT NULL FROM dedup.current_article",
    )
    assert sorted(current) == sorted(
        (story, last, f"T {last}", NOTE in stored[last].text) for story, _, last, _ in wanted
    )


NAMES = [f"n{i}" for i in range(6)]
GIVEN = st.tuples(
    st.sampled_from(NAMES), st.integers(0, 1), st.integers(0, 2), st.sampled_from(TIMES), st.booleans()
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(GIVEN, st.sampled_from(NAMES), st.just("backfill")), max_size=14))
def test_representatives_of_any_history_follow_the_rules(
    corpus: Deduplicator, database: Database, history: list[Any]
) -> None:
    for name in NAMES:
        corpus.delete(name)
    stored: dict[str, Article] = {}
    for n, step in enumerate(history):
        if step == "backfill":
            corpus.backfill()
            check(database, stored)
        elif isinstance(step, str):
            corpus.delete(step)
            stored.pop(step, None)
        else:
            article = make(*step)
            if article.source_id in stored and article.published_at is None:
                corpus.delete(article.source_id)  # a field that is None would keep its stored value
            (corpus.submit if n % 3 else lambda one: corpus.load([one]))(article)
            stored[article.source_id] = article
    corpus.backfill()
    check(database, stored)


def test_without_times_the_order_of_loading_changes_nothing(corpus: Deduplicator, database: Database) -> None:
    given = [make("b", 1, 0, None, False), make("a", 1, 0, None, False), make("c", 1, 1, None, False)]
    for order in (given, given[::-1]):
        for article in order:
            corpus.delete(article.source_id)
            corpus.submit(article)
        corpus.backfill()
        assert rows(database, LATEST_AND_FULLEST) == [("c", "c")]


def test_an_archived_story_has_no_words_and_is_represented_by_time(
    corpus: Deduplicator, database: Database
) -> None:
    corpus.load([make("a", 1, 1, TIMES[1], False), make("b", 1, 0, TIMES[2], False)])
    corpus.load([Article("new", text(window(900, 8, ring=10_000)), added_at=ADDED, published_at=ADDED)])
    corpus.backfill()
    assert rows(database, LATEST_AND_FULLEST) == [("b", "a"), ("new", "new")]
    corpus.prune("2024-03-10")
    assert rows(database, LATEST_AND_FULLEST) == [("b", "b"), ("new", "new")]


@pytest.fixture
def story(corpus: Deduplicator, database: Database, monkeypatch: pytest.MonkeyPatch) -> Deduplicator:
    """Store an original, a correction, and a later copy with more words."""
    monkeypatch.setenv("DEDUP_DATABASE_URL", database.url)
    monkeypatch.setenv("COLUMNS", "160")
    corpus.load(
        [
            make("wire", 1, 0, TIMES[1], False),
            make("mended", 1, 0, TIMES[2], True),
            make("long", 1, 2, TIMES[3], False),
        ]
    )
    corpus.backfill()
    return corpus


def test_stories_are_listed_by_the_chosen_article(
    story: Deduplicator, capsys: pytest.CaptureFixture[str]
) -> None:
    for chosen, name in (("first", "wire"), ("latest", "mended"), ("fullest", "long")):
        (found,) = story.stories(representative=chosen)  # type: ignore[arg-type]
        assert (found.id, found.representative, found.title) == ("wire", name, f"T {name}")
        assert main.run(["stories", "--representative", chosen]) == 0
        captured = capsys.readouterr()
        assert f"T {name}" in captured.out
        assert ("shown" in captured.out) == (chosen != "first")
        assert f"next: dedup show {name}" in captured.err
    with pytest.raises(InputError, match="representative is first, latest, fullest, not 3"):
        story.stories(representative=3)  # type: ignore[arg-type]
    assert main.run(["stories", "--representative", "last"]) == 2


def test_a_correction_is_shown_wherever_its_article_is(
    story: Deduplicator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["show", "mended"]) == 0
    assert "correction: Correction:" in capsys.readouterr().out
    assert main.run(["show", "wire"]) == 0
    captured = capsys.readouterr()
    assert "duplicate, correction" in captured.out
    assert "the latest article of the story: dedup show mended" in captured.err
    assert main.run(["show", "mended", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["correction"] == "Correction:"
    assert [one["correction"] for one in found["story"]] == [None, "Correction:", None]
    assert main.run(["explain", "wire", "mended"]) == 0
    assert "duplicate, correction" in capsys.readouterr().out
    assert main.run(["versions", "wire"]) == 0
    assert "Correction:" in capsys.readouterr().out
    assert [one.correction for one in story.versions("wire").versions] == [None, "Correction:", None]
    told = story.story("long")
    assert (told.latest, told.fullest) == ("mended", "long")


def test_the_list_of_phrases_is_shown_and_changed(
    story: Deduplicator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["corrections", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed[0] == {"phrase": "Correction:", "articles": 1}
    assert main.run(["corrections", "--remove"]) == 2
    capsys.readouterr()
    try:
        assert main.run(["corrections", "Mended here"]) == 0
        assert "Mended here is on the list; next: dedup backfill" in capsys.readouterr().err
        assert main.run(["corrections"]) == 0
        assert "Mended here" in capsys.readouterr().out
    finally:
        assert main.run(["corrections", "Mended here", "--remove"]) == 0


def test_attached_articles_have_corrections_and_represent_stories(
    corpus: Deduplicator, database: Database
) -> None:
    sql(
        database,
        "CREATE TABLE public.wires (id integer PRIMARY KEY, head text, body text, at timestamptz)",
    )
    try:
        body = text(window(5, 8))
        sql(
            database,
            f"INSERT INTO public.wires VALUES (1, 'Late', '{body}', '2024-03-01 08:00+00'),"
            f" (2, 'CORRECTED-Late', '{body}', '2024-03-01 09:00+00')",
        )
        columns = {"text": "body", "title": "head", "published_at": "at"}
        corpus.attachments.attach("public.wires", keys=["id"], columns=columns)
        corpus.backfill()
        query = "SELECT source_id, correction, text FROM dedup.current_article"
        assert rows(database, query) == [("wires/2", "Corrected:", body)]
        sql(database, "UPDATE public.wires SET head = 'Late' WHERE id = 2")
        corpus.backfill()
        assert rows(database, query) == [("wires/2", None, body)]
        corpus.attachments.detach("wires")
    finally:
        sql(database, "DROP TABLE IF EXISTS public.wires CASCADE")
