"""Random histories of SQL on attached tables; each ends with the marks of a fresh corpus."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dedup import Article, Deduplicator
from dedup.db.database import Database
from dedup.files.readers import read_articles
from tests.attach.owners import Owner
from tests.attached import NEWS, SCHEMA, attach, news, right
from tests.conftest import Server, empty
from tests.corpora import answer, article, assert_equal, at, deduplicator, load, settle, text, window

LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


def some_text(rng: random.Random) -> str:
    return text(window(rng.randrange(14), rng.choice([6, 6, 5, 1, 0])))


def change(owner: Owner, rng: random.Random, key: int) -> None:
    """Run a random statement of the owner, and sometimes roll it back."""
    name = sql.Identifier(rng.choice(["news", "wire"]))
    choices: list[tuple[str, list[Any]]] = [
        (
            "INSERT INTO {} (id, body, day) VALUES (%s, %s, %s)",
            [key, some_text(rng), at(rng.randrange(100))],
        ),
        (
            "INSERT INTO {} (id, body, day) SELECT %s + g, %s, %s FROM generate_series(1, 3) AS g",
            [key, some_text(rng), at(rng.randrange(100))],
        ),
        ("UPDATE {} SET body = %s WHERE id %% 5 = %s", [some_text(rng), rng.randrange(5)]),
        ("UPDATE {} SET day = day - interval '50 minutes' WHERE id %% 5 = %s", [rng.randrange(5)]),
        ("UPDATE {} SET id = id + 10000 WHERE id %% 7 = %s AND id < 10000", [rng.randrange(7)]),
        ("UPDATE {} SET clicks = 1, headline = 'A' WHERE id %% 3 = %s", [rng.randrange(3)]),
        ("UPDATE {} SET lang = 'de' WHERE id %% 4 = %s", [rng.randrange(4)]),
        ("DELETE FROM {} WHERE id %% 6 = %s", [rng.randrange(6)]),
    ]
    weights = [6, 2, 2, 2, 1, 1, 1, 1]
    query, values = rng.choices(choices, weights)[0]
    if rng.random() < 0.02:
        query, values = "TRUNCATE {}", []
    with owner.transaction() as undone:
        owner.execute(f"SET TRANSACTION ISOLATION LEVEL {rng.choice(LEVELS)}".encode())
        owner.execute(sql.SQL(query).format(name), values or None)
        if rng.random() < 0.1:
            raise psycopg.Rollback(undone)


def assert_columns_equal_the_view(owner: Owner, name: str) -> None:
    """Check that the mark columns of the table equal its view of marks."""
    different = owner.execute(
        sql.SQL(
            "SELECT n.id FROM {} n JOIN dedup.{} m USING (id)"
            " WHERE (dedup_status, dedup_duplicate_of, dedup_score)"
            " IS DISTINCT FROM (m.status, m.duplicate_of, m.score)"
        ).format(sql.Identifier(name), sql.Identifier(f"{name}_marks"))
    ).fetchall()
    assert different == []


@pytest.mark.long("dedup", "migrations")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(4))
def test_any_history_ends_with_the_marks_of_a_fresh_corpus(
    database: Database, owner: Owner, seed: int
) -> None:
    rng = random.Random(seed)
    for name in ("news", "wire"):
        news(owner, name)
    attach(database, mark_columns=True)
    attach(database, "wire", where="lang IS NULL")
    for step in range(60):
        if rng.random() < 0.15:
            load(database, article(f"own{rng.randrange(6)}", window(rng.randrange(14), 6), step))
        elif rng.random() < 0.15:
            settle(database, engine=rng.choice(["postgres", "memory"]))
        else:
            change(owner, rng, 100 * step)
    found = right(database)
    assert_columns_equal_the_view(owner, "news")
    with database.transaction() as cursor:
        stored = cursor.execute("""
            SELECT source_id, t.text, title, published_at, added_at, language FROM dedup.article a
            JOIN dedup.article_text t ON t.article_id = a.id
        """).fetchall()
    rows = owner.execute(
        "SELECT 'news/' || id, body, headline, day, lang FROM news"
        " UNION ALL SELECT 'wire/' || id, body, headline, day, lang FROM wire WHERE lang IS NULL"
    ).fetchall()
    assert sorted(row[:4] + row[5:] for row in stored if "/" in row[0]) == sorted(rows)
    door = deduplicator(database).attachments
    for name in ("news", "wire"):
        door.detach(name)
    empty(database)
    fields = ("source_id", "text", "title", "published_at", "added_at", "language")
    load(database, *(Article(**dict(zip(fields, row, strict=True))) for row in stored))
    settle(database)
    assert_equal(answer(database), found)


def test_what_two_sessions_do_at_once_is_all_noted(database: Database, owner: Owner) -> None:
    """A slow transaction commits a note with a lower number than the notes that were read before."""
    news(owner)
    attach(database)
    settle(database)
    insert = "INSERT INTO newsroom.news (id, body, day) VALUES (%s, %s, %s)"
    with psycopg.connect(database.url) as slow:
        slow.execute(insert, [1, text(window(0, 6)), at(0)])
        owner.execute(insert, [2, text(window(0, 6)), at(1)])
        assert right(database).status() == {"news/2": "unique"}
        slow.commit()
    assert right(database).status() == {"news/1": "unique", "news/2": "duplicate:news/1"}


def busy(
    url: str, owner: Owner, edits: Sequence[tuple[str, list[Any]]], runners: int, workers: int
) -> list[BaseException]:
    """Run the owner's statements while `runners` threads settle the changes."""
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            with Deduplicator(url) as dd:
                while not done.is_set():
                    dd.backfill(workers=workers)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(runners)]
    for thread in threads:
        thread.start()
    try:
        for query, values in edits:
            owner.execute(query.encode(), values)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    return errors


def lively(server: Server, rows: list[tuple[Any, ...]], edits: int, seed: int, workers: int) -> None:
    """Attach a table. While two programs settle, the owner adds, edits and deletes rows and changes their
    dates."""
    rng = random.Random(seed)
    url = server.create(f"dedup_lively_{len(rows)}")
    Deduplicator.initialize(url)
    first, late = rows[: len(rows) * 9 // 10], rows[len(rows) * 9 // 10 :]
    with psycopg.connect(url, autocommit=True) as owner, Deduplicator(url) as dd:
        owner.execute(
            sql.SQL("CREATE SCHEMA {}; CREATE TABLE {}.news ({})").format(
                sql.Identifier(SCHEMA), sql.Identifier(SCHEMA), sql.SQL(NEWS)
            )
        )
        owner.execute(f"SET search_path = {SCHEMA}".encode())
        insert = "INSERT INTO news (id, body, headline, day) VALUES (%s, %s, %s, %s)"
        with owner.cursor() as cursor:
            cursor.executemany(insert, first)
        dd.attachments.attach(
            f"{SCHEMA}.news",
            keys=["id"],
            columns={"text": "body", "title": "headline", "published_at": "day"},
            mark_columns=True,
        )
        dd.backfill(workers=workers)
        statements: list[tuple[str, list[Any]]] = [(insert, list(row)) for row in late[:edits]]
        while len(statements) < edits:
            key = rng.choice(rows)[0]
            statements.append(
                rng.choice(
                    [
                        ("UPDATE news SET body = %s WHERE id = %s", [rng.choice(rows)[1], key]),
                        ("UPDATE news SET body = body || ' More.' WHERE id = %s", [key]),
                        (
                            "UPDATE news SET day = day - %s WHERE id = %s",
                            [timedelta(rng.randrange(30)), key],
                        ),
                        ("DELETE FROM news WHERE id = %s", [key]),
                    ]
                )
            )
        rng.shuffle(statements)
        assert busy(url, owner, statements, 2, workers) == []
        deadline = time.monotonic() + 600
        while not dd.backfill(workers=workers).already_running and dd.attachments.waiting():
            assert time.monotonic() < deadline
        checked = dd.verify()
        assert checked.differences == []
        assert checked.articles > len(rows) // 2
        assert_columns_equal_the_view(owner, "news")
        assert (
            owner.execute("SELECT count(*) FROM dedup.article").fetchone()
            == owner.execute("SELECT count(*) FROM news").fetchone()
        )


@pytest.mark.long("dedup", "migrations")
@pytest.mark.timeout(300)
def test_a_table_that_is_edited_while_two_programs_settle(server: Server) -> None:
    rng = random.Random(5)
    rows = [(i, some_text(rng), None, at(rng.randrange(10_000))) for i in range(500)]
    lively(server, rows, 100, 1, 0)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_real_news_edited_while_two_programs_settle(server: Server, shared_data: Any) -> None:
    read = read_articles(shared_data / "reuters_web_2006_2010.jsonl.gz")
    found = (item for item in read if isinstance(item, Article))
    rows = [(i, a.text, a.title, a.published_at) for i, a in zip(range(50_000), found, strict=False)]
    lively(server, rows, 5_000, 1, 2)
