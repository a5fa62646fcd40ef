"""A story as a page shows it: the canonical article, its copies page by page, and what is like it."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine, CopyLine
from dedup.verdict import Match

STORY_PAGE = 200
"""Copies of a page."""

STORY_PRINTS = 2_000
"""Articles of a story that a picture of it knows, the earliest."""


@dataclass(frozen=True, slots=True)
class Beside(Answer):
    """Another story that is similar.

    Attributes:
        article: its canonical article.
        match: the pair of the two canonical articles; `match.rule` is "containment" for excerpts.
        words: of `article`; None where it has no fingerprint.
    """

    article: ArticleLine
    match: Match
    words: int | None


@dataclass(frozen=True, slots=True)
class StoryPage(Answer):
    """A story.

    Attributes:
        asked: the source_id that was asked for: of the canonical article or of a copy.
        words: of the canonical article; None where it has no fingerprint.
        copies: a page of its duplicates, by time.
        after: what to give for the next page; None on the last.
        copies_counted: how many copies there are, at least.
        more_copies: whether there are more than that.
        prints: the earliest articles, by time, with the canonical one: at most `STORY_PRINTS`. Only on the
            first page.
        beside: similar stories, the likest first. Only on the first page.
    """

    asked: str
    original: ArticleLine
    words: int | None
    copies: tuple[CopyLine, ...]
    after: str | None
    copies_counted: int
    more_copies: bool
    prints: tuple[ArticleLine, ...]
    beside: tuple[Beside, ...]

    @property
    def versions(self) -> list[tuple[ArticleLine, ...]]:
        """Articles of `prints` by outlet, of each outlet that has several, in sequence."""
        of: dict[str, list[ArticleLine]] = {}
        for line in self.prints:
            if line.publication is not None:
                of.setdefault(line.publication, []).append(line)
        return [tuple(lines) for lines in of.values() if len(lines) > 1]
