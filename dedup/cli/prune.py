"""The command `prune`: what is old is archived, and no longer compared."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from dedup.cli import output
from dedup.cli.shared import JsonOption, corpus, counted, stopping
from dedup.cli.signals import unfinished


def prune(
    older_than: Annotated[
        str,
        Option(
            metavar="AGE|DAY",
            help="Before the newest article: `90d`, `12w`, `2y`; or the day from which on articles stay.",
        ),
    ],
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be archived; change nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Archive old articles: they keep text and marks, and are compared with nothing any more.

    First everything is settled, so that what leaves has its mark. Then the horizon moves; articles before it
    lose their fingerprints, and the room of these is used for the articles that come. A copy inside whose
    original leaves is settled again: the earliest copy inside becomes the original. The horizon never goes
    back. What comes later and is dated before it is archived at once, as `failed` with the reason `archived`.

    May be stopped at any moment; the next backfill goes on. To do this every night:
    `dedup settings set keep_window=90d`.

    **Example**

        dedup prune --older-than 2y --dry-run
    """
    with corpus() as dd, stopping() as stop, output.progress_bar() as bar:
        found = dd.preview_prune(older_than)
        if not dry_run:
            report = dd.prune(older_than, progress=bar, stop=stop.is_set)
    horizon = f"{found.horizon:%Y-%m-%d} UTC"
    if dry_run:
        if json:
            output.write_json(found.as_dict())
        else:
            output.say(
                f"horizon {horizon}: {counted(found.articles, 'article', 'articles')} would be archived"
                f" ({found.archived:,} are already), {counted(found.settled_again, 'copy', 'copies')} whose"
                " original is among them settled again"
            )
        return
    if json:
        output.write_json({**report.as_dict(), "horizon": found.horizon.isoformat()})
    elif report.running:
        output.say(
            f"{report.running.kind} is running, {report.running}: the horizon is moved to {horizon} after it"
        )
    elif report.stopped:
        output.say("stopped as asked; run `dedup backfill` to go on")
    else:
        output.say(
            f"horizon {horizon}: archived {counted(report.archived, 'article', 'articles')};"
            f" wrote {counted(report.settled, 'mark', 'marks')}"
        )
    if report.stopped:
        unfinished()
