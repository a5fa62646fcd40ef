"""The role `counter` can read no word of a text; the roles `analyst` and `reader` can.

Every sentence of the corpus holds a word that occurs nowhere else. The tests search for this word in
everything that a role may read, by any table, view, function or command.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from dedup.api.deduplicator import Deduplicator
from dedup.api.operation import Operation
from dedup.base.article import Article
from dedup.db import roles
from dedup.db.database import Database
from tests.attached import COLUMNS, SCHEMA, news, owned
from tests.corpora import Code, at, code, sentence, window
from tests.db.test_roles import ANALYST, READER, WORKER, Names, Run, granted, names, run, url_of
from tests.replica import journal

__all__ = ["granted", "names", "run"]

MARK = "zanzibarium"

CALLS = {
    "changes": "SELECT * FROM dedup.changes()",
    "independent_origins": "SELECT dedup.independent_origins(ARRAY(SELECT id FROM dedup.mark))",
    "journal_triggers": "SELECT dedup.journal_triggers()",
    "origins": "SELECT * FROM dedup.origins(ARRAY(SELECT id FROM dedup.mark))",
    "role_is_trusted": "SELECT dedup.role_is_trusted(oid) FROM pg_roles",
    "strangers": "SELECT dedup.strangers(oid) FROM pg_class WHERE relkind IN ('r', 'v')",
    "text_hash": "SELECT dedup.text_hash('a text that the caller gives')",
}
"""Functions that the role `counter` may call -> a call of each."""


def words(codes: list[Code]) -> str:
    """Return a text with the word `MARK` in every sentence."""
    return " ".join(sentence(each).replace(" ", f" {MARK} ", 1) for each in codes)


@pytest.fixture
def marked(database: Database, granted: Names) -> Iterator[Database]:
    """Yield a corpus with rows in every table that holds words, and an attached table."""
    with owned(database) as owner, Deduplicator(database.url) as dd:
        dd.load(
            Article(
                f"a{i}", words([*window(i % 4, 6), code(90)]), published_at=at(i), publication=f"outlet {i}"
            )
            for i in range(8)
        )
        dd.load([Article("empty", "", published_at=at(50))])
        news(owner)
        owner.execute("INSERT INTO news (id, body, day) VALUES (1, %s, %s)", [words(window(2, 5)), at(60)])
        dd.attachments.attach(f"{SCHEMA}.news", keys=["id"], columns=COLUMNS)
        dd.common_sentences.pin(words([code(90)]), common=True)
        dd.pins.set("a1", "a2", "similar")
        dd.backfill(workers=0)
        dd.keep_sentences(outlets=2)
        dd.judgements.record(("a1", "a2"), "ann", "similar")
        with Deduplicator(url_of(database, granted["scraper"])) as scraper:
            scraper.submit(Article("a3", words(window(7, 6)), published_at=at(3)))
        with journal(database):
            yield database


def readable(connection: psycopg.Connection[tuple[str, ...]]) -> list[tuple[str, list[str]]]:
    """Return the tables and views outside the catalogue, with the columns that the role may read."""
    return connection.execute(
        """
        SELECT c.oid::regclass::text, array_agg(a.attname::text ORDER BY a.attnum)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
          AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND has_schema_privilege(c.relnamespace, 'USAGE')
          AND has_column_privilege(c.oid, a.attnum, 'SELECT')
        GROUP BY c.oid ORDER BY 1
        """
    ).fetchall()  # type: ignore[return-value]


def tells(connection: psycopg.Connection[tuple[str, ...]]) -> set[str]:
    """Return the columns that hold a word of a text, of all columns that a role may read."""
    found = set()
    for relation, columns in readable(connection):
        for column in columns:
            query = sql.SQL("SELECT count(*) FROM {} t WHERE t.{}::text ILIKE {}").format(
                sql.SQL(relation),
                sql.Identifier(column),
                f"%{MARK}%",
            )
            row = connection.execute(query).fetchone()
            if row and row[0]:
                found.add(f"{relation.removeprefix('dedup.')}.{column}")
    return found


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("judging", "browse", "frames")
def test_an_analyst_reads_words_and_a_counter_reads_none(marked: Database, granted: Names) -> None:
    with psycopg.connect(url_of(marked, granted["analyst"])) as analyst:
        assert tells(analyst) == {
            "addition.sentences",
            "alteration.earlier",
            "alteration.later",
            "article_text.text",
            "canonical_article.text",
            "current_article.text",
            "marked_article.text",
            "quote.words",
            "sentence.example",
        }
        columns = {name: len(found) for name, found in readable(analyst)}
    with psycopg.connect(url_of(marked, granted["counter"])) as counter:
        assert tells(counter) == set()
        kept = {name: len(found) for name, found in readable(counter)}
    assert columns.keys() - kept.keys() == {"dedup.article_text", "dedup.word_count"}
    assert {name for name, count in kept.items() if count < columns[name]} == {
        f"dedup.{name}"
        for name in (
            *("addition", "alteration", "article_sentence", "canonical_article"),
            *("current_article", "marked_article", "quote", "sentence"),
        )
    }


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("judging", "browse", "frames")
def test_no_function_tells_a_counter_a_word(marked: Database, granted: Names) -> None:
    with psycopg.connect(url_of(marked, granted["counter"]), autocommit=True) as counter:
        callable_ = counter.execute(
            "SELECT proname FROM pg_proc WHERE has_function_privilege(oid, 'EXECUTE')"
            " AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
        ).fetchall()
        assert {row[0] for row in callable_} == CALLS.keys()
        for call in CALLS.values():
            answer = counter.execute(call.encode()).fetchall()
            assert answer
            assert MARK not in str(answer).lower()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            counter.execute("SELECT dedup.attached_text(attachment_id, source_id) FROM dedup.marked_article")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM dedup.canonical_article",
        "SELECT * FROM dedup.current_article",
        "SELECT a FROM dedup.canonical_article a",
        "SELECT a::text FROM dedup.marked_article a",
        "SELECT to_jsonb(q) FROM dedup.quote q",
        "SELECT count(*) FROM dedup.quote WHERE words LIKE '%a%'",
        "SELECT id FROM dedup.marked_article ORDER BY text",
        "SELECT count(*) FROM dedup.sentence WHERE example IS NULL",
        "SELECT sentence_hash FROM dedup.article_sentence",
        "SELECT text_hash FROM dedup.marked_article",
        "TABLE dedup.compared_version",
        "TABLE dedup.compared_copy",
        "SELECT text FROM dedup.article",
        "COPY (SELECT text FROM dedup.article_text) TO STDOUT",
    ],
)
def test_no_way_round_leads_a_counter_to_words(database: Database, granted: Names, query: str) -> None:
    with (
        psycopg.connect(url_of(database, granted["counter"])) as counter,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        counter.execute(query.encode())


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("judging", "browse", "frames")
def test_what_the_planner_knows_of_texts_is_no_counters(marked: Database, granted: Names) -> None:
    with psycopg.connect(marked.url, autocommit=True) as owner:
        owner.execute("ANALYZE dedup.article, dedup.common_sentence, dedup.quoted_sentence")
    query = "SELECT count(*) FROM pg_stats s WHERE s::text ILIKE %s"
    with psycopg.connect(marked.url) as owner:
        known = owner.execute(query, [f"%{MARK}%"]).fetchone()
    assert known
    assert known[0]
    with psycopg.connect(url_of(marked, granted["counter"])) as counter:
        assert counter.execute(query, [f"%{MARK}%"]).fetchone() == (0,)


@pytest.mark.extra("judging", "browse", "frames")
@pytest.mark.long("dedup", "migrations")
def test_no_command_tells_a_counter_a_word(
    marked: Database, granted: Names, run: Run, tmp_path: Path
) -> None:
    commands = [["versions", "a1"], ["credits"], *ANALYST, *READER, *WORKER]
    (tmp_path / "new.jsonl").write_text('{"id": "n", "text": "Some words of a caller."}\n', "utf-8")
    (tmp_path / "edit.jsonl").write_text('{"id": "a3", "text": "Some words of a caller."}\n', "utf-8")
    before = {path.name for path in tmp_path.iterdir()}
    for command in commands:
        _, out, err = run(*command, role=granted["counter"])
        assert MARK not in (out + err).lower(), command
    written = [path for path in tmp_path.iterdir() if path.name not in before]
    assert [path.name for path in written if MARK.encode() in path.read_bytes().lower()] == []
    assert "news.sqlite" in {path.name for path in written}
    assert MARK in run("common", role=granted["analyst"])[1].lower()


def test_a_counter_may_be_made_of_an_analyst(database: Database, names: Names) -> None:
    with Operation(database.url) as owner:
        owner.grant(analyst=[names["analyst"]])
        owner.grant(counter=[names["analyst"]])
    with (
        psycopg.connect(url_of(database, names["analyst"])) as counter,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        counter.execute("SELECT text FROM dedup.article_text")
    assert "counter" in roles.ROLES
