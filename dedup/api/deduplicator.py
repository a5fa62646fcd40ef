"""The library's one door: a corpus, what goes into it, and every question it answers.

The command line uses no other. What hangs on a `Deduplicator` beside its own methods is in `api/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from dedup.api import checks
from dedup.api.questions import Questions
from dedup.base import plugins
from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.later import Later
from dedup.base.machine import BATCH_ARTICLES, ENGINE_NAMES, MAX_BATCH, MAX_WORKERS, MIN_MEMORY, EngineName
from dedup.base.progress import Progress
from dedup.base.schema import Initialized
from dedup.base.timeouts import Timeouts, check_seconds
from dedup.base.verdict import Verdict
from dedup.db.database import Database, retry
from dedup.files.report import LoadReport
from dedup.settling import hook
from dedup.settling.submit import Submissions
from dedup.store import fingerprints, opening, rulebooks

# What a submit or a question needs is imported above, the rest when it is used: a program that submits one
# article should not wait for what backfills a million.
if TYPE_CHECKING:
    from sqlalchemy import Engine

    from dedup.api import attachments as of_attachments
    from dedup.api import credits as of_credits
    from dedup.api import settings as of_settings
    from dedup.extras.judging.judgements import Judgements
    from dedup.extras.spark.postgres import ImportReport
    from dedup.files import readers, reading
    from dedup.settling import backfill as settling
    from dedup.settling import window
    from dedup.store import load as loading
else:
    of_attachments, of_credits = Later("dedup.api.attachments"), Later("dedup.api.credits")
    of_settings = Later("dedup.api.settings")
    readers, reading = Later("dedup.files.readers"), Later("dedup.files.reading")
    settling, window = Later("dedup.settling.backfill"), Later("dedup.settling.window")
    loading = Later("dedup.store.load")

RETRY_ARTICLES = 1_000  # Articles per transaction of a retry


class Deduplicator(Questions):
    """A corpus of news in Postgres. Use it as a context manager, from one thread or many.

        with Deduplicator() as dd:
            verdict = dd.submit(Article(source_id="a1", text="…", published_at="2026-03-12T08:00Z"))
            if verdict.is_duplicate:
                print("copy of", verdict.duplicate_of)

    A process that was forked opens connections of its own. For asyncio there is `AsyncDeduplicator`.

    Args:
        url: the database, in SQLAlchemy or libpq form; None takes `DEDUP_DATABASE_URL`, or the embedded
            server, whose schema is made if need be.
        schema: the one in which the corpus is; None takes `DEDUP_SCHEMA`, or `dedup`. A database may hold
            several corpora, which know nothing of one another.
        timeouts: how long to wait for what; None takes `DEDUP_TIMEOUT_HOOK` and the like, or the defaults.

    Raises:
        InputError: the name cannot be that of a schema.
        UnreachableError: the database does not answer.
        SchemaError: its schema is missing, older or newer; the message names the next step.

    Every method raises `ClosedError` after `close`, and `DatabaseError` if the server refuses or goes away:
    then nothing was changed, unless the method says otherwise.
    """

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        super().__init__(opening.connect(url, timeouts, schema))
        self._submissions = Submissions(self._database)

    @staticmethod
    def initialize(
        url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> Initialized:
        """Create the schema in a database, upgrade it, or mend it. Safe to run again, and at once."""

        database = Database(url, timeouts, schema)
        try:
            before, after, mended = opening.make_schema(database)
        finally:
            database.close()
        return Initialized(database.location, before, after, mended.made, mended.left)

    def __repr__(self) -> str:
        return repr(self._database).replace("Database", "Deduplicator", 1)

    def engine(self) -> Engine:
        """A SQLAlchemy engine of the same database, for pandas and the like; it has no pool.

        Statements are sent as they are: those for a corpus in another schema name that.
        """
        return self._database.engine()

    # Articles in.

    def submit(self, article: Article, *, timeout: float | None = None) -> Verdict:
        """Store an article, or its new version, and say what it is.

        While other articles are unsettled the verdict is provisional and says how many. It is `pending`
        only where a safety limit left it to the next backfill, where it could not be settled in time, or
        where a changed program waits for a backfill; the reason says which.

        Args:
            timeout: seconds to wait for others, and for a statement to work; None takes `Timeouts.hook`.

        Raises:
            InputError: this is no Article, or the timeout is not above 0.
        """
        wait = self._database.timeouts.hook if timeout is None else timeout
        check_seconds("the timeout", wait)
        return self._submissions.submit(checks.article(article), wait)

    def submit_many(self, articles: Iterable[Article], *, timeout: float | None = None) -> list[Verdict]:
        """Submit articles one after the other; each has the verdict that it has at its turn.

        For more than some hundred, `load` and `backfill` are quicker.

        Args:
            timeout: as of `submit`, for each.

        Raises:
            DatabaseError: the server refused or went away; those before it are stored, as they are whatever
                the iterable raises.
            InputError: of a list, one is no Article; nothing is stored.
        """
        if isinstance(articles, Sequence):
            articles = [checks.article(given) for given in articles]
        return [self.submit(article, timeout=timeout) for article in articles]

    def lookup(self, article: Article | str) -> Verdict:
        """What an article, or a bare text, would be marked; nothing is stored."""
        return self._submissions.lookup(article if isinstance(article, str) else checks.article(article))

    def load(
        self,
        source: str | Path | Iterable[Article],
        *,
        rejects: str | Path | None = None,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
        report: LoadReport | None = None,
        **options: Unpack[reading.ReadingOptions],
    ) -> LoadReport:
        """Store articles; `backfill` then marks them. A known source_id is an edit of that article.

        Args:
            source: a file (JSON, CSV, TSV, Parquet, Excel, a feed; packed or not; "-" is stdin), or articles.
            fields: article field to the name it has in the file, where that is not a usual one.
            format: jsonl, json, csv, tsv, parquet, xlsx or xml, where the file's name does not say it.
            publication, language: of articles that name none.
            html: extract the texts from those that are HTML; needs the extra `html`.
            date_format: how dates are written, as `strptime` reads them; others are read as usual.
            day_first: of dates such as 05/06/2018; False: the month; None: the file tells.
            lose_dates: go on where more than a tenth of the dates cannot be read.
            encoding: such as cp1252, where the file is not UTF-8 and has no byte order mark.
            sheet: of Excel, where it is not the first.
            keep: names in the file of what articles keep to be shown beside their marks, as `Article.kept`.
            rejects: where refused records go; None takes `FILE.rejects.jsonl` in the current folder.
            progress: told the bytes of the file, or the articles.
            stop: asked between records; when it says so, what was read is stored and the work ends.
            report: one to be filled, for whoever wants to know how far it came if something is raised.

        Raises:
            InputError: the file cannot be used, so many of its dates cannot be read that nothing is stored,
                or it cannot be read to its end; then what was read is stored.
            DatabaseError: the server refused or went away; the batches before are stored.
        """
        made = LoadReport() if report is None else report
        if not isinstance(source, str | Path):
            loading.load_articles(self._database, source, made, progress=progress, stop=stop)
            return made
        read = reading.Reading(**options)
        most, refused = self.settings.max_record_bytes(), rejects or readers.rejects_path(source)
        given = (self._database, source, read, made)
        loading.load_file(*given, max_record_bytes=most, rejects=refused, progress=progress, stop=stop)
        return made

    @staticmethod
    def preview_load(
        path: str | Path,
        *,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
        **options: Unpack[reading.ReadingOptions],
    ) -> loading.LoadPreview:
        """What `load` would make of a file: read to its end, nothing stored, no database needed.

        Args and Raises: as of `load`.
        """
        return loading.preview_file(path, reading.Reading(**options), progress=progress, stop=stop)

    def backfill(
        self,
        *,
        batch: int = BATCH_ARTICLES,
        workers: int | None = None,
        engine: EngineName = "auto",
        memory: int | None = None,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> settling.BackfillReport:
        """Settle everything that is pending or stale; what was finished is kept, whatever happens.

        Args:
            batch: articles per transaction; the marks do not depend on it.
            workers: threads that fingerprint texts; None for one more than cores, 0 for the caller's alone.
            engine: what settles: "postgres" a batch at a time, "memory" everything at once, "auto" whichever
                is quicker; the marks do not depend on it.
            memory: bytes that the memory engine may use, more or less; None for a quarter of the machine's.
            stop: asked between batches; when it says so, the batch in hand is finished and the work ends.

        Raises:
            MachineError: this machine has no memory or no thread to spare.
            StuckError: another backfill lives and makes no progress, or this one does the same again and
                again.
        """
        checks.whole_number("batch", batch, 1, MAX_BATCH)
        checks.optional(checks.whole_number, "workers", workers, 0, MAX_WORKERS)
        if engine not in ENGINE_NAMES:
            raise InputError(f"engine must be one of {', '.join(ENGINE_NAMES)}, not {engine!r}")
        checks.optional(checks.whole_number, "memory", memory, MIN_MEMORY)
        return settling.backfill(
            self._database,
            batch=batch,
            workers=workers,
            engine=engine,
            memory=memory,
            progress=progress,
            stop=stop,
        )

    def preview(self) -> settling.Preview:
        """What the next backfill has to do, counted without doing it."""
        return settling.preview(self._database)

    def prune(
        self, older_than: str, *, progress: Progress | None = None, stop: Callable[[], bool] = lambda: False
    ) -> settling.BackfillReport:
        """Settle everything, then archive what is old: it keeps its marks, and is compared with nothing.

        The horizon is stored first, so a prune that is stopped is finished by the next backfill. It never
        goes back; the setting `keep_window` moves it on with each backfill.

        Args:
            older_than: before the newest article, such as "90d", "12w" or "2y"; or the horizon itself.

        Raises:
            InputError: it is neither, or the horizon is there or later already, or no article is settled.
            MachineError, StuckError: as of `backfill`.
        """
        window.want(self._database, older_than)
        return settling.backfill(self._database, progress=progress, stop=stop)

    def preview_prune(self, older_than: str) -> window.PrunePreview:
        """What `prune` would do; nothing is changed.

        Args and Raises: as of `prune`.
        """
        return window.preview(self._database, older_than)

    def import_corpus(
        self,
        folder: str | Path,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> ImportReport:
        """Take up the result of a cluster: all its marks, or none. The articles are here already.

        Args:
            folder: what the Spark engine wrote.
            dry_run: only compare; what does not agree is in the report.

        Raises:
            InputError: the folder is damaged, or no result of this corpus as it is now.
            BusyError: a backfill or another import is at work.
        """
        take_up: Callable[..., ImportReport] = plugins.needed("corpus", "import_corpus", extra="spark")
        return take_up(self._database, folder, dry_run=dry_run, progress=progress, stop=stop)

    def retry(self, reason: str = "unreadable", *, stop: Callable[[], bool] = lambda: False) -> int:
        """Make failed articles pending again, so that the next backfill reads them; returns how many.

        `reason`: how the reasons of those begin that are meant. `stop`: asked between transactions of 1,000
        articles.
        """
        checks.text("the reason", reason)
        count, total = RETRY_ARTICLES, 0
        while count == RETRY_ARTICLES and not stop():
            with self._database.transaction(settling=True) as cursor:
                count = fingerprints.retry(cursor, reason, RETRY_ARTICLES)
            total += count
        return total

    def delete(self, source_id: str) -> bool:
        """Delete an article; its duplicates and partners are judged again. False if it is unknown.

        Raises BusyError: others held it for longer than `Timeouts.lock`.
        """
        return bool(self.delete_many([source_id]))

    def delete_many(self, source_ids: Iterable[str]) -> list[str]:
        """Delete several articles in one transaction; returns the source_ids that were known."""
        wanted = checks.texts("source_id", source_ids)

        def attempt() -> list[str]:
            with self._database.transaction(settling=True) as cursor:
                return hook.delete(cursor, rulebooks.load_settings(cursor), wanted)

        return retry(attempt)

    # What people say.

    @property
    def settings(self) -> of_settings.CorpusSettings:
        """The settings of the corpus, and the sentence parameters of its languages."""
        return of_settings.CorpusSettings(self._database)

    @property
    def pins(self) -> of_settings.PairPins:
        """What people say two articles are to each other."""
        return of_settings.PairPins(self._database)

    @property
    def common_sentences(self) -> of_settings.CommonSentences:
        """The sentences that are ignored, and the pins on them."""
        return of_settings.CommonSentences(self._database)

    @property
    def attachments(self) -> of_attachments.Attachments:
        """Tables of others whose rows are articles."""
        return of_attachments.Attachments(self._database)

    @property
    def credits(self) -> of_credits.Credits:
        """The agencies that articles name as their source."""
        return of_credits.Credits(self._database)

    @property
    def judgements(self) -> Judgements:
        """What people say of pairs of articles, and what follows from it."""
        made: type[Judgements] = plugins.needed("corpus", "judgements", extra="judging")
        return made(self._database)
