"""Names of relations and rules; `pair.py` has the rules. NumPy is not imported, so `dedup --help` is fast."""

from __future__ import annotations

from enum import StrEnum


class Relation(StrEnum):
    """Relation of two articles; only a pin can make a pair `UNRELATED`."""

    DUPLICATE = "duplicate"
    SIMILAR = "similar"
    UNRELATED = "unrelated"


class Rule(StrEnum):
    """Rule that decided a relation; its name is also the reason of a mark."""

    PINNED = "pinned"
    CONTENT = "content"
    SENTENCES = "sentences"
    SIGNATURE = "signature"
    CONTAINMENT = "containment"
    DAMAGED = "damaged"
