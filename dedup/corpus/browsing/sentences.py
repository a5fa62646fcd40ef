"""Common sentences: what is left out of every comparison, by what that hides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine
from dedup.corpus.overview import CommonSentence

SentenceOrder = Literal["carriers", "stories"]
"""The sentences of the most articles first, or those of the most effective stories."""

SENTENCES_PAGE = 100
"""Sentences of a page."""


@dataclass(frozen=True, slots=True)
class SentencesPage(Answer):
    """Common sentences.

    Attributes:
        sentences: a page of those that are ignored.
        pinned: the pinned ones, common or not, the newest first; at most a page. Only on the first page.
        after: what to give for the next page; None on the last.
    """

    sentences: tuple[CommonSentence, ...]
    pinned: tuple[CommonSentence, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class SentencePage(Answer):
    """One sentence, with some of the articles that carry it."""

    sentence: CommonSentence
    articles: tuple[ArticleLine, ...]
