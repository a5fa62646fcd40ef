"""Articles by words, outlet, date, address or source_id, the newest first, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine

SEARCH_PAGE = 50
"""Articles of a page."""


@dataclass(frozen=True, slots=True)
class Snippet(Answer):
    """A piece of a text around the first of the words: what stands before it, the word, what follows."""

    before: str = field(repr=False)
    word: str = field(repr=False)
    behind: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Found(Answer):
    """An article that was found; `snippet` is None without words, or where only the title has them."""

    article: ArticleLine
    snippet: Snippet | None


@dataclass(frozen=True, slots=True)
class Page(Answer):
    """A page of what was found.

    Attributes:
        found: the newest first.
        after: what to give for the next page; None on the last.
        more: looking ended before it was through: there may be more, also where little or nothing was found,
            and `after` goes on from there.
    """

    found: tuple[Found, ...]
    after: str | None
    more: bool
