"""Random DDL of an owner, while writers write and two workers settle: no statement of the owner ever fails.

After one `remap` per table and a backfill, the marks equal those of a fresh corpus of the same tables.
Every statement of the owner is printed.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dedup.attach.sync import sync
from dedup.base.progress import SilentProgress
from dedup.db.database import Database
from tests.attach.owners import Owner, assert_followed, connect, copied
from tests.attached import COLUMNS, SCHEMA
from tests.conftest import Server, Told, empty
from tests.corpora import (
    answer,
    article,
    assert_equal,
    at,
    deduplicator,
    load,
    settle,
    text,
    unsettled,
    wait_until,
    window,
)
from tests.settling.test_daemon import working

ELSEWHERE = "archive"
"""Second schema for tables of the owner."""

WIDTH = 50
"""Number of keys in a partition."""

TRANSACTIONS = 6
"""Number of the writers' transactions beside each change of a table."""

KINDS = {
    "text": "text",
    "title": "text",
    "publication": "text",
    "language": "text",
    "published_at": "timestamptz",
}
TYPES = {
    "text": ["text", "varchar(20000)"],
    "title": ["text", "varchar(300)"],
    "publication": ["text", "varchar(300)"],
    "language": ["text", "varchar(300)"],
    "published_at": ["timestamptz", "timestamp", "date"],
    "key": ["bigint", "numeric"],
}


@dataclass
class Table:
    """The present state of an owner's table. A thread changes it while its ALTER TABLE holds the lock.

    Attributes:
        name: name of the attachment; schema, now: present schema and name.
        key: key column; columns: column of each field that the table has.
        mapped, mapped_key: the columns that dedup has mapped.
        another: whether a different table has replaced the attached table.
        lost: fields of mapped columns that were dropped; "key" for the key column.
        partitions: first key of each partition; None for a table without partitions.
    """

    name: str
    partitions: dict[str, int] | None = None
    schema: str = SCHEMA
    now: str = ""
    key: str = "id"
    columns: dict[str, str] = field(default_factory=lambda: dict(COLUMNS))
    mapped: dict[str, str] = field(default_factory=lambda: dict(COLUMNS))
    mapped_key: str = "id"
    mapped_place: str = ""
    another: bool = False
    lost: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.now = self.now or self.name
        self.mapped_place = self.place

    @property
    def place(self) -> str:
        return f"{self.schema}.{self.now}"

    def options(self, known: Mapping[str, str]) -> dict[str, Any]:
        """Return arguments of `remap`: all names that `remap` cannot guess from the known columns."""
        given: dict[str, Any] = {}
        if self.another and self.place != self.mapped_place:
            given["table"] = self.place
        told = set(KINDS) if self.another else self.lost | (set(KINDS) - set(known))
        columns = {f: c for f, c in self.columns.items() if f in told and c != known.get(f)}
        if columns:
            given["columns"] = columns
        if (self.another or "key" in self.lost) and self.key != self.mapped_key:
            given["keys"] = [self.key]
        return given


class Errand:
    """A session that works on the tables, and records every statement."""

    def __init__(self, url: str, seed: str, tables: list[Table], role: str | None) -> None:
        self.rng = random.Random(seed)
        self.tables = tables
        self.connection: Owner = psycopg.connect(url, autocommit=True)
        self.connection.execute(f"SET search_path = {SCHEMA}, public".encode())
        if role:
            self.connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        self.who = seed
        self.said: list[str] = []

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        shown = " ".join(statement.split()).replace("%%", "%")
        self.said.append(shown)
        try:
            found = self.connection.execute(statement.encode(), values)
        except psycopg.Error as error:
            raise AssertionError(f"{self.who}: {shown}: {type(error).__name__}: {error}") from error
        return found.fetchall() if found.description else []

    def text(self) -> str:
        return text(window(self.rng.randrange(14), self.rng.choice([6, 6, 5, 1, 0])))


class Writer(Errand):
    """A session that writes rows. One of the two writers has the even keys and the other has the odd keys, so
    they cause no deadlocks. `remainder`: 0 for even keys, 1 for odd keys."""

    def __init__(self, *given: Any, remainder: int) -> None:
        super().__init__(*given)
        self.remainder = remainder
        self.keys = 1_000 + remainder

    def step(self) -> None:
        """Run a transaction of some statements on one table."""
        table = self.rng.choice(self.tables)
        with self.connection.transaction() as undone:
            place = table.place
            with suppress(psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                self.connection.execute(f"LOCK TABLE {place} IN ROW EXCLUSIVE MODE".encode())
                for _ in range(self.rng.randint(1, 3)):
                    self.write(table)
            if self.rng.random() < 0.1:
                raise psycopg.Rollback(undone)

    def new_key(self, table: Table) -> int:
        self.keys += 2
        if table.partitions is None:
            return self.keys
        first = self.rng.choice(list(table.partitions.values()))
        return first + 2 * self.rng.randrange(WIDTH // 2) + self.remainder

    def row(self, table: Table) -> tuple[str, str, list[Any]]:
        """Return columns, placeholders and values of a row."""
        values: dict[str, Any] = {table.key: self.new_key(table)}
        for name, column in table.columns.items():
            values[column] = {
                "text": self.text(),
                "title": self.rng.choice([None, "A title"]),
                "published_at": self.rng.choice([None, *(at(self.rng.randrange(9_000)) for _ in range(9))]),
            }.get(name)
        return ", ".join(values), ", ".join(["%s"] * len(values)), list(values.values())

    def write(self, table: Table) -> None:
        place, key = table.place, table.key
        rng = self.rng
        some = f"{key} %% 10 = {2 * rng.randrange(5) + self.remainder}"
        body, day = table.columns["text"], table.columns.get("published_at")
        kind = rng.choice(
            ["insert"] * 4 + ["upsert", "edit", "edit", "date", "key", "delete", "again", "marks", "own"]
        )
        if kind in ("insert", "upsert", "own"):
            columns, places, values = self.row(table)
            where = place
            if kind == "own" and table.partitions:
                first = values[0] // WIDTH * WIDTH
                where = f"{table.schema}." + next(p for p, f in table.partitions.items() if f == first)
            self.run(
                f"INSERT INTO {where} ({columns}) VALUES ({places}) ON CONFLICT ({key})"
                f" DO UPDATE SET {body} = excluded.{body}",
                *values,
            )
        elif kind == "date" and day:
            self.run(f"UPDATE {place} SET {day} = {day} - interval '50 minutes' WHERE {some}")
        elif kind == "key" and table.partitions is None:
            self.run(f"UPDATE {place} SET {key} = {key} + 100000 WHERE {some} AND {key} < 100000")
        elif kind == "delete":
            self.run(f"DELETE FROM {place} WHERE {some}")
        elif kind == "again":
            names = [key, *table.columns.values()]
            each = ", ".join(names)
            self.run(
                f"WITH gone AS (DELETE FROM {place} WHERE {some} RETURNING {each}) SELECT count(*) FROM gone"
            )
            columns, places, values = self.row(table)
            self.run(f"INSERT INTO {place} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING", *values)
        elif kind == "marks" and ["dedup_status"] in self.named(table, "dedup_status"):
            self.run(f"UPDATE {place} SET dedup_status = 'mine' WHERE {some}")
        else:
            self.run(f"UPDATE {place} SET {body} = %s WHERE {some}", self.text())

    def named(self, table: Table, column: str) -> list[list[str]]:
        found = self.connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"
            " AND NOT attisdropped",
            [table.place, column],
        )
        return [list(row) for row in found.fetchall()]


class Builder(Errand):
    """A session that runs random DDL on the tables."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.count = 0
        self.ranges = 10_000
        self.done: Counter[str] = Counter()

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def step(self) -> None:
        table = self.rng.choice(self.tables)
        steps = [
            *[self.rename_column] * 3, self.drop_column, self.restore_column, self.change_type,
            self.replace_text, self.replace_key, self.unrelated, *[self.swap] * 2, self.replace,
            self.rename_table, self.set_schema, *[self.switch_triggers] * 2, self.drop_trigger,
            self.spoil_marks, self.truncate, self.rewrite,
        ]  # fmt: skip
        if table.partitions is not None:
            partitions = [
                self.add_partition, self.attach_partition, self.drop_partition, self.detach_partition,
                self.truncate_partition,
            ]  # fmt: skip
            steps += partitions * 3
        chosen = self.rng.choice(steps)
        self.done[chosen.__name__] += 1
        chosen(table)

    # Columns

    def rename_column(self, table: Table) -> None:
        name = self.rng.choice(["key", *table.columns])
        old, new = table.key if name == "key" else table.columns[name], self.name("c")
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} RENAME COLUMN {old} TO {new}")
            if self.rng.random() < 0.2:
                self.run(f"ALTER TABLE {table.place} ADD COLUMN {old} integer")
            if name == "key":
                table.key = new
            else:
                table.columns[name] = new

    def drop_column(self, table: Table) -> None:
        name = self.rng.choice([name for name in KINDS if name != "text"])
        if name not in table.columns:
            return
        cascade = self.rng.choice(["", " CASCADE"])
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} DROP COLUMN {table.columns[name]}{cascade}")
            del table.columns[name]
            table.lost.add(name)

    def restore_column(self, table: Table) -> None:
        gone = [name for name in KINDS if name not in table.columns]
        if not gone:
            return
        name = self.rng.choice(gone)
        with self.connection.transaction():
            # The old name of the column may have been given to another column.
            column = self.rng.choice([table.mapped.get(name), self.name("c")])
            if column is None or column in self.columns(table):
                column = self.name("c")
            self.run(f"ALTER TABLE {table.place} ADD COLUMN {column} {KINDS[name]}")
            value = "timestamptz '2024-03-02 00:00Z'" if name == "published_at" else "'Again'"
            self.run(f"UPDATE {table.place} SET {column} = {value} WHERE {table.key} %% 3 = 0")
            table.columns[name] = column

    def change_type(self, table: Table) -> None:
        name = self.rng.choice([*table.columns] + ["key"] * (table.partitions is None))
        column = table.key if name == "key" else table.columns[name]
        kind = self.rng.choice(TYPES[name])
        using = f"{column}::{kind}"
        if name == "published_at":
            (was,) = self.run(
                "SELECT atttypid::regtype::text FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attname = %s",
                table.place,
                column,
            )[0]
            plain = (
                f"({column} AT TIME ZONE 'UTC')" if was.endswith("with time zone") else f"{column}::timestamp"
            )
            using = f"{plain} AT TIME ZONE 'UTC'" if kind == "timestamptz" else f"{plain}::{kind}"
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} ALTER COLUMN {column} TYPE {kind} USING {using}")

    def replace_text(self, table: Table) -> None:
        old, new = table.columns["text"], self.name("c")
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} ADD COLUMN {new} text")
            self.run(f"UPDATE {table.place} SET {new} = {old}")
            self.run(f"ALTER TABLE {table.place} DROP COLUMN {old} CASCADE")
            table.columns["text"] = new
            table.lost.add("text")

    def replace_key(self, table: Table) -> None:
        if table.partitions is not None:  # the table is partitioned by its key
            return
        old, new = table.key, self.name("k")
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} ADD COLUMN {new} bigint")
            self.run(f"UPDATE {table.place} SET {new} = {old}")
            self.run(f"ALTER TABLE {table.place} DROP COLUMN {old} CASCADE, ADD PRIMARY KEY ({new})")
            table.key = new
            table.lost.add("key")

    def unrelated(self, table: Table) -> None:
        column = self.name("u")
        self.run(f"ALTER TABLE {table.place} ADD COLUMN {column} integer DEFAULT 3")
        if self.rng.random() < 0.5:
            self.run(f"ALTER TABLE {table.place} DROP COLUMN {column}")

    # Tables

    def next_table(self, table: Table) -> tuple[str, dict[str, int] | None]:
        """Create a table like the given one with some of its rows. Return its name and its partitions."""
        new = self.name(f"{table.name}_next")
        place = f"{table.schema}.{new}"
        partitions = None
        by = "" if table.partitions is None else f" PARTITION BY RANGE ({table.key})"
        self.run(f"CREATE TABLE {place} (LIKE {table.place} INCLUDING ALL){by}")
        if table.partitions is not None:
            partitions = {self.name(f"{table.name}_p"): first for first in table.partitions.values()}
            for name, first in partitions.items():
                self.run(
                    f"CREATE TABLE {table.schema}.{name} PARTITION OF {place}"
                    f" FOR VALUES FROM ({first}) TO ({first + WIDTH})"
                )
        self.run(f"INSERT INTO {place} SELECT * FROM {table.place} WHERE {table.key} %% 4 <> 1")
        if self.rng.random() < 0.3:
            for column in self.columns(table):
                if column.startswith("dedup_"):
                    self.run(f"ALTER TABLE {place} DROP COLUMN {column}")
        return new, partitions

    def swap(self, table: Table) -> None:
        new, partitions = self.next_table(table)
        old = self.name(f"{table.name}_old")
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} RENAME TO {old}")
            self.run(f"ALTER TABLE {table.schema}.{new} RENAME TO {table.now}")
            table.partitions, table.another = partitions, True
        what = self.rng.choice(["keep", "write", "drop"])
        if what == "write":
            self.run(f"UPDATE {table.schema}.{old} SET {table.columns['text']} = 'Of the old one.'")
            self.run(f"TRUNCATE {table.schema}.{old}")
        elif what == "drop":
            self.run(f"DROP TABLE {table.schema}.{old} CASCADE")

    def replace(self, table: Table) -> None:
        with self.connection.transaction():
            # Lock the table, so that no writer adds a row for a partition that is not copied.
            self.run(f"LOCK TABLE {table.place} IN ACCESS EXCLUSIVE MODE")
            new, partitions = self.next_table(table)
            self.run(f"DROP TABLE {table.place} CASCADE")
            self.run(f"ALTER TABLE {table.schema}.{new} RENAME TO {table.now}")
            table.partitions, table.another = partitions, True

    def rename_table(self, table: Table) -> None:
        new = table.name if table.now != table.name else self.name(table.name)
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} RENAME TO {new}")
            table.now = new

    def set_schema(self, table: Table) -> None:
        new = SCHEMA if table.schema == ELSEWHERE else ELSEWHERE
        with self.connection.transaction():
            # Indexes move with the table. If an older table left an index of the same name in the new schema,
            # rename the index before it moves.
            for (index,) in self.run(
                "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
                " WHERE i.indrelid = ANY (SELECT relid FROM pg_partition_tree(%s::regclass)"
                " UNION SELECT %s::regclass)"
                " AND to_regclass(format('%%I.%%I', %s::text, c.relname)) IS NOT NULL",
                table.place,
                table.place,
                new,
            ):
                self.run(f"ALTER INDEX {table.schema}.{index} RENAME TO {self.name('key')}")
            self.run(f"ALTER TABLE {table.place} SET SCHEMA {new}")
            for name in table.partitions or ():
                self.run(f"ALTER TABLE {table.schema}.{name} SET SCHEMA {new}")
            table.schema = new

    def truncate(self, table: Table) -> None:
        self.run(f"TRUNCATE {table.place}{self.rng.choice(['', ' CASCADE', ' RESTART IDENTITY'])}")

    def rewrite(self, table: Table) -> None:
        self.run(f"VACUUM FULL {table.place}")

    # Triggers and columns that dedup added

    def switch_triggers(self, table: Table) -> None:
        self.run(f"ALTER TABLE {table.place} {self.rng.choice(['DISABLE', 'ENABLE'])} TRIGGER USER")

    def drop_trigger(self, table: Table) -> None:
        there = self.run(
            "SELECT quote_ident(tgname) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
            " AND tgparentid = 0 ORDER BY 1",
            table.place,
        )
        if there:
            with self.connection.transaction():
                # DROP TRIGGER locks partitions before their table, but writers lock the table first.
                self.run(f"LOCK TABLE {table.place} IN ACCESS EXCLUSIVE MODE")
                self.run(f"DROP TRIGGER {self.rng.choice(there)[0]} ON {table.place}")

    def spoil_marks(self, table: Table) -> None:
        there = [column for column in self.columns(table) if column.startswith("dedup_")]
        if not there:
            return
        column = self.rng.choice(there)
        if self.rng.random() < 0.5:
            self.run(f"ALTER TABLE {table.place} DROP COLUMN {column} CASCADE")
        else:
            self.run(f"ALTER TABLE {table.place} RENAME COLUMN {column} TO {self.name('m')}")

    def columns(self, table: Table) -> list[str]:
        found = self.connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped",
            [table.place],
        )
        return [row[0] for row in found.fetchall()]

    # Partitions

    def bounds(self, first: int) -> str:
        return f"FOR VALUES FROM ({first}) TO ({first + WIDTH})"

    def add_partition(self, table: Table) -> None:
        assert table.partitions is not None
        name, self.ranges = self.name(f"{table.name}_p"), self.ranges + WIDTH
        self.run(f"CREATE TABLE {table.schema}.{name} PARTITION OF {table.place} {self.bounds(self.ranges)}")
        table.partitions[name] = self.ranges

    def attach_partition(self, table: Table) -> None:
        assert table.partitions is not None
        name, self.ranges = self.name(f"{table.name}_p"), self.ranges + WIDTH
        place = f"{table.schema}.{name}"
        self.run(f"CREATE TABLE {place} (LIKE {table.place} INCLUDING ALL)")
        self.fill(table, place, self.ranges)
        self.run(f"ALTER TABLE {table.place} ATTACH PARTITION {place} {self.bounds(self.ranges)}")
        table.partitions[name] = self.ranges

    def fill(self, table: Table, place: str, first: int) -> None:
        for key in self.rng.sample(range(first, first + WIDTH), 3):
            self.run(
                f"INSERT INTO {place} ({table.key}, {table.columns['text']}) VALUES (%s, %s)"
                " ON CONFLICT DO NOTHING",
                key,
                self.text(),
            )

    def one(self, table: Table, *, but_the_last: bool = True) -> str | None:
        assert table.partitions is not None
        there = list(table.partitions)
        return self.rng.choice(there) if len(there) > but_the_last else None

    def drop_partition(self, table: Table) -> None:
        name = self.one(table)
        if name and table.partitions:
            with self.connection.transaction():
                self.run(f"DROP TABLE {table.schema}.{name}{self.rng.choice(['', ' CASCADE'])}")
                del table.partitions[name]

    def detach_partition(self, table: Table) -> None:
        name = self.one(table)
        if not (name and table.partitions):
            return
        place = f"{table.schema}.{name}"
        with self.connection.transaction():
            self.run(f"ALTER TABLE {table.place} DETACH PARTITION {place}")
            first = table.partitions.pop(name)
        if self.rng.random() < 0.3:
            self.run(f"TRUNCATE {place}")
        else:
            self.run(
                f"UPDATE {place} SET {table.columns['text']} = %s WHERE {table.key} %% 2 = 0", self.text()
            )
            self.run(f"DELETE FROM {place} WHERE {table.key} %% 7 = 0")
        self.fill(table, place, first)
        if self.rng.random() < 0.7:
            self.run(f"ALTER TABLE {table.place} ATTACH PARTITION {place} {self.bounds(first)}")
            table.partitions[name] = first

    def truncate_partition(self, table: Table) -> None:
        if name := self.one(table, but_the_last=False):
            self.run(f"TRUNCATE {table.schema}.{name}")


class Writing:
    """Writers in threads. They write a fixed number of transactions per change of a table, so that workers
    can keep up.

    Attributes:
        errors: errors raised in the threads.
    """

    def __init__(self, writers: list[Writer]) -> None:
        self.errors: list[BaseException] = []
        self._done = threading.Event()
        self._wanted = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._run, args=[one], daemon=True) for one in writers]

    def __enter__(self) -> Writing:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.more()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)

    def more(self) -> None:
        """Let the threads write `TRANSACTIONS` more transactions."""
        self._wanted.release(TRANSACTIONS)

    def _run(self, writer: Writer) -> None:
        try:
            while self._wanted.acquire() and not self._done.is_set():
                writer.step()
        except BaseException as error:
            self.errors.append(error)


def made(database: Database, owner: Errand) -> None:
    """Make and attach the tables `news` and `wire`; `wire` has partitions."""
    rest = "body text, headline text, day timestamptz, outlet text, lang text, clicks integer"
    owner.run(f"CREATE TABLE {SCHEMA}.news (id bigint PRIMARY KEY, {rest})")
    owner.run(f"CREATE TABLE {SCHEMA}.wire (id bigint PRIMARY KEY, {rest}) PARTITION BY RANGE (id)")
    for name, first in (owner.tables[1].partitions or {}).items():
        owner.run(
            f"CREATE TABLE {SCHEMA}.{name} PARTITION OF {SCHEMA}.wire"
            f" FOR VALUES FROM ({first}) TO ({first + WIDTH})"
        )
    for table in owner.tables:
        deduplicator(database).attachments.attach(
            table.place, keys=["id"], columns=COLUMNS, mark_columns=True
        )


def heal(database: Database, table: Table, there: Callable[[Table], list[str]]) -> None:
    """Do the operator's part after changes of a table: `remap` it, and `sync` it with deletes allowed."""
    door = deduplicator(database).attachments
    (known,) = [item for item in door.list() if item.name == table.name]
    options = table.options(known.columns)
    print(f"remap({table.name!r}, **{options})")
    door.remap(table.name, **options)
    (found,) = [item for item in door.list() if item.name == table.name]
    assert (found.schema, found.table, found.keys) == (table.schema, table.now, (table.key,))
    for name in KINDS:
        if name in table.columns:
            assert found.columns[name] == table.columns[name], name
        elif name in found.columns:  # a different column has the name that was mapped, so `remap` took it
            assert found.columns[name] == known.columns[name]
            assert found.columns[name] in there(table)
            table.columns[name] = found.columns[name]
    table.mapped, table.mapped_key, table.mapped_place = dict(table.columns), table.key, table.place
    table.another, table.lost = False, set()
    door.sync(table.name, allow_deletes=True)


def same_as_fresh(database: Database, tables: list[Table]) -> None:
    """Check that the corpus equals a new corpus of the same tables."""
    found = answer(database)
    with database.transaction() as cursor:
        added = cursor.execute("SELECT source_id, added_at FROM dedup.article").fetchall()
        own = cursor.execute(
            "SELECT source_id, text, published_at FROM dedup.article WHERE attachment_id IS NULL"
        ).fetchall()
    door = deduplicator(database).attachments
    for table in tables:
        door.detach(table.name)
    with database.transaction() as cursor:
        left = cursor.execute(
            "SELECT tgrelid::regclass::text, tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " JOIN pg_proc p ON p.oid = t.tgfoid WHERE p.pronamespace = 'dedup'::regnamespace"
            " AND c.relnamespace <> 'dedup'::regnamespace"
        ).fetchall()
    assert left == [], "detach leaves no trigger"
    empty(database)
    load(database, *(article(row[0], [], None) for row in own))
    with database.transaction() as cursor:
        for name, body, when in own:
            cursor.execute(
                "UPDATE dedup.article SET text = %s, published_at = %s WHERE source_id = %s",
                [body, when, name],
            )
    for table in tables:
        door.attach(table.place, name=table.name, keys=[table.key], columns=table.columns, mark_columns=True)
    sync(database, SilentProgress(), lambda: False)
    with database.transaction(settling=True) as cursor:  # articles without dates are ordered by `added_at`
        cursor.execute("SELECT set_config('dedup.syncing', 'on', true)")
        cursor.executemany(
            "UPDATE dedup.article SET added_at = %s WHERE source_id = %s", [row[::-1] for row in added]
        )
    settle(database)
    assert_equal(answer(database), found)


def torture(server: Server, template: str, seed: int, steps: int, app: str | None) -> str:
    """Run `steps` random changes of tables, as the role `app`. Return a summary of the changes."""
    print(f"seed {seed}, {steps} steps")
    tables = [Table("news"), Table("wire", {"wire_a": 0, "wire_b": WIDTH})]
    with copied(server, template, "dedup_torture") as database:
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {ELSEWHERE}".encode())
            if app:
                connection.execute(
                    sql.SQL("GRANT ALL ON SCHEMA {1}, {2} TO {0}").format(
                        *map(sql.Identifier, (app, SCHEMA, ELSEWHERE))
                    )
                )
        builder = Builder(database.url, f"{seed} builder", tables, app)
        writers = [Writer(database.url, f"{seed} writer {i}", tables, app, remainder=i) for i in range(2)]
        try:
            made(database, builder)
            with (
                working(database.url, poll=0.05) as one,
                working(database.url, poll=0.05) as other,
                Writing(writers) as writing,
            ):
                for step in range(steps):
                    writing.more()
                    builder.step()
                    assert not writing.errors, writing.errors[0]
                    if step % 5 == 4:  # even after drift, articles outside the tables are settled
                        load(database, article(f"own{step}", window(step % 14, 6), step))

                        def over(name: str = f"own{step}") -> bool:
                            return name not in unsettled(database) or one.error is not None

                        wait_until(over)
                    if step % 25 == 24:
                        heal(database, builder.rng.choice(tables), builder.columns)
                    assert one.error is None
                    assert other.error is None
            assert not writing.errors, writing.errors[0]
            for table in tables:
                heal(database, table, builder.columns)
            settle(database)
            for table in tables:
                with connect(database) as reader:
                    assert_followed(
                        database, reader, table.columns, name=table.name, table=table.place, key=table.key
                    )
            same_as_fresh(database, tables)
        finally:
            print("\n".join(builder.said))
            for errand in (builder, *writers):
                errand.connection.close()
    written = sum(len(writer.said) for writer in writers)
    print(", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(builder.done.items())))
    return f"{steps} changes of tables, of {len(builder.done)} kinds, beside {written:,} writes"


@contextmanager
def builder_role(server: Server) -> Iterator[str]:
    """A role that owns the tables, and that is dropped after the database."""
    name = f"dedup_builder_{os.getpid()}"
    role = sql.Identifier(name)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        try:
            yield name
        finally:
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.timeout(120)
def test_an_owner_changes_tables_while_others_write_and_workers_settle(server: Server, template: str) -> None:
    torture(server, template, 1, 25, None)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(2, 8))
def test_any_ddl_of_an_owner_ends_with_the_marks_of_a_fresh_corpus(
    server: Server, template: str, seed: int, told: Told
) -> None:
    with builder_role(server) if seed % 2 == 0 else nullcontext() as role:
        faults = torture(server, template, seed, 300, role)
    told("3", f"seed {seed}, two tables, two workers, two writers", faults)
