"""`dedup prune`: its messages, and the articles that it leaves in the window."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from tests.cli.conftest import HARBOUR, Dedup, lines


@pytest.fixture
def spanning_file(tmp_path: Path) -> Path:
    """A file with a report that was printed three times, a year apart."""
    days = ("2024-03-11T08:00Z", "2025-03-11T08:00Z", "2026-03-11T08:00Z")
    rows = [{"id": str(n), "text": HARBOUR, "published_at": day} for n, day in enumerate(days)]
    return lines(tmp_path / "years.jsonl", rows)


@pytest.fixture
def spanning(dedup: Dedup, spanning_file: Path) -> Dedup:
    """A settled corpus of the articles in `spanning_file`."""
    dedup("load", str(spanning_file))
    dedup("backfill", "--workers", "0")
    return dedup


def test_a_dry_run_counts_and_changes_nothing(spanning: Dedup) -> None:
    said = spanning("prune", "--older-than", "400d", "--dry-run")
    assert said.code == 0
    assert (
        "horizon 2025-02-04 UTC: would archive 1 article (already archived: 0), and settle 2 copies"
        in said.err
    )
    found = json.loads(spanning("prune", "--older-than", "400d", "--dry-run", "--json").out)
    assert (found["articles"], found["settled_again"], found["present"]) == (1, 2, None)
    assert [mark["duplicate_of"] for mark in spanning("marks").lines] == [None, "0", "0"]
    assert "horizon" not in spanning("status").err


@pytest.mark.long("dedup", "migrations")
def test_what_is_pruned_keeps_its_mark_and_the_rest_is_settled_again(spanning: Dedup) -> None:
    said = spanning("prune", "--older-than", "400d", "--yes")
    assert (said.code, said.out) == (0, "")
    assert "horizon 2025-02-04 UTC: archived 1 article; wrote 2 marks" in said.err
    assert [(m["status"], m["duplicate_of"]) for m in spanning("marks").lines] == [
        ("unique", None),
        ("unique", None),
        ("duplicate", "1"),
    ]
    status = spanning("status")
    assert "2025-02-04 UTC" in status.out + status.err
    assert json.loads(spanning("status", "--json").out)["archived"] == 1
    assert "not compared: 0 is archived" in spanning("explain", "0", "1").out
    checked = spanning("verify")
    assert checked.code == 0
    assert "not checked: the marks of 1 archived article," in checked.err


def test_a_day_may_be_given_and_the_horizon_never_goes_back(spanning: Dedup) -> None:
    found = json.loads(spanning("prune", "--older-than", "2025-06-01", "--yes", "--json").out)
    assert (found["horizon"], found["archived"]) == ("2025-06-01T00:00:00+00:00", 2)
    for given in ("2025-06-01", "5y", "2024-01-01"):
        again = spanning("prune", "--older-than", given)
        assert again.code == 2
        assert "the horizon is at 2025-06-01 already" in again.err
    wrong = spanning("prune", "--older-than", "yesterday")
    assert wrong.code == 2
    assert "is no horizon: write a number of days, weeks or years such as 90d" in wrong.err


def test_to_prune_articles_needs_a_yes_and_says_how_many_go(spanning: Dedup) -> None:
    refused = spanning("prune", "--older-than", "400d")
    assert refused.code == 2
    assert "1 of 3 articles will be archived, and never compared again; this cannot be undone" in refused.err
    spanning("backfill", "--workers", "0")
    assert json.loads(spanning("status", "--json").out)["archived"] == 0
    assert spanning("prune", "--older-than", "4y").code == 0  # nothing is archived, so no --yes is needed


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("settled", [True, False])
def test_a_window_that_archives_articles_needs_a_yes_and_says_how_many_go(
    dedup: Dedup, spanning_file: Path, settled: bool
) -> None:
    dedup("load", str(spanning_file))
    if settled:
        dedup("backfill", "--workers", "0")
    refused = dedup("settings", "set", "keep_window=400d")
    assert refused.code == 2
    assert (
        "the next backfill archives 1 of 3 articles, which are never compared again; this cannot"
        in refused.err
    )
    assert json.loads(dedup("settings", "--json").out)["keep_window"] == ""
    assert dedup("settings", "set", "keep_window=9y").code == 0
    assert dedup("settings", "set", "keep_window=400d", "--yes").code == 0
    assert "; archived 1 article\n" in dedup("backfill", "--workers", "0").err
    assert dedup("settings", "set", "keep_window=400d").code == 0  # would archive no further article
    assert "archives 1 of 3 articles" in dedup("settings", "set", "keep_window=30d").err


def test_a_program_that_sets_a_window_says_that_it_means_it(spanning: Dedup, corpus_url: str) -> None:
    with Deduplicator(corpus_url) as dd:
        with pytest.raises(InputError, match=r"archives 2 of 3 articles, .* pass for_good=True"):
            dd.settings.change({"keep_window": "30d"})
        assert dd.settings.wanted().keep_window == ""
        assert dd.settings.losses({"keep_window": "30d"}).archived == 2
        assert not dd.settings.losses({"keep_window": None, "bands": 16})
        dd.settings.change({"keep_window": "30d"}, for_good=True)
        assert dd.backfill(workers=0).archived == 2


def test_a_hash_key_that_takes_another_ones_place_needs_a_yes(spanning: Dedup) -> None:
    assert spanning("settings", "set", "hash_key=random").code == 0
    refused = spanning("settings", "set", "hash_key=random")
    assert refused.code == 2
    assert (
        "the present hash key is replaced, and is stored nowhere else; this cannot be undone" in refused.err
    )
    assert spanning("settings", "reset", "hash_key").code == 2
    assert spanning("settings", "set", "hash_key=random", "--yes").code == 0


def test_a_standing_window_is_in_force_at_once_and_each_backfill_keeps_it(spanning: Dedup) -> None:
    assert spanning("settings", "set", "keep_window=400d", "--yes").code == 0
    assert json.loads(spanning("settings", "--json").out)["keep_window"] == "400d"
    spanning("backfill", "--workers", "0")
    assert json.loads(spanning("status", "--json").out)["archived"] == 1
    assert spanning("settings", "reset", "keep_window").code == 0
    assert json.loads(spanning("settings", "--json").out)["keep_window"] == ""
    assert spanning("settings", "set", "keep_window=soon").code == 2


def test_nothing_can_be_pruned_before_anything_is_settled(dedup: Dedup) -> None:
    said = dedup("prune", "--older-than", "2y")
    assert said.code == 2
    assert "run `dedup backfill` first" in said.err
