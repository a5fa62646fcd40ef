"""Commands `dedup browse`, `dedup report` and `dedup quotes`: show the corpus to people."""

from __future__ import annotations

import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.shared import (
    ForceOption,
    JsonOption,
    LogFormatOption,
    LogLevelOption,
    corpus,
    needs,
    refuse_existing,
)
from dedup.extras.browse.asking import day_of
from dedup.extras.serve.commands.serve import (
    SERVER_PACKAGES,
    HostOption,
    LogRequestsOption,
    PortOption,
    RateOption,
    announce,
    started,
    token_from,
    token_option,
)
from dedup.files.whole import new_file

BROWSE_PACKAGES = (*SERVER_PACKAGES, "itsdangerous", "jinja2")  # Packages of the extra `browse`
REPORT_PACKAGES = ("jinja2",)
BROWSE_VARIABLE = "DEDUP_BROWSE_TOKEN"
BROWSE_RATE = 50.0  # Maximum requests per second from a client; a page takes four: its HTML and three files


def browse(
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
    edit: Annotated[
        bool, Option("--edit", help="Let people judge pairs and pin sentences; default: only show pages.")
    ] = False,
    token_file: Annotated[Path | None, token_option(BROWSE_VARIABLE)] = None,
    open_it: Annotated[bool, Option("--open", help="Open the first page in the browser.")] = False,
    rate: RateOption = BROWSE_RATE,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
    log_requests: LogRequestsOption = False,
) -> None:
    """Show the corpus in a browser: days, stories, versions side by side, and which outlets copy others.

    The server listens only on this machine, unless you add `--host`, and prints its address. SIGTERM and
    Ctrl-C end the server with exit code 0. See docs/browse.md for the pages. Needs the extra `browse`.

    **Examples**

        dedup browse --open

        dedup browse --edit

        dedup browse --host 0.0.0.0 --port 8080 --token-file token
    """
    needs("dedup browse", "browse", BROWSE_PACKAGES)
    from dedup.extras.browse.app import make_app
    from dedup.extras.browse.visitors import Visitors
    from dedup.extras.serve import server
    from dedup.extras.serve.guard import LOOPBACK_NAMES
    from dedup.extras.serve.limits import Limits
    from dedup.extras.serve.sockets import address_of, bind

    token = token_from(token_file, BROWSE_VARIABLE)
    sockets = bind(host, port, loopback_only=token is None, variable=BROWSE_VARIABLE)
    addresses = [address_of(listener) for listener in sockets]
    with started(log_format, log_level) as (dd, longest, stop):
        # In a form, one byte may become three (such as %C3), so a form may be longer than its text.
        limits = Limits(body_bytes=3 * longest, rate=rate)
        visitors = Visitors(token, None if token is not None else LOOPBACK_NAMES | {host.lower()})
        app = make_app(dd, limits, visitors, editing=edit, log_requests=log_requests)
        announce(
            f"pages of {dd.location}, {'with judging' if edit else 'read-only'},"
            f" at {' and '.join(addresses)}; SIGTERM or Ctrl-C ends the server",
            log_format,
        )
        if open_it:
            webbrowser.open(addresses[0])
        server.serve(app, sockets, stop.is_set)


def report(
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="HTML file to write.")],
    day: Annotated[
        str | None, Option(metavar="DAY", help="Day in UTC, such as 2026-11-20; default: the newest.")
    ] = None,
    last: Annotated[str | None, Option(metavar="DAY", help="With `--day`: last day of a range.")] = None,
    story: Annotated[str | None, Option(metavar="ID", help="Write the story of this article.")] = None,
    search: Annotated[str | None, Option(metavar="WORDS", help="Write articles with these words.")] = None,
    force: ForceOption = False,
) -> None:
    """Write a day, a story or a search as one HTML file that any browser can show.

    The file has the figures, charts, lists and side-by-side versions of the pages of `dedup browse`. It needs
    no other files and has no script; its only links are the addresses of the articles. The file contains
    parts of the texts. Needs the extra `browse`.

    **Examples**

        dedup report --day 2026-11-20 -o day.html

        dedup report --story https://example.org/storm -o storm.html
    """
    needs("dedup report", "browse", REPORT_PACKAGES)
    from dedup.extras.browse import report as reports

    if sum(given is not None for given in (day, story, search)) > 1 or (last is not None and day is None):
        raise InputError("give only one of --day, --story and --search; give --last only with --day")
    refuse_existing(out, force=force)
    with corpus() as dd:
        if story is not None:
            page = reports.of_story(dd, story)
        elif search is not None:
            page = reports.of_search(dd, search)
        else:
            first = day_of(day or "") or dd.browsing.newest_day() or datetime.now(UTC).date()
            page = reports.of_day(dd, first, day_of(last or ""))
    with new_file(out, replace=force) as made:
        made.write_text(page, "utf-8", errors="replace")
    output.say(f"wrote {out}; open it in a browser")


def quotes(
    by: Annotated[
        Literal["outlets", "stories"], Option(help="Sort by the number of outlets, or of stories.")
    ] = "outlets",
    speech: Annotated[bool, Option("--speech", help="Only sentences with a quotation mark.")] = False,
    limit: Annotated[int, Option(min=1, help="Maximum number of sentences.")] = 20,
    json: JsonOption = False,
) -> None:
    """List sentences that several outlets share, with the counts that the last `dedup sentences` stored.

    A sentence in several stories is a quotation. A sentence in only one story is part of a reprinted text.
    The list includes common sentences, which comparisons ignore.

    **Example**

        dedup quotes --by stories --speech
    """
    with corpus() as dd:
        found = dd.browsing.quotes(by, speech=speech, limit=limit).quotes
    output.listed(
        found,
        "sentences that several outlets share",
        ("outlets", "stories", "articles", "common", "words", "first in", "published"),
        (
            (
                *(one.outlets, one.stories, one.articles, one.common, one.words),
                *(one.publication, one.appeared_at or "unknown"),
            )
            for one in found
        ),
        ("outlets", "stories", "articles", "published"),
        json=json,
    )
    if not json:
        output.say(f"counted {found[0].counted_at:%Y-%m-%d %H:%M} UTC" if found else "next: dedup sentences")
