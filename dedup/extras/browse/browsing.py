"""`Deduplicator.browsing`: what pages ask, each answer bounded in size and in what is read for it.

`explain`, `lookup` and `runs` are the Deduplicator's; pins are written by `Deduplicator.pins`.
Every answer reads only, and sees one moment of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING

from dedup.api import OfCorpus, checks, transacted
from dedup.base.verdict import StatusName
from dedup.db.database import Cursor
from dedup.extras.browse.questions import article as articles
from dedup.extras.browse.questions import comparing, quotes, reading, sentences
from dedup.extras.browse.questions import day as days
from dedup.extras.browse.questions import health as conditions
from dedup.extras.browse.questions import outlet as of_outlets
from dedup.extras.browse.questions import outlets as matrices
from dedup.extras.browse.questions import queue as queues
from dedup.extras.browse.questions import search as searching
from dedup.extras.browse.questions import story as stories
from dedup.extras.browse.questions.article import (
    ArticlePage,
    FingerprintFigures,
    MatchedArticle,
    PairJudgement,
    Text,
)
from dedup.extras.browse.questions.comparing import Compared
from dedup.extras.browse.questions.counting import Grouping, Marks, Only, PeriodMarks, end_of, start_of
from dedup.extras.browse.questions.day import (
    SPREAD_OUTLETS,
    CreditCount,
    Day,
    LanguageMarks,
    OutletMarks,
    Trouble,
)
from dedup.extras.browse.questions.health import Health, SettingLine
from dedup.extras.browse.questions.outlet import OutletPage, Partner
from dedup.extras.browse.questions.outlets import Cell, Copied, CopiedPage, Matrix
from dedup.extras.browse.questions.queue import DoubtfulPair, PinsPage, QueueKind
from dedup.extras.browse.questions.quotes import Quote, QuoteOrder, QuotePage, QuotesPage
from dedup.extras.browse.questions.reading import ArticleLine, CopyLine, StoryLine
from dedup.extras.browse.questions.search import Found, Page, Snippet
from dedup.extras.browse.questions.sentences import SentenceOrder, SentencePage, SentencesPage
from dedup.extras.browse.questions.story import Beside, StoryPage
from dedup.store import rulebooks

__all__ = [
    "ROWS",
    "SPREAD_OUTLETS",
    "ArticleLine",
    "ArticlePage",
    "Beside",
    "Browsing",
    "Cell",
    "Compared",
    "Copied",
    "CopiedPage",
    "CopyLine",
    "CreditCount",
    "Day",
    "DoubtfulPair",
    "FingerprintFigures",
    "Found",
    "Grouping",
    "Health",
    "LanguageMarks",
    "Marks",
    "MatchedArticle",
    "Matrix",
    "Only",
    "OutletMarks",
    "OutletPage",
    "Page",
    "PairJudgement",
    "Partner",
    "PeriodMarks",
    "PinsPage",
    "QueueKind",
    "Quote",
    "QuoteOrder",
    "QuotePage",
    "QuotesPage",
    "SentenceOrder",
    "SentencePage",
    "SentencesPage",
    "SettingLine",
    "Snippet",
    "StoryLine",
    "StoryPage",
    "Text",
    "Trouble",
    "end_of",
    "start_of",
]

if TYPE_CHECKING:
    from dedup.extras.judging.estimate import Quality

ROWS = 10_000
"""Of one answer at most, whatever is asked for."""

READ_SECONDS = 10.0  # A page that takes longer has failed: something else is wrong with the server


class Browsing(OfCorpus):
    """Questions of pages about a corpus. `after` is always what the page before said, and opaque."""

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        """A transaction that sees one moment and reads by indexes."""
        with (
            self._database.session(READ_SECONDS) as session,
            session.transaction(snapshot=True, seconds=READ_SECONDS) as cursor,
        ):
            reading.begin(cursor)
            yield cursor

    newest_day = transacted(days.newest_day)

    def day(
        self,
        first: date | None = None,
        last: date | None = None,
        *,
        by: Grouping | None = None,
        publication: str | None = None,
        language: str | None = None,
        credit: str | None = None,
        rows: int | None = None,
    ) -> Day:
        """A day, a range of days with both ends, or without any the whole corpus.

        `by`: what its articles are counted by; the next larger grouping takes its place where a page would
        have too many periods, and None takes the finest that makes few. `publication`, `language`: only these
        articles; `credit`: only those that credit this agency. `rows`: of every list at most, in place of
        what a page shows. Raises InputError: the last day is before the first, or there is no such grouping.
        """
        only = _only(publication, language, credit)
        return self._transact(days.day, first, last, by=by, only=only, rows=_rows(rows))

    def story(self, source_id: str, after: str | None = None, *, rows: int | None = None) -> StoryPage:
        """The story of an article, its copies 200 at a time, or so many.

        Raises NotFoundError: the article is not stored. InputError: `after` is of no page.
        """
        return self._transact(stories.story, checks.text("source_id", source_id), after, _rows(rows))

    def article(self, source_id: str) -> ArticlePage:
        """An article with all that is known of it. Raises NotFoundError: it is not stored."""
        return self._transact(articles.article, checks.text("source_id", source_id))

    def compare(self, a: str, b: str) -> Compared:
        """Two articles side by side, in canonical order.

        Raises NotFoundError: one of them is not stored. InputError: both are one article.
        """
        names = [checks.text("source_id", name) for name in (a, b)]
        with self._transaction() as cursor:
            return comparing.compare(cursor, rulebooks.load_rulebook(cursor), *names)

    def search(
        self,
        words: str | None = None,
        *,
        publication: str | None = None,
        language: str | None = None,
        credit: str | None = None,
        status: StatusName | None = None,
        dated: bool | None = None,
        first: date | None = None,
        last: date | None = None,
        url: str | None = None,
        source_id: str | None = None,
        after: str | None = None,
        rows: int | None = None,
    ) -> Page:
        """Articles that meet every condition, the newest first. Days are in UTC, both included.

        `words` must all be in the title or the text, whatever their case and accents, and need
        `dedup init --search`. `dated`: with a time of publication that can be true, or without. `rows`: of
        the page, where it is not 50; such a page has no snippets. Raises InputError without that index, or if
        `after` is of no page.
        """
        for name, value in (("words", words), ("url", url), ("source_id", source_id)):
            checks.optional(checks.text, name, value)
        what = searching.wanted(
            words,
            _only(publication, language, credit),
            status=status,
            dated=dated,
            first=first,
            last=last,
            url=url,
            source_id=source_id,
            after=after,
            rows=_rows(rows),
        )
        return self._transact(searching.search, what, self._database.schema)

    def outlets(
        self,
        first: date | None = None,
        last: date | None = None,
        *,
        publication: str | None = None,
        language: str | None = None,
        credit: str | None = None,
        rows: int | None = None,
    ) -> Matrix:
        """Who copies whom among the outlets; `first` and `last` as of `day`.

        `publication`, `language`, `credit`: only these copies. `rows`: outlets at most, in place of what a
        page shows. Raises InputError: the last day is before the first.
        """
        only = _only(publication, language, credit)
        return self._transact(matrices.outlets, first, last, only=only, rows=_rows(rows))

    def outlet(
        self,
        publication: str,
        first: date | None = None,
        last: date | None = None,
        *,
        by: Grouping | None = None,
        language: str | None = None,
        credit: str | None = None,
        rows: int | None = None,
    ) -> OutletPage:
        """One outlet: how much of it is original, from whom it copies, who copies it; arguments as of `day`.

        An outlet that nothing is stored of has no articles.
        """
        checks.text("publication", publication)
        only = _only(publication, language, credit)
        return self._transact(of_outlets.outlet, only, first, last, by=by, rows=_rows(rows))

    outlet_names = transacted(of_outlets.names)
    agencies = transacted(of_outlets.agencies)
    languages = transacted(of_outlets.languages)

    def copied(
        self,
        copier: str,
        original: str,
        first: date | None = None,
        last: date | None = None,
        after: str | None = None,
        *,
        language: str | None = None,
        credit: str | None = None,
        rows: int | None = None,
    ) -> CopiedPage:
        """The copies behind a cell of the matrix, the newest first.

        Raises InputError: the last day is before the first, or `after` is of no page.
        """
        for name, value in (("copier", copier), ("original", original)):
            checks.text(name, value)
        last = first if last is None else last
        only = _only(None, language, credit)
        return self._transact(matrices.copied, copier, original, first, last, after, only, _rows(rows))

    def common_sentences(
        self, order: SentenceOrder = "carriers", after: str | None = None, *, rows: int | None = None
    ) -> SentencesPage:
        """The sentences that are ignored, and the pinned ones.

        Raises InputError: there is no such order, or `after` is of no page.
        """
        return self._transact(sentences.common_sentences, order, after, _rows(rows))

    def sentence(self, sentence_hash: int) -> SentencePage:
        """A common or pinned sentence with some of its articles. Raises NotFoundError: it is neither."""
        checks.whole_number("sentence_hash", sentence_hash, -(2**63))
        return self._transact(sentences.sentence, sentence_hash)

    def quotes(
        self,
        order: QuoteOrder = "outlets",
        *,
        speech: bool = False,
        after: str | None = None,
        limit: int = quotes.QUOTES_PAGE,
    ) -> QuotesPage:
        """Sentences that several outlets share, as `keep_sentences` counted them, common ones included.

        `speech`: only those with a quotation mark. `limit`: at most so many, up to `ROWS`. Raises InputError:
        there is no such order, or `after` is of no page.
        """
        checks.whole_number("limit", limit, 1, ROWS)
        return self._transact(quotes.page, order, speech=speech, after=after, limit=limit)

    def quote(self, sentence_hash: int) -> QuotePage:
        """A quote, with the earliest articles that have it. Raises NotFoundError: none is kept."""
        checks.whole_number("sentence_hash", sentence_hash, -(2**63))
        return self._transact(quotes.one, sentence_hash)

    queue = transacted(queues.queue)

    def pins(self, after: str | None = None, *, rows: int | None = None) -> PinsPage:
        """What people have said of pairs. Raises InputError: `after` is of no page."""
        return self._transact(queues.pins, after, _rows(rows))

    health = transacted(conditions.health)

    def quality(self) -> Quality | None:
        """How good the marks are by the pairs that people judged; None where none is judged."""
        from dedup.extras.judging.live import quality_of

        return self._transact(quality_of)


def _only(publication: str | None, language: str | None, credit: str | None) -> Only:
    only = Only(publication, language, credit)
    for name, value in only.given.items():
        checks.text(name, value)
    return only


def _rows(given: int | None) -> int | None:
    """How many rows are asked for, up to `ROWS`."""
    return None if given is None else min(checks.whole_number("rows", given, 1), ROWS)
