"""Helpers that try the recipes of docs/recipes.md, on a fresh database with the tables of a program.

The tables in the tests have the columns, keys, defaults and indexes that the programs publish, as far as they
matter to a recipe. The tests send the statements that the programs send.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from tests.attach.owners import dumped, rows
from tests.conftest import Server
from tests.corpora import code, sentence, settle

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text("utf-8")
RECIPES = {
    name: re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for name, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
"""The three blocks of each recipe, each with its language: start, hide copies, and stop."""

ADDED = "arrived", "reader"
"""Columns that a recipe adds to a table, and drops at the end."""

TABLES = (
    "SELECT format('%I', relname) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
)


@dataclass
class Trial:
    """A trial of a recipe: a person types the recipe word for word, while a program such as Miniflux works.

    Attributes:
        fresh: the schema of the database before the first command.
        attached: the arguments of each typed `dedup attach`.
    """

    recipe: str
    database: Database
    owner: psycopg.Connection[Any]
    fresh: str
    attached: list[list[str]] = field(default_factory=list)

    def dedup(self, *words: str) -> None:
        assert main.run(list(words)) == 0, words

    def settle(self) -> None:
        """Settle once, like a worker."""
        settle(self.database)

    def start(self, user: str = "alice") -> None:
        """Type the commands that start the recipe; they name a user, if each user has separate tables."""
        (_, commands), *_ = RECIPES[self.recipe]
        for line in commands.replace("alice", user).splitlines():
            self._type(line, user)

    def hide(self, user: str = "alice") -> None:
        """Run the SQL that marks copies as read."""
        self.owner.execute(RECIPES[self.recipe][1][1].replace("alice", user).encode())

    def condition(self) -> str:
        """Return the recipe's condition that leaves out copies."""
        shown = RECIPES[self.recipe][1][1]
        if raw := re.search(r'RawSQL\("""(.*)"""', shown, re.DOTALL):
            return f"NOT id IN ({raw[1]})"
        (found,) = re.findall(r"NOT EXISTS \(.*\)(?=\n *SQL)", shown, re.DOTALL)
        return str(found)

    def _type(self, line: str, user: str) -> None:
        match shlex.split(line, comments=True):
            case ["export", address]:
                assert address.startswith(f"{URL_VARIABLE}=postgresql://")
            case ["psql", "$DEDUP_DATABASE_URL", "-c", statement]:
                self.owner.execute(statement.encode())
            case ["psql", "$DEDUP_DATABASE_URL", "-qf", "hide.sql"]:
                self.hide(user)
            case ["dedup", "worker"]:
                self.dedup("worker", "--once")
            case ["dedup", "attach", *words]:
                self.attached.append(words)
                self.dedup("attach", *words)
            case ["dedup", *words]:
                self.dedup(*words)
            case _:
                pytest.fail(f"nobody can type {line}")

    def put(self, query: str, **values: Any) -> Any:
        """Send a statement of the program. Return the first column of its first row; None without a row."""
        found = self.owner.execute(query.encode(), values or None)
        row = found.fetchone() if found.description else None
        return row and row[0]

    def column(self, query: str) -> list[Any]:
        return [row[0] for row in rows(self.owner, query)]

    def marks(self) -> list[list[tuple[Any, ...]]]:
        marked = "SELECT id, status, duplicate_of, score, reason, stale FROM dedup.{}_marks ORDER BY id"
        return [rows(self.owner, marked.format(words[0])) for words in self.attached]

    def assert_as_fresh(self) -> None:
        """Check that every mark equals the mark in a new corpus."""
        kept = self.marks()
        for words in self.attached:
            self.dedup("detach", words[0], "--yes")
        for words in self.attached:
            self.dedup("attach", *words)
        self.settle()
        assert kept == self.marks()
        self.dedup("status", "--check")

    def stop(self, user: str = "alice") -> None:
        """Type the commands that end the recipe. Check that tables and rows are as before the recipe."""
        *_, (_, commands) = RECIPES[self.recipe]
        held = self._held()
        for line in commands.replace("alice", user).splitlines():
            self._type(line, user)
        assert self._held() == held
        assert dumped(self.database, None) == self.fresh

    def _held(self) -> dict[str, list[str]]:
        without = "".join(f" - '{name}'" for name in ADDED)
        row = f"SELECT (to_jsonb(t){without})::text FROM {{}} t ORDER BY 1"
        return {name: self.column(row.format(name)) for name in self.column(TABLES)}


Begin = Callable[[str, str], Trial]


@pytest.fixture
def begin(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Return a function that begins the trial of a recipe, in a new database with the program's tables.

    As the programs' manuals advise, the program's role owns the database and has no other right.
    """
    pytest.importorskip("trafilatura")
    role = f"dedup_recipe_{os.getpid()}"  # `server.create` gives the database the same name
    name = sql.Identifier(role)
    with ExitStack() as stack:

        def made(recipe: str, tables: str) -> Trial:
            admin = stack.enter_context(psycopg.connect(server.url, autocommit=True))
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
            stack.callback(admin.execute, sql.SQL("DROP ROLE {}").format(name))
            url = server.create("dedup_recipe")
            stack.callback(server.drop, "dedup_recipe")
            admin.execute(sql.SQL("ALTER DATABASE {0} OWNER TO {0}").format(name))
            url = make_conninfo(url, user=role, password="")
            monkeypatch.setenv(URL_VARIABLE, url)
            owner = stack.enter_context(psycopg.connect(url, autocommit=True))
            owner.execute(tables.encode())
            database = Database(url)
            stack.callback(database.close)
            return Trial(recipe, database, owner, dumped(database, None))

        yield made


def page(story: int, look: str = "feed") -> str:
    """Return a story as a feed has it, or as a web site does: with other markup and one more sentence."""
    parts = [sentence(code(100 * story + i)) for i in range(6)]
    if look == "feed":
        return "".join(f"<p>{part}</p>\n" for part in parts)
    parts.append(sentence(code(100 * story + 50)))
    return '<figure><img src="a.jpg" alt=""/></figure>' + "".join(f"<div>{part}</div>" for part in parts)
