"""Pairs of nodes become related ones, with the floats of every engine; runs in the executors, without Spark.

`rules.pairs` computes the scores and tells the relation, batch by batch. What a person has said of a pair
replaces the relation, never the scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.base.settings import Settings
from dedup.extras.spark.kinds import BUCKET, CONTENT, PIN_KINDS
from dedup.extras.spark.schema import EDGE, columns
from dedup.rules.pair import Relation, Rule
from dedup.rules.pairs import RULES, Scored, Signatures, score

Bigints = npt.NDArray[np.int64]


def related(batches: Iterable[pa.RecordBatch], settings: Settings) -> Iterator[pa.RecordBatch]:
    """The pairs that are related; schema `EDGE`.

    `batches` have the columns of `PAIR`, then content_a, content_b, signature_a, signature_b.
    """
    for batch in batches:
        yield _related({name: batch.column(i) for i, name in enumerate(batch.schema.names)}, settings)


def _related(table: dict[str, pa.Array], settings: Settings) -> pa.RecordBatch:
    kinds = _numbers(table["kinds"])
    scored = _scored(table, kinds, settings)
    found, duplicate = scored.related(settings), scored.duplicates(settings)
    rule = scored.rules(settings).astype(np.int32)
    for relation, kind in PIN_KINDS.items():
        said = kinds >> kind & 1 == 1
        found[said] = relation is not Relation.UNRELATED
        duplicate[said] = relation is Relation.DUPLICATE
        rule[said] = RULES.index(Rule.PINNED)
    chosen = np.flatnonzero(found)
    made: tuple[npt.NDArray[Any], ...] = (
        *(_numbers(table["a"]), _numbers(table["b"]), duplicate, rule),
        *(scored.score, scored.sentence_jaccard, scored.signature_jaccard, scored.containment),
    )
    return pa.RecordBatch.from_arrays([pa.array(column[chosen]) for column in made], columns(EDGE))


def _scored(table: dict[str, pa.Array], kinds: Bigints, settings: Settings) -> Scored:
    (sentences_a, shingles_a), (sentences_b, shingles_b) = (
        (packed >> 32, packed & 0xFFFFFFFF)
        for packed in (_numbers(table["packed_a"]), _numbers(table["packed_b"]))
    )
    same_content = _numbers(table["content_a"]) == _numbers(table["content_b"])
    return score(
        np.zeros((len(kinds), 2), np.int32),
        settings,
        shared=_numbers(table["shared"]).astype(np.int32),
        sentences=(sentences_a.astype(np.int32), sentences_b.astype(np.int32)),
        shingles=(shingles_a.astype(np.int32), shingles_b.astype(np.int32)),
        signatures=(
            _signatures(table["signature_a"], settings.signature_bytes),
            _signatures(table["signature_b"], settings.signature_bytes),
        ),
        same_content=same_content | (kinds >> CONTENT & 1 == 1),
        same_bucket=kinds >> BUCKET & 1 == 1,
    )


def _signatures(column: pa.Array, size: int) -> Signatures:
    """Shape (n, size), zeros where there is none."""
    rows = column.to_pylist()
    found = np.zeros((len(rows), size), np.uint8)
    found[[len(row) > 0 for row in rows]] = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, size)
    return found


def _numbers(column: pa.Array) -> Bigints:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)
