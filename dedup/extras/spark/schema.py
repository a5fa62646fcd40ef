"""The tables between the steps of the Spark engine: their columns and types, as texts that Spark reads.

Those of the input and of the result are described in `dedup.extras.spark.exchange`.
"""

from __future__ import annotations

import pyarrow as pa

from dedup.extras.spark import exchange
from dedup.rules.pair import Relation

SENTENCE, BUCKET, CONTENT = 0, 1, 2
PIN_KINDS = {Relation.DUPLICATE: 3, Relation.SIMILAR: 4, Relation.UNRELATED: 5}
"""Numbers of the kinds of keys that make two nodes candidates, and of bits in `kinds` of a pair. A pinned
pair has a key of its own, its number."""

KIND_NAMES = ("sentence", "bucket", "content", *("pinned pair",) * len(PIN_KINDS))
"""For messages, by their numbers."""


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
    " buckets array<long>, shingle_count int"
)
"""The articles that take part, sorted; `place` is the number of the partition, then that in the partition."""

PINNED = "number long, a long, b long, kind int"
"""Pinned pairs of articles that take part, the earlier one first, numbered; the kind of their key."""

MEMBER = "id long, node long, last long, weight long"
"""The articles of classes that have several: the first one of the class, the last one, how many there are."""

NODE = (
    "node long, last long, weight long, content_hash long, sentence_hashes array<long>, signature binary,"
    " buckets array<long>, shingle_count int"
)
"""Classes of equal fingerprints, named by their first article."""

CARRIED = "node long, common int"  # how many of its sentences are common, where any is

GROUP = "kind int, key long, node long, packed long, place int"
"""The nodes that have a key, where several do. `place`: by node, from 1. `packed`: see `groups.packed`."""

ELIGIBLE = "node long, round int"  # since which round a node is eligible

PAIR = "a long, b long, shared int, kinds int, packed_a long, packed_b long"
"""Candidates, the earlier node first: shared sentences, and a bit for each kind of key that both have."""

SCORES = "score double, sentence_jaccard double, signature_jaccard double, containment double"
"""What `match` has of a pair."""

EDGE = f"a long, b long, duplicate boolean, rule int, {SCORES}"
"""Related nodes. `rule`: its place in `rules.pairs.RULES`, so that they sort as their names do."""

OPEN = "a long, b long, free boolean"
"""Duplicates that are both undecided; `free`: the earlier one is eligible too."""

FATE = "node long, out boolean, round int"
"""What was decided of a node: it is out, a duplicate; or else it waits."""

ORIGINAL = f"id long, original long, rule int, {SCORES}, rank int"
"""The pairs that duplicates keep, by the number of the article; `rank` 1 is its original."""

SIMILAR = f"id long, other long, rule int, {SCORES}, best_match boolean"
"""The pairs that canonical articles keep, the later one first."""

BEST_MATCH = "id long, other long, rule int, score double"
"""Of a canonical article the one that is most like it, earlier or later."""


def columns(schema: str) -> list[str]:
    """The names of the columns of a schema, in order.

    >>> columns("node long, buckets array<long>")
    ['node', 'buckets']
    """
    return [column.split()[0] for column in schema.split(", ")]
