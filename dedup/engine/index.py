"""Canonical articles in memory, found by what they share: the candidates of one settle transaction.

It scores nothing. Read next: `settle.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from dedup.rules.marks import OrderKey
from dedup.rules.pair import Profile


@dataclass(slots=True, eq=False)
class Node:
    """An article while it is being settled."""

    id: int
    order: OrderKey
    canonical: bool | None
    profile: Profile


class CandidateIndex:
    """Articles by sentence, bucket and content hash."""

    def __init__(self) -> None:
        self._nodes: dict[str, defaultdict[int, list[Node]]] = {
            kind: defaultdict(list) for kind in ("sentence", "bucket", "content")
        }

    def add(self, node: Node) -> None:
        """Let an article be found."""
        for kind, keys in _keys(node.profile):
            found = self._nodes[kind]
            for key in keys:
                found[key].append(node)

    def remove(self, node: Node) -> None:
        """Let an article be found no more."""
        for kind, keys in _keys(node.profile):
            for key in keys:
                self._nodes[kind][key].remove(node)

    def sharing(self, profile: Profile) -> set[Node]:
        """Every article that shares a sentence, a bucket or the content hash with a profile."""
        found: set[Node] = set()
        for kind, keys in _keys(profile):
            nodes = self._nodes[kind]
            for key in keys:
                if key in nodes:
                    found.update(nodes[key])
        return found


def _keys(profile: Profile) -> tuple[tuple[str, Iterable[int]], ...]:
    return (
        ("sentence", profile.sentences),
        ("bucket", profile.buckets),
        ("content", (profile.content_hash,)),
    )
