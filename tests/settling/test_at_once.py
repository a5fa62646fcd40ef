"""Several processes that submit copies at the same instant get the marks that one process gets.

`scripts/benchmarks/at_once.py` does the same with thousands of real articles.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Server
from tests.corpora import article, window

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "benchmarks"))
import at_once


@pytest.mark.long("dedup", "migrations")
@pytest.mark.timeout(300)
def test_four_processes_get_the_marks_of_one(server: Server) -> None:
    # Make 40 stories of five articles: windows that begin up to three sentences apart, and one text twice.
    given = [
        article(f"a{number:03}", window(40 * (number // 5) + number % 4, 6, ring=100_000), number % 5)
        for number in range(200)
    ]
    (alone, together), differences = at_once.compare(server.create("at_once"), given, 4, [])
    assert differences == 0
    assert (alone.articles, together.articles) == (200, 200)
    assert set(alone.statuses) == {"unique", "similar", "duplicate"}
    assert together.median_ms > 0


def test_rows_that_differ_are_counted() -> None:
    assert at_once._differences([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 3}]) == 2
    assert at_once._differences([{"a": 1}], [{"a": 1}]) == 0
