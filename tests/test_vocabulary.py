"""Vocabulary: identifiers use the words of the glossary in docs/semantics.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "dedup").rglob("*.py"))

GONE = {
    "door": "api",
    "newcomer": "fast_path",
    "newcomers": "fast_path",
    "likest": "best_match",
    "arrival": "deferred",
    "arrivals": "deferred",
    "manieth": "nth",
    "anew": "again",
    "follow": "sync",
    "followed": "synced",
    "bulk": "memory",
}
"""Words that identifiers must not contain any more -> words to use."""

AT_HOME = {
    "cluster": ("cluster", "spark", "exchange", "deduplicator", "cli/main", "lab", "api"),
    "operation": ("__init__", "operation.py", "serve/openapi", "api/", "cli/operate", "cli/write", "errors"),
    "judgement": (
        *("judg", "lab", "browse", "pages", "cli", "deduplicator", "store", "api", "explain"),
        "db/tables",
    ),
}
"""Words with one meaning, and the modules that may use them."""


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.keyword(arg=str(name)):
                yield name, node.lineno


def words(identifier: str) -> set[str]:
    """Return the words of a name in snake_case or CamelCase."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)}


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [("best_match", {"best", "match"}), ("BestMatch", {"best", "match"}), ("_HTTPDoor", {"http", "door"})],
)
def test_names_are_taken_apart(identifier: str, expected: set[str]) -> None:
    assert words(identifier) == expected


def test_identifiers_use_the_words_of_the_glossary() -> None:
    wrong = []
    for file in FILES:
        where = file.relative_to(ROOT / "dedup").as_posix()
        named = [(part, 0) for part in where.removesuffix(".py").split("/")]
        for identifier, line in [*named, *identifiers(ast.parse(file.read_text("utf-8")))]:
            for word in words(identifier) & (GONE.keys() | AT_HOME.keys()):
                if word in GONE:
                    wrong.append(f"dedup/{where}:{line}: {identifier}: say {GONE[word]}")
                elif not any(home in where for home in AT_HOME[word]):
                    wrong.append(f"dedup/{where}:{line}: {identifier}: {word} means something else")
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_words_with_one_meaning_are_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "semantics.md").read_text("utf-8").partition("## 0.")[0].lower()
    assert [word for word in AT_HOME if f"*{word}*" not in glossary] == []
