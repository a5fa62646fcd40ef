"""Command `dedup export stories`: write the stories of a corpus into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.read import RepresentativeOption, SinceOption
from dedup.cli.shared import ForceOption, JsonOption, corpus, moment, refuse_existing, stopping
from dedup.cli.signals import unfinished

export_app = typer.Typer(no_args_is_help=True, help="Export a corpus into files, for other programs.")


@export_app.command()
def stories(
    file: Annotated[Path, Argument(metavar="FILE", help="File, NAME.parquet or NAME.sqlite.")],
    since: SinceOption = None,
    representative: RepresentativeOption = "first",
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write every article with its story, score, reason and times, for DuckDB, Datasette and notebooks.

    A Parquet file has one row per article. An SQLite file has the tables story, article and match, linked by
    foreign keys: `datasette news.sqlite` shows the tables in a browser. Texts are left out. The file is one
    snapshot of the corpus; an interrupted export leaves no file. Needs the extra `frames`.

    With `--since` the file has the articles since then, the stories of these articles, and their pairs with
    earlier articles. `--representative` chooses the article whose title, outlet and address are in the table
    story.

    **Examples**

        dedup export stories news.parquet

        dedup export stories week.sqlite --since 7d
    """
    refuse_existing(file, force=force)
    first = moment(since) if since is not None else None
    with corpus() as dd, stopping() as stop, progress_bar("rows") as bar:
        report = dd.export_stories(
            file,
            since=first,
            representative=representative,
            replace=force,
            progress=bar,
            stop=stop.is_set,
        )
    if report.stopped:
        output.say(f"stopped as asked; {file} was not written")
        unfinished()
    if json:
        output.write_json(report.as_dict())
        return
    rows = ", ".join(f"{table} {count:,}" for table, count in report.rows.items())
    output.say(f"wrote {file}; rows by table: {rows}")
