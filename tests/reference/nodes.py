"""Articles become nodes, and nodes share keys: the input of the rounds (docs/semantics.md, section 6).

The *number* of an article is its place in canonical order. A *node* is a class of articles with equal
fingerprints and times of publication; its number is the number of its first member. The keys of a node are
its sentences that are not common, its bucket keys, its content hash, and the pins that name it. Two nodes
*meet* if they share a key; otherwise they have no relation. `tests/extras/spark/reference.py` decides the
nodes.
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
"""A kind of key, with a hash, or with the numbers of the two articles of a pin."""

Groups = Mapping[Key, Sequence[int]]
"""The numbers of the nodes that have each key."""

NodePair = tuple[int, int]
"""Two nodes, the earlier one first."""

Said = Mapping[NodePair, Relation]
"""The pinned relations, by the numbers of the two articles."""


@dataclass(frozen=True, slots=True)
class Node:
    """A class of articles with equal fingerprints and times of publication.

    Attributes:
        members: the numbers of its articles, ascending.
        published: the time of publication, from `marks.published_second`.
    """

    members: tuple[int, ...]
    fingerprint: Fingerprint
    published: int

    @property
    def first(self) -> int:
        """Return the number of the node, which is the number of its first member."""
        return self.members[0]

    @property
    def last(self) -> int:
        """Return the number of the last member."""
        return self.members[-1]

    @property
    def weight(self) -> int:
        """Return the number of articles in the node."""
        return len(self.members)


def in_order(subjects: Iterable[Subject]) -> list[Subject]:
    """Return the articles in canonical order; the number of an article is its place in this list, from 0."""
    return sorted(subjects, key=lambda s: s.order)


def numbered(ordered: Sequence[Subject], pins: Pins) -> Said:
    """Return the pins by article numbers, without the pins of absent articles."""
    numbers = {subject.id: number for number, subject in enumerate(ordered)}
    found: dict[NodePair, Relation] = {}
    for (a, b), relation in ((tuple(pair), relation) for pair, relation in pins.items()):
        if a in numbers and b in numbers:
            one, other = sorted((numbers[a], numbers[b]))
            found[one, other] = relation
    return found


def nodes(ordered: Sequence[Subject], said: Said, part: Callable[[int], int]) -> list[Node]:
    """Return the nodes by ascending number. A node is a class of articles with equal fingerprints and equal
    times of publication.

    An article that a pin names has a node for itself.

    Args:
        part: a function of an article's number; articles of one node have the same result.
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
    """Return the common sentences with their effective stories, like `oracle.common_sentences`.

    Each node counts `weight` times.

    Args:
        pins: for a sentence hash, whether a person declared the sentence always (True) or never common."""
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
        # An engine needs this key only for short texts: other equal texts have equal buckets.
        keys.append(("content", f.content_hash))
        for key in keys:
            members.setdefault(key, []).append(node.first)
    return {key: sorted(own) for key, own in members.items() if len(own) > 1}
