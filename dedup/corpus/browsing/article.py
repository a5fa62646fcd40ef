"""One article with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine
from dedup.corpus.pins import PairPin
from dedup.verdict import Match, Verdict

TEXT_CHARACTERS = 100_000
"""Of a text that are shown."""

LINK_CHARACTERS = 2_000
"""A longer address is left out: half of it would lead elsewhere."""


@dataclass(frozen=True, slots=True)
class Text(Answer):
    """A text as it is stored.

    Attributes:
        text: the first `TEXT_CHARACTERS` of it.
        characters: how many it has.
    """

    text: str = field(repr=False)
    characters: int

    @property
    def cut(self) -> bool:
        """Whether there is more of it."""
        return len(self.text) < self.characters


@dataclass(frozen=True, slots=True)
class FingerprintFigures(Answer):
    """What is kept of a text, in figures.

    Attributes:
        sentences: distinct ones that count. common: those of them that are ignored as common.
        short: whether the text has too few words to be compared by its parts.
    """

    words: int
    sentences: int
    common: int
    shingles: int
    short: bool


@dataclass(frozen=True, slots=True)
class MatchedArticle(Answer):
    """Another article, and the pair with it."""

    article: ArticleLine
    match: Match


@dataclass(frozen=True, slots=True)
class PairJudgement(Answer):
    """What a person said of a pair, for estimates and tuning.

    Attributes:
        stale: a text was edited since.
    """

    id: str
    other_id: str
    judged_by: str
    label: str
    note: str | None
    judged_at: datetime
    stale: bool


@dataclass(frozen=True, slots=True)
class ArticlePage(Answer):
    """An article.

    Attributes:
        url: as it was given, of any scheme; None where there is none, or it is longer than
            `LINK_CHARACTERS`.
        text: None where it is in an attached table and no longer there.
        attachment: the name of the attached table it is a row of, or None.
        fingerprint: None where it has none.
        verdict: its mark, and the pairs behind it.
        matches: the same pairs, with the other articles.
        pins, judgements: of pairs with this article, the newest.
        limit: the safety limit that left it to the next backfill, or None.
    """

    line: ArticleLine
    url: str | None
    language: str | None
    published_at: datetime | None
    added_at: datetime
    marked_at: datetime | None
    text: Text | None
    attachment: str | None
    fingerprint: FingerprintFigures | None
    verdict: Verdict
    matches: tuple[MatchedArticle, ...]
    pins: tuple[PairPin, ...]
    judgements: tuple[PairJudgement, ...]
    limit: str | None
