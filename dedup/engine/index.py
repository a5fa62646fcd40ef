"""The articles of one settle transaction, found by what they share.

Most sentences and buckets occur in one article only. A key that no two of the given articles have can
lead from none to another, so it is left out at once; what stays is a few keys per article. A pinned pair
shares a key of its own. It scores nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dedup.corpus.settling import FingerprintRow, PairPins
from dedup.rules.marks import OrderKey
from dedup.rules.pair import Profile, Related, Relation, relate
from dedup.settings import Settings


class Node:
    """An article while it is being settled.

    Attributes:
        canonical: its flag, as it stands after the decisions made so far.
        keys: what it shares with any other given article: sentences, buckets, content hash.
    """

    __slots__ = ("_profile", "_row", "_sentences", "canonical", "id", "keys", "order")

    def __init__(self, row: FingerprintRow, sentences: npt.NDArray[np.int64], keys: list[Hashable]) -> None:
        self.id: int = row.id
        self.order: OrderKey = row.order
        self.canonical = row.canonical
        self.keys = keys
        self._row, self._sentences = row, sentences
        self._profile: Profile | None = None

    @property
    def profile(self) -> Profile:
        """What the rules see of it; made when it is first compared, since most articles never are."""
        if self._profile is None:
            self._profile = Profile(
                self._row.content_hash,
                frozenset(self._sentences.tolist()),
                self._row.signature,
                frozenset(self._row.buckets.tolist()),
                self._row.shingle_count,
            )
        return self._profile


def make_nodes(
    rows: Sequence[FingerprintRow], sentences: Sequence[npt.NDArray[np.int64]], pins: PairPins
) -> list[Node]:
    """Nodes of rows that will be compared with each other.

    Args:
        rows: articles, each once.
        sentences: per row, its sentence hashes that are not common.
        pins: what people have said of pairs of them.
    """
    # Sentences, buckets and contents share one key space: hashes of different kinds that happen to be
    # equal make a candidate pair that scores nothing.
    keys = [
        np.concatenate((found, row.buckets, [row.content_hash]))
        for row, found in zip(rows, sentences, strict=True)
    ]
    if not keys:
        return []
    everything = np.concatenate(keys)
    _, position, counts = np.unique(everything, return_inverse=True, return_counts=True)
    shared = counts[position] > 1
    nodes, start = [], 0
    for row, found, own in zip(rows, sentences, keys, strict=True):
        stop = start + len(own)
        nodes.append(Node(row, found, list(set(own[shared[start:stop]].tolist()))))
        start = stop
    if pins:
        _add_pins({node.order[1]: node for node in nodes}, pins)
    return nodes


def _add_pins(nodes: Mapping[bytes, Node], pins: PairPins) -> None:
    for pair in pins:
        for name in pair:
            if name in nodes:
                nodes[name].keys.append(pair)


def related(node: Node, other: Node, settings: Settings, pins: PairPins) -> Related | None:
    """The relation of two nodes, a pin included."""
    pin: Relation | None = pins.get(frozenset((node.order[1], other.order[1]))) if pins else None
    return relate(node.profile, other.profile, settings, pin)


class CandidateIndex:
    """Nodes by the keys they share."""

    def __init__(self) -> None:
        self._nodes: defaultdict[Hashable, list[Node]] = defaultdict(list)

    def add(self, node: Node) -> None:
        """Let a node be found."""
        for key in node.keys:
            self._nodes[key].append(node)

    def remove(self, node: Node) -> None:
        """Let a node be found no more."""
        for key in node.keys:
            self._nodes[key].remove(node)

    def sharing(self, node: Node) -> set[Node]:
        """Every other node in the index that shares a key with this one."""
        found: set[Node] = set()
        for key in node.keys:
            if key in self._nodes:
                found.update(self._nodes[key])
        found.discard(node)
        return found
