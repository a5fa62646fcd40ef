"""The first step of a backfill: every text that waits for it gets its fingerprint, page by page.

Texts come from the database in pages, go to the pool in chunks, and come back in any order. A text that lost
its worker is counted in the database (`corpus/attempts.py`); here it is handed out again, alone, when due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from dedup.corpus import attempts, fingerprints
from dedup.corpus.database import Database, retried
from dedup.corpus.rulebooks import Rulebook
from dedup.engine.pool import Chunk, Factory, FingerprintPool, Limits
from dedup.errors import StuckError, WorkerError
from dedup.progress import Progress
from dedup.text.tasks import Answer, Fingerprinted, Lost

PAGE_ARTICLES = 500
PAGE_CHARACTERS = 4_000_000
"""Texts held in memory at a time per page: the smaller of both bounds; a page has one article at least."""

CHUNK_ARTICLES = 50
"""Articles handed to a worker at a time: about 40 ms of work."""

SAME_PAGES = 3
"""A run in which so many rounds in a row began with the same texts to be read would never end."""

ANALYZE_ARTICLES = 5_000
"""After so many new fingerprints or marks the planner's statistics are brought up to date."""


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """What the pool is told; see `FingerprintPool`."""

    workers: int | None
    factory: Factory
    limits: Limits


@dataclass(slots=True)
class Read:
    """What one round did.

    Attributes:
        fingerprinted: texts that got a fingerprint; failed: texts that cannot have one.
        lost: attempts that lost a worker process.
        articles: answers there were; which: of which articles and revisions, as a number to compare.
    """

    fingerprinted: int = 0
    failed: int = 0
    lost: int = 0
    articles: int = 0
    which: int = 0


class Fingerprinting:
    """The first step of one backfill, round by round.

    Args:
        pauses: seconds before a text that lost its worker is tried again; it has one attempt more.
        stop: asked all the while.
    """

    def __init__(
        self,
        database: Database,
        progress: Progress,
        options: PoolOptions,
        pauses: Sequence[float],
        stop: Callable[[], bool],
    ) -> None:
        self._database, self._progress = database, progress
        self._options, self._pauses, self._stop = options, pauses, stop
        self._first_page: frozenset[tuple[int, int]] = frozenset()
        self._same_pages = 0
        self._in_hand: set[int] = set()

    def begin_again(self) -> None:
        """Settings changed: what was read may have to be read once more."""
        self._first_page = frozenset()

    def run(self, rulebook: Rulebook) -> Read:
        """Fingerprint every text that waits for it.

        Raises:
            WorkerError: see `FingerprintPool.run`; what was read is kept.
            StuckError: texts that were read wait again, and again.
            StaleRulesError: the settings changed meanwhile.
        """
        read = Read()
        with self._database.transaction() as cursor:
            retries = attempts.waiting(cursor, self._pauses)
            total = fingerprints.count_unfingerprinted(cursor) - retries.articles + retries.due
        if total <= 0:
            return read
        self._progress.start("fingerprinting", total)
        self._in_hand.clear()
        options = self._options
        pool = FingerprintPool(
            rulebook.settings, rulebook.models, options.workers, options.factory, options.limits, self._stop
        )
        with pool:
            chunks = self._chunks(rulebook.settings.text_max_characters)
            for answers in _gathered(pool.run(chunks), PAGE_ARTICLES):
                self._store(rulebook, answers, read)
                self._progress.advance(len(answers))
        analyze(self._database, read.articles)
        return read

    def _store(self, rulebook: Rulebook, answers: Sequence[Answer], read: Read) -> None:
        made = [answer for answer in answers if isinstance(answer, Fingerprinted)]
        lost = [answer for answer in answers if isinstance(answer, Lost)]

        def store() -> list[Fingerprinted]:
            with self._database.transaction(settling=True) as cursor:
                rulebook.check(cursor)
                failed = attempts.note(cursor, lost, len(self._pauses) + 1)
                fingerprints.store(cursor, [*made, *failed])
            return failed

        made += retried(store, self._database.timeouts.lock)
        failed = sum(result.fingerprint is None for result in made)
        read.failed += failed
        read.fingerprinted += len(made) - failed
        read.lost += len(lost)
        read.articles += len(answers)
        for answer in answers:
            self._in_hand.discard(answer.article_id)
            read.which ^= hash((answer.article_id, answer.revision))

    def _chunks(self, too_long: int) -> Iterator[Chunk]:
        after, first = None, True
        while not self._stop():
            with self._database.transaction() as cursor:
                again = attempts.due(cursor, self._pauses, too_long, self._in_hand)
                page, after = fingerprints.unfingerprinted_page(
                    cursor, after, PAGE_ARTICLES, PAGE_CHARACTERS, too_long
                )
            for task in again:
                self._in_hand.add(task.id)
                yield [task]
            if first:
                self._check(page)
                first = False
            if not page:
                return
            for start in range(0, len(page), CHUNK_ARTICLES):
                yield page[start : start + CHUNK_ARTICLES]

    def _check(self, page: Chunk) -> None:
        """What this run has read and nobody changed does not wait again."""
        found = frozenset((task.id, task.revision) for task in page)
        again = found & self._first_page
        self._same_pages = self._same_pages + 1 if again else 0
        if self._same_pages >= SAME_PAGES:
            raise endless(len(again))
        self._first_page = found


def _gathered(parts: Iterable[list[Answer]], size: int) -> Iterator[list[Answer]]:
    """Join lists until they have `size` members: the database likes larger bites than the workers."""
    gathered: list[Answer] = []
    trouble: Exception | None = None
    try:
        for part in parts:
            gathered += part
            if len(gathered) >= size:
                yield gathered
                gathered = []
    except (WorkerError, MemoryError) as error:  # what was read before is kept
        trouble = error
    if gathered:
        yield gathered
    if trouble:
        raise trouble


def analyze(database: Database, done: int) -> None:
    """Tell the planner what the tables now hold: first that all is pending, at last that nothing is."""
    if done >= ANALYZE_ARTICLES:
        with database.transaction() as cursor:
            cursor.execute("ANALYZE dedup.article, dedup.fingerprint")


def endless(articles: int) -> StuckError:
    """The error of a run that would never end."""
    return StuckError(
        f"the same {articles:,} articles were done again and again and still wait: something in the corpus"
        " does not agree; `dedup verify` says what"
    )
