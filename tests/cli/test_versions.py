"""`dedup versions`, `dedup quotes` and `dedup sentences`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup.text.normalize import words
from tests.cli.conftest import HARBOUR, Dedup, lines

EDITED = HARBOUR.replace("Port Marlow", "Port Marlowe").replace(
    "The mayor promised", "Rain is expected all week along the coast. The mayor promised"
)


@pytest.fixture
def story(dedup: Dedup, tmp_path: Path) -> Dedup:
    """A corpus with the harbour story in three outlets; one of the outlets edited it."""
    rows = [
        {"id": "first", "text": HARBOUR, "publication": "Wire", "published_at": "2026-03-11T08:00Z"},
        {"id": "copy", "text": HARBOUR, "publication": "Herald", "published_at": "2026-03-11T09:00Z"},
        {"id": "edit", "text": EDITED, "publication": "Post", "published_at": "2026-03-12T08:00Z"},
    ]
    assert dedup("load", str(lines(tmp_path / "three.jsonl", rows))).code == 0
    assert dedup("backfill").code == 0
    return dedup


def test_versions_are_listed_and_then_what_each_altered(story: Dedup) -> None:
    shown = story("versions", "edit").out.splitlines()
    assert shown[0] == "versions of first"
    assert shown[1].split() == [
        "version",
        "id",
        "publication",
        "published",
        "against",
        "added",
        "removed",
        "changed",
    ]
    assert shown[3].split()[-4:] == ["1", "0", "0", "0"]
    assert shown[4].split()[-4:] == ["2", "1", "0", "1"]
    assert shown[6:9] == ["copy against first", "  the same sentences", ""]
    assert shown[9] == "edit against copy"
    assert shown[10] == "  changed"
    assert shown[11].startswith("    - The council of Port [-Marlow-] voted")
    assert shown[12].startswith("    + The council of Port {+Marlowe+} voted")
    assert shown[13:] == ["  added", "    + Rain is expected all week along the coast."]


def test_versions_against_the_original_and_as_json(story: Dedup) -> None:
    found = json.loads(story("versions", "first", "--against", "original", "--json").out)
    assert [one["before"] for one in found["versions"]] == [None, "first", "first"]
    kinds = [one["kind"] for one in found["versions"][2]["alterations"]]
    assert kinds == ["changed", "added"]
    assert story("versions", "nobody").code == 1


@pytest.mark.extra("browse")
def test_quotes_are_counted_and_listed(story: Dedup) -> None:
    assert "next: dedup sentences" in story("quotes").err
    done = story("sentences")
    assert "compared 2 versions: 2 alterations; 2 copies with the original; 5 quotes" in done.err
    shown = story("quotes", "--by", "stories").out.splitlines()
    assert shown[1].split()[:5] == ["outlets", "stories", "articles", "common", "words"]
    assert len(shown) == 7
    assert shown[2].split()[:4] == ["3", "1", "3", "no"]
    (one,) = json.loads(story("quotes", "--limit", "1", "--json").out)
    assert (one["outlets"], one["publication"]) == (3, "Wire")
    report = json.loads(story("sentences", "--outlets", "4", "--json").out)
    assert report == {"compared": 0, "alterations": 0, "copies": 0, "quotes": 0, "stopped": False}


def test_copies_that_can_go_without_the_loss_of_a_word_are_listed(story: Dedup, tmp_path: Path) -> None:
    before = story("removable")
    assert (before.out, before.code) == ("", 0)
    assert "2 copies are not compared: run `dedup sentences`" in before.err
    story("sentences")
    found = story("removable")
    assert found.out == "copy\n"
    assert "1 copy can be removed without the loss of a word" in found.err
    assert "not compared" not in found.err
    (row,) = story("removable", "--json").lines
    assert row == {
        **{"id": "copy", "original": "first", "publication": "Herald", "original_publication": "Wire"},
        **{"words": len(words(HARBOUR)), "times_known": True},
    }
    assert story("removable", "-f", "csv", "-o", "gone.csv").out == ""
    assert (tmp_path / "gone.csv").read_text("utf-8").splitlines()[1].startswith("copy,first,Herald,Wire,")
    assert story("show", "copy").code == 0  # the commands remove no article


def test_a_hostile_id_stays_on_its_line(dedup: Dedup, tmp_path: Path) -> None:
    name = "b\x1b[31m\nfirst"
    rows = [
        {"id": one, "text": HARBOUR, "published_at": f"2026-03-1{n}"} for n, one in enumerate(("a", name))
    ]
    dedup("load", str(lines(tmp_path / "two.jsonl", rows)))
    dedup("backfill")
    dedup("sentences")
    shown = dedup("removable").out
    assert shown.count("\n") == 1
    assert "\x1b" not in shown
    assert dedup("removable", "--json").lines[0]["id"] == name


@pytest.mark.extra("browse")
def test_a_hostile_text_cannot_drive_the_terminal(dedup: Dedup, tmp_path: Path) -> None:
    evil = HARBOUR.replace("the fish stall", "the \x1b[31m[bold]fish[/bold] stall")
    rows = [
        {"id": name, "text": text, "publication": name, "published_at": f"2026-03-1{n}T08:00Z"}
        for n, (name, text) in enumerate({"one": evil, "two": evil, "three": HARBOUR}.items(), 1)
    ]
    assert dedup("load", str(lines(tmp_path / "three.jsonl", rows))).code == 0
    dedup("backfill")
    dedup("sentences", "--outlets", "2")
    for shown in (dedup("versions", "one").out, dedup("quotes").out):
        assert "\x1b" not in shown
        assert "fish" in shown
