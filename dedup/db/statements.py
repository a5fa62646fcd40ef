"""Load SQL statements by name from the files beside the modules that use them.

A statement of `FOLDER/FEATURE.sql` begins with a line `-- name: NAME`; its comment follows, then the SQL.
`${part}` stands for another statement of the file, or for SQL that the caller gives, but never for a value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from psycopg import sql

FOLDER = resources.files("dedup")
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"\A(-- .*\n)+")


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one feature, by the path of their file: `Statements("store/articles")`."""

    feature: str

    def __call__(self, name: str, **parts: str) -> bytes:
        """Return a statement with its parts filled in. Raises KeyError: no such statement or part."""
        return _fill(self.feature, name, **parts)

    def composed(self, name: str, /, **parts: object) -> sql.Composed:
        """Return a statement in which psycopg replaces and quotes each `{part}`."""
        return _template(self.feature, name).format(**parts)


@cache
def _template(feature: str, name: str) -> sql.SQL:
    return sql.SQL(_COMMENT.sub("", read(feature)[name], count=1))


@cache
def read(feature: str) -> dict[str, str]:
    """Return the statements of a feature by name, each with its comment."""
    _, *named = _NAME.split((FOLDER / f"{feature}.sql").read_text("utf-8"))
    return {name: text.strip() for name, text in zip(named[::2], named[1::2], strict=True)}


@cache
def _fill(feature: str, name: str, **parts: str) -> bytes:
    statements = read(feature)
    found = Template(statements[name])
    for part in found.get_identifiers():
        if part not in parts and part in statements:
            parts[part] = _fill(feature, part, **parts).decode()
    return found.substitute(parts).encode()


def forget() -> None:
    """Clear the caches, for tests that change the files."""
    read.cache_clear()
    _fill.cache_clear()
    _template.cache_clear()
