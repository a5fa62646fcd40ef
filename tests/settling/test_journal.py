"""A replica of the marks equals the table after any events and kills (docs/changes.md).

See docs/reliability.md, promise 19. In the long test 100,000 marks change while ten kills hit writers and ten
hit readers. A reader may never get a change that it has stored before.
"""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from dedup.base.article import Article
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.store.changes import changes
from tests.conftest import Told
from tests.corpora import answer, article, change_settings, code, deduplicator, load, text, window
from tests.replica import PENDING, Mark, Replica, journal, place
from tests.settling.processes import DONE, start
from tests.settling.test_stateful import CorpusMachine

pytestmark = pytest.mark.timeout(3_600)


class HeardMachine(CorpusMachine):
    """A corpus with random events, and a reader that reads some or all of the changed marks."""

    @initialize()
    def begin(self) -> None:
        self.replica = Replica(self.database)

    @rule(limit=st.sampled_from((1, 2, 5)))
    def hear(self, limit: int) -> None:
        self.replica.read(limit)

    @rule(limit=st.sampled_from((1, 3, 1_000)))
    def hear_all(self, limit: int) -> None:
        self.replica.read_all(limit)
        self.replica.assert_equal()

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "replica"):
            self.hear_all(1_000)


@pytest.mark.long("dedup", "migrations")
def test_whatever_happens_a_replica_equals_the_table(database: Database) -> None:
    default = settings.default
    assert default is not None
    with journal(database):
        run_state_machine_as_test(
            # Hypothesis documents that it also takes a function, but its types demand a class.
            lambda: HeardMachine(database),  # type: ignore[arg-type]
            settings=settings(max_examples=default.max_examples // 8),
        )


# Tests with kills.


def texts(rng: random.Random, ring: int) -> str:
    return text(
        [c + rng.choice((0, 0, 0, 1)) for c in window(rng.randrange(ring), rng.choice((5, 6, 7)), ring)]
    )


def write(url: str, connection: Connection, seed: int, articles: int) -> None:
    """Change marks step by step and report each step.

    The function must be importable, so that a process can start with it.
    """
    rng = random.Random(seed)
    ring = 2 * articles
    with closing(Database(url)) as database:
        dd = deduplicator(database)

        def submit() -> None:
            for _ in range(5):
                name = f"a{rng.randrange(articles)}"
                dd.submit(Article(name, texts(rng, ring), published_at="2024-03-01"))

        def refill() -> None:
            names = rng.sample(range(articles), articles // 20)
            dd.load(Article(f"a{name}", texts(rng, ring), published_at="2024-03-01") for name in names)
            settle()

        def execute(statement: str) -> None:
            with database.transaction() as cursor:
                names = [f"a{rng.randrange(articles)}" for _ in range(articles // 50)]
                cursor.execute(statement.encode(), {"names": names, "text": texts(rng, ring)})

        def other_settings() -> None:
            jaccard = rng.choice((0.5, 0.7, 0.9))
            change_settings(
                database, duplicate_sentence_jaccard=jaccard, similar_sentence_jaccard=jaccard - 0.4
            )
            settle()

        def settle() -> None:
            backfill(database, workers=0, engine=rng.choice(("memory", "memory", "postgres")))

        named = "WHERE source_id = ANY (%(names)s)"
        steps: list[Callable[[], None]] = [
            submit,
            refill,
            partial(execute, f"UPDATE dedup.article SET text = %(text)s {named}"),
            partial(
                execute, f"UPDATE dedup.article SET published_at = published_at - interval '1 hour' {named}"
            ),
            partial(execute, f"DELETE FROM dedup.article {named}"),
            partial(
                execute,
                f"UPDATE dedup.article SET source_id = source_id || '-' || id {named} AND id %% 3 = 0",
            ),
            settle,
            other_settings,
            other_settings,
        ]
        while True:
            rng.choice(steps)()
            connection.send(None)


def read(url: str, connection: Connection, file: str) -> None:
    """Read changes page by page, and store their marks in the SQLite file `file`. A transaction stores a page
    and its cursor. The length of each page is sent to `connection`."""
    with closing(Database(url)) as database, closing(sqlite3.connect(file)) as kept:
        while not connection.poll():
            row = kept.execute("SELECT cursor FROM place").fetchone()
            with database.transaction() as cursor:
                found = changes(cursor, row and row[0], 500)
            with kept:
                for change in found:
                    # The table raises an error if the change was stored before.
                    kept.execute("INSERT INTO told VALUES (?, ?)", place(change))
                    if change.status == "deleted":
                        kept.execute("DELETE FROM mark WHERE id = ?", [change.id])
                        continue
                    mark = (change.status, change.duplicate_of, change.score, change.reason)
                    kept.execute("INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?, ?)", [change.id, *mark])
                if found:
                    kept.execute("INSERT OR REPLACE INTO place VALUES (1, ?)", [found[-1].cursor])
            connection.send(len(found))
        while connection.poll():
            connection.recv()
        connection.send(DONE)


class Killed:
    """A process that is started again after each kill."""

    def __init__(self, function: Callable[..., None], *given: Any) -> None:
        self._function, self._given = function, given
        self.begin()

    def begin(self) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.process = start(self._function, self._given[0], theirs, *self._given[1:])
        theirs.close()

    def tell(self) -> Any:
        """Return the next output; raise an error if the program has ended."""
        assert self.connection.poll(300), "the process reports nothing"
        return self.connection.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def stored(file: Path) -> dict[str, Mark]:
    with closing(sqlite3.connect(file)) as kept:
        return {name: mark for name, *mark in map(list, kept.execute("SELECT * FROM mark"))}  # type: ignore[misc]


COUNTING = """
    CREATE TABLE public.noted (marks bigint);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.noted SELECT count(*) FROM now_rows;
        RETURN NULL;
    END $$;
    CREATE TRIGGER counted AFTER INSERT ON dedup.journal_mark REFERENCING NEW TABLE AS now_rows
        FOR EACH STATEMENT EXECUTE FUNCTION public.note();
    CREATE TRIGGER counted_again AFTER UPDATE ON dedup.journal_mark REFERENCING NEW TABLE AS now_rows
        FOR EACH STATEMENT EXECUTE FUNCTION public.note();
    CREATE TRIGGER counted_deleted AFTER INSERT ON dedup.journal_deleted REFERENCING NEW TABLE AS now_rows
        FOR EACH STATEMENT EXECUTE FUNCTION public.note();
"""
UNCOUNTED = """
    DROP TRIGGER counted ON dedup.journal_mark;
    DROP TRIGGER counted_again ON dedup.journal_mark;
    DROP TRIGGER counted_deleted ON dedup.journal_deleted;
    DROP FUNCTION public.note;
    DROP TABLE public.noted;
"""


@pytest.mark.parametrize(
    ("articles", "wanted", "kills"),
    [
        pytest.param(150, 400, 2, marks=pytest.mark.long("dedup", "migrations")),
        pytest.param(3_000, 100_000, 10, marks=pytest.mark.torture),
    ],
    ids=["small", "100,000 changes"],
)
def test_a_replica_equals_the_table_whoever_is_killed(
    database: Database, tmp_path: Path, told: Told, articles: int, wanted: int, kills: int
) -> None:
    rng, seeds = random.Random(11), count(1)
    ring = 2 * articles
    change_settings(database, common_stories=8)
    load(
        database,
        *(
            article(f"a{i}", [*window(rng.randrange(ring), 6, ring), code(ring + i % 5)], i)
            for i in range(articles)
        ),
    )
    backfill(database, workers=0)
    file = tmp_path / "kept.db"
    with closing(sqlite3.connect(file)) as kept:
        kept.executescript(
            "CREATE TABLE mark (id PRIMARY KEY, status, duplicate_of, score, reason);"
            "CREATE TABLE place (only_row PRIMARY KEY, cursor);"
            "CREATE TABLE told (position, article_id, PRIMARY KEY (position, article_id));"
        )
    with journal(database):
        with psycopg.connect(database.url) as connection:
            connection.execute(COUNTING.encode())
        changed, killed = 0, 0
        reader = Killed(read, database.url, str(file))
        try:
            while changed < wanted or killed < 2 * kills:
                writer = Killed(write, database.url, next(seeds), articles)
                try:
                    until = wanted * (killed // 2 + 1) / kills
                    while changed < until:
                        writer.tell()
                        while reader.connection.poll():
                            reader.tell()
                        changed = counted(database)
                    if rng.random() < 0.7:  # wait a moment, so that the kill comes in the middle of a step
                        writer.connection.poll(rng.random() * 0.2)
                finally:
                    writer.kill()
                reader.kill()
                reader.begin()
                killed += 2
            backfill(database, workers=0)
            while reader.tell():
                pass
            reader.connection.send(DONE)
            while reader.tell() != DONE:
                pass
            reader.process.join()
            changed = counted(database)
        finally:
            reader.kill()
            with psycopg.connect(database.url) as connection:
                connection.execute(UNCOUNTED.encode())
        marks, found = stored(file), answer(database).marks
        assert marks.keys() <= found.keys()
        assert {name: tuple(marks.get(name, PENDING)) for name in found} == found
    told("19", f"seed 11, {articles:,} articles, {changed:,} changes of marks", f"{killed} SIGKILLs")


def counted(database: Database) -> int:
    with database.transaction() as cursor:
        row = cursor.execute("SELECT coalesce(sum(marks), 0)::bigint FROM public.noted").fetchone()
    return int(row[0]) if row else 0
