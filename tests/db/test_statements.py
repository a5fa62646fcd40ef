"""Statements in files: each is described, used, and accepted by the server."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import psycopg
import pytest

from dedup.db import statements
from dedup.db.database import Database
from dedup.db.statements import Statements
from dedup.store.articles import body_sql, fields_sql, html_sql
from dedup.store.stories import delay, known, representing

FOLDER = Path(str(statements.FOLDER))
FEATURES = sorted(
    file.relative_to(FOLDER).with_suffix("").as_posix()
    for file in FOLDER.rglob("*.sql")
    if "migrations" not in file.parts
)

PARTS = {
    "store/articles": {
        "fields": fields_sql("a"),
        "text": body_sql("a"),
        "html": html_sql("a"),
        "tables": "dedup.article",
    },
    "attach/attachments": {"write": "(SELECT 0::bigint AS written, ARRAY['a'] AS held)"},
    "store/memory_engine": {"place": "1"},
    "store/common_sentences": {"fingerprints": "dedup.fingerprint"},
    "attach/outbox": {
        **{"changed_at": "now()", "kept": "NULL::jsonb", "byline": "NULL::text", "scope": "NULL::text"},
        **dict.fromkeys(
            ("rows", "page"),
            "(SELECT source_id, text_hash, title, url, publication, language, published_at, status,"
            " source_id AS original, score FROM dedup.marked_article)",
        ),
        "given": "ARRAY['a/1']",
    },
    "attach/bases": {"refer": "(SELECT 1) AS done"},
    "attach/copying": {
        "milliseconds": "1000",
        "rows": "(SELECT *, source_id AS original FROM dedup.marked_article)",
        **{
            "text": "r.title",
            "byline": "r.byline",
            "scope": "NULL::text",
            "kept": "NULL::text",
            "changed_at": "NULL::text",
        },
    },
    "db/server_upgrade": {"table": "dedup.article"},
    "store/removal": {"table": "article"},
    "store/fingerprints": {"table": "fingerprint", "html": html_sql("a")},
    "store/key_segments": {"table": "fingerprint"},
    "store/exports": {"conditions": "true", "kept": ", a.kept"},
    "store/stories": {
        **{"known": known("m"), "delay": delay("at", "top.first_at")},
        "representative": representing("top.id", "latest"),
    },
    "store/verdicts": {"fields": "a.id"},
}
"""Parts of statements as the code passes them, or other parts of the same type."""

for of_extra in sorted(Path(__file__).parents[1].glob("extras/*/parts.py")):  # each extra lists its own parts
    PARTS |= import_module(f"tests.extras.{of_extra.parent.name}.parts").PARTS

COMPOSED = ("attach/functions",)
"""Features with statements made from names of a table; the tests of attached tables run them."""

PREPARED = re.compile(r"(--.*\n)*\s*(SELECT|INSERT|UPDATE|DELETE|WITH|MERGE|VALUES)\b")


def users(feature: str) -> str:
    """Return the text of the modules that use the statements of a feature."""
    modules = (file.read_text("utf-8") for file in FOLDER.rglob("*.py"))
    asked = f'Statements("{feature}")'
    return "\n".join(text for text in modules if asked in text)


def numbered(text: str) -> str:
    """Return a statement with numbered parameters, as PREPARE needs them."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)[sb]", text)))
    return re.sub(r"%\((\w+)\)[sb]", lambda m: f"${names.index(m[1]) + 1}", text).replace("%%", "%")


def parts_of(feature: str) -> set[str]:
    return {part for text in statements.read(feature).values() for part in re.findall(r"\$\{(\w+)\}", text)}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("feature", FEATURES)
def test_every_statement_is_described_and_used(feature: str) -> None:
    text = (FOLDER / f"{feature}.sql").read_text("utf-8")
    assert text.startswith("-- ")
    code, parts = users(feature), parts_of(feature)
    for name, statement in statements.read(feature).items():
        assert text.count(f"-- name: {name}\n") == 1
        assert statement.startswith("-- "), f"{feature} {name}: say in a comment what it is for"
        assert f'"{name}"' in code or name in parts, f"{feature} {name} is not used"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("feature", [feature for feature in FEATURES if feature not in COMPOSED])
def test_every_statement_is_understood_by_the_server(database: Database, feature: str) -> None:
    """The server prepares each statement, or executes it without values if it cannot be prepared."""
    ask, parts, wrong = Statements(feature), parts_of(feature), []
    with psycopg.connect(database.url) as connection, connection.transaction(force_rollback=True):
        for name in statements.read(feature):
            if name in parts:
                continue  # a part is no whole statement
            text = ask(name, **PARTS.get(feature, {})).decode()
            try:
                with connection.transaction():
                    if PREPARED.match(text):
                        connection.execute(f'PREPARE "{name}" AS {numbered(text)}'.encode())
                    else:
                        connection.execute(text.encode(), defaultdict(lambda: None))
            except psycopg.Error as error:
                wrong.append(f"{feature} {name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_a_statement_is_a_part_of_others() -> None:
    text = Statements("store/settling")("named")
    assert b"f.sentence_hashes" in text
    assert b"${" not in text


def test_a_missing_part_or_statement_is_an_error() -> None:
    with pytest.raises(KeyError, match="place"):
        Statements("store/memory_engine")("write_marks")
    with pytest.raises(KeyError, match="nothing"):
        Statements("store/memory_engine")("nothing")


IN_PYTHON = {
    "db/connection.py": "parameters of a session",
    "attach/ddl.py": "made from a catalogue",
    "attach/functions.py": "made from a catalogue",
    "attach/mapping.py": "made from a catalogue",
    "attach/survey.py": "made from a catalogue",
    "store/removal.py": "no value can be bound in DDL",
    "db/embedded.py": "no value can be bound in DDL",
    "db/revision.py": "for people to type",
    "store/word_index.py": "no value can be bound in DDL",
    "extras/frames/story_export.py": "SQLite's",
}
"""Modules that may contain statements, with the reason."""

SQL = re.compile(
    r"\s*(SELECT|INSERT INTO|UPDATE [a-z{]|DELETE FROM|WITH \w+ AS|TRUNCATE|ANALYZE"
    r"|(CREATE|ALTER|DROP) [A-Z]+)\b(?! pg_\w+\(| 1$)"
)


@pytest.mark.long("dedup", "migrations")
def test_statements_stand_in_files() -> None:
    """Only the modules of `IN_PYTHON` contain statements.

    `SELECT 1` and calls of Postgres functions for locks and processes do not count.
    """
    package = FOLDER
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    }
    assert found == {name for name in IN_PYTHON if (package / name).exists()}
