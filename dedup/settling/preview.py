"""What the next backfill has to do, counted without doing it."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.db.database import Database
from dedup.store import articles, fingerprints, rulebooks
from dedup.store.rulebooks import Adoption

FINGERPRINTS_PER_SECOND = 2_500
SETTLED_PER_SECOND = 4_000  # What two cores of 2024 do (scripts/benchmark.py), for previews: they say "about"


@dataclass(frozen=True, slots=True)
class Preview(Answer):
    """What the next backfill has to do.

    Attributes:
        adoption: what it takes up first.
        fingerprint: texts to be fingerprinted; settle: articles to be settled.
    """

    adoption: Adoption
    fingerprint: int
    settle: int

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return self.fingerprint / FINGERPRINTS_PER_SECOND + self.settle / SETTLED_PER_SECOND


def preview(database: Database) -> Preview:
    """What the next backfill has to do, counted without doing it."""
    with database.transaction() as cursor:
        adoption = rulebooks.waiting_adoption(cursor)
        everything = articles.count(cursor) if adoption else 0
        waiting = fingerprints.count_unfingerprinted(cursor)
        unsettled = waiting + fingerprints.count_unsettled(cursor)
    return Preview(
        adoption, everything if adoption.fingerprints else waiting, everything if adoption else unsettled
    )
