"""Statements too long to stand in the code: each is a described file in `sql/`, loaded by its name."""

from __future__ import annotations

from functools import cache
from importlib import resources
from string import Template

FOLDER = resources.files("dedup.corpus") / "sql"


@cache
def statement(name: str, **parts: str) -> bytes:
    """The statement of `sql/NAME.sql`; values are bound when it is executed. `parts`: constants of this
    package that take the place of `${part}` in it.
    """
    text = (FOLDER / f"{name}.sql").read_text("utf-8")
    return Template(text).substitute(parts).encode()
