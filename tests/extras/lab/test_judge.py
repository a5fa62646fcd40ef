"""`dedup judge`, from a corpus to new thresholds; nearly all of it works without the extra `lab`."""

from __future__ import annotations

import importlib.util
import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dedup.base.extras import installing
from dedup.extras.lab import picking
from dedup.extras.lab.commands import pairs as judge_commands
from dedup.extras.lab.evaluation.compare import compare
from dedup.extras.lab.evaluation.results import MethodResult
from tests.cli.conftest import Dedup, distance, lines
from tests.test_architecture import LAB, is_within


def take_the_lab_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the extra `lab` look uninstalled; even `dedup.extras.lab` cannot be imported."""
    for name in {*LAB, *(module for module in sys.modules if is_within(module, LAB))}:
        monkeypatch.setitem(sys.modules, name, None)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if is_within(name, LAB) else real(name)
    )


def judge(file: Path) -> Path:
    """Fill in labels by the distances of the articles in their ring."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        apart = distance(row["a"]["id"], row["b"]["id"])
        near = apart is not None and apart <= 1
        row["label"] = "duplicate" if near else "similar" if apart in (2, 3) else "different"
    return lines(file, rows)


@pytest.mark.long("dedup", "migrations")
def test_from_pairs_to_thresholds(
    dedup: Dedup, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dedup("load", str(ring)).code == 0
    assert dedup("backfill", "--workers", "0").code == 0
    assert "no pair is judged yet" in dedup("judge", "score").err
    assert "0 pairs are judged" in dedup("judge", "tune").err

    picked = json.loads(
        dedup("judge", "pairs", "--size", "60", "--methods", "sentences:most=100", "--json").out
    )
    assert sum(row["picked"] for row in picked) == 60
    take_the_lab_away(monkeypatch)  # no later command needs the lab
    assert dedup("judge", "review", "--as", "ann", "--export", "pairs.jsonl").code == 0
    judged = judge(tmp_path / "pairs.jsonl")
    assert dedup("judge", "review", "--as", "ann", "--import", str(judged)).code == 0

    tuned = json.loads(dedup("judge", "tune", "--json").out)
    assert [t["level"] for t in tuned] == ["duplicate", "similar"]
    assert tuned[0]["judged"] == 60
    assert tuned[0]["f1"]["value"] == 1.0
    assert tuned[0]["worthwhile"] is False  # an F1 of 1 cannot grow
    assert tuned[0]["change"] is None
    assert "95 % interval" in dedup("judge", "tune").out

    quality = json.loads(dedup("judge", "score", "--json").out)
    assert quality["judged"] == 60
    # Two neighbours may be in two stories with different originals, so the recall may be below 1.
    assert 0 < quality["recall"]["value"] <= 1


def test_without_the_extra_picking_names_it(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    take_the_lab_away(monkeypatch)
    result = dedup("judge", "pairs")
    assert result.code == 2
    assert "picking pairs needs scipy" in result.err
    assert installing("lab") in result.err


def test_score_against_a_truth(
    dedup: Dedup, news: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_the_lab_away(monkeypatch)
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    truth = lines(tmp_path / "t.jsonl", [{"cluster": "harbour", "ids": ["first", "copy", "gone"]}])
    result = dedup("judge", "score", "--truth", str(truth), "--json")
    found = json.loads(result.out)
    assert (found["right"], found["wrong"], found["missed"], found["pairs, F1"]) == (1, 0, 0, 1.0)
    assert "2 pairs" in result.err
    assert "B-cubed F1" in dedup("judge", "score", "--truth", str(truth)).out


def test_a_truth_that_names_few_pairs_is_said_to(dedup: Dedup, news: Path, tmp_path: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    other = {"a": "first", "b": "other", "label": "duplicate"}
    truth = lines(tmp_path / "t.jsonl", [other])
    shown = dedup("judge", "score", "--truth", str(truth), "--json")
    assert f"counted as wrong: 1 found pair that {truth} does not name; of the 0" in shown.err
    found = json.loads(shown.out)
    assert (found["right"], found["wrong"], found["unnamed"], found["unclear"]) == (0, 1, 1, 0)
    lines(truth, [other, {"a": "first", "b": "copy", "label": "similar"}])
    shown = dedup("judge", "score", "--truth", str(truth), "--json")
    assert f"not counted: 1 found pair that {truth} calls unclear" in shown.err
    assert "does not name" not in shown.err
    found = json.loads(shown.out)
    assert (found["right"], found["wrong"], found["unnamed"], found["unclear"]) == (0, 0, 0, 1)


@pytest.mark.long("dedup", "migrations")
def test_picking_names_what_it_compares_and_what_it_leaves_out(
    dedup: Dedup, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dedup("load", str(ring))
    dedup("backfill", "--workers", "0")
    monkeypatch.setattr(judge_commands, "LARGE", 39)
    monkeypatch.setattr(judge_commands, "OTHERS", "content-hash,tfidf")
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(judge_commands, "progress_bar", lambda unit: nullcontext(JudgeProgress(told)))
    found = dedup("judge", "pairs")
    assert found.code == 0
    assert "which looks at every pair: to include it, add --methods content-hash,tfidf" in found.err
    assert "comparing 40 articles by dedup, content-hash\n" in found.err
    assert told == [("comparing", 2), ("", 1), ("", 1)]
    monkeypatch.setattr(picking, "compare", at_once)
    found = dedup("judge", "pairs", "--methods", "tfidf", "--limit", "7")
    assert "comparing 40 articles by dedup, tfidf\n" in found.err
    assert "left out tfidf, too slow: not done within 0 seconds" in found.err
    assert found.code == 0


def at_once(*given: Any, limit_seconds: float, **others: Any) -> list[MethodResult]:
    """Run a comparison with a time limit of zero for each method."""
    assert limit_seconds == 7
    return compare(*given, limit_seconds=0, **others)


@dataclass
class JudgeProgress:
    """A progress that records its calls."""

    told: list[tuple[str, int]]

    def start(self, stage: str, total: int | None) -> None:
        self.told.append((stage, total or 0))

    def advance(self, count: int, total: int | None = None) -> None:
        self.told.append(("", count))
