"""Fixtures for tests of coverage: corpora with an index of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from dedup import Article, Deduplicator
from dedup.db.database import Database
from dedup.operation import Operation

STORM = (
    "Storm Agnes tore the roof off the fish market of Port Marlow early on Tuesday. Mayor Ingrid Halvorsen"
    " put the damage at 4.2 million. “We have never seen waves like these,” she said. No one was hurt, and"
    " 37 boats sank in the harbour. The market stays closed until June."
)
REWRITTEN = (
    "Thirty-seven boats, 37 in all, went down in Port Marlow when Agnes hit. Ingrid Halvorsen, mayor of the"
    " town, spoke of losses of 4.2 million: “We have never seen waves like these.” The market for fish lost"
    " its roof; traders return in June at the earliest. There were no injuries."
)
MUSEUM = (
    "Thieves broke into the museum of Eastfen on Friday night and took eleven bronze bowls. The alarm had"
    " been switched off for repairs. Police asked anyone who saw a grey van near the canal to call them."
)
COUNCIL = (
    "The council of Port Marlow voted to raise parking fees. The mayor promised a new car park near the"
    " station. A decision on bicycle lanes is expected in autumn."
)

TRAMS = [
    Article(f"tram {n}", f"Trams stop at night on line {n}.", published_at="2024-01-01") for n in range(30)
]
"""Unrelated news. Without it every word would be frequent."""

Filled = Callable[[Sequence[Article]], Deduplicator]


@pytest.fixture
def filled(database: Database) -> Iterator[Filled]:
    """Yield a function that stores and settles articles and makes the index of words."""
    with Deduplicator(database.url) as dd, Operation(database.url) as owner:

        def fill(articles: Sequence[Article]) -> Deduplicator:
            dd.load(articles)
            dd.backfill(workers=0)
            owner.make_searchable()
            return dd

        yield fill


@pytest.fixture
def newsroom(filled: Filled) -> Deduplicator:
    """A story with a copy, a rewrite of the story, and other news, mostly of other years."""
    day = "2026-03-1"
    return filled(
        [
            *TRAMS,
            Article(
                "storm", STORM, "Storm in Port Marlow", publication="Courier", published_at=f"{day}0T06:00Z"
            ),
            Article("copy", STORM, "Storm", publication="Herald", published_at=f"{day}0T09:00Z"),
            Article("rewrite", REWRITTEN, "Agnes", publication="Blog", published_at=f"{day}1T09:00Z"),
            Article("museum", MUSEUM, "Bowls", publication="Courier", published_at=f"{day}0T07:00Z"),
            Article("council", COUNCIL, "Fees", publication="Courier", published_at=f"{day}2T07:00Z"),
            Article(
                "last year", REWRITTEN.replace("37", "38"), publication="Blog", published_at="2025-03-10"
            ),
        ]
    )
