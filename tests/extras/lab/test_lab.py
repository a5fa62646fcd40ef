"""Commands of the lab, from a file to a report."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from rich.console import Console

from dedup.base.extras import installing
from dedup.cli import output
from dedup.extras.lab.methods import METHODS
from tests.cli.conftest import Dedup, distance, lines


@pytest.mark.long("dedup", "migrations")
def test_methods_are_listed_and_explained(dedup: Dedup) -> None:
    listed = dedup("lab", "methods")
    assert listed.code == 0
    rows = json.loads(dedup("lab", "methods", "--json").out)
    assert [row["row"] for row in rows] == [method.row for method in METHODS.values()]
    for row in rows:
        assert row["name"] in listed.out
        assert all(row[key] for key in ("about", "source", "finds", "parameters"))
        one = dedup("lab", "methods", row["row"])
        assert one.code == 0
        assert row["name"] in one.out
    assert dedup("lab", "methods", "99").code == 2


def test_one_line_for_each_method(dedup: Dedup) -> None:
    shown = [line for line in dedup("lab", "methods").out.splitlines() if line.strip()]
    assert len(shown) == 1 + len(METHODS)


@pytest.mark.long("dedup", "migrations")
def test_compare_with_truth_prints_a_table_and_writes_a_report(
    dedup: Dedup, ring: Path, tmp_path: Path
) -> None:
    names = [f"r{i:02}" for i in range(40)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if distance(a, b) in (0, 1)]
    truth = lines(tmp_path / "truth.jsonl", [{"a": a, "b": b, "label": "duplicate"} for a, b in pairs])
    chosen = ("--truth", str(truth), "--methods", "dedup,content-hash,minhash:bands=16")
    result = dedup("lab", "compare", str(ring), *chosen)
    assert result.code == 0
    assert "ring.jsonl: 40 articles" in result.out
    assert "minhash:bands=16" in result.out
    assert "wrote ring.jsonl.lab/report.html" in result.err
    page = (tmp_path / "ring.jsonl.lab" / "report.html").read_text(encoding="utf-8")
    assert "minhash:bands=16" in page
    found = json.loads(dedup("lab", "compare", str(ring), *chosen, "--json").out)
    assert found["duplicates"] == len(pairs)
    own, content, _ = found["methods"]
    assert (own["method"], own["own"]["recall"]) == ("dedup", 1.0)
    assert own["own"]["precision"] > 0.95  # signatures may relate a few pairs that the truth lacks
    assert content["own"]["precision"] == 1.0
    assert content["own"]["recall"] < 0.5


@pytest.mark.long("dedup", "migrations")
def test_the_table_fits_a_narrow_terminal(
    dedup: Dedup, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "console", lambda **_: Console(width=80, highlight=False))
    truth = lines(tmp_path / "truth.jsonl", [{"a": "r00", "b": "r14", "label": "duplicate"}])
    shown = dedup("lab", "compare", str(ring), "--truth", str(truth), "--methods", "9,10").out.splitlines()
    assert [line.split()[:2] for line in shown[2:]] == [["9", "content-hash"], ["10", "text-profile"]]
    assert "tuned" in shown[1]
    assert max(len(line.rstrip()) for line in shown) <= 80


@pytest.mark.long("dedup", "migrations")
def test_unclear_pairs_of_a_truth_are_counted_and_have_their_own_column(
    dedup: Dedup, ring: Path, tmp_path: Path
) -> None:
    pairs = [{"a": "r00", "b": "r01", "label": "duplicate"}, {"a": "r01", "b": "r02", "label": "similar"}]
    chosen = ("--truth", str(lines(tmp_path / "truth.jsonl", pairs)), "--methods", "dedup")
    shown = dedup("lab", "compare", str(ring), *chosen)
    assert "unclear in the truth: 1 pair; if a method finds such a pair, only the column strict" in shown.err
    assert shown.out.splitlines()[1].split()[:3] == ["method", "F1", "strict"]
    (method,) = json.loads(dedup("lab", "compare", str(ring), *chosen, "--json").out)["methods"]
    assert method["own"]["unclear"] == 1
    assert method["strict"]["wrong"] == method["own"]["wrong"] + 1


@pytest.mark.long("dedup", "migrations")
def test_compare_without_truth(dedup: Dedup, ring: Path) -> None:
    result = dedup("lab", "compare", str(ring), "--methods", "9", "--out", "elsewhere")
    assert result.code == 0
    assert "no truth" in result.out
    assert Path("elsewhere/report.html").exists()


@pytest.mark.long("dedup", "migrations")
def test_a_failing_method_does_not_fail_the_comparison(dedup: Dedup, ring: Path) -> None:
    result = dedup("lab", "compare", str(ring), "--methods", "dedup:threshold=0.1,9")
    assert result.code == 0
    assert "failed: similar_signature_jaccard must be above 0" in result.err
    assert "content-hash" in result.out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--methods", "magic"), "magic: no such method"),
        (("--methods", "minhash:colour=red"), "no parameter colour"),
        (("--truth", "none.jsonl"), "no such file"),
    ],
)
def test_wrong_usage_of_compare(dedup: Dedup, ring: Path, arguments: tuple[str, ...], why: str) -> None:
    result = dedup("lab", "compare", str(ring), *arguments)
    assert result.code == 2
    assert why in result.err


def test_without_the_extra_the_lab_names_it(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "scipy" else real(name))
    result = dedup("lab", "methods")
    assert result.code == 2
    assert installing("lab") in result.err


def test_generate_lists_and_refuses(dedup: Dedup) -> None:
    assert "wire-300" in dedup("lab", "generate", "--list").out
    refused = dedup("lab", "generate", "wire-3")
    assert refused.code == 2
    assert "the cases are" in refused.err


@pytest.mark.long("dedup", "migrations")
def test_what_is_generated_can_be_compared(dedup: Dedup, tmp_path: Path) -> None:
    assert dedup("lab", "generate", "digest", "--out", "cases").code == 0
    case = ("cases/digest.jsonl.gz", "--truth", "cases/digest.truth.jsonl.gz")
    result = dedup("lab", "compare", *case, "--methods", "9")
    assert result.code == 0
    assert (tmp_path / "digest.jsonl.gz.lab" / "report.html").exists()
