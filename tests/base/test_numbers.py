"""Functions on arrays of pairs, groups and runs, compared with a library of graphs and with plain loops."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.numbers import NO_PAIRS, begins_run, linked, pair_keys, pairs_of, ranges, runs


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8))
def test_linked_is_the_librarys_components(size: int, edges: list[tuple[int, int]]) -> None:
    pairs = np.array([(a % size, b % size) for a, b in edges], np.int32).reshape(-1, 2)
    graph: networkx.Graph[int] = networkx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from((a, b) for a, b in pairs.tolist())
    groups = linked(size, pairs)
    found = {frozenset(np.flatnonzero(groups == g).tolist()) for g in groups}
    assert found == {frozenset(c) for c in networkx.connected_components(graph)}
    # Groups are numbered in the order of their first members, without a gap.
    firsts = [int(np.flatnonzero(groups == g)[0]) for g in range(len(found))]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("order", [1, -1])
def test_a_long_chain_is_one_group(order: int) -> None:
    ends = np.arange(100_000, dtype=np.int32)
    assert not linked(100_001, np.stack([ends, ends + 1], axis=1)[::order]).any()


def test_nothing_is_linked_by_no_pairs() -> None:
    assert linked(3, NO_PAIRS).tolist() == [0, 1, 2]
    assert linked(0, NO_PAIRS).tolist() == []


def test_the_keys_of_pairs_sort_as_they_do_and_lead_back() -> None:
    pairs = np.array([(0, 1), (0, 7), (1, 2), (60_000, 69_999)], np.int32)
    keys = pair_keys(pairs, 70_000)
    assert keys.tolist() == sorted(keys.tolist())
    assert pairs_of(keys, 70_000).tolist() == pairs.tolist()
    assert pairs_of(keys[:0], 0).tolist() == []


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=12)


@given(ROWS)
def test_runs_are_rows_that_are_equal_side_by_side(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows, np.int32).reshape(-1, 2).T
    # A run ends where any column changes.
    for given_columns, plain in ((columns, rows), (columns[:1], [row[0] for row in rows])):
        sizes = [len(list(run)) for _, run in groupby(plain)]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        found_starts, found_sizes = runs(*given_columns)
        assert (found_starts.tolist(), found_sizes.tolist()) == (starts, sizes)
        assert begins_run(*given_columns).tolist() == [i in starts for i in range(len(rows))]


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), max_size=6),
    st.sampled_from([np.int32, np.int64]),
)
def test_ranges_are_those_of_python_one_after_the_other(
    given_ranges: list[tuple[int, int]], kind: type[np.integer[Any]]
) -> None:
    starts, counts = np.array(given_ranges, kind).reshape(-1, 2).T
    found = ranges(starts, counts)
    assert found.dtype == np.int64
    assert found.tolist() == [i for start, count in given_ranges for i in range(start, start + count)]
    assert ranges(1, counts).tolist() == [i for _, count in given_ranges for i in range(1, 1 + count)]
