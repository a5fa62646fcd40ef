"""The index of words is made and dropped while others work, over any texts and in any schema."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.base.errors import BusyError, InputError
from dedup.base.folding import folded
from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from dedup.store import word_index
from tests.attached import COLUMNS, news, owned
from tests.corpora import code, wait_until
from tests.corpora import text as text_of


@pytest.fixture
def owner(database: Database) -> Iterator[Operation]:
    """The owner of the corpus."""
    with Operation(database.url) as owner:
        yield owner


@pytest.fixture
def corpus(database: Database) -> Iterator[Deduplicator]:
    with Deduplicator(database.url) as corpus:
        yield corpus


def names(corpus: Deduplicator, text: str) -> list[str]:
    return [found.article.source_id for found in corpus.browsing.search(text).found]


def test_the_index_is_made_once_and_dropped_once(owner: Operation, corpus: Deduplicator) -> None:
    corpus.load([Article("a", "Rain in Norfolk.")])
    with pytest.raises(InputError, match=r"run `dedup init --search` to make the index"):
        names(corpus, "rain")
    assert [owner.make_searchable() for _ in range(2)] == [True, False]
    assert names(corpus, "RAIN norfolk") == ["a"]
    assert names(corpus, "rain suffolk") == []
    assert [owner.make_searchable(False) for _ in range(2)] == [True, False]
    with pytest.raises(InputError, match="cannot be searched yet"):
        names(corpus, "rain")


def test_what_was_broken_off_is_made_again(owner: Operation, corpus: Deduplicator) -> None:
    corpus.load([Article("a", "Rain in Norfolk.")])
    owner.make_searchable()
    with corpus._database.transaction() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = (SELECT oid FROM pg_class"
            " WHERE relname = 'article_folded_words' AND relnamespace = 'dedup'::regnamespace)"
        )
    with pytest.raises(InputError, match="cannot be searched yet"):
        names(corpus, "rain")
    assert owner.make_searchable()
    assert names(corpus, "rain") == ["a"]


def test_others_write_while_it_is_made(owner: Operation, corpus: Deduplicator) -> None:
    corpus.load([Article("a", "Rain in Norfolk.")])
    made: list[bool] = []
    with psycopg.connect(corpus._database.url) as other:
        other.execute("UPDATE dedup.article SET url = 'x'")
        maker = threading.Thread(target=lambda: made.append(owner.make_searchable()))
        maker.start()
        wait_until(lambda: waits(corpus))
        with pytest.raises(BusyError, match="another `init`"):
            owner.make_searchable()
        corpus.load([Article("b", "Rain in Suffolk.")])
    maker.join(30)
    assert made == [True]
    assert sorted(names(corpus, "rain")) == ["a", "b"]


class IndexProgress:
    """A progress that records the stages and blocks of the index build."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.blocks: list[tuple[int, int | None]] = []

    def start(self, stage: str, total: int | None) -> None:
        self.stages.append(stage)

    def advance(self, count: int, total: int | None = None) -> None:
        self.blocks.append((count, total))


def test_it_tells_what_it_is_at(owner: Operation, corpus: Deduplicator) -> None:
    corpus.load([Article("a", "Rain in Norfolk.")])
    told = IndexProgress()
    with psycopg.connect(corpus._database.url) as other:
        other.execute("UPDATE dedup.article SET url = 'x'")
        maker = threading.Thread(target=lambda: owner.make_searchable(progress=told))
        maker.start()
        wait_until(lambda: told.stages != [])
    maker.join(30)
    assert told.stages[0] == "waiting for writers before build"
    assert told.blocks[0] == (0, None)
    assert names(corpus, "rain") == ["a"]


def waits(corpus: Deduplicator) -> bool:
    """Return whether the index build waits for a transaction."""
    with corpus._database.transaction() as cursor:
        row = cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock')"
        ).fetchone()
    return bool(row and row[0])


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("stored", "typed", "shown"),
    [
        ("Im März in München.", "munchen", "München"),
        ("In Munchen.", "MÜNCHEN", "Munchen"),
        ("Die Straße ist leer.", "STRASSE leer", "Straße leer"),
        ("Die STRASSE ist leer.", "straße", "STRASSE"),
        ("L'E\u0301COLE e\u0301tait finie.", "école", "E\u0301COLE"),
        ("Wieś pod Łodzią.", "lodzia", "Łodzią"),
        ("An æsthetic affair.", "aesthetic", "æsthetic"),
        ("Московские новости", "НОВОСТИ", "новости"),
        ("がくせい が いる", "がくせい", "がくせい"),
        ("हिन्दी में समाचार", "हिन्दी", None),
    ],
)
def test_case_and_accents_make_no_difference(
    owner: Operation, corpus: Deduplicator, stored: str, typed: str, shown: str | None
) -> None:
    owner.make_searchable()
    corpus.load([Article("a", f"It began there. {stored}"), Article("b", "Something else.")])
    page = corpus.browsing.search(typed)
    assert [found.article.source_id for found in page.found] == ["a"]
    if shown is not None:
        assert [piece.text for piece in page.found[0].snippet if piece.hit] == shown.split(" ")


SCRIPTS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x24F)
    | st.characters(codec="utf-8", categories=["L", "M", "N"])
)


@given(SCRIPTS)
@example("ẞßÆæŒœØøŁłĐđı")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_are_folded_in_sql_as_in_python(database: Database, text: str) -> None:
    with database.transaction() as cursor:
        query = f"SELECT {word_index.FOLDED.format('%(text)s::text')}".encode()
        (found,) = cursor.execute(query, {"text": text}).fetchone() or ("",)
    assert found == folded(text)


def test_an_index_of_before_is_replaced(owner: Operation, corpus: Deduplicator) -> None:
    corpus.load([Article("a", "Rain in Norfolk.")])
    with corpus._database.transaction() as cursor:
        cursor.execute(
            "CREATE INDEX article_words ON dedup.article USING gin (to_tsvector('simple'::regconfig, title))"
        )
    assert owner.make_searchable()
    with corpus._database.transaction() as cursor:
        assert word_index.index_is_complete(cursor)
        assert cursor.execute("SELECT to_regclass('dedup.article_words')").fetchone() == (None,)


HOSTILE = {
    "script": "<script>alert('rain')</script> rain",
    "one word": "x" * 100_000 + " rain",
    "words": " ".join(f"w{n}" for n in range(100_000)) + " rain",
    "hyphens": "-".join("𝕬" for _ in range(60_000)),
    "wide words": " ".join(f"{chr(0x20000 + n)}" for n in range(20_000)),
    "marks": "@d1 @b1 @oWire '@d1' & | ! \\ :* rain",
    "control": "\x01\x02 rain \u202e \ufffe \x7f",
    "long": "rain " * 200_000,
    "addresses": "http://example.com/rain?a=b " * 2_000 + "rain@example.com",
}


@pytest.mark.long("dedup", "migrations")
def test_texts_of_any_kind_are_taken(owner: Operation, corpus: Deduplicator) -> None:
    owner.make_searchable()
    given = [Article(name, text, publication=text[:50], title=text[:4_000]) for name, text in HOSTILE.items()]
    report = corpus.load(given)
    assert report.new == len(HOSTILE)
    assert {"script", "marks", "control", "long"} <= set(names(corpus, "rain"))
    for text in ("rain:* & <-> foo", "@d1", "a" * 1_000, "'); DROP", "-rain | \\'"):
        corpus.browsing.search(text)
    for text in ("'", "\\", "& | !", ""):
        with pytest.raises(InputError, match="no word"):
            corpus.browsing.search(text)
    marked = corpus.browsing.search("rain", publication=HOSTILE["marks"][:50])
    assert [found.article.source_id for found in marked.found] == ["marks"]
    pieces = [(piece.text, piece.hit) for piece in marked.found[0].snippet]
    assert pieces == [(HOSTILE["marks"].removesuffix("rain"), False), ("rain", True)]


@pytest.mark.parametrize("first", [date(1999, 11, 20), date(2000, 2, 1), date(2026, 11, 22), date(1, 1, 1)])
def test_days_have_the_marks_that_sql_gives_them(database: Database, first: date) -> None:
    days = [first + timedelta(days=n) for n in range(120)]
    query = f"""
        SELECT {word_index.WORDS}::text, at FROM (
            SELECT '' AS title, '' AS text, NULL::text AS publication, at AS published_at, at AS added_at, at
            FROM unnest(%s::timestamptz[]) AS at) AS article
    """
    times = [datetime(d.year, d.month, d.day, 23, 59, tzinfo=UTC) for d in days]
    with database.transaction() as cursor:
        found = cursor.execute(query.encode(), [times]).fetchall()
    for marks, at in found:
        block = word_index.block(at.date())
        assert set(marks.split()) == {
            f"'{mark}'" for mark in (word_index.mark(at.date()), word_index.mark(block), "@o")
        }
        start = word_index.block_start(block)
        assert start <= at
        if start.date() > date.min:
            assert word_index.block((start - timedelta(days=1)).date()) == block - 1
        assert word_index.block(start.date()) == block


def test_of_an_attached_table_titles_are_searched(
    database: Database, owner: Operation, corpus: Deduplicator
) -> None:
    owner.make_searchable()
    with owned(database) as connection:
        news(connection)
        body = text_of([code(n) for n in range(5)])
        connection.execute(
            "INSERT INTO news (id, body, headline) VALUES (1, %s, 'Rain in Norfolk')", [body + "\n\nStorm."]
        )
        corpus.attachments.attach("newsroom.news", keys=["id"], columns=COLUMNS)
        corpus.backfill(workers=0)
        assert names(corpus, "rain") == ["news/1"]
        assert names(corpus, "storm") == []
        page = corpus.browsing.article("news/1")
        assert page.attachment == "news"
        assert page.text is not None
        assert page.text.text.endswith("Storm.")
        assert corpus.browsing.health().attachments == ("news",)


@pytest.mark.long("dedup", "migrations")
def test_a_corpus_in_another_schema(database: Database) -> None:
    Deduplicator.initialize(database.url, schema="words")
    try:
        with Deduplicator(database.url, schema="words") as corpus:
            corpus.load([Article("a", "Rain in Norfolk.", published_at="2026-11-20T10:00Z")])
            with pytest.raises(InputError, match=r"`dedup --schema words init --search`"):
                names(corpus, "rain")
            with Operation(database.url, schema="words") as owner:
                assert owner.make_searchable()
            assert names(corpus, "rain") == ["a"]
            assert corpus.browsing.health().searchable
            assert corpus.browsing.day(date(2026, 11, 20)).marks.pending == 1
            assert corpus.browsing.story("a").original.source_id == "a"
    finally:
        with Operation(database.url, schema="words") as owner:
            owner.uninstall()


def test_the_command(
    database: Database,
    owner: Operation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv(URL_VARIABLE, database.url)
    monkeypatch.chdir(tmp_path)
    for option, said in (
        ("--search", "words can be searched\n"),
        ("--search", "words can be searched, as before"),
        ("--no-search", "the index of words is dropped"),
        ("--no-search", "there is no index of words"),
    ):
        assert main.run(["init", option]) == 0
        assert said in capsys.readouterr().err
    assert main.run(["init", "--sql", "--search"]) == 2
