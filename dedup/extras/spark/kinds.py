"""The kinds of keys that make two nodes candidates."""

from __future__ import annotations

from dedup.rules.pair import Relation

SENTENCE, BUCKET, CONTENT = 0, 1, 2
PIN_KINDS = {Relation.DUPLICATE: 3, Relation.SIMILAR: 4, Relation.UNRELATED: 5}
"""Numbers of kinds, and of bits in `kinds` of a pair. A pinned pair has a key of its own, its number."""

KIND_NAMES = ("sentence", "bucket", "content", *("pinned pair",) * len(PIN_KINDS))
"""For messages, by their numbers."""
