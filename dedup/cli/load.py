"""`dedup load`: files become articles; it says what it understood, and accounts for every record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dedup.cli import output
from dedup.cli.shared import (
    FormatOption,
    JsonOption,
    LanguageOption,
    MapOption,
    PublicationOption,
    corpus,
    field_map,
    stopping,
)
from dedup.errors import InputError

if TYPE_CHECKING:
    from dedup import LoadReport, Noted

IDS_SHOWN = 3
"""Ids on the screen per reason; the rejects file has all."""

HEAPS = ("lines", "new", "changed", "same", "superseded", "refused")
"""Counts of a report that are summed over files."""

RejectsOption = Annotated[
    Path | None,
    typer.Option(
        "--rejects", help="Where refused lines go; default: FILE.rejects.jsonl in the current folder."
    ),
]


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
    from dedup import LoadReport

    mapping = field_map(map_)
    reports: list[LoadReport] = []
    unusable: list[InputError] = []
    try:
        with corpus() as dd, stopping() as stop, output.progress_bar("bytes") as bar:
            for file in files:
                report = LoadReport()
                reports.append(report)
                try:
                    dd.load(
                        file,
                        fields=mapping,
                        format=format_,
                        publication=publication,
                        language=language,
                        rejects=rejects,
                        progress=bar,
                        stop=stop.is_set,
                        report=report,
                    )
                except InputError as error:
                    unusable.append(error)
                if stop.is_set():
                    break
    except BaseException:
        if any(report.lines for report in reports):  # what is stored stays stored
            _show(reports, json)
        raise
    if any(report.file is not None for report in reports):
        _show(reports, json)
    for other in unusable[:-1]:
        output.say(f"dedup: {other}")
    if unusable:
        raise unusable[-1]
    if any(report.truncated for report in reports):
        raise typer.Exit(1)


def _show(reports: Sequence[LoadReport], json: bool) -> None:
    if json:
        output.write_json({**_totals(reports), "files": [report.as_dict() for report in reports]})
        return
    read = [report for report in reports if report.file is not None]  # of others it is said at the end
    for report in read:
        for reason, noted in report.reasons.items():
            output.say(f"refused: {noted.count:,} for: {reason} ({_some(noted)})")
        if report.rejects:
            output.say(f"refused lines: see {report.rejects}")
        if report.truncated:
            output.say(
                f"{report.file} is damaged and ends early (try `gzip -t`): load it again when it is whole"
            )
    if read:
        output.say(_summed(read))
    if any(report.new or report.changed for report in reports):
        output.say("next: dedup backfill")


def _summed(reports: Sequence[LoadReport]) -> str:
    """What became of the records of all files, in words."""
    from dedup import LoadReport

    return str(LoadReport(**{heap: sum(getattr(report, heap) for report in reports) for heap in HEAPS}))


def _some(noted: Noted) -> str:
    """Which records, of many the first."""
    shown = ", ".join(noted.ids[:IDS_SHOWN])
    return f"{shown}, …" if noted.count > IDS_SHOWN else shown


def _totals(reports: Sequence[LoadReport]) -> dict[str, Any]:
    totals: dict[str, Any] = {heap: sum(getattr(report, heap) for report in reports) for heap in HEAPS}
    totals["rejects"] = list(dict.fromkeys(report.rejects for report in reports if report.rejects))
    totals["truncated"] = [report.file for report in reports if report.truncated]
    return totals
