"""What two articles are to each other, and what can decide it: the words, without the rules.

It needs nothing but the standard library, so that `dedup --help` can name the words without NumPy. The rules
are in `pair.py`.
"""

from __future__ import annotations

from enum import StrEnum


class Relation(StrEnum):
    """What two articles are to each other; `UNRELATED` is said by people only."""

    DUPLICATE = "duplicate"
    SIMILAR = "similar"
    UNRELATED = "unrelated"


class Rule(StrEnum):
    """What decided a relation; the reason of a mark."""

    PINNED = "pinned"
    CONTENT = "content"
    SENTENCES = "sentences"
    SIGNATURE = "signature"
    CONTAINMENT = "containment"
    DAMAGED = "damaged"
