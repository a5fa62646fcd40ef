"""Relations of pairs of nodes, and which nodes are out. Executors run this module, which imports no Spark.

`rules.pairs` computes scores and relations batch by batch, so that all engines compute the same floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.base.numbers import runs
from dedup.base.settings import Settings
from dedup.extras.spark.schema import BUCKET, CONTENT, EDGE, FATE, PIN_KINDS, columns
from dedup.rules.pair import Relation, Rule
from dedup.rules.pairs import RULES, Scored, Signatures, score

Bigints = npt.NDArray[np.int64]


def related(batches: Iterable[pa.RecordBatch], settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield the related pairs (schema `EDGE`) among candidates (`PAIR` with columns of both nodes)."""
    for batch in batches:
        yield _related({name: batch.column(i) for i, name in enumerate(batch.schema.names)}, settings)


def _related(table: dict[str, pa.Array], settings: Settings) -> pa.RecordBatch:
    kinds = _numbers(table["kinds"])
    scored = _scored(table, kinds, settings)
    found, duplicate = scored.related(settings), scored.duplicates(settings)
    rule = scored.rules(settings).astype(np.int32)
    # A pin replaces the relation, never the scores (docs/semantics.md, section 4).
    for relation, kind in PIN_KINDS.items():
        pinned = kinds >> kind & 1 == 1
        found[pinned] = relation is not Relation.UNRELATED
        duplicate[pinned] = relation is Relation.DUPLICATE
        rule[pinned] = RULES.index(Rule.PINNED)
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
        common=(
            (_numbers(table["sentences_a"]) - sentences_a).astype(np.int32),
            (_numbers(table["sentences_b"]) - sentences_b).astype(np.int32),
        ),
        shingles=(shingles_a.astype(np.int32), shingles_b.astype(np.int32)),
        signatures=(
            _signatures(table["signature_a"], settings.signature_bytes),
            _signatures(table["signature_b"], settings.signature_bytes),
        ),
        published=(_numbers(table["published_a"]), _numbers(table["published_b"])),
        same_content=same_content | (kinds >> CONTENT & 1 == 1),
        same_bucket=kinds >> BUCKET & 1 == 1,
    )


def _signatures(column: pa.Array, size: int) -> Signatures:
    """Return the signatures as one array of shape (n, size); a missing signature is a row of zeros."""
    rows = column.to_pylist()
    found = np.zeros((len(rows), size), np.uint8)
    found[[len(row) > 0 for row in rows]] = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, size)
    return found


def _numbers(column: pa.Array) -> Bigints:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)


def fates(batches: Iterable[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
    """Yield the eligible nodes that are not canonical; schema `FATE`.

    `batches` (schema `OPEN`) hold all pairs of undecided nodes that are duplicates. The later node of a
    pair is eligible.
    """
    tables = [[column.to_numpy(zero_copy_only=False) for column in batch.columns] for batch in batches]
    if not tables:
        return
    earlier, later, free = (np.concatenate(column) for column in zip(*tables, strict=True))
    order = np.argsort(later, kind="stable")
    earlier, later = earlier[order], later[order]
    # A node with a canonical earlier duplicate is out. A node is canonical if all its earlier duplicates are
    # out. Any other node waits. A node without earlier duplicates waits only if it is not eligible. One visit
    # of each node is enough, because nodes are visited in canonical order.
    out: set[int] = set()
    waiting: set[int] = set(earlier[~free[order].astype(np.bool_)].tolist())
    starts, counts = runs(later)
    before = earlier.tolist()
    for node, start, count in zip(later[starts].tolist(), starts.tolist(), counts.tolist(), strict=True):
        undecided = False
        for other in before[start : start + count]:
            if other in waiting:
                undecided = True
            elif other not in out:
                out.add(node)
                break
        else:
            if undecided:
                waiting.add(node)
    found = sorted(out) + sorted(waiting.intersection(later.tolist()))
    flags = np.arange(len(found)) < len(out)
    arrays = (np.array(found, np.int64), flags, np.full(len(found), number, np.int32))
    yield pa.RecordBatch.from_arrays([pa.array(column) for column in arrays], columns(FATE))
