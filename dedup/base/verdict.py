"""Verdicts, the answers to `submit` and look-ups: a mark, its causes, and whether the mark is final."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dedup.base.answer import Answer
from dedup.base.words import counted

StatusName = Literal["unique", "similar", "duplicate", "pending", "failed"]
"""The values of `rules.marks.Status`, for type checkers and the option `--status`."""

Representative = Literal["first", "latest", "fullest"]
"""Articles that can represent a story (docs/semantics.md, section 12)."""

# Unsettled articles are counted only up to this number, which takes 0.2 ms per call. Callers need no larger
# number. The SQL function `submit_new` has the same limit.
UNSETTLED_LIMIT = 1_000

# Maximum number of matches in a verdict. An article from a template can be similar to thousands of others.
MATCHES_LIMIT = 50

COPIES_LIMIT = 10_000  # The copies of an article are counted only up to this number
COPIES_SHOWN = 3  # Maximum number of copies whose ids `str(verdict)` lists


@dataclass(frozen=True, slots=True)
class Match(Answer):
    """An article that the judged article duplicates or is similar to.

    Attributes:
        id: the source_id of the match.
        relation: "duplicate" or "similar".
        rule: "pinned", "content", "sentences", "signature", "damaged" or "containment".
        score: the largest Jaccard of the pair; 1 for equal content.
        sentence_jaccard, signature_jaccard, containment: from 0 to 1; docs/semantics.md, section 3.
    """

    id: str
    relation: str
    rule: str
    score: float
    sentence_jaccard: float
    signature_jaccard: float
    containment: float


@dataclass(frozen=True, slots=True)
class Copy(Answer):
    """An article that is now a copy of the judged article, with the rule and the score of the pair.

    When this copy was submitted, its verdict may have been `unique`.
    """

    id: str
    rule: str
    score: float


@dataclass(frozen=True, slots=True)
class Verdict(Answer):
    """The answer to "is this article new, or a copy, and of which article?".

    Attributes:
        id: the source_id of the judged article; None for a text that was only looked up.
        status: "unique", "similar", "duplicate", "failed", or "pending" if the article could not be settled.
        duplicate_of: source_id of the original, for duplicates only.
        score: score of the pair with duplicate_of, or the highest score of the similar pairs; from 0 to 1.
        reason: the rule that decided, see `Match.rule`; or why the article failed or is pending.
        matches: the articles that caused the verdict, the best first; at most `MATCHES_LIMIT`.
        unsettled: number of other articles that wait for a backfill, counted up to 1,000.
        archived: True if the article is older than the window: it is not compared, so its mark stays.
        copies: articles that are now copies of the judged article, even if they were added before it. A
            look-up gives originals that would become copies. Best first; at most `MATCHES_LIMIT`.
        copy_count: number of copies, counted up to 10,000.
    """

    id: str | None
    status: str
    duplicate_of: str | None
    score: float | None
    reason: str | None
    matches: tuple[Match, ...] = ()
    unsettled: int = 0
    archived: bool = False
    copies: tuple[Copy, ...] = ()
    copy_count: int = 0

    @property
    def is_duplicate(self) -> bool:
        """True if the article is a copy of an earlier article."""
        return self.status == "duplicate"

    @property
    def provisional(self) -> bool:
        """True if the verdict can change when the unsettled articles are settled."""
        return self.unsettled > 0 and not self.archived

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the property `provisional` as JSON types."""
        return {**Answer.as_dict(self), "provisional": self.provisional}

    def __str__(self) -> str:
        other = self.duplicate_of
        more = 0
        if self.status == "similar" and self.matches:
            other, more = self.matches[0].id, len(self.matches) - 1
        words = self.status
        if other is not None:
            words += f" {'of' if self.is_duplicate else 'to'} {other}"
        if more:
            words += f" and {more:,} more"
        why = [self.reason] if self.reason else []
        if self.score is not None:
            why.append(f"{self.score:.3f}")
        if why:
            words += f" ({', '.join(why)})"
        if self.copies:
            named = [copy.id for copy in self.copies[:COPIES_SHOWN]]
            rest = self.copy_count - len(named)
            words += f"; its copies: {', '.join(named)}{f' and {rest:,} more' if rest else ''}"
        if self.provisional and self.status != "pending":
            words += f"; provisional, {counted(self.unsettled, 'other is', 'others are')} unsettled"
        if self.archived:
            words += "; archived"
        return words if self.id is None else f"{self.id}: {words}"
