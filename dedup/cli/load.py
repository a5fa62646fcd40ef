"""`dedup load`: files become articles of the corpus, batch by batch; every record read is accounted for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from dedup.article import Article, stored_size
from dedup.cli import output
from dedup.cli.shared import (
    FormatOption,
    JsonOption,
    LanguageOption,
    MapOption,
    PublicationOption,
    completed,
    corpus,
    field_map,
    max_record_bytes,
    rejects_path,
    stopping,
)
from dedup.errors import InputError
from dedup.files.readers import ArticleReader, Reject, RejectsFile, read_articles

if TYPE_CHECKING:
    from dedup.corpus.articles import LoadCounts
    from dedup.corpus.database import Database

LOAD_ARTICLES = 500
LOAD_BYTES = 4_000_000
"""Articles, and bytes of all their fields, per transaction of a load; a larger article goes alone. Postgres
takes messages of up to 1 GB."""

PROGRESS_BYTES = 1_048_576
"""Of the file, between two steps of the progress bar."""

RejectsOption = Annotated[
    Path | None,
    typer.Option(
        "--rejects", help="Where refused lines go; default: FILE.rejects.jsonl in the current folder."
    ),
]


@dataclass(slots=True)
class Report:
    """What became of the records read: `lines` of them, each in one of the five heaps.

    Attributes:
        lines: records read, that is lines of JSONL that are not blank, rows of CSV and Parquet.
        new, changed, same, superseded: as of `LoadCounts`.
        refused: written to a rejects file.
        rejects: these files; truncated: files that broke off.
    """

    lines: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0
    superseded: int = 0
    refused: int = 0
    rejects: list[str] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)


def load(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="JSONL, CSV, TSV or Parquet; .gz is fine; - is stdin."),
    ],
    map_: MapOption = None,
    format_: FormatOption = None,
    publication: PublicationOption = None,
    language: LanguageOption = None,
    rejects: RejectsOption = None,
    json: JsonOption = False,
) -> None:
    """Store articles from files; `dedup backfill` then marks them.

    Each needs an id (`source_id` or `id`) and a `text`; `title`, `url`, `publication`, `published_at`,
    `added_at` and `language` are used where present. An article whose id is known already is an edit: its
    new text replaces the old one. Loading the same file twice changes nothing.

    Lines that cannot be read go to a rejects file with line number and reason; the others are loaded. A file
    that cannot be used keeps no other from being loaded; the exit code is then 2, and 1 where one broke off.

    Every line read is counted once: new, changed, same, superseded (its id comes again soon after, and the
    later line counts) or refused. A line may have 16 MB, a text 50,000,000 characters, a title and a URL
    16 kB; more if the setting `text_max_characters` asks for longer lines.

    **Examples**

        dedup load news.jsonl.gz

        dedup load export.csv --map source_id=guid --map text=body --publication Courier
    """
    mapping = field_map(map_)
    report = Report()
    unusable: list[InputError] = []
    try:
        with corpus() as database, stopping() as stop:
            bound = max_record_bytes(database)
            for file in files:
                try:
                    reader = read_articles(file, fields=mapping, format=format_, max_record_bytes=bound)
                    with reader, RejectsFile(rejects_path(rejects, file)) as refused:
                        _load_file(database, reader, refused, report, publication, language, stop)
                except InputError as error:
                    unusable.append(error)
                if stop.is_set():
                    break
    except BaseException:
        if report.lines:  # what is stored stays stored
            _show(report, json)
        raise
    if report.lines or len(unusable) < len(files):
        _show(report, json)
    for other in unusable[:-1]:
        output.say(f"dedup: {other}")
    if unusable:
        raise unusable[-1]
    if report.truncated:
        raise typer.Exit(1)


def _load_file(
    database: Database,
    reader: ArticleReader,
    refused: RejectsFile,
    report: Report,
    publication: str | None,
    language: str | None,
    stop: Event,
) -> None:
    batch = _Batch(database, report)
    try:
        with output.progress_bar("bytes") as bar:
            bar.start("loading", reader.bytes_total)
            seen = 0
            for found in reader:
                item = completed(found, publication, language)
                if isinstance(item, Reject):
                    refused.write(item)
                    report.lines += 1
                    report.refused += 1
                else:
                    batch.add(item)
                if reader.bytes_read - seen >= PROGRESS_BYTES:
                    bar.advance(reader.bytes_read - seen)
                    seen = reader.bytes_read
                if stop.is_set():
                    break
            bar.advance(reader.bytes_read - seen)
        batch.store()
    except (InputError, MemoryError):  # of reading: what was read before is stored
        batch.store()
        raise
    finally:
        if refused.count and str(refused.path) not in report.rejects:
            report.rejects.append(str(refused.path))
        if reader.truncated:
            report.truncated.append(reader.file)


class _Batch:
    """Articles on their way to the database, within the bounds of one transaction."""

    def __init__(self, database: Database, report: Report) -> None:
        self._database = database
        self._report = report
        self._articles: list[Article] = []
        self._bytes = 0

    def add(self, article: Article) -> None:
        size = stored_size(article)
        if self._bytes + size > LOAD_BYTES:
            self.store()
        self._articles.append(article)
        self._bytes += size
        if len(self._articles) >= LOAD_ARTICLES or self._bytes >= LOAD_BYTES:
            self.store()

    def store(self) -> None:
        from dedup.corpus import articles
        from dedup.corpus.database import retried

        if not self._articles:
            return

        def attempt() -> LoadCounts:
            with self._database.transaction() as cursor:
                return articles.store(cursor, self._articles)

        counts = retried(attempt, self._database.timeouts.lock)
        report = self._report
        report.lines += len(self._articles)
        report.new += counts.new
        report.changed += counts.changed
        report.same += counts.same
        report.superseded += counts.superseded
        self._articles, self._bytes = [], 0


def _show(report: Report, json: bool) -> None:
    if json:
        output.write_json(asdict(report))
        return
    output.say(
        f"read {report.lines:,} lines: {report.new:,} new, {report.changed:,} changed, {report.same:,} same,"
        f" {report.superseded:,} superseded, {report.refused:,} refused"
    )
    if report.refused:
        output.say(f"refused lines: see {', '.join(report.rejects)}")
    for file in report.truncated:
        output.say(f"{file} is damaged and ends early (try `gzip -t`): load it again when it is whole")
    if report.new or report.changed:
        output.say("next: dedup backfill")
