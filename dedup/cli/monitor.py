"""Commands that watch: runs, metrics, and the check of `status`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dedup.cli import output
from dedup.cli.shared import METRICS_PACKAGES, JsonOption, corpus, needs, seconds_of

CheckOption = Annotated[
    bool, typer.Option("--check", help="Say in one line whether all is well, cheaply; exit code 1 if not.")
]
MaxAgeOption = Annotated[
    str,
    typer.Option(
        "--max-age",
        metavar="TIME",
        help="With `--check`: how old the last success may be, and how long articles may wait: 90s, 26h, 2d.",
    ),
]

MaxWaitOption = Annotated[
    str | None,
    typer.Option(
        "--max-wait",
        metavar="TIME",
        help="With `--check`: how long articles and changes may wait with nobody at work; default: 15m where"
        " there are workers, else as `--max-age`.",
    ),
]

SizesOption = Annotated[
    bool, typer.Option("--sizes", help="Show the bytes of each table too, in all and for each article.")
]

COUNTS = ("settled", "fingerprinted", "failed", "lost")

NOT_WELL = 1
"""Exit code of a check that found something wrong; also where the database does not answer."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(runs)
    app.command()(metrics)


def run_check(max_age: str, max_wait: str | None, json: bool) -> None:
    """Say in one line whether all is well; exit code 1 if not."""
    seconds, wait = seconds_of(max_age), seconds_of(max_wait) if max_wait is not None else None
    with corpus() as dd:
        found = dd.vitals(lately=seconds)
    problems = found.problems(seconds, wait)
    if json:
        output.write_json({"well": not problems, "problems": problems, **found.as_dict()})
    else:
        words = f"NOT WELL: {'; '.join(problems)}" if problems else f"OK: {found.waiting}"
        output.console().print(output.printable(words), soft_wrap=True, markup=False)
    if problems:
        raise typer.Exit(NOT_WELL)


def runs(
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
    json: JsonOption = False,
) -> None:
    """List the last runs: backfills, imports, and the working periods of workers.

    The last 1,000 are kept; in SQL, `dedup.run_history`.
    """
    with corpus() as dd:
        found = dd.runs(limit)
    if json:
        output.write_json([run.as_dict() for run in found])
        return
    output.table(
        "",
        ("id", "what", "started", "seconds", "outcome", *COUNTS, "host", "error"),
        (
            (
                str(run.id),
                run.what,
                run.started_at,
                f"{run.seconds:,.1f}",
                run.outcome,
                *(getattr(run, name) for name in COUNTS),
                run.host,
                run.error,
            )
            for run in found
        ),
        ("seconds", *COUNTS),
    )


def metrics(
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this file, which is whole at every moment."),
    ] = None,
) -> None:
    """Print metrics for Prometheus, or write them to a file for the node exporter.

    Needs `pip install 'newsdedup[metrics]'`. Exit code 1 if the database does not answer; then the only
    metric is `dedup_up 0`.

    **Example**

        dedup metrics -o /var/lib/node_exporter/dedup.prom
    """
    needs("dedup metrics", "metrics", METRICS_PACKAGES)
    from dedup.metrics import Metrics

    found = Metrics()
    try:
        if to:
            found.write(to)
        else:
            sys.stdout.write(found.text())
    finally:
        found.close()
    if not found.up:
        output.say("the database did not answer: `dedup status` says why")
        raise typer.Exit(NOT_WELL)
