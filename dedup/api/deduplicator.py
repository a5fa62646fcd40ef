"""Class `Deduplicator`: every operation on a corpus, for programs and for the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from dedup.api import checks
from dedup.api.arguments import naming_arguments
from dedup.api.questions import Questions
from dedup.base import plugins
from dedup.base.answer import Answers
from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.later import Later
from dedup.base.machine import BATCH_ARTICLES, ENGINE_NAMES, MAX_BATCH, MAX_WORKERS, MIN_MEMORY, EngineName
from dedup.base.progress import Progress
from dedup.base.schema import DEFAULT, Initialized
from dedup.base.timeouts import Timeouts, check_seconds
from dedup.base.verdict import Verdict
from dedup.db.database import Database, retry
from dedup.store import opening, setting_rows

# These modules are imported at first use: a program that only asks should not wait for the imports.
if TYPE_CHECKING:
    from sqlalchemy import Engine

    from dedup.api import attachments as of_attachments
    from dedup.api import corrections as of_corrections
    from dedup.api import credits as of_credits
    from dedup.api import settings as of_settings
    from dedup.extras.coverage.outlets import Outlets
    from dedup.extras.judging.judgements import Judgements
    from dedup.extras.loads.loads import Loads
    from dedup.extras.spark.postgres import ImportReport
    from dedup.files import readers, reading, rows
    from dedup.files import report as reports
    from dedup.files.rows import ArrowStream
    from dedup.settling import backfill as settling
    from dedup.settling import hook, submit, window
    from dedup.settling.memory import dry_run as dry_runs
    from dedup.store import fingerprints, rulebooks
    from dedup.store import load as loading
else:
    of_attachments, of_credits = Later("dedup.api.attachments"), Later("dedup.api.credits")
    of_corrections = Later("dedup.api.corrections")
    of_settings = Later("dedup.api.settings")
    readers, reading = Later("dedup.files.readers"), Later("dedup.files.reading")
    reports, rows = Later("dedup.files.report"), Later("dedup.files.rows")
    settling, hook = Later("dedup.settling.backfill"), Later("dedup.settling.hook")
    dry_runs = Later("dedup.settling.memory.dry_run")
    submit, window = Later("dedup.settling.submit"), Later("dedup.settling.window")
    fingerprints, rulebooks = Later("dedup.store.fingerprints"), Later("dedup.store.rulebooks")
    loading = Later("dedup.store.load")

RETRY_ARTICLES = 1_000  # Maximum number of articles per transaction of `retry`


class Deduplicator(Questions):
    """A corpus of news in Postgres. Use it as a context manager, from one thread or many.

        with Deduplicator() as dd:
            verdict = dd.submit(Article(source_id="a1", text="…", published_at="2026-03-12T08:00Z"))
            if verdict.is_duplicate:
                print("copy of", verdict.duplicate_of)

    A forked process opens new connections. Use `AsyncDeduplicator` with asyncio.

    Args:
        url: address of the database, in SQLAlchemy or libpq form. None: the address in `DEDUP_DATABASE_URL`
            or `dedup.toml`, else the embedded server, in which the schema `dedup` is created if missing.
        schema: schema of the corpus. None: the name in `DEDUP_SCHEMA` or `dedup.toml`, else `dedup`. A
            database may hold several corpora, which are independent of each other. `initialize` creates one.
        timeouts: maximum times to wait. None: as in variables such as `DEDUP_TIMEOUT_HOOK` or in
            `dedup.toml`, else the defaults.

    Raises:
        InputError: the name of the schema is not allowed.
        UnreachableError: the database does not answer.
        SchemaError: the schema is missing, or fits another version of dedup; the message names the next step.

    Every method raises `ClosedError` after `close`. If the server refuses a statement or goes away, a method
    raises `DatabaseError`; then nothing was changed, unless the method's docstring says otherwise.
    """

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        super().__init__(opening.connect(url, timeouts, schema))

    @cached_property
    def _submissions(self) -> submit.Submissions:
        return submit.Submissions(self._database)

    @staticmethod
    def initialize(
        url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> Initialized:
        """Create, upgrade or mend the schema of a database. Several processes may do this at once."""
        database = Database(url, timeouts, schema)
        try:
            before, after, mended = opening.make_schema(database)
        finally:
            database.close()
        return Initialized(database.location, before, after, mended.made, mended.left)

    def __repr__(self) -> str:
        return repr(self._database).replace("Database", "Deduplicator", 1)

    def engine(self) -> Engine:
        """Return a SQLAlchemy engine without a connection pool, for libraries such as pandas.

        Text statements must name the schema of the corpus; statements with `dedup.tables` fit every corpus.
        Tables of yours need their schema too, such as `public`.
        """
        schemas: dict[str | None, str | None] = {DEFAULT: self._database.schema}
        return self._database.engine().execution_options(schema_translate_map=schemas)

    def submit(self, article: Article, *, timeout: float | None = None) -> Verdict:
        """Store an article, or its new version, and return its verdict.

        While other articles are unsettled, the verdict is provisional, and `unsettled` is their number. The
        status is `pending` if a safety limit was reached, the timeout passed, or no backfill has run since
        dedup was upgraded. Then `reason` says why, and a backfill settles the article. `timeout`: seconds to
        wait for a lock or a statement; None: `Timeouts.hook`. Raises InputError: `article` is not an Article.
        """
        wait = self._database.timeouts.hook if timeout is None else timeout
        check_seconds("the timeout", wait)
        return self._submissions.submit(checks.article(article), wait)

    def submit_many(self, articles: Iterable[Article], *, timeout: float | None = None) -> list[Verdict]:
        """Submit articles one after the other; return their verdicts in the same order.

        For more than a few hundred articles, `load` and `backfill` are quicker. `timeout`: seconds for each
        article, as in `submit`. After an error, the articles before it stay stored. Raises InputError: an
        item is not an Article (if `articles` is a list, before anything is stored), or AttachedError: it is a
        row of an attached table.
        """
        # A list is checked before the first submit, so that nothing is stored if an item is wrong.
        if isinstance(articles, Sequence):
            articles = [checks.article(given) for given in articles]
        return Answers(self.submit(article, timeout=timeout) for article in articles)

    def lookup(self, article: Article | str, *, scope: str | None = None) -> Verdict:
        """Return the verdict that an article, or a bare text, would get; store nothing.

        `scope`: compare with the articles of this scope; None: the scope of the article.
        """
        given = article if isinstance(article, str) else checks.article(article)
        return self._submissions.lookup(given, checks.optional(checks.text, "scope", scope))

    @naming_arguments()
    def load(
        self,
        source: str | Path | Iterable[Article] | Iterable[Mapping[str, Any]] | ArrowStream,
        *,
        rejects: str | Path | None = None,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
        report: reports.LoadReport | None = None,
        **options: Unpack[reading.ReadingOptions],
    ) -> reports.LoadReport:
        """Store articles; `backfill` then marks them. A new version replaces the stored version.

        Args:
            source: path of a file (JSON, CSV, TSV, Parquet, Excel or a feed; also compressed), "-" for stdin,
                or articles. With the extra `fsspec` also an address, such as `s3://bucket/news.jsonl`. Or
                rows: dicts, or, with the extra `frames`, a table of pandas, Polars, Arrow or DuckDB. Rows
                are read once; if dates are text, the first 500 rows decide how they are read.
            fields: column or key in the file for each field of an article; usual names are recognized anyway.
            format: jsonl, json, csv, tsv, parquet, xlsx or xml, if the name of the file does not show it.
            publication, language: defaults for articles without a publication or language.
            html: extract articles from texts that are HTML; needs the extra `html`.
            date_format: format of dates for `strptime`; dates of other forms are read as usual.
            day_first: whether the day is first in dates such as 05/06/2018; None: find out from other dates.
            lose_dates: continue even if more than a tenth of the dates cannot be read.
            encoding: such as cp1252; needed if the file is not UTF-8 and has no byte order mark.
            sheet: name of the Excel sheet; None: the first sheet.
            keep: columns or keys in the file whose values are stored as `Article.kept` and shown with marks.
            rejects: file for refused records; None: `FILE.rejects.jsonl` (`rows.rejects.jsonl` for rows) in
                the current folder.
            progress: receives the number of bytes of the file, or of articles, that are done.
            stop: called between records; if it returns True, loading ends, and all records read are stored.
            report: report to fill, which you can read even after an error; None: a new report.

        Raises:
            InputError: the file cannot be used, or too many of its dates cannot be read; nothing is stored.
                Or the file is cut off; the records before its end are stored.
            DatabaseError: the server refused a statement or went away; earlier batches are stored.
        """
        read = reading.chosen("load", options)
        made = reports.LoadReport() if report is None else report
        found = source if isinstance(source, str | Path) else rows.find_rows(source)
        if isinstance(found, Iterable) and not isinstance(found, str):
            loading.load_articles(self._database, found, made, progress=progress, stop=stop)
            return made
        most, refused = self.settings.max_record_bytes(), rejects or readers.rejects_path(found)
        given = (self._database, found, read, made)
        loading.load_file(*given, max_record_bytes=most, rejects=refused, progress=progress, stop=stop)
        return made

    @staticmethod
    @naming_arguments()
    def preview_load(
        path: str | Path,
        *,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
        **options: Unpack[reading.ReadingOptions],
    ) -> loading.LoadPreview:
        """Read a file to its end as `load` would, and report on it; no database is needed."""
        read = reading.chosen("preview_load", options)
        return loading.preview_file(path, read, progress=progress, stop=stop)

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
        """Settle all pending and stale articles. Finished batches are kept if the backfill ends early.

        Args:
            batch: maximum number of articles per transaction; the marks do not depend on it.
            workers: threads that fingerprint texts; None: number of cores + 1; 0: only the calling thread.
            engine: "postgres" settles one batch after the other, "memory" all articles together, "auto"
                chooses the quicker engine; the marks do not depend on it.
            memory: approximate maximum of bytes for engine "memory"; None: a quarter of the machine's memory.
            stop: called between batches; if it returns True, the backfill finishes its batch and ends.

        Raises:
            MachineError: the machine has too little memory, or cannot start another thread.
            StuckError: another backfill runs without progress, or this backfill repeats the same work.
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
        """Count the texts to fingerprint and the articles to settle in the next backfill."""
        return settling.preview(self._database)

    def dry_run(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        memory: int | None = None,
        limit: int = 1_000,
        progress: Progress | None = None,
    ) -> dry_runs.DryRun:
        """Return which marks the next backfill would change, because settings or this program changed.

        The whole corpus is read and decided in memory, and nothing is written. Pending articles have no mark
        that could change, and failed articles stay failed. Texts that must be fingerprinted again are
        compared by their present fingerprints. But if `settings` has settings of the kind *fingerprint*, all
        texts are fingerprinted in memory, by one thread.

        Args:
            settings: settings to try, besides those that wait for the next backfill; they are not stored.
            memory: approximate maximum of bytes; None: a quarter of the machine's memory.
            limit: maximum number of articles that are listed; all are counted.

        Raises SettingError: a setting to try is unknown or out of range, or cannot be tried. Raises
        InputError: new fingerprints do not fit in `memory`.
        """
        checks.optional(checks.whole_number, "memory", memory, MIN_MEMORY)
        checks.whole_number("limit", limit, 0, MAX_BATCH)
        return dry_runs.dry_run(self._database, settings, memory=memory, limit=limit, progress=progress)

    def prune(
        self, older_than: str, *, progress: Progress | None = None, stop: Callable[[], bool] = lambda: False
    ) -> settling.BackfillReport:
        """Settle everything, then archive old articles, which keep their marks but are never compared again.

        The setting `keep_window` does the same with each backfill. `older_than`: the horizon, which is a time
        or an age before the newest article, such as "90d", "12w" or "2y". Raises the errors of `backfill`.
        Raises InputError: the horizon is malformed or not after the old horizon, or no article is settled.
        """
        # The horizon is stored before the work, so that the next backfill finishes a stopped prune.
        window.want(self._database, older_than)
        return settling.backfill(self._database, progress=progress, stop=stop)

    def preview_prune(self, older_than: str) -> window.PrunePreview:
        """Count the articles that `prune` would archive. Raises InputError: as in `prune`."""
        return window.preview(self._database, older_than)

    def import_corpus(
        self,
        folder: str | Path,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> ImportReport:
        """Import the marks that Spark gave to the articles of this corpus: all marks, or none.

        `folder`: output of the Spark engine. `dry_run`: only compare; the report lists differences. Raises
        InputError: the folder is damaged, or does not fit this corpus as it is now. Raises BusyError: a
        backfill or another import is running.
        """
        # The core must not import extras, so an entry point of the extra names the function to call.
        take_up: Callable[..., ImportReport] = plugins.needed("corpus", "import_corpus", extra="spark")
        return take_up(self._database, folder, dry_run=dry_run, progress=progress, stop=stop)

    def retry(self, reason: str = "unreadable", *, stop: Callable[[], bool] = lambda: False) -> int:
        """Make failed articles pending again, for the next backfill; return their number.

        `reason`: only articles whose reason begins with these words. `stop`: called between transactions.
        """
        checks.text("the reason", reason)
        # Transactions are short, because each holds the settle lock, and every submit waits for that lock.
        count, total = RETRY_ARTICLES, 0
        while count == RETRY_ARTICLES and not stop():
            with self._database.transaction(settling=True) as cursor:
                count = fingerprints.retry(cursor, reason, RETRY_ARTICLES)
            total += count
        return total

    def delete(self, source_id: str) -> bool:
        """Delete an article; settle its duplicates and similar articles again.

        Return False if the id is unknown. Raises BusyError: the article was locked for `Timeouts.lock`.
        """
        return bool(self.delete_many([source_id]))

    def delete_many(self, source_ids: Iterable[str]) -> list[str]:
        """Delete several articles in one transaction; return the source_ids of deleted articles."""
        wanted = checks.texts("source_id", source_ids)

        def attempt() -> list[str]:
            with self._database.transaction(settling=True) as cursor:
                return hook.delete(cursor, setting_rows.load_settings(cursor), wanted)

        return retry(attempt)

    @property
    def settings(self) -> of_settings.CorpusSettings:
        """Settings of the corpus, and the sentence parameters of its languages."""
        return of_settings.CorpusSettings(self._database)

    @property
    def pins(self) -> of_settings.PairPins:
        """Pinned relations of pairs of articles."""
        return of_settings.PairPins(self._database)

    @property
    def common_sentences(self) -> of_settings.CommonSentences:
        """Common sentences, which comparisons ignore, and the pins on sentences."""
        return of_settings.CommonSentences(self._database)

    @property
    def attachments(self) -> of_attachments.Attachments:
        """Attached tables, whose rows are articles."""
        return of_attachments.Attachments(self._database)

    @property
    def credits(self) -> of_credits.Credits:
        """Agencies that articles name as their source, and the list of known agencies."""
        return of_credits.Credits(self._database)

    @property
    def corrections(self) -> of_corrections.Corrections:
        """The list of phrases by which articles announce that they are corrections."""
        return of_corrections.Corrections(self._database)

    @property
    def outlets(self) -> Outlets:
        """Owners and other names of outlets. The outlets of one owner count as one origin."""
        made: type[Outlets] = plugins.needed("corpus", "outlets", extra="coverage")
        return made(self._database)

    @property
    def loads(self) -> Loads:
        """Loads and feeds, and the removal of the articles that they brought."""
        made: type[Loads] = plugins.needed("corpus", "loads", extra="loads")
        return made(self._database)

    @property
    def judgements(self) -> Judgements:
        """Judgements of people on pairs of articles, and estimates from these judgements."""
        made: type[Judgements] = plugins.needed("corpus", "judgements", extra="judging")
        return made(self._database)
