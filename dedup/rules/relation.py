"""Names of relations and rules. No NumPy, so that `dedup --help` stays quick; the rules are in `pair.py`."""

from __future__ import annotations

from enum import StrEnum


class Relation(StrEnum):
    """Relation of two articles; `UNRELATED` comes from pins only."""

    DUPLICATE = "duplicate"
    SIMILAR = "similar"
    UNRELATED = "unrelated"


class Rule(StrEnum):
    """The rule that decided a relation; the reason of a mark."""

    PINNED = "pinned"
    CONTENT = "content"
    SENTENCES = "sentences"
    SIGNATURE = "signature"
    CONTAINMENT = "containment"
    DAMAGED = "damaged"
