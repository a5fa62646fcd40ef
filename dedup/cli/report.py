"""The command `report`: a day, a story or a search as one file to send around."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

from typer import Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.shared import corpus, needs
from dedup.files.whole import new_file

REPORT_PACKAGES = ("jinja2",)  # What the extra `newsdedup[browse]` brings for this


def report(
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The HTML file to write.")],
    day: Annotated[
        str | None, Option(metavar="DAY", help="A day in UTC, such as 2026-11-20; else the newest.")
    ] = None,
    last: Annotated[str | None, Option(metavar="DAY", help="With `--day`: all days until this one.")] = None,
    story: Annotated[str | None, Option(metavar="ID", help="The story of an article instead.")] = None,
    search: Annotated[str | None, Option(metavar="WORDS", help="Articles with these words instead.")] = None,
    force: Annotated[bool, Option("--force", help="Replace a file of this name.")] = False,
) -> None:
    """Write a day, a story or a search as one HTML file, to be opened anywhere and sent around.

    It holds what the pages of `dedup browse` show, with its style inside, without links and without a script:
    figures, pictures, lists, and versions side by side. Parts of the texts are in it. Needs
    `pip install 'newsdedup[browse]'`.

    **Examples**

        dedup report --day 2026-11-20 -o day.html

        dedup report --story https://example.org/storm -o storm.html
    """
    needs("dedup report", "browse", REPORT_PACKAGES)
    from dedup.web.browse import report as reports

    if sum(given is not None for given in (day, story, search)) > 1 or (last is not None and day is None):
        raise InputError("give one of --day, --story and --search; --last goes with --day")
    if out.exists() and not force:
        raise InputError(f"{out} exists; give another name, or --force to replace it")
    with corpus() as dd:
        if story is not None:
            page = reports.of_story(dd, story)
        elif search is not None:
            page = reports.of_search(dd, search)
        else:
            first = _day(day) or dd.browsing.newest_day() or datetime.now(UTC).date()
            page = reports.of_day(dd, first, _day(last))
    with new_file(out, replace=force) as made:
        made.write_text(page, "utf-8", errors="replace")
    output.say(f"wrote {out}; open it in a browser")


def _day(given: str | None) -> date | None:
    if given is None:
        return None
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InputError(f"{given!r} is no day: write it like 2026-11-20") from None
