"""Fingerprints that a load has just stored, kept so that none of them is read again.

They stand for what is stored only while they are exactly that. Where an article was edited or deleted
meanwhile, or had a fingerprint before, all are read from the database.
"""

from __future__ import annotations

import numpy as np

from dedup.settling.memory.keys import Bigints
from dedup.store.fingerprints import Stored
from dedup.store.memory_engine import FingerprintPage


class Kept:
    """What was stored so far; `limit`: fingerprints, above which none are kept."""

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0
        self._pages: list[FingerprintPage] = []
        self._revisions: list[Bigints] = []

    def add(self, stored: Stored) -> None:
        self._count += len(stored.ids)
        if self._count > self._limit:
            self._pages.clear()
            self._revisions.clear()
        elif len(stored.ids):
            self._pages.append(_page(stored))
            self._revisions.append(stored.revisions)

    def pages(self, ids: Bigints, revisions: Bigints) -> list[FingerprintPage] | None:
        """The fingerprints of these articles, given with their revisions in ascending order of ids; None
        unless they are all that is kept."""
        if not self._pages or self._count != len(ids):
            return None
        found = np.concatenate([page.id for page in self._pages])
        order = np.argsort(found)
        same = (found[order] == ids) & (np.concatenate(self._revisions)[order] == revisions)
        return self._pages if same.all() else None


def _page(stored: Stored) -> FingerprintPage:
    made, chosen = stored.made, stored.chosen
    counts, banded = np.diff(made.sentence_starts), made.banded & chosen
    return FingerprintPage(
        stored.ids,
        np.ones(len(stored.ids), np.bool_),
        made.content_hash[chosen],
        made.shingle_count[chosen].astype(np.int64),
        counts[chosen],
        made.sentence_hashes[np.repeat(chosen, counts)],
        made.signature[chosen],
        made.banded[chosen] * made.buckets.shape[1],
        made.buckets[banded].ravel(),
    )
