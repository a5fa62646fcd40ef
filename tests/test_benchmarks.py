"""The arithmetic of the benchmarks: made corpora, the meter, the judge and the curves."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Article
from tests.conftest import Server

truths = pytest.importorskip("dedup.extras.judging.truth")  # the compared code is in extras

BENCHMARKS = Path(__file__).parents[1] / "scripts" / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent)]
import capacity  # noqa: E402
import clients  # noqa: E402
import contestants  # noqa: E402
import growth  # noqa: E402
import meter  # noqa: E402
import picture  # noqa: E402
import plot  # noqa: E402
import rotated  # noqa: E402
import servers  # noqa: E402
import spark_cost  # noqa: E402


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("abcxyzABCXYZéß \n'")), st.integers(0, 30))
def test_a_copy_of_a_text_has_the_same_shape_and_can_be_turned_back(text: str, places: int) -> None:
    copy = rotated.rotate(text, places)
    assert rotated.rotate(copy, -places) == text
    assert rotated.LONG_WORD.sub("…", copy) == rotated.LONG_WORD.sub("…", text)
    assert [len(word) for word in re.findall(r"\w+", copy)] == [len(w) for w in re.findall(r"\w+", text)]
    assert copy.isupper() == text.isupper()


def test_a_grown_corpus_interleaves_copies_that_share_no_long_word() -> None:
    news = [
        Article(f"a{i}", f"The Minister spoke to Parliament {i}", published_at=datetime(2020, 1, i + 1))
        for i in range(4)
    ]
    made = list(rotated.grown(lambda: news, len(news), 10))
    assert [article.source_id for article in made[:4]] == ["a0", "a0+1", "a0+2", "a1"]
    assert len({article.source_id for article in made}) == len(made) == 10
    assert made[1].text == "The Njojtufs tqplf to Qbsmjbnfou 0"
    assert made[0].published_at < made[1].published_at < made[3].published_at  # type: ignore[operator]


def test_more_copies_than_the_alphabet_has_are_refused() -> None:
    with pytest.raises(rotated.TooManyError, match="at most 312"):
        rotated.grown(lambda: [], 1, 313)


def test_every_copy_has_words_of_its_own() -> None:
    given = Article("a", "Abcdefghijklmnopqrstuvwxyz")
    copies = {rotated.copied(given, copy).text for copy in range(rotated.MOST_COPIES)}
    assert len(copies) == rotated.MOST_COPIES
    assert {frozenset(copy.lower()) for copy in copies} == {frozenset("abcdefghijklmnopqrstuvwxyz")}


@pytest.mark.skipif(sys.platform != "linux", reason="costs are measured on Linux only")
def test_the_cost_of_a_command_includes_what_it_leaves_behind() -> None:
    busy = "import time; held = b'1' * 60_000_000\nwhile time.process_time() < 0.4: pass"
    leaving = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {busy!r}])"
    cost = meter.measure([sys.executable, "-c", leaving])
    assert cost.failure is None
    assert cost.cpu >= 0.4
    assert cost.wall >= 0.4
    assert cost.peak_program_mb >= 60


@pytest.mark.skipif(sys.platform != "linux", reason="costs are measured on Linux only")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ValueError('words of an article')", "exit code 1: ValueError"),
        ("import nowhere", "exit code 1: ModuleNotFoundError: No module named 'nowhere'"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
    ],
)
def test_a_command_that_fails_is_told_without_the_words_of_an_article(code: str, told: str) -> None:
    assert meter.measure([sys.executable, "-c", code]).failure == told


def test_pairs_with_an_article_that_the_truth_leaves_out_count_for_nobody(tmp_path: Path) -> None:
    long = [" ".join(f"word{i}x{j}" for j in range(40)) for i in range(4)]
    articles = [Article(source_id=str(i), text=text) for i, text in enumerate([*long, "short", "short"])]
    truth = truths.Truth.of(6, {(0, 1): truths.DUPLICATE, (2, 3): truths.UNCLEAR}, {})
    bench = contestants.Bench(
        servers.Server("", 0), articles, {a.source_id: i for i, a in enumerate(articles)}, truth, tmp_path
    )
    as_pairs = bench.judge(np.array([(0, 1), (0, 2), (2, 3), (4, 5)], np.int32))
    assert (as_pairs.right, as_pairs.wrong, as_pairs.missed) == (1, 1, 0)
    as_groups = bench.judge(np.array([7, 7, 3, 3, 7, 7], np.int32))
    assert (as_groups.right, as_groups.wrong, as_groups.missed) == (1, 0, 0)


def test_the_power_with_which_a_measure_grows_is_found() -> None:
    assert growth.exponent([(n, 3 * n**1.5) for n in (10, 300, 7_000)]) == pytest.approx(1.5)
    sizes = [
        {"size": n, "disk_mb": 2.0 * n, "backfill": {"wall": n, "failure": "not done"}} for n in (10, 1_000)
    ]
    assert growth.exponents(sizes) == {"disk": pytest.approx(1.0)}


def test_what_many_articles_need_follows_from_what_two_sizes_cost() -> None:
    def size(articles: int, peak: float) -> dict[str, Any]:
        relations = {
            "table article": 4.0,
            "index article_mark_pkey": 1.0,
            "table key_block": 8.3,
            "index x": 0,
        }
        backfill = {"wall": articles / 1e4, "cpu": articles / 5e3, "peak_mb": peak, "failure": None}
        found = {"size": articles, "text_mb": 6.0, "load_seconds": articles / 1e3, "backfill": backfill}
        return {**found, "relations_mb": relations}

    cost = capacity.cost_of(size(1_000, 100.0), size(2_000, 102.0))
    assert cost.disk == pytest.approx({"keys": 4_150, "texts": 2_000, "marks and pairs": 500})
    assert (cost.text, cost.memory, cost.entries) == pytest.approx((3_000, 2_000, 500))
    assert (cost.load, cost.wall, cost.cpu) == pytest.approx((1e-3, 1e-4, 2e-4))

    def cells(articles: int) -> list[str]:
        return capacity.row(cost, articles, 64e9).split(" | ")

    assert cells(36_000) == ["| 36,000", "0.0", "0.0", "0.1", "1", "0", "none |"]
    assert cells(1_000_000)[1:4] == ["0.3", "0.0", "2.0"]
    # The keys do not fit into the memory. Reading fingerprints again for each slice of keys takes time.
    assert float(cells(20_000_000)[2]) > 20_000_000 * cost.wall / 3600
    firsts = [cells(size)[-1].partition(":")[0] for size in (10**6, 5 * 10**7, 10**8, 10**10)]
    assert firsts == ["none |", "memory", "memory", "ids"]


def test_the_picture_has_a_line_for_everything_that_was_measured(tmp_path: Path) -> None:
    lines = {"a < b": [(10.0, 1.0), (1_000.0, 90.0)], "none": []}
    panels: plot.Panels = {"seconds": lines, "empty": {}}
    assert [len(axes.lines) for axes in plot.drawn(panels).axes] == [1, 0]
    files = [tmp_path / "first.svg", tmp_path / "again.svg"]
    for file in files:
        picture.save(plot.drawn(panels), file)
    first, again = (file.read_bytes() for file in files)
    assert first == again
    assert "a < b: grows as n^0.98" in "".join(ET.fromstring(first).itertext())


def test_what_steps_on_spark_cost_is_told_per_article_and_rounds_are_one_row() -> None:
    def step(name: str, seconds: float) -> dict[str, object]:
        return {"name": name, "seconds": seconds, "java": 1.0, "python": 2.0, "stored": 500, "shuffled": 0}

    sizes = [
        {
            "articles": articles,
            "seconds": articles / 10,
            "steps": spark_cost.merged(
                [step("read", 1), step("round-0001-open", 2), step("round-0002-open", 3)]
            ),
        }
        for articles in (1_000, 10_000)
    ]
    lines = list(spark_cost.markdown(sizes))
    assert len(lines) == 7
    assert "| round-N-open | 5.0 | 4.000 | 2.000 | 1 | 0 | 5.0 | 0.400 | 0.200 | 0 | 0 |" in lines
    assert "| all | 6.0 | 6.000 | 3.000 | 2 | 0 | 6.0 | 0.600 | 0.300 | 0 | 0 |" in lines
    assert lines[-1] == "Time grows with the articles to the power of 1.00, processor time of 0.00."


def test_the_rate_of_many_clients_is_what_they_committed(server: Server) -> None:
    url = server.create("dedup_clients")
    with psycopg.connect(url, autocommit=True) as connection, clients.clients(url, 6) as six:
        connection.execute("CREATE TABLE numbers (number bigint PRIMARY KEY, word text, client integer)")
        insert = "INSERT INTO numbers VALUES (%s, %s, pg_backend_pid())"
        rates = [six.rate(insert, [("a",), ("b",)], 0.3) for _ in range(2)]
        found = connection.execute("SELECT count(*), count(DISTINCT client) FROM numbers").fetchone()
        assert found is not None
        assert found[1] == 6
        # A measurement ends after its current statements, so it takes a little longer than requested.
        assert found[0] >= sum(rate.transactions for rate in rates) * 0.3 > 0.5 * found[0] > 0
        with pytest.raises(psycopg.errors.UndefinedTable):
            six.rate("INSERT INTO nowhere VALUES (%s, %s)", [("a",)], 0.1)
