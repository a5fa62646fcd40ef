"""Verdicts, the answers to `submit` and look-ups: a mark, the articles behind it, and how final it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dedup.base.answer import Answer
from dedup.base.words import counted

StatusName = Literal["unique", "similar", "duplicate", "pending", "failed"]
"""The values of `rules.marks.Status`, for type checkers and `--status`."""

# Counting so many takes some milliseconds, and a larger number is no use to a caller. The SQL function
# `submit_new` has the same limit.
UNSETTLED_LIMIT = 10_000

# An article made from a template is similar to thousands; a verdict names the best.
MATCHES_LIMIT = 50

COPIES_LIMIT = 10_000  # Counting of copies stops here
COPIES_SHOWN = 3  # Copies that a verdict in words names


@dataclass(frozen=True, slots=True)
class Match(Answer):
    """Another article that this one duplicates or is similar to.

    Attributes:
        id: the other's source_id.
        relation: "duplicate" or "similar".
        rule: "pinned", "content", "sentences", "signature", "damaged" or "containment".
        score: the larger of the two Jaccards; 1 for equal content.
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
    """A later article that is a copy of this one now, with the rule and the score of the pair.

    Its own verdict may have been `unique` when it came.
    """

    id: str
    rule: str
    score: float


@dataclass(frozen=True, slots=True)
class Verdict(Answer):
    """The answer to "is this new, is it a copy and of what?".

    Attributes:
        id: the article's source_id; None for a text that was only looked up.
        status: "unique", "similar", "duplicate", "failed", or "pending" where it could not be settled.
        duplicate_of: source_id of the original, for duplicates.
        score: of the pair with duplicate_of, or the highest of the similar pairs; from 0 to 1.
        reason: the rule that decided, see `Match.rule`; or why it failed or is pending.
        matches: the articles behind the verdict, the best first, and at most `MATCHES_LIMIT`.
        unsettled: number of other articles that wait for a backfill, counted to 10,000.
        archived: the article is before the horizon: no longer compared, and its mark is an old one.
        copies: later articles that are copies of it now, as it may have come after them; for a look-up, the
            originals that would become copies. The best first, and at most `MATCHES_LIMIT`.
        copy_count: number of copies, counted to 10,000.
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
        """True if an earlier article tells the same story."""
        return self.status == "duplicate"

    @property
    def provisional(self) -> bool:
        """True if the verdict may change when the other articles are settled."""
        return self.unsettled > 0 and not self.archived

    def as_dict(self) -> dict[str, Any]:
        """Return values that JSON knows, with `provisional`."""
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
