"""Command `changes`: print changed marks in order, and start or stop the journal of marks."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import Annotated

from typer import Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.operate import switch_journal
from dedup.cli.shared import JsonOption, YesOption, agree, corpus
from dedup.cli.signals import StopFlag, leaving

PAGE = 1_000  # Maximum number of changes per read
LOOK_SECONDS = 0.1  # Time between two checks of the stop flag


def changes(
    since: Annotated[
        str | None, Option(metavar="CURSOR", help="Only changes after this cursor; default: all marks.")
    ] = None,
    limit: Annotated[int | None, Option(min=1, help="Maximum number of changes.")] = None,
    endless: Annotated[bool, Option("--follow", help="Print changes as they occur, until stopped.")] = False,
    poll: Annotated[float, Option(min=0.1, max=3600, help="Seconds between checks with --follow.")] = 1.0,
    json: JsonOption = False,
    start: Annotated[bool, Option("--start", help="Start the journal; for the owner of the schema.")] = False,
    stop: Annotated[bool, Option("--stop", help="Drop the journal; all cursors become invalid.")] = False,
    yes: YesOption = False,
) -> None:
    """Print changed marks in order, for programs that keep a copy of the marks.

    Each change is a line of JSON: `cursor`, `id`, `status`, `duplicate_of`, `score`, `reason`. `id` and
    `duplicate_of` are your own ids of the articles. The status `deleted` means that the article is deleted;
    `pending` means that its last mark no longer counts. Without `--since`, all marks are printed first. If a
    mark changed several times, only the last change is printed.

    Store each line and its cursor in one transaction, and continue from that cursor: then no change is missed
    or printed twice, even after a crash. A cursor may be refused with exit code 2 after a restore or after 30
    days. If so, delete your copy, and begin again without a cursor.

    `--json` prints one document instead, with `changes` and `cursor`: at most 1,000 changes, or the number in
    `--limit`. `--follow` ends with exit code 0 at SIGTERM or Ctrl-C.

    The journal is off, and costs nothing, until you run `dedup changes --start`.

    **Examples**

        dedup changes --start

        dedup changes > marks.jsonl

        dedup changes --since "$CURSOR" --follow
    """
    if start or stop:
        if (start and stop) or endless or json or since is not None or limit is not None:
            raise InputError("--start and --stop take no other option")
        if stop:
            agree("the journal of marks will be dropped, and all its cursors become invalid", yes=yes)
        switch_journal(wanted=start)
        return
    if json and endless:
        raise InputError("--json cannot be used with --follow, which has no end: leave one out")
    with corpus() as dd, ExitStack() as stack:
        if json:
            found = dd.changes(since, limit=limit or PAGE)
            listed = [change.as_dict() for change in found]
            output.write_json({"changes": listed, "cursor": found[-1].cursor if found else since})
            return
        leave = stack.enter_context(leaving()) if endless else StopFlag()
        printed, last = 0, since
        while not leave.is_set() and (limit is None or printed < limit):
            size = PAGE if limit is None else min(PAGE, limit - printed)
            found = dd.changes(last, limit=size)
            output.write_jsonl((change.as_dict() for change in found), sys.stdout)
            # Flush, because a program that reads from a pipe waits for these lines.
            sys.stdout.flush()
            printed += len(found)
            last = found[-1].cursor if found else last
            if len(found) < size:
                if not endless:
                    break
                _wait(poll, leave)
    if last is not None:
        output.say(f"next: dedup changes --since {last}")


def _wait(seconds: float, leave: StopFlag) -> None:
    # Sleep only briefly: a signal whose handler only sets a flag does not end a sleep (PEP 475).
    until = time.monotonic() + seconds
    while not leave.is_set() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))
