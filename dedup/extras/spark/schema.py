"""Schemas of the tables between the steps, as texts for Spark. `exchange.py` has the schemas of results."""

from __future__ import annotations

import pyarrow as pa

from dedup.extras.spark import exchange
from dedup.rules.pair import Relation

SENTENCE, BUCKET, CONTENT = 0, 1, 2
PIN_KINDS = {Relation.DUPLICATE: 3, Relation.SIMILAR: 4, Relation.UNRELATED: 5}
"""Kinds of keys. Nodes that share a key are candidates. The key of a pinned pair is the pair's number."""

KIND_NAMES = ("sentence", "bucket", "content", *("pinned pair",) * len(PIN_KINDS))


def _ddl(table: pa.Schema) -> str:
    return ", ".join(f"{column.name} {_SPARK[column.type]}" for column in table)


_SPARK = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.list_(pa.int64()): "array<long>",
}

FINGERPRINT = _ddl(exchange.FINGERPRINT)
REFUSED = _ddl(exchange.REFUSED)
MARK = _ddl(exchange.MARK)
MATCH = _ddl(exchange.MATCH)
COMMON = _ddl(exchange.COMMON_SENTENCE)

ORDERED = (
    "place long, source_id string, content_hash long, sentence_hashes array<long>, signature binary,"
    " buckets array<long>, shingle_count int, published long"
)
"""The articles in canonical order. `place` holds the number of a partition, and of a row within it."""

PINNED = "number long, a long, b long, kind int"
"""Pinned pairs: their number, their earlier article `a`, later article `b`, and the kind of their key."""

MEMBER = "id long, node long, last long, weight long"
"""Articles (`id`) whose class has other articles, too; `node`, `last`, `weight` of the class as in `NODE`."""

NODE = (
    "node long, last long, weight long, content_hash long, sentence_hashes array<long>, signature binary,"
    " buckets array<long>, shingle_count int, published long"
)
"""Classes of articles with equal fingerprints and times of publication. `node`: first article; `last`: last
article; `weight`: size."""

CARRIED = "node long, common int"  # nodes with common sentences, and the number of these sentences

GROUP = "kind int, key long, node long, packed long, place int"
"""Nodes of each key with several nodes. `place`: rank of a node, from 1. `packed`: see `grouping.packed`."""

ELIGIBLE = "node long, round int"  # the round since which a node is eligible

PAIR = "a long, b long, shared int, kinds int, packed_a long, packed_b long"
"""Candidate pairs, the earlier node first; the number of shared sentences; a bit per kind of shared key."""

SCORES = "score double, sentence_jaccard double, signature_jaccard double, containment double"

EDGE = f"a long, b long, duplicate boolean, rule int, {SCORES}"
"""Pairs of related nodes. `rule`: index in `rules.pairs.RULES`, which is sorted by name."""

OPEN = "a long, b long, free boolean"
"""Pairs of duplicates in which both nodes are undecided; `free`: the earlier node is eligible."""

FATE = "node long, out boolean, round int"
"""Nodes that are out because they are duplicates, or that wait for a later round."""

ORIGINAL = f"id long, original long, rule int, {SCORES}, rank int"
"""Stored pairs of a duplicate and one of its originals. The mark names the original of `rank` 1."""

SIMILAR = f"id long, other long, rule int, {SCORES}, best_match boolean"
"""Stored pairs of similar originals, the later article first."""

BEST_MATCH = "id long, other long, rule int, score double"
"""The best match `other` of an original `id`. `other` may be earlier or later than `id`."""


def columns(schema: str) -> list[str]:
    """Return the names of the columns of a schema, in order.

    >>> columns("node long, buckets array<long>")
    ['node', 'buckets']
    """
    return [column.split()[0] for column in schema.split(", ")]
