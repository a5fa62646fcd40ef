"""Statements in files: each is described, used, and complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedup.corpus import statements

FOLDER = Path(str(statements.FOLDER))
NAMES = sorted(file.stem for file in FOLDER.glob("*.sql"))
CODE = "\n".join(file.read_text("utf-8") for file in FOLDER.parent.rglob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_says_what_it_is_for_and_is_used(name: str) -> None:
    text = (FOLDER / f"{name}.sql").read_text("utf-8")
    assert text.startswith("-- ")
    assert f'"{name}"' in CODE


def test_parts_take_their_places() -> None:
    text = statements.statement("named", row="a.id, a.source_id")
    assert b"SELECT a.id, a.source_id\n" in text
    assert b"${" not in text


def test_a_missing_part_is_an_error() -> None:
    with pytest.raises(KeyError, match="row"):
        statements.statement("named")
