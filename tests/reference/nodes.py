"""Articles become nodes, and nodes meet under keys: where the rounds begin (docs/semantics.md, section 6).

An article is known by its *number*, its place in canonical order. A *node* is a class of articles with equal
fingerprints and times of publication; it bears the number of its first member. Its keys are its sentences
that are not common, its bucket keys, its content hash, and the pins that name it. Nodes *meet* where they
share a key, and have no relation where they share none. `rounds.py` decides the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dedup.base.settings import Settings
from dedup.rules.common import agreeing_pairs, effective_stories, is_common
from dedup.rules.oracle import Pins, Subject
from dedup.rules.pair import Relation
from dedup.text.fingerprint import Fingerprint

Kind = Literal["sentence", "bucket", "content", "pin"]
Key = tuple[Kind, int | tuple[int, int]]
"""Keys under which nodes meet; the numbers of two articles identify a pin."""

Groups = Mapping[Key, Sequence[int]]
"""The nodes that have a key, by number."""

NodePair = tuple[int, int]
"""Two nodes, the earlier one first."""

Said = Mapping[NodePair, Relation]
"""The pins by the numbers of their articles."""


@dataclass(frozen=True, slots=True)
class Node:
    """A class of articles with equal fingerprints and times of publication.

    Attributes:
        members: their numbers, ascending.
        published: see `marks.published_second`.
    """

    members: tuple[int, ...]
    fingerprint: Fingerprint
    published: int

    @property
    def first(self) -> int:
        """The number of the node, and of its first member."""
        return self.members[0]

    @property
    def last(self) -> int:
        """The number of its last member."""
        return self.members[-1]

    @property
    def weight(self) -> int:
        """Number of articles that a node represents."""
        return len(self.members)


def in_order(subjects: Iterable[Subject]) -> list[Subject]:
    """The articles in canonical order; the number of an article is its place here, from 0."""
    return sorted(subjects, key=lambda s: s.order)


def numbered(ordered: Sequence[Subject], pins: Pins) -> Said:
    """The pins of articles that are there."""
    numbers = {subject.id: number for number, subject in enumerate(ordered)}
    found: dict[NodePair, Relation] = {}
    for (a, b), relation in ((tuple(pair), relation) for pair, relation in pins.items()):
        if a in numbers and b in numbers:
            one, other = sorted((numbers[a], numbers[b]))
            found[one, other] = relation
    return found


def nodes(ordered: Sequence[Subject], said: Said, part: Callable[[int], int]) -> list[Node]:
    """The classes of articles with equal fingerprints and times of publication, by number. Articles named in
    pins stay alone.

    Args:
        part: of the number of an article; only those for which it gives the same are one node.
    """
    pinned = {number for pair in said for number in pair}
    classes: dict[object, list[int]] = {}
    for number, subject in enumerate(ordered):
        f = subject.fingerprint
        equal = (f.content_hash, f.sentence_hashes, f.signature.tobytes(), f.buckets, f.shingle_count)
        own = ("alone", number) if number in pinned else part(number)
        classes.setdefault((equal, subject.published, own), []).append(number)
    firsts = ((members, ordered[members[0]]) for members in classes.values())
    return [Node(tuple(members), first.fingerprint, first.published) for members, first in firsts]


def common_sentences(
    found: Sequence[Node], settings: Settings, pins: Mapping[int, bool] | None = None
) -> dict[int, float]:
    """C, the common sentences with their effective stories: `oracle.common_sentences` with weights.

    Args:
        pins: sentence hash to whether an analyst declared it always or never common.
    """
    carriers: dict[int, list[Node]] = {}
    for node in found:
        for sentence in node.fingerprint.sentence_hashes:
            carriers.setdefault(sentence, []).append(node)
    pinned = pins or {}
    common: dict[int, float] = {}
    for sentence in carriers.keys() | pinned.keys():
        own = carriers.get(sentence, [])
        weights = [node.weight for node in own]
        count = sum(weights)
        pairs = agreeing_pairs([node.fingerprint.buckets for node in own], weights)
        by_count = is_common(count, pairs, settings.bands, settings.common_stories)
        if pinned.get(sentence, by_count):
            common[sentence] = effective_stories(count, pairs, settings.bands)
    return common


def groups(found: Sequence[Node], common: Collection[int], said: Said) -> Groups:
    """Return the nodes under each key that several nodes have."""
    members: dict[Key, list[int]] = {("pin", pair): list(pair) for pair in said}
    for node in found:
        f = node.fingerprint
        keys: list[Key] = [("sentence", h) for h in f.sentence_hashes if h not in common]
        keys += [("bucket", key) for key in set(f.buckets)]
        # Equal texts that are not short have equal buckets, so an engine may leave their contents out.
        keys.append(("content", f.content_hash))
        for key in keys:
            members.setdefault(key, []).append(node.first)
    return {key: sorted(own) for key, own in members.items() if len(own) > 1}
