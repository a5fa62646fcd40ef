"""Commands `dedup loads`: list loads and feeds, and remove the articles that they brought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.shared import JsonOption, YesOption, agree, corpus, counted, stopping
from dedup.cli.signals import unfinished

if TYPE_CHECKING:
    from dedup.extras.loads.loads import Removal

loads_app = typer.Typer(invoke_without_command=True)


@loads_app.callback()
def loads(
    context: typer.Context,
    feeds: Annotated[bool, Option("--feeds", help="List the feeds of `dedup watch` instead.")] = False,
    limit: Annotated[int, Option(min=1, help="Maximum number of loads to list.")] = 20,
    json: JsonOption = False,
) -> None:
    """List the loads of files and programs, the newest first, and remove what a load or a feed brought.

    - **new**: articles that the load stored first
    - **before**: articles of the load that were stored before, which the load may have edited
    - **stored**: new articles that are still stored

    Loads from before schema 0034 are unknown. Attached tables are no loads: see `dedup detach`.
    Articles from `check`, scrapers and the HTTP service belong to no load.
    """
    if context.invoked_subcommand:
        return
    with corpus() as dd:
        if feeds:
            listed = dd.loads.feeds()
        else:
            found = dd.loads.list(limit)
    if feeds:
        output.listed(
            listed,
            "feeds",
            ("stored", "answered", "feed"),
            ((one.stored, one.answered_at, one.address) for one in listed),
            ("stored", "answered"),
            json=json,
        )
        return
    output.listed(
        found,
        "loads",
        ("load", "when", "who", "new", "before", "stored", "removed", "from"),
        (
            (
                *(str(one.number), one.loaded_at, one.loaded_by, one.new, one.known, one.stored),
                *(one.removed_at, "a program" if one.source is None else one.source),
            )
            for one in found
        ),
        ("load", "when", "new", "before", "stored", "removed"),
        json=json,
    )


@loads_app.command("remove")
def loads_remove(
    names: Annotated[
        list[str],
        Argument(metavar="LOAD|FEED", help="Number of a load, or address of a feed; see the lists."),
    ],
    dry_run: Annotated[bool, Option("--dry-run", help="Count articles and marks; change nothing.")] = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Delete the articles that a load or a feed brought; the next backfill settles related articles again.

    An article stays if it was stored before, if another load or feed had it too, or if somebody else changed
    its text since. To remove an article that several loads had, remove these loads together. An edit is not
    undone: an article that was stored before keeps the version of the load. Pins and judgements stay.

    The command counts first, and asks; without a terminal it needs `--yes`. Marks of other articles may
    change: copies lose their original, and related articles are settled again. If you stop the command, the
    same command continues. If `dedup watch` still polls a removed feed, only entries that are new or changed
    since come back.

    **Examples**

        dedup loads remove 17 --dry-run

        dedup loads remove 17 18

        dedup loads remove https://courier.example/feed

    Next: `dedup backfill`.
    """
    asked = [int(name) if name.isascii() and name.isdecimal() else name for name in names]
    with corpus() as dd:
        with progress_bar() as bar:
            found = dd.loads.preview(asked, progress=bar)
        if not dry_run and found.articles:
            agree(f"{counted(found.articles, 'article')} will be deleted; {_marks(found)}", yes=yes)
        if not dry_run:
            with stopping() as stop, progress_bar() as bar:
                done = dd.loads.remove(asked, progress=bar, stop=stop.is_set)
            found = replace(done, copies=found.copies, related=found.related)
    if json:
        output.write_json(found.as_dict())
    elif dry_run:
        output.say(f"would delete {counted(found.articles, 'article')}; {_marks(found)}")
    else:
        output.say(f"deleted {counted(found.articles, 'article')}")
    for line in () if json else _kept(found):
        output.say(line)
    if found.stopped:
        output.say("stopped as asked; run the same command again to continue")
        unfinished()
    if found.articles and not dry_run and not json:
        output.say("next: dedup backfill")


def _marks(found: Removal) -> str:
    copies = counted(found.copies, "copy loses its original", "copies lose their original")
    return f"{copies}, and up to {found.related:,} more marks of other articles may change"


def _kept(found: Removal) -> Iterator[str]:
    for count, why in (
        (found.older, "stored before"),
        (found.elsewhere, "also in another load or feed"),
        (found.edited, "changed by somebody else since"),
    ):
        if count:
            yield f"{counted(count, 'article stays', 'articles stay')}: {why}"
