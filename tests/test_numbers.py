"""Numbers of pairs and groups, against a library of graphs."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.numbers import NO_PAIRS, linked, pair_keys, pairs_of


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8))
def test_linked_is_the_librarys_components(size: int, edges: list[tuple[int, int]]) -> None:
    pairs = np.array([(a % size, b % size) for a, b in edges], np.int32).reshape(-1, 2)
    graph = networkx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(pairs.tolist())
    groups = linked(size, pairs)
    found = {frozenset(np.flatnonzero(groups == g).tolist()) for g in groups}
    assert found == {frozenset(c) for c in networkx.connected_components(graph)}
    # Numbered in the order of their first members, without a gap.
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
