"""Near-duplicate detection for news, inside the newsroom's own Postgres.

    from dedup import Article, Deduplicator

    with Deduplicator() as dd:
        verdict = dd.submit(Article(source_id="a1", text="...", publication="Courier"))
        print(verdict.status, verdict.duplicate_of)

The names are imported when they are first used, so that the pure core can be imported without a database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup.article import Article
    from dedup.deduplicator import Deduplicator
    from dedup.errors import DedupError
    from dedup.verdict import Match, Verdict

__all__ = ["Article", "DedupError", "Deduplicator", "Match", "Verdict"]

_HOMES = {
    "Article": "dedup.article",
    "DedupError": "dedup.errors",
    "Deduplicator": "dedup.deduplicator",
    "Match": "dedup.verdict",
    "Verdict": "dedup.verdict",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dedup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
