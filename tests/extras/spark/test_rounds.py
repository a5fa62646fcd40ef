"""Decisions of one Spark task equal the decisions of the reference. Needs no Spark."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from dedup.extras.spark.scoring import fates  # noqa: E402
from tests.extras.spark.reference import peel  # noqa: E402

Edges = list[tuple[int, int]]


@st.composite
def waiting(draw: st.DrawFn) -> tuple[Edges, set[int]]:
    """Draw pairs of nodes that are duplicates, and a set of eligible nodes. The later node of each pair is
    eligible."""
    pairs = draw(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
    edges = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    eligible = {b for _, b in edges} | draw(st.sets(st.integers(0, 12)))
    return edges, eligible


def batch(edges: Edges, eligible: set[int]) -> Any:
    columns = ([a for a, _ in edges], [b for _, b in edges], [a in eligible for a, _ in edges])
    kinds = (pa.int64(), pa.int64(), pa.bool_())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, ["a", "b", "free"])


@given(waiting(), st.randoms())
def test_one_task_decides_as_the_model_does(drawn: tuple[Edges, set[int]], random: Random) -> None:
    edges, eligible = drawn
    random.shuffle(edges)
    cut = len(edges) // 2
    parts = [batch(part, eligible) for part in (edges[:cut], edges[cut:])]
    found = {
        row["node"]: row["out"]
        for made in fates(parts, 3)
        for row in made.to_pylist()
        if row["round"] == 3 or pytest.fail("the round is told")
    }
    duplicates: dict[int, list[int]] = {}
    for a, b in edges:
        duplicates.setdefault(b, []).append(a)
    decided = peel(eligible, duplicates, {})
    later = {b for _, b in edges}
    assert found == {b: b in decided for b in later if not decided.get(b)}


def test_no_edge_decides_nothing() -> None:
    assert list(fates([], 1)) == []
