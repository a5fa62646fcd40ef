"""Commands `versions`, `sentences` and `removable`: compare the texts of a story, for people or for SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.text import Text
from typer import Argument, Option

import dedup
from dedup.base.settings import MIN_OUTLETS
from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.read import OutputFile, RawOption, opened
from dedup.cli.shared import JsonOption, corpus, counted, shortened, stopping
from dedup.cli.signals import unfinished

KINDS = ("added", "removed", "changed")
COLUMNS = ("version", "id", "publication", "published", "against", *KINDS)
NUMBERS = ("version", "published", "against", *KINDS)

REMOVABLE_COLUMNS = ("id", "original", "publication", "original_publication", "words", "times_known")


def versions(
    story: Annotated[str, Argument(metavar="STORY", help="Your id of any article of the story.")],
    against: Annotated[
        Literal["before", "original"],
        Option(help="Compare each version with the previous version, or the original."),
    ] = "before",
    json: JsonOption = False,
) -> None:
    """Show how a story was altered: the sentences that each version added, removed and changed.

    Versions are the original and its duplicates by time; each version is compared with the previous version.
    An update with too much new text is not a duplicate, but the original of another story. Updates whose best
    earlier match is this original are listed at the end, and compared with this original. A sentence that
    only moved counts as unchanged. Common sentences are labelled.

    For all stories together, and for SQL: `dedup sentences`.

    **Example**

        dedup versions w2 --against original
    """
    with corpus() as dd:
        found = dd.versions(story, against=against)
    if json:
        output.write_json(found.as_dict())
        return
    numbers = {one.id: one.version for one in found.versions}
    corrected = any(one.correction for one in (*found.versions, *found.updates))
    output.table(
        f"versions of {found.story}",
        (*COLUMNS, "correction") if corrected else COLUMNS,
        (
            (
                *(one.version, one.id, one.publication, one.time if one.published else "unknown"),
                numbers.get(one.before or ""),
                *(one.count(kind) if one.before else None for kind in KINDS),
                *([one.correction] if corrected else []),
            )
            for one in (*found.versions, *found.updates)
        ),
        NUMBERS,
    )
    console = output.console()
    for one in (*found.versions, *found.updates):
        _print_alterations(console, one)
    if not any(one.before for one in (*found.versions, *found.updates)):
        output.say("the story has only one version")


def _print_alterations(console: Console, one: dedup.Version) -> None:
    if one.before is None:
        return
    from dedup.cli.side_by_side import print_sides

    console.print()
    where = f"{one.id} against {one.before}"
    title = f"{where}: {shortened(one.title)}" if one.title else where
    console.print(Text(output.printable(title), style="bold"), soft_wrap=True)
    if not one.alterations:
        console.print(Text("  the same sentences", style="dim"))
    styles = console.is_terminal and not console.is_dumb_terminal
    for alteration in one.alterations:
        note = " (common)" if alteration.common else ""
        console.print(Text(f"  {alteration.kind.value}{note}", style="dim"))
        marks = not styles and None not in (alteration.earlier, alteration.later)
        print_sides(console, alteration.earlier, alteration.later, "    ", marks=marks)


def sentences(
    outlets: Annotated[int, Option(min=2, help="Minimum number of outlets of a quote.")] = MIN_OUTLETS,
    every: Annotated[
        int | None, Option(min=0, metavar="MINUTES", help="Let `dedup worker` repeat this; 0: stop.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Fill the views `alteration`, `addition` and `quote`, for analysts and for `dedup quotes`.

    The command stores words, while other tables have only hashes of sentences. It stores the sentences that
    each version of a story altered, what each copy adds to its original, and at most 100,000 sentences that
    several outlets share. Run the command after a backfill when you need these views, or `dedup removable`.
    Unchanged versions are skipped. Marks do not depend on this command, and `check` and `backfill` never
    wait for it. Sentences of attached tables are stored too, until the rows change. You may stop the command
    at any moment.

    **Examples**

        dedup backfill && dedup sentences

        dedup sentences --outlets 10

        dedup sentences --every 60
    """
    with corpus() as dd, stopping() as stop, progress_bar("texts") as bar:
        report = dd.keep_sentences(outlets=outlets, every=every, progress=bar, stop=stop.is_set)
    if json:
        output.write_json(report.as_dict())
    else:
        compared = counted(report.compared, "version")
        altered, quoted = counted(report.alterations, "alteration"), counted(report.quotes, "quote")
        copies = counted(report.copies, "copy", "copies")
        output.say(f"compared {compared}: {altered}; {copies} with the original; {quoted}")
    if report.stopped:
        output.say("stopped as asked; run the same command again to continue")
        unfinished()
    if not json:
        output.say(
            "next: dedup quotes, dedup removable, or in SQL dedup.alteration, dedup.addition, dedup.quote"
        )


def removable(
    format_: Annotated[
        Literal["lines", "jsonl", "csv"],
        Option("--format", "-f", help="lines: an id per line; jsonl or csv: with the original and figures."),
    ] = "lines",
    json: Annotated[bool, Option("--json", help="The same as --format jsonl.")] = False,
    to: OutputFile = None,
    raw: RawOption = False,
) -> None:
    """List the copies that can be removed without the loss of a word; remove nothing.

    A copy is listed if its original has every three consecutive words of its text. Titles, bylines and kept
    columns are not compared. `dedup sentences` compares copies with originals; run it first. Copies not
    compared since the last change, and stale copies, are not listed. The list is sorted by id, and no listed
    copy is the original of another article.

    Control characters, and cells that a spreadsheet would run, are written as in `dedup marks`.

    **Examples**

        dedup sentences && dedup removable > ids.txt

        dedup removable --format csv --output removable.csv
    """
    with corpus() as dd:
        waiting = dd.uncompared_copies()
        rows: Iterable[Any] = dd.removable()
        with opened(to) as file:
            if json or format_ == "jsonl":
                count = output.write_jsonl(rows, file, raw=raw)
            elif format_ == "csv":
                count = output.write_csv(rows, REMOVABLE_COLUMNS, file, raw=raw)
            else:
                count = 0
                for count, row in enumerate(rows, 1):  # noqa: B007
                    file.write(f"{row['id'] if raw else output.printable(row['id'])}\n")
    output.say(f"{counted(count, 'copy', 'copies')} can be removed without the loss of a word")
    if waiting:
        output.say(f"{counted(waiting, 'copy is', 'copies are')} not compared: run `dedup sentences`")
