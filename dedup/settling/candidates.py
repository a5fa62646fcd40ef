"""Which articles have to be compared with given ones, and by which sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from dedup.base.numbers import distinct
from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor
from dedup.store import settling
from dedup.store.settling import Among, FingerprintRow


def sharing(
    cursor: Cursor,
    settings: Settings,
    rows: Sequence[FingerprintRow],
    sentences: Sequence[Bigints],
    among: Among,
    *,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[FingerprintRow]:
    """Articles that share a sentence of `sentences` (of each row, those not common), a bucket or the
    content."""
    return settling.sharing(
        cursor,
        settings,
        among,
        distinct(np.concatenate(sentences)),
        distinct(np.concatenate([row.buckets for row in rows])),
        bigints({row.content_hash for row in rows if not len(row.buckets)}),
        after=after,
        limit=limit,
    )


def without_common(cursor: Cursor, rows: Sequence[FingerprintRow]) -> list[Bigints]:
    """The sentences of each row that are not common: S' of docs/semantics.md, section 2."""
    if not rows:
        return []
    everything = np.concatenate([row.sentence_hashes for row in rows])
    common = settling.common_among(cursor, distinct(everything))
    if not len(common):
        return [row.sentence_hashes for row in rows]
    kept = ~np.isin(everything, common)
    found, start = [], 0
    for row in rows:
        stop = start + len(row.sentence_hashes)
        found.append(row.sentence_hashes[kept[start:stop]])
        start = stop
    return found
