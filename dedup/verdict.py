"""What a caller is told about an article: its mark and the pairs it rests on.

Plain data; made by `engine/hook.py` and `engine/lookup.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Match:
    """Another article that this one duplicates or is similar to.

    Attributes:
        id: the other's source_id.
        relation: "duplicate" or "similar".
        sentence_jaccard, signature_jaccard, containment: from 0 to 1; see SEMANTICS.
    """

    id: str
    relation: str
    sentence_jaccard: float
    signature_jaccard: float
    containment: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to "is this new, is it a copy and of what?".

    Attributes:
        id: the article's source_id; None for a text that was only looked up.
        status: "unique", "similar", "duplicate", "failed", or "pending" where a limit left it to the
            next backfill.
        duplicate_of: source_id of the canonical article, for duplicates.
        score: with duplicate_of, or the highest among the similar ones; from 0 to 1.
        reason: "content", "sentences" or "signature"; or why it failed or is pending.
        matches: the articles behind the verdict, the best first.
    """

    id: str | None
    status: str
    duplicate_of: str | None
    score: float | None
    reason: str | None
    matches: tuple[Match, ...] = ()

    @property
    def is_duplicate(self) -> bool:
        """Whether an earlier article tells the same story."""
        return self.status == "duplicate"

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON-ready values."""
        return {**asdict(self), "matches": [asdict(match) for match in self.matches]}
