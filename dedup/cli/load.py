"""Command `load`: store articles from files, show how each file was understood, and count every record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import dedup
from dedup.base.errors import InputError
from dedup.base.words import some
from dedup.cli import output, shared
from dedup.cli.progress import progress_bar
from dedup.cli.signals import unfinished

if TYPE_CHECKING:
    from dedup.files.reading import ReadingOptions
    from dedup.files.report import Understanding

NAMES_SHOWN = 8  # Maximum number of names shown in a list
TEXT_CHARACTERS = 200  # Maximum number of characters of a text that a dry run shows

COUNTS = ("lines", "new", "changed", "same", "superseded", "refused", "repaired", "lost_dates")
"""Counts in the report on a file; the totals add up the counts of all files."""

_FORMATS = {
    **{"jsonl": "JSONL", "json": "JSON", "csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "xml": "XML"},
    **{"xlsx": "Excel", "rss": "RSS", "atom": "Atom", "wxr": "WordPress export (WXR)"},
}
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

Unusable = dict[str, InputError]  # For each file that cannot be used, the error

RejectsOption = Annotated[
    Path | None,
    Option("--rejects", help="File to append refused lines to; default: ./FILE.rejects.jsonl."),
]


def load(
    files: Annotated[
        list[str],
        Argument(metavar="FILE", help="JSON, CSV, Parquet, Excel, a feed, an address; `-`: stdin."),
    ],
    map_: shared.MapOption = None,
    format_: shared.FormatOption = None,
    publication: shared.PublicationOption = None,
    language: shared.LanguageOption = None,
    html: shared.HtmlOption = False,
    date_format: shared.DateFormatOption = None,
    day_first: shared.DayFirstOption = None,
    lose_dates: shared.LoseDatesOption = False,
    encoding: Annotated[
        str | None, Option(metavar="NAME", help="Encoding, such as `cp1252`, if not UTF-8 or UTF-16.")
    ] = None,
    sheet: Annotated[str | None, Option(metavar="NAME", help="Excel sheet; default: the first.")] = None,
    keep: shared.KeepOption = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show three articles; store nothing.")] = False,
    rejects: RejectsOption = None,
    json: shared.JsonOption = False,
) -> None:
    """Store articles from files; `dedup backfill` then marks the articles.

    Each article needs an id and a text. An article with the id of a stored article replaces the stored
    version. Loading a file twice changes nothing. If a file has no ids, the url is the id; of several
    articles with one url, the last counts.

    Fields of an article and their usual names, in upper or lower case, with `-`, `_` or a space:

    - **source_id**: id, guid, uuid, article_id
    - **text**: body, content, article, full_text, html
    - **title**: headline, heading
    - **url**: link, href, permalink
    - **publication**: outlet, publisher, source, source.name, newspaper
    - **published_at**: date, published, pub_date, publish_date, datetime, timestamp
    - **added_at**
    - **language**: lang
    - **byline**: authors, author, creator
    - **kept**
    - **scope**

    **Names.** Use `--map` if the file has other names; `source.name` is the name of a value within an object.
    Articles with a scope are compared with articles of the same scope only.
    `--keep topic,desk` stores more values of your own. Values in an object `kept` are stored too. Views, data
    frames and `dedup marks --kept` show both. At most 4,096 characters of a value are stored. `--dry-run`
    shows which field was found under which name.

    **Formats.** Files are JSON, CSV, TSV, Parquet, Excel or XML, plain or packed (`.gz`, `.zip`, `.xz`,
    `.zst`); `-` is stdin. CSV may be separated by commas, semicolons, tabs or bars. JSON is one object
    per line, an array, or an object with the articles under `articles`, `results`, `data`, `items`, `docs` or
    `hits`. All files in a `.zip` are read as one file. Excel needs the extra `xlsx`, `.zst` needs `zstd`. XML
    is a feed (RSS, Atom) or an export of WordPress (WXR), and needs the extra `html`; the id is the guid, or
    else the link. If the guid is only a number, the site is put before it. From WordPress, only published
    posts and pages are loaded.

    **Addresses**, such as `https://x.example/news.jsonl.gz` and `s3://bucket/news.parquet`, need the extra
    `fsspec`. Messages show no login and no query of an address.

    **Dates** may have the form in `--date-format`, the form of ISO 8601 or RSS, or the name of a month in any
    language; or be a day number of a spreadsheet, or seconds since 1970. Whether 05/06/2018 is in May or June
    is learnt from the file's other dates: a number above 12 must be the day. If no date shows the order,
    dates with full stops are day first; for other dates add `--day-first` or `--month-first`. If more than a
    tenth of the dates cannot be read, nothing of the file is stored and the exit code is 2, unless you add
    `--lose-dates`. For stdin the first 500 records decide. Too many unreadable later dates stop the load.

    **Errors.** Refused lines are written to a rejects file with id, reason and time; all other lines are
    loaded. If a date or another field cannot be read, the article is loaded without that field, and the
    rejects file says so. If one of several files cannot be used, the other files are loaded and the exit code
    is 2. The exit code is 1 if a file ends early, or if every line is refused.

    **Counts.** Every line counts once: new, changed, same, superseded (a later line has the same id) or
    refused. A line may have at most 16 MB, or more if the setting `text_max_characters` needs more. A text
    that is longer than that setting is stored, and the backfill marks the article as failed.

    **Examples**

        dedup load news.jsonl.gz

        dedup load export.csv --map source_id=nid --map text=fulltxt --publication Courier --keep topic,desk

        dedup load crawl.jsonl --map text=page --html --dry-run


        dedup load export.xlsx --sheet 2018 --map title=Titel --map published_at=Datum
    """
    wanted: ReadingOptions = {
        "fields": shared.field_map(map_),
        "format": format_,
        "publication": publication,
        "language": language,
        "html": html,
        "date_format": date_format,
        "day_first": day_first,
        "lose_dates": lose_dates,
        "encoding": encoding,
        "sheet": sheet,
        "keep": shared.names(keep) or (),
    }
    from dedup.files.readers import try_out
    from dedup.files.reading import Reading

    reading = Reading(**wanted)
    unusable: Unusable = {}
    for file in dict.fromkeys(files):
        try:
            try_out(file, reading)
        except InputError as error:
            unusable[file] = error
    usable = [file for file in files if file not in unusable]
    reports: list[dedup.LoadReport] = []
    if usable and dry_run:
        found = _preview(usable, wanted, unusable)
        _show_previews(found, json)
        reports = [preview.report for preview in found]
    elif usable:
        # Open the corpus only now: a mistyped file name must not start the embedded server.
        reports = _load(usable, wanted, rejects, unusable, json)
    errors = [*unusable.values()]
    for other in errors[:-1]:
        output.say(f"dedup: {other}")
    if errors:
        raise errors[-1]
    if any(report.stopped for report in reports) or len(reports) < len(files):
        unfinished()
    if any(report.truncated for report in reports) or _all_refused(reports):
        raise typer.Exit(1)


def _load(
    files: Sequence[str], wanted: ReadingOptions, rejects: Path | None, unusable: Unusable, json: bool
) -> list[dedup.LoadReport]:
    reports: list[dedup.LoadReport] = []
    try:
        with shared.corpus(make=True) as dd, shared.stopping() as stop, progress_bar("bytes") as bar:
            for file in files:
                report = dedup.LoadReport()
                reports.append(report)
                try:
                    dd.load(file, rejects=rejects, progress=bar, stop=stop.is_set, report=report, **wanted)
                except InputError as error:
                    unusable[file] = error
                if stop.is_set():
                    break
    except BaseException:
        # The batches before the error are stored, so print the report although the load failed.
        if any(report.lines for report in reports):
            _show(reports, json)
        raise
    if any(report.lines or report.file for report in reports):
        _show(reports, json)
    return reports


def _preview(files: Sequence[str], wanted: ReadingOptions, unusable: Unusable) -> list[dedup.LoadPreview]:
    found = []
    with shared.stopping() as stop, progress_bar("bytes") as bar:
        for file in files:
            try:
                found.append(dedup.Deduplicator.preview_load(file, progress=bar, stop=stop.is_set, **wanted))
            except InputError as error:
                unusable[file] = error
            if stop.is_set():
                break
    return found


def _all_refused(reports: Sequence[dedup.LoadReport]) -> bool:
    lines, refused = (sum(getattr(report, name) for report in reports) for name in ("lines", "refused"))
    return bool(lines) and lines == refused


def _show(reports: Sequence[dedup.LoadReport], json: bool) -> None:
    if json:
        output.write_json({**_totals(reports), "files": [report.as_dict() for report in reports]})
        return
    # Leave out files that could not be used: the command names these at the end, with their errors.
    read = [report for report in reports if report.file is not None]
    for report in read:
        for line in _lines(report):
            output.say(line)
    totals = _totals(read)
    if read:
        output.say(str(dedup.LoadReport(**{name: totals[name] for name in COUNTS})))
    if _all_refused(read):
        output.say(f"nothing was loaded: {_next_step(read)}")
    if any(report.stopped for report in read):
        output.say("stopped as asked; run the same command again to continue")
    elif totals["new"] or totals["changed"]:
        output.say("next: dedup backfill")


def _next_step(reports: Sequence[dedup.LoadReport]) -> str:
    """Return advice for the most frequent reason, if every line was refused."""
    noted = [noted for report in reports for noted in report.reasons.values()]
    reason = max(noted, key=lambda one: one.count).reason
    if "JSON" in reason:
        return "the lines are not JSON; name the format, such as --format csv"
    if "UTF-8" in reason:
        likely = (report.understood.likely_encoding for report in reports if report.understood)
        return f"name the encoding of the file: --encoding {next(filter(None, likely), 'cp1252')}"
    if reason == "source_id is missing":
        return "name the field that holds the id: --map source_id=NAME"
    if reason == "text is missing":
        return "name the field that holds the text: --map text=NAME"
    return "correct the file, then load it again"


def _show_previews(previews: Sequence[dedup.LoadPreview], json: bool) -> None:
    if json:
        output.write_json([preview.as_dict() for preview in previews])
        return
    for preview in previews:
        for line in _lines(preview.report):
            output.say(line)
        for article in preview.articles:
            output.table("", ("", ""), _facts(article))
    if previews:
        refused = sum(preview.report.refused for preview in previews)
        lines = sum(preview.report.lines for preview in previews)
        output.say(f"read {shared.counted(lines, 'line')}, {refused:,} refused; nothing was stored")


def _facts(article: dedup.Article) -> Iterator[tuple[str, str]]:
    from dedup.base.answer import plain

    for name, value in plain(article).items():
        if name == "text":
            beginning = value[:TEXT_CHARACTERS].rstrip()
            yield name, f"{beginning}{'…' if len(value) > len(beginning) else ''} ({len(value):,} characters)"
        elif value is not None:
            yield name, value if isinstance(value, str) else dumps(value, ensure_ascii=False)


def _lines(report: dedup.LoadReport) -> Iterator[str]:
    assert report.understood is not None
    yield from _understood(report.understood, report.refused)
    for noted in report.reasons.values():
        yield f"  refused: {noted}"
    for noted in report.repairs.values():
        yield f"  repaired: {noted}"
    if report.rejects:
        yield f"  each refused or repaired line: see {report.rejects}"
    if report.understood.likely_encoding:
        yield f"  the file may have another encoding: try --encoding {report.understood.likely_encoding}"
    if report.truncated:
        yield f"{report.file} is damaged and ends early: load a whole copy of it"


def _understood(found: Understanding, refused: int) -> Iterator[str]:
    delimiter = f" with {_DELIMITERS[found.delimiter]}" if found.delimiter else ""
    sheet = f", sheet {found.sheet}" if found.sheet is not None else ""
    encoding = f", in {found.encoding}" if found.encoding else ""
    yield f"{found.file}: {_FORMATS.get(found.format, found.format)}{delimiter}{sheet}{encoding}"
    for what, names in (
        ("files within", found.files),
        ("not read", found.not_read),
        ("other sheets", found.other_sheets),
    ):
        if names:
            yield f"  {what}: {_named(names)}"
    if found.fields:
        kept = [field for field in found.fields if field.startswith("kept.")]
        origins = [_origin(field, names) for field, names in found.fields.items() if field not in kept]
        yield f"  {', '.join(origins)}"
        if kept:
            yield f"  kept: {_named([field.removeprefix('kept.') for field in kept])}"
    if found.ignored:
        yield f"  ignored: {_named([*found.ignored])}"
    if found.ids_from_url:
        yield f"  no id: the url is the id of {shared.counted(found.ids_from_url, 'article')}"
    for field, column in found.dates.items():
        if column.order:
            yield f"  {field}: read {column.order}"
        if column.lost:
            yield f"  {field}: {column.lost:,} of {column.given:,} dates cannot be read, and are lost"
    if found.without_date:
        articles = f"{shared.counted(found.records - refused, 'article')}"
        yield f"  no date: {found.without_date:,} of {articles}; the time of storing counts instead"
    if found.empty:
        empty = shared.counted(found.empty, "text is empty", "texts are empty")
        yield f"  {empty}, which the backfill marks as failed"
    if found.left_out:
        kinds = [f"{count:,} {kind}" for kind, count in found.left_out.items()]
        yield f"  left out, since not published posts or pages: {_named(kinds)}"
    if found.cut:
        texts = shared.counted(found.cut, "text ends", "texts end")
        yield f"  {texts} as if cut off by a service or Excel: the articles may be longer"
    if found.extracted:
        yield f"  texts extracted from HTML: {found.extracted:,}"
    if found.html:
        texts = shared.counted(found.html, "text looks", "texts look")
        yield f"  {texts} like HTML, and tags would be compared as words: load the file again with --html"


def _origin(field: str, names: Mapping[str, int]) -> str:
    if [*names] == [field]:
        return field
    if len(names) == 1:
        return f"{field} ← {next(iter(names))}"
    return f"{field} ← {' or '.join(f'{name} ({count:,})' for name, count in names.items())}"


def _named(names: Sequence[str]) -> str:
    return some([shared.shortened(name) for name in names], NAMES_SHOWN)


def _totals(reports: Sequence[dedup.LoadReport]) -> dict[str, Any]:
    totals: dict[str, Any] = {name: sum(getattr(report, name) for report in reports) for name in COUNTS}
    totals["rejects"] = list(dict.fromkeys(report.rejects for report in reports if report.rejects))
    totals["truncated"] = [report.file for report in reports if report.truncated]
    return totals
