"""A story as a page shows it: the canonical article, its copies page by page, and what is like it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dedup.base.answer import Answer
from dedup.base.errors import NotFoundError
from dedup.base.times import microseconds
from dedup.base.verdict import Match
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.reading import ArticleLine, CopyLine, lines_of
from dedup.store.verdicts import best_pairs

_sql = Statements("extras/browse/questions/questions")

STORY_PAGE = 200
"""Copies of a page."""

STORY_PRINTS = 2_000
"""Articles of a story that a picture of it knows, the earliest."""

COPIES_COUNTED = 10_000
"""Copies are counted up to here."""

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Beside(Answer):
    """Another story that is similar. `article`: its canonical article. `match`: the pair of the two canonical
    articles; `match.rule` is "containment" for excerpts. `words`: of `article`; None where it has no
    fingerprint.
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
        beside: similar stories, the best match first. Only on the first page.
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
    def times_known(self) -> bool:
        """Whether times tell of all of `prints` and `copies` which was first in this corpus."""
        every = [self.original, *self.prints, *(copy.article for copy in self.copies)]
        return self.original.published and all(
            one.source_id == self.original.source_id or one.after(self.original) is not None for one in every
        )

    @property
    def lasted(self) -> timedelta | None:
        """From the first to the last of `prints`; None where times do not tell."""
        return self.prints[-1].after(self.prints[0]) if self.prints and self.times_known else None

    @property
    def versions(self) -> list[tuple[ArticleLine, ...]]:
        """Articles of `prints` by outlet, of each outlet that has several, in sequence."""
        of: dict[str, list[ArticleLine]] = {}
        for one in self.prints:
            if one.publication is not None:
                of.setdefault(one.publication, []).append(one)
        return [tuple(lines) for lines in of.values() if len(lines) > 1]


def story(cursor: Cursor, source_id: str, after: str | None = None, rows: int | None = None) -> StoryPage:
    """`rows`: copies of a page, where it is not `STORY_PAGE`."""
    page = rows or STORY_PAGE
    since = reading.moment_place(after, _FIRST, 0)
    row = cursor.execute(_sql("story_of"), {"source_id": source_id}).fetchone()
    if row is None:
        raise NotFoundError.of(source_id)
    number = row[0]
    values = {"story": number, "time": since[0], "id": since[1], "limit": page + 1}
    found = cursor.execute(_sql("copies"), values).fetchall()
    shown = found[:page]
    prints: list[int] = []  # the canonical article and its earliest copies
    if not after:
        earliest = cursor.execute(_sql("earliest_copies"), {"story": number, "limit": STORY_PRINTS - 1})
        prints = [number, *(id for (id,) in earliest.fetchall())]
    lines = lines_of(cursor, {number, *prints, *(row[0] for row in shown)})
    original, last = lines[number], shown[-1][0] if len(found) > page else None
    row = cursor.execute(_sql("count_copies"), {"story": number, "limit": COPIES_COUNTED + 1}).fetchone()
    counted = int(row[0]) if row else 0
    return StoryPage(
        asked=source_id,
        original=original,
        words=_words(cursor, [number]).get(number),
        copies=tuple(CopyLine(lines[id], lines[id].after(original), *figures) for id, *figures in shown),
        after=reading.token(microseconds(lines[last].time), last) if last else None,
        copies_counted=min(counted, COPIES_COUNTED),
        more_copies=counted > COPIES_COUNTED,
        prints=tuple(sorted((lines[id] for id in prints), key=lambda print: print.time)),
        beside=() if after else _beside(cursor, number),
    )


def _beside(cursor: Cursor, number: int) -> tuple[Beside, ...]:
    found = best_pairs(cursor, number, "similar")
    lines = lines_of(cursor, found)
    words = _words(cursor, list(found))
    return tuple(Beside(lines[id], pair, words.get(id)) for id, pair in found.items() if id in lines)


def _words(cursor: Cursor, ids: list[int]) -> dict[int, int]:
    return dict(cursor.execute(_sql("word_counts"), {"ids": bigints(ids)}).fetchall())
