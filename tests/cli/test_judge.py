"""`dedup judge`, from a corpus to thresholds; nearly all of it without the lab."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from dedup.base.extras import installing
from tests.cli.conftest import Dedup, distance, lines
from tests.test_architecture import LAB, is_within


def take_the_lab_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra were not installed; not even `dedup.lab` can be imported."""
    for name in {*LAB, *(module for module in sys.modules if is_within(module, LAB))}:
        monkeypatch.setitem(sys.modules, name, None)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if is_within(name, LAB) else real(name)
    )


def judge(file: Path) -> Path:
    """Fill in the labels that the distances in the ring call for."""
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
    take_the_lab_away(monkeypatch)  # from here on nothing needs it
    assert dedup("judge", "review", "--as", "ann", "--export", "pairs.jsonl").code == 0
    judged = judge(tmp_path / "pairs.jsonl")
    assert dedup("judge", "review", "--as", "ann", "--import", str(judged)).code == 0

    tuned = json.loads(dedup("judge", "tune", "--json").out)
    assert [t["level"] for t in tuned] == ["duplicate", "similar"]
    assert tuned[0]["judged"] == 60
    assert tuned[0]["f1"]["value"] == 1.0
    assert tuned[0]["worthwhile"] is False  # nothing can be better than 1
    assert tuned[0]["change"] is None
    assert "95 % interval" in dedup("judge", "tune").out

    quality = json.loads(dedup("judge", "score", "--json").out)
    assert quality["judged"] == 60
    # Two neighbours may be in two stories, each with its own canonical article; never a pair further apart.
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
