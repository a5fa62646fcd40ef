"""`dedup pin`: a person's decision about a pair has effect, is listed, and can be removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dedup.db.database import Database
from tests.cli.conftest import Dedup


@pytest.fixture
def settled(dedup: Dedup, news: Path) -> Dedup:
    """A settled corpus of `first`, its copy, and `other`."""
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    return dedup


def marks(dedup: Dedup) -> dict[str, tuple[Any, ...]]:
    return {m["id"]: (m["status"], m["duplicate_of"], m["reason"]) for m in dedup("marks").lines}


def pin(dedup: Dedup, *arguments: str) -> None:
    said = dedup("pin", "set", *arguments)
    assert said.code == 0
    assert "next: dedup backfill" in said.err
    dedup("backfill", "--workers", "0")
    assert dedup("verify").code == 0


def test_a_pin_overrules_equal_content(settled: Dedup) -> None:
    pin(settled, "first", "copy", "unrelated")
    assert marks(settled)["copy"] == ("unique", None, None)
    assert settled("matches").out == ""
    shown = settled("explain", "first", "copy").out
    assert shown.startswith("unrelated: a person has said so (`dedup pin list` shows who)")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("relation", "expected"),
    [("duplicate", ("duplicate", "first", "pinned")), ("similar", ("similar", None, "pinned"))],
)
def test_a_pin_relates_what_has_nothing_in_common(
    settled: Dedup, relation: str, expected: tuple[Any, ...]
) -> None:
    pin(settled, "other", "first", relation)
    assert marks(settled)["other"] == expected
    (match,) = [m for m in settled("matches").lines if m["a"] == "other"]
    assert (match["relation"], match["rule"], match["score"]) == (relation, "pinned", 0.0)


def test_a_pin_is_listed_with_who_when_and_why(settled: Dedup, database: Database) -> None:
    assert json.loads(settled("pin", "list", "--json").out) == []
    settled("pin", "set", "other", "first", "similar", "--as", "ann", "--why", "the same harbour")
    (listed,) = json.loads(settled("pin", "list", "--json").out)
    assert listed.pop("pinned_at")
    assert listed == {
        "id": "first",
        "other_id": "other",
        "relation": "similar",
        "pinned_by": "ann",
        "reason": "the same harbour",
    }
    shown = settled("pin", "list").out
    assert all(word in shown for word in ("first", "other", "similar", "ann", "the same harbour"))
    settled("pin", "set", "first", "other", "duplicate")
    (listed,) = json.loads(settled("pin", "list", "--json").out)
    with database.transaction() as cursor:
        row = cursor.execute("SELECT current_user").fetchone()
    assert row is not None
    assert (listed["relation"], listed["pinned_by"], listed["reason"]) == ("duplicate", row[0], None)
    assert json.loads(settled("status", "--json").out)["pair_pins"] == 1


@pytest.mark.long("dedup", "migrations")
def test_taking_a_pin_back_restores_the_rules(settled: Dedup) -> None:
    before = settled("marks").out
    pin(settled, "first", "copy", "unrelated")
    assert settled("marks").out != before
    removed = settled("pin", "remove", "copy", "first")
    assert (removed.code, removed.err) == (0, "the rules decide again; next: dedup backfill\n")
    settled("backfill", "--workers", "0")
    assert settled("marks").out == before
    again = settled("pin", "remove", "first", "copy")
    assert (again.code, again.err) == (1, "that pair is not pinned; `dedup pin list` shows the pins\n")


def test_a_pin_waits_for_an_article_that_is_not_there(dedup: Dedup, news: Path) -> None:
    said = dedup("pin", "set", "first", "copy", "unrelated").err
    assert "there is no article first yet: the pin waits for that article" in said
    assert "there is no article copy yet" in said
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    assert marks(dedup)["copy"] == ("unique", None, None)


def test_wrong_usage(settled: Dedup) -> None:
    assert settled("pin", "set", "first", "first", "similar").code == 2
    assert settled("pin", "set", "first", "copy", "alike").code == 2
    assert json.loads(settled("pin", "list", "--json").out) == []
