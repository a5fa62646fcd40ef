"""Show a story: the original, its copies page by page, and similar stories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import NotFoundError
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.article import MatchedArticle
from dedup.extras.browse.questions.reading import (
    COPIES_COUNTED,
    ArticleLine,
    CopyLine,
    lines_of,
    paged,
    printed_by,
    rows_of,
)
from dedup.store.verdicts import best_pairs

_sql = Statements("extras/browse/questions/questions")

STORY_PAGE = 200  # Maximum number of copies on a page
STORY_PRINTS = 2_000  # Maximum number of articles in the chart of a story; the earliest are shown

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StoryPage(Answer):
    """A page of a story. `prints` and `beside` are empty except on the first page."""

    asked: str  # the requested source_id, of the original or of a copy
    original: ArticleLine
    words: int | None  # number of words of the original; None without a fingerprint
    copies: tuple[CopyLine, ...]  # copies on this page, by time
    after: str | None  # token of the next page
    copies_counted: int  # number of copies, counted up to `COPIES_COUNTED`
    more_copies: bool  # there are more copies than `copies_counted`
    prints: tuple[ArticleLine, ...]  # the original and the earliest copies, by time
    beside: tuple[MatchedArticle, ...]  # originals of similar stories, the best match first
    printed_by: str | None  # line that names the origin; None for an outlet's own text without copies

    @property
    def times_known(self) -> bool:
        """True if each article in `prints` and `copies` is known to be earlier or later than the original."""
        every = [self.original, *self.prints, *(copy.article for copy in self.copies)]
        return self.original.published and all(
            one.source_id == self.original.source_id or one.after(self.original) is not None for one in every
        )

    @property
    def lasted(self) -> timedelta | None:
        """The time from the first to the last article of `prints`; None if unknown."""
        return self.prints[-1].after(self.prints[0]) if self.prints and self.times_known else None

    @property
    def versions(self) -> list[tuple[ArticleLine, ...]]:
        """The articles of each outlet that has several articles in `prints`, ordered by time."""
        of: dict[str, list[ArticleLine]] = {}
        for one in self.prints:
            if one.publication is not None:
                of.setdefault(one.publication, []).append(one)
        return [tuple(lines) for lines in of.values() if len(lines) > 1]


def story(cursor: Cursor, source_id: str, after: str | None = None, *, rows: int | None = None) -> StoryPage:
    """Return the story of an article; raise NotFoundError, or InputError for a wrong `after`."""
    page = rows_of(rows, STORY_PAGE)
    since = reading.position(after, datetime, int) if after is not None else (_FIRST, 0)
    values = {"source_id": checks.text("source_id", source_id), "counted": COPIES_COUNTED + 1}
    values |= {"prints": 0 if after else STORY_PRINTS - 1}
    row = cursor.execute(_sql("story"), values).fetchone()
    if row is None:
        raise NotFoundError.of(source_id)
    number, words, counted, earliest = row
    values = {"story": number, "time": since[0], "id": since[1], "limit": page + 1}
    shown, last = paged(cursor.execute(_sql("copies"), values).fetchall(), page)
    prints = [] if after else [number, *earliest]
    pairs = {} if after else best_pairs(cursor, number, "similar")
    lines = lines_of(cursor, {number, *prints, *pairs, *(row[0] for row in shown)})
    beside = dict(cursor.execute(_sql("word_counts"), {"ids": bigints(list(pairs))}).fetchall())
    return StoryPage(
        asked=source_id,
        original=lines[number],
        words=words,
        copies=tuple(CopyLine(lines[id], lines[id].after(lines[number]), *figures) for id, *figures in shown),
        after=reading.token(lines[last[0]].time, last[0]) if last else None,
        copies_counted=min(counted, COPIES_COUNTED),
        more_copies=counted > COPIES_COUNTED,
        prints=tuple(sorted((lines[id] for id in prints), key=lambda print: print.time)),
        beside=tuple(
            MatchedArticle(lines[id], pair, beside.get(id)) for id, pair in pairs.items() if id in lines
        ),
        printed_by=printed_by(cursor, number, copied=counted > 0),
    )
