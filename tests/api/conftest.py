"""A corpus that is used through the library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dedup import Deduplicator
from dedup.db.database import Database


@pytest.fixture
def dd(database: Database, corpus_url: str) -> Iterator[Deduplicator]:
    """An empty corpus, opened like a user's corpus."""
    with Deduplicator(corpus_url) as made:
        yield made
