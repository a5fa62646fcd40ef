"""`compare` keeps and resumes results, and a failing method stops no other method."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from dedup.base.errors import InputError
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.evaluation import results
from dedup.extras.lab.evaluation.compare import Source, compare, measure
from dedup.extras.lab.evaluation.results import MethodResult
from dedup.extras.lab.methods import METHODS, label, make, parse
from tests import corpora
from tests.extras.lab.strange_methods import Strange, make_strange

TEXTS = [corpora.text(corpora.window(start, 6)) for start in (0, 0, 1, 7)]


@pytest.fixture
def news(tmp_path: Path) -> Source:
    path = tmp_path / "news.jsonl"
    rows = [{"id": f"a{i}", "text": text} for i, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Source(path)


def strange(*deeds: str) -> list[Strange]:
    return [Strange(does=deed) for deed in deeds]


@pytest.mark.long("dedup", "migrations")
def test_methods_that_fail_are_reported_and_stop_nobody(news: Source, tmp_path: Path) -> None:
    methods = strange("dies", "raises", "refuses", "eats", "works")
    found = compare(
        news, methods, tmp_path / "out", factory=make_strange, limit_seconds=120, memory_bytes=10**9
    )
    assert [(r.outcome, r.reason) for r in found[:3]] == [
        ("failed", "its process ended with code 9"),
        ("failed", "unexpected RuntimeError"),  # the reason must not quote the article
        ("failed", "this corpus is not for me"),
    ]
    assert (found[3].outcome, found[3].reason) == ("failed", "it needs more than 1.0 GB of memory")
    assert found[4].done
    assert found[4].pairs.tolist() == [[0, 1]]
    assert found[4].groups.tolist() == [0, 0, 1, 2]


@pytest.mark.long("dedup", "migrations")
def test_a_method_that_is_too_slow_is_given_up(news: Source, tmp_path: Path) -> None:
    found = compare(news, strange("hangs"), tmp_path / "out", factory=make_strange, limit_seconds=2)
    assert [(r.outcome, r.reason) for r in found] == [("too slow", "not done within 2 seconds")]


@pytest.mark.torture
def test_a_method_ends_with_the_program_that_started_it(news: Source, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from tests.extras.lab.strange_methods import Strange, make_strange;"
        "from dedup.extras.lab.evaluation.compare import Source, compare;"
        "compare(Source(Path(sys.argv[1])), [Strange(does='hangs')], Path(sys.argv[2]), factory=make_strange)"
    )
    parent = psutil.Popen([sys.executable, "-c", code, str(news.path), str(tmp_path / "out")])
    try:
        while not (workers := [p for p in parent.children() if "spawn_main" in " ".join(p.cmdline())]):
            assert parent.poll() is None
            time.sleep(0.05)  # wait until the program has started the worker
    finally:
        parent.kill()
        parent.wait(30)
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert gone
    assert not alive


@pytest.mark.torture
def test_what_is_kept_is_not_run_again(news: Source, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended: list[MethodResult] = []
    first = compare(news, strange("works", "dies"), out, factory=make_strange, ended=ended.append)
    # The factory cannot make this method, so the comparison would fail if it ran the method again.
    again = compare(news, strange("works"), out, factory=make, ended=ended.append)
    assert sorted(r.outcome for r in ended) == ["done", "done", "failed"]
    assert again[0].done
    assert again[0].seconds == first[0].seconds
    assert again[0].pairs.tolist() == first[0].pairs.tolist()
    failed = compare(news, strange("dies"), out, factory=make_strange)
    assert not failed[0].done


@pytest.mark.long("dedup", "migrations")
def test_an_interrupted_comparison_leaves_nobody_at_work_and_goes_on(news: Source, tmp_path: Path) -> None:
    def interrupt(_result: MethodResult) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        compare(news, strange("works", "hangs"), out, factory=make_strange, jobs=2, ended=interrupt)
    assert multiprocessing.active_children() == []
    # The factory cannot make this method, so the result must come from the first comparison.
    assert compare(news, strange("works"), out, factory=make)[0].done


@pytest.mark.torture
def test_another_file_is_another_comparison(news: Source, tmp_path: Path) -> None:
    out = tmp_path / "out"
    compare(news, strange("works"), out, factory=make_strange)
    news.path.write_text(news.path.read_text() + '{"id": "more", "text": "Something else."}\n')
    assert compare(news, strange("works"), out, factory=make)[0].outcome == "failed"
    assert compare(news, strange("works"), out, factory=make_strange)[0].documents == 5


def test_a_result_that_broke_off_is_made_again(tmp_path: Path) -> None:
    result = measure(Strange(), DocumentSet.of_texts(TEXTS))
    results.save(result, tmp_path, "key")
    kept = results.load(result.label, tmp_path, "key")
    assert kept is not None
    for name in ("pairs", "scores", "accepted", "groups"):
        assert np.array_equal(getattr(kept, name), getattr(result, name))
    assert results.load(result.label, tmp_path, "other key") is None
    results.save(replace(result, documents=9), tmp_path, "other key")
    assert results.load(result.label, tmp_path, "key") is None
    results.save(result, tmp_path, "key")
    arrays = next(tmp_path.glob("*.npz"))
    arrays.write_bytes(arrays.read_bytes()[:100])
    assert results.load(result.label, tmp_path, "key") is None


def test_a_file_without_an_article_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no article"):
        Source(path).read()
    with pytest.raises(InputError, match="no such file"):
        compare(Source(tmp_path / "none.jsonl"), strange("works"), tmp_path / "out")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs_on_a_small_corpus(name: str) -> None:
    method = make(name)
    found = measure(method, DocumentSet.of_texts([*TEXTS, "", "Short."]))
    assert found.done
    assert found.label == label(method) == name
    assert found.candidates >= len(found.pairs)
    together = found.groups[0] == found.groups[1]
    assert together, "two equal texts are in one group"
    # Text profiles suit long texts: of these texts, only "the" and "was" are in a profile.
    assert found.groups[0] != found.groups[3] or name == "text-profile"
    assert (found.scores >= np.float32(method.floor)).all()


def test_all_are_all() -> None:
    rows = [method.row for method in METHODS.values()]
    assert [method.row for method in parse("all")] == rows
    assert [method.row for method in parse(",".join(dict.fromkeys(rows)))] == rows
