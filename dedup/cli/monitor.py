"""Commands that monitor the corpus: status, runs, metrics."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

import dedup
from dedup.base import config
from dedup.base.errors import DatabaseError, InputError, LoginError, RightsError
from dedup.base.later import Later
from dedup.cli import output
from dedup.cli.shared import METRICS_PACKAGES, JsonOption, corpus, counted, needs, seconds_of

if TYPE_CHECKING:
    from dedup.api import alarms
else:
    alarms = Later("dedup.api.alarms")  # Imported late: `--help` needs no database

CheckOption = Annotated[
    bool, Option("--check", help="Check the corpus, with the output and exit codes of a Nagios plugin.")
]
FailOnOption = Annotated[
    list[str] | None,
    Option(
        metavar="FIGURE[=W[:C]]",
        help="With `--check`: only this figure alarms, above these thresholds. May be repeated.",
    ),
]
MaxAgeOption = Annotated[
    str | None,
    Option(
        "--max-age", metavar="TIME", help="With `--check`: maximum time since all was settled; default 26h."
    ),
]
MaxWaitOption = Annotated[
    str | None,
    Option("--max-wait", metavar="TIME", help="With `--check`: maximum time that work may wait."),
]
SizesOption = Annotated[bool, Option("--sizes", help="Show bytes of each table, and bytes per article.")]

COUNTS = ("settled", "fingerprinted", "failed")

MAX_AGE = "26h"  # Default of `--max-age`: a night's run, and two hours

CHECK_SECONDS = 10.0  # Maximum wait of a check for the database; monitors end a check after 30 to 60 seconds


def status(
    everything: Annotated[bool, Option("--all", help="Show all figures and reasons.")] = False,
    check: CheckOption = False,
    max_age: MaxAgeOption = None,
    max_wait: MaxWaitOption = None,
    fail_on: FailOnOption = None,
    sizes: SizesOption = False,
    json: JsonOption = False,
) -> None:
    """Show the state of the corpus: articles by status, waiting work with reasons, limits that were reached.

    The output fits a screen, and names the figures that are left out; `--all` and `--json` show all figures.

    `--check` is for Nagios and cron: the first line has the state and performance data, and a line follows
    for each alarm. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (the schema is not complete, or the database does
    not answer), 3 UNKNOWN (wrong usage, or a refused login or right).

    All is well if: everything was settled at some time in the last `--max-age`; no article failed in that
    time (an empty text is not a failure); no run is stuck; a worker is alive, if there was one in the last
    hour; the schema is complete; no attached table has a problem; and the last runs did not fail for the same
    reason while articles wait.
    While a run is at work, articles and changes may wait for `--max-age`. Otherwise they may wait for
    `--max-wait`: by default 15 minutes if there are workers, else `--max-age`.

    `--fail-on` names the figures that alarm, such as `failed`, `pending=100:1000`, `waiting=15m:2h` or
    `stale=:5000`: WARNING above the first threshold, CRITICAL above the second. docs/worker.md lists them.
    `--max-age` and `--max-wait` are then refused if they change none of these figures.
    """
    if check:
        _refuse_useless(max_age, max_wait, fail_on)
        run_check(MAX_AGE if max_age is None else max_age, max_wait, fail_on, json)
        return
    for option, given in (("--fail-on", fail_on), ("--max-age", max_age), ("--max-wait", max_wait)):
        if given is not None:
            raise InputError(f"{option} says what --check alarms about: add --check")
    with corpus() as dd:
        location, found = dd.location, dd.status()
    if json:
        output.write_json({"database": location, **found.as_dict()})
        return
    total = sum(found.counts.values())
    order = ("unique", "similar", "duplicate", "pending", "failed")
    counts = [(name, found.counts[name]) for name in order if found.counts.get(name)]
    output.table(
        f"{location}, {output.size(found.database_bytes)}: {counted(total, 'article')}",
        ("status", "articles", "share"),
        ((name, count, f"{100 * count / total:.1f} %") for name, count in counts),
        ("articles", "share"),
    )
    archived = f"{found.archived:,}, before {found.horizon:%Y-%m-%d} UTC" if found.horizon else "0"
    marked = "never" if found.last_marked_at is None else f"{found.last_marked_at:%Y-%m-%d %H:%M} UTC"
    # The third value of a fact is true if the fact is shown without `--all`.
    facts: list[tuple[str, str, object]] = [
        ("stories with copies", f"{found.stories_with_copies:,}", found.stories_with_copies),
        ("similar pairs", f"{found.similar_pairs:,}", False),
        (
            "common sentences",
            f"{found.common_sentences:,} ({found.sentence_pins:,} pinned)",
            found.common_sentences or found.sentence_pins,
        ),
        ("pinned pairs", f"{found.pair_pins:,}", False),
        ("archived", archived, found.horizon),
        ("stale", f"{found.stale:,}, which must be settled again", found.stale),
        ("without fingerprint", f"{found.unfingerprinted:,}", found.unfingerprinted),
        ("last mark", marked, True),
        ("backfill", found.backfill.state if found.backfill else "not running", found.backfill),
        ("settle lock", f"held by {found.held_by}" if found.held_by else "free", found.held_by),
        ("deferred", f"{found.deferred:,} to be stored by a backfill", found.deferred),
        ("attached tables", f"{counted(found.changes, 'change')} to be read", found.changes),
        (
            "revision",
            f"fingerprints of revision {found.fingerprint_revision}, Unicode {found.unicode_version}",
            False,
        ),
    ]
    if waiting := ", ".join(found.waiting_settings):
        facts.append(("settings", f"{waiting} to be put in force by a backfill", True))
    shown = [(name, value) for name, value, tells in facts if tells or everything]
    if not everything:
        shown.append(("with --all", ", ".join(name for name, _, tells in facts if not tells)))
    if sizes:
        shown += [(f"  {name}", output.size(count)) for name, count in found.sizes.items()]
        shown += [(f"bytes per article: {name}", f"{n:,.0f}") for name, n in found.bytes_per_article.items()]
    output.table("", ("", ""), shown)
    _say_reasons("failed: {}: {}", found.failures, everything)
    _say_reasons("a safety limit left {} for the next backfill: {}", found.limits, everything)
    if "unreadable" in found.failures:
        output.say("next, after you removed the cause: dedup retry")
    if (run := found.backfill) and run.stuck:
        output.say(f"the {run.what} is probably stuck: see process {run.process_id} on its host")
    elif not run and (
        found.counts.get("pending")
        or found.stale
        or found.uncounted
        or found.waiting_settings
        or found.deferred
        or found.changes
    ):
        output.say("next: dedup backfill")


def _say_reasons(words: str, counts: dict[str, int], everything: bool) -> None:
    """Print a line for each reason, the most frequent first. Without `everything`, print only one line."""
    reasons = sorted(counts, key=lambda reason: (-counts[reason], reason))
    for reason in reasons if everything else reasons[:1]:
        others = 0 if everything else len(reasons) - 1
        more = f", and {counted(others, 'other reason')}" if others else ""
        output.say(words.format(counted(counts[reason], "article"), reason) + more)


def run_check(max_age: str, max_wait: str | None, fail_on: list[str] | None, json: bool) -> None:
    seconds, wait = seconds_of(max_age), seconds_of(max_wait) if max_wait is not None else None
    chosen = None if fail_on is None else dict(map(_threshold, fail_on))
    with corpus(config.timeouts().at_most(CHECK_SECONDS), start=False) as dd:
        found = dd.vitals(lately=seconds)
    figures = found.figures(seconds, wait, chosen)
    # `figures` has the most urgent figure first, and `sorted` keeps this order within the same state.
    alarming = sorted((figure for figure in figures if figure.state), key=lambda figure: -figure.state)
    state = alarming[0].state if alarming else alarms.CheckState.OK
    if json:
        listed = [{**figure.as_dict(), "state": figure.state.name} for figure in alarming]
        output.write_json({"state": state.name, "alarms": listed, **found.as_dict()})
    else:
        lines = [
            f"{figure.state.name} {figure.name}: {problem}; list: `{figure.listing}`"
            for figure in alarming
            for problem in figure.problems
        ]
        more = f", and {counted(len(lines) - 1, 'other alarm')}" if len(lines) > 1 else ""
        summary = f"{alarming[0].problems[0]}{more}" if alarming else found.waiting
        _write_check(state, summary, " ".join(figure.performance for figure in figures), *lines)
    if state:
        raise typer.Exit(state)


WAITS = ("waiting", "changes_waiting")
DEPENDENT = {"--max-age": ("settled", *WAITS, "failed"), "--max-wait": WAITS}
"""Figures that depend on an option, unless `--fail-on` gives a threshold; `failed` depends on it anyway."""


def _refuse_useless(max_age: str | None, max_wait: str | None, fail_on: list[str] | None) -> None:
    """Raise InputError if `--max-age` or `--max-wait` is given, but changes no figure of `--fail-on`."""
    chosen = dict(map(_threshold, fail_on or ()))
    dependent = {name for name, thresholds in chosen.items() if thresholds is None or name == "failed"}
    for option, given in (("--max-age", max_age), ("--max-wait", max_wait)):
        if chosen and given is not None and dependent.isdisjoint(DEPENDENT[option]):
            names = ", ".join(DEPENDENT[option])
            raise InputError(
                f"{option} changes no figure of --fail-on: it is a threshold of {names}; leave it out, or add"
                f" --fail-on {DEPENDENT[option][0]}"
            )


def _threshold(given: str) -> tuple[str, alarms.Thresholds | None]:
    """Parse `NAME[=WARNING[:CRITICAL]]`; return the figure's name and thresholds, None without thresholds."""
    name, equals, limits = (part.strip() for part in given.partition("="))
    if name not in alarms.FIGURES:
        raise InputError(f"--fail-on: there is no figure {name!r}; there are {', '.join(alarms.FIGURES)}")
    if not equals:
        return name, None
    timed = alarms.FIGURES[name].unit == "s"
    warning, _, critical = limits.partition(":")
    form = r"\d{1,6}[smhd]" if timed else r"\d{1,12}"
    if re.fullmatch(rf"(?=.)({form})?(:{form})?", limits):
        number = seconds_of if timed else int
        found = alarms.Thresholds(*(number(one) if one else None for one in (warning, critical)))
        if warning and critical and number(critical) < number(warning):
            raise InputError(
                f"--fail-on {given!r}: CRITICAL, the second threshold, is below the first, WARNING"
            )
        return name, found
    example = "15m:2h" if timed else "100:1000"
    raise InputError(f"--fail-on {given!r}: write {name}={example}, or only one of the two thresholds")


def is_check(arguments: Sequence[str]) -> bool:
    """Return whether a monitor reads the output and the exit code: the command is `status --check`."""
    return "status" in arguments and "--check" in arguments


def fail_check(error: Exception, words: str, *, json: bool) -> int:
    """Print the output of a check that failed; return its exit code. `words`: the message of the error."""
    # A refused login or right shows nothing about the corpus: the account of the monitor is wrong.
    unknown = isinstance(error, LoginError | RightsError) or not isinstance(error, DatabaseError)
    state = alarms.CheckState.UNKNOWN if unknown else alarms.CheckState.CRITICAL
    if json:
        output.write_json({"state": state.name, "alarms": [], "error": words})
    else:
        _write_check(state, words)
    return state


def _write_check(state: alarms.CheckState, summary: str, performance: str = "", *lines: str) -> None:
    """Print the result of a check as a Nagios plugin does: state and performance data, then other lines."""
    # A monitor would read performance data after a vertical bar in a name.
    said = [output.printable(output.addressed(line)).replace("|", "/") for line in (summary, *lines)]
    data = f" | {performance}" if performance else ""
    output.write_text("\n".join([f"DEDUP {state.name} - {said[0]}{data}", *said[1:]]))


def runs(
    limit: Annotated[int, Option(min=1, help="Maximum number of runs.")] = 20, json: JsonOption = False
) -> None:
    """List the last runs: backfills, imports, and the working periods of workers.

    The last 1,000 runs are kept. The outcome `lost` means that the process ended without notice; the next run
    takes over. In SQL, the view `dedup.run_history` shows the same, with `running` for `lost`.
    """
    with corpus() as dd:
        found = dd.runs(limit)
    output.listed(
        found,
        "",
        ("id", "what", "started", "seconds", "outcome", *COUNTS, "host", "error"),
        (
            (
                *(str(r.id), r.what, r.started_at, f"{r.seconds:,.1f}", r.outcome),
                *(r.settled, r.fingerprinted, r.failed, r.host, r.error),
            )
            for r in found
        ),
        ("seconds", *COUNTS),
        json=json,
    )


def metrics(
    to: Annotated[
        Path | None, Option("--output", "-o", help="Write to this file, which is replaced as a whole.")
    ] = None,
) -> None:
    """Print metrics for Prometheus, or write a file of metrics for the node exporter.

    The command needs the extra `metrics`. If the database does not answer, or refuses a right, the message
    says so, the exit code is 1, and `dedup_up 0` is the only metric.

    **Example**

        dedup metrics -o /var/lib/node_exporter/dedup.prom
    """
    needs("dedup metrics", "metrics", METRICS_PACKAGES)
    found = dedup.metrics.Metrics()
    try:
        # Write the file even without a database: it then has `dedup_up 0`, which can raise an alert.
        if to:
            found.write(to)
        else:
            sys.stdout.write(found.text())
    finally:
        found.close()
    if found.problem:
        raise found.problem
