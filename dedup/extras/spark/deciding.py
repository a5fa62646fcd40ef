"""Which of the eligible nodes are canonical, out, or have to wait: in one task, without Spark.

A node is out if an earlier duplicate of it is canonical, and canonical if all of them are out; where an
earlier one is not decided, it waits. Taken in canonical order, each needs one look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from dedup.base.numbers import runs
from dedup.extras.spark.schema import FATE, columns


def fates(batches: Iterable[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
    """The eligible nodes that are not canonical; schema `FATE`.

    `batches`, of schema `OPEN`, have all duplicates among undecided nodes; the later one of each is eligible.
    """
    tables = [[column.to_numpy(zero_copy_only=False) for column in batch.columns] for batch in batches]
    if not tables:
        return
    earlier, later, free = (np.concatenate(column) for column in zip(*tables, strict=True))
    order = np.argsort(later, kind="stable")
    earlier, later = earlier[order], later[order]
    # Those that are no later end of a pair are canonical where they are eligible.
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
