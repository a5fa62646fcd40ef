"""`dedup explain` prints the verdict first, and marks words that differ, with and without a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from dedup.cli import output
from tests.cli.conftest import HARBOUR, Dedup, lines

EDITED = HARBOUR.replace("Port Marlow", "Port Marlowe").replace(
    "The mayor promised", "Rain is expected all week along the coast. The mayor promised"
)


@pytest.fixture
def edited(dedup: Dedup, tmp_path: Path) -> Dedup:
    """A corpus with the harbour story and an edit that spells a name differently and adds a sentence."""
    rows = [
        {"id": "first", "text": HARBOUR, "published_at": "2026-03-11T08:00Z"},
        {"id": "edit", "text": EDITED, "published_at": "2026-03-12T08:00Z"},
    ]
    assert dedup("load", str(lines(tmp_path / "two.jsonl", rows))).code == 0
    return dedup


def test_the_verdict_comes_first_then_articles_scores_and_sentences(edited: Dedup) -> None:
    shown = edited("explain", "edit", "first").out
    verdict = r"duplicate by signature: signature Jaccard 0\.\d{3} is at least 0\.6, in a shared bucket"
    assert re.fullmatch(verdict, shown.splitlines()[0])
    parts = ["publication", "sentence Jaccard 0.625 ·", "shared sentences (5)", "only in one article (1 in"]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)


def test_without_a_terminal_words_that_differ_stand_between_marks(edited: Dedup) -> None:
    shown = edited("explain", "first", "edit").out.splitlines()
    at = shown.index("only in one article (1 in the earlier, 2 in the later)")
    rest = "voted on Tuesday to close the harbour road for six weeks."
    assert shown[at + 1 : at + 5] == [
        f"  - The council of Port [-Marlow-] {rest}",
        f"  + The council of Port {{+Marlowe+}} {rest}",
        "",
        "  + {+Rain is expected all week along the coast.+}",
    ]


@pytest.mark.parametrize("width", [60, 120])
def test_in_a_terminal_they_have_a_style(edited: Dedup, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(
        output, "console", lambda **_: Console(width=width, force_terminal=True, highlight=False, _environ={})
    )
    shown = edited("explain", "first", "edit").out
    styled = re.findall(r"\x1b\[1;4;33m(.*?)\x1b\[0m", shown)
    assert styled[:2] == ["Marlow", "Marlowe"]
    assert "[-" not in shown
    # A wide terminal shows two columns: equal sentences begin on the same line.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert (re.search(r"The council of Port .*The council of Port ", plain) is not None) is (width == 120)


def test_of_a_misread_text_letters_that_differ_stand_between_marks(dedup: Dedup, tmp_path: Path) -> None:
    misread = HARBOUR.replace("harbour", "harbonr").replace(". The", ", Tne").replace("voted on", "votedon")
    rows = [
        {"id": "read", "text": HARBOUR, "published_at": "1887-03-11"},
        {"id": "misread", "text": misread, "published_at": "1887-03-12"},
    ]
    assert dedup("settings", "set", "damaged_print=on").code == 0
    assert dedup("load", str(lines(tmp_path / "two.jsonl", rows))).code == 0
    assert dedup("backfill").code == 0
    shown = dedup("explain", "read", "misread").out.splitlines()
    assert shown[0].startswith("duplicate by ")
    assert [line.split()[:3] for line in shown[1:3]] == [
        ["letters:", "each", "text"],
        ["letters:", "the", "shorter"],
    ]
    at = shown.index(
        "  - The council of Port Marlow voted on Tuesday to close the harbo[-u-]r road for six weeks. "
    )
    assert "harbo{+n+}r" in shown[at + 1]
    assert any(line.startswith("passages with letters that differ (") for line in shown[:at])
    found = json.loads(dedup("explain", "read", "misread", "--json").out)
    assert len(found["letters"]) == 6
    assert {len(s["text"]) for s in found["differing"][0]["later"] if s["kind"] != "same"} == {1}


def test_json_has_the_marked_sentences(edited: Dedup) -> None:
    found = json.loads(edited("explain", "first", "edit", "--json").out)
    name, rain = found["differing"]
    assert [s["text"] for s in name["earlier"] if s["kind"] == "changed"] == ["Marlow "]
    assert [s["text"] for s in name["later"] if s["kind"] != "same"] == ["Marlowe "]
    assert "".join(s["text"] for s in name["later"]).startswith("The council of Port Marlowe voted")
    assert rain["earlier"] is None
    assert [s["kind"] for s in rain["later"]] == ["added"]


def test_a_hostile_text_cannot_drive_the_terminal(dedup: Dedup, tmp_path: Path) -> None:
    rows = [
        {"id": "first", "text": HARBOUR},
        {"id": "evil", "text": HARBOUR.replace("the fish stall", "the \x1b[31m[bold]fish[/bold] stall")},
    ]
    assert dedup("load", str(lines(tmp_path / "two.jsonl", rows))).code == 0
    shown = dedup("explain", "first", "evil").out
    assert "\x1b" not in shown
    assert "[bold]fish[/bold]" in shown


def test_why_a_pair_above_a_threshold_is_no_duplicate(edited: Dedup) -> None:
    edited("backfill")
    assert "why not" not in edited("explain", "first", "edit").out
    edited("pin", "set", "first", "edit", "similar", "--as", "ed")
    shown = edited("explain", "first", "edit").out.splitlines()
    assert shown[1].startswith("why not: a person has pinned the two as only similar")
    found = json.loads(edited("explain", "first", "edit", "--json").out)
    assert [f"why not: {reason}" for reason in found["why_not"]] == [shown[1]]
