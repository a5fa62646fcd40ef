"""The commands `serve`, `browse` and `report`: the corpus over HTTP, as pages, and as one file."""

from __future__ import annotations

import os
import signal
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

from typer import Option

import dedup
from dedup.base.errors import InputError
from dedup.base.logs import configure
from dedup.cli import output
from dedup.cli.shared import LogFormatOption, LogLevelOption, corpus, needs, stopping
from dedup.cli.signals import StopFlag
from dedup.files.whole import new_file

HostOption = Annotated[
    str, Option("--host", help="The address to listen at; one that other machines reach needs a token.")
]
PortOption = Annotated[int, Option("--port", min=0, max=65_535, help="The port; 0 takes any that is free.")]
RateOption = Annotated[float, Option("--rate", min=0.1, help="Requests a second that one client may send.")]
LogRequestsOption = Annotated[
    bool, Option("--log-requests", help="Log a line for every request, without its query.")
]

SERVER_PACKAGES = ("starlette", "uvicorn")  # What the extras `serve` and `browse` bring
TOKEN_CHARACTERS = 16  # At least, so that it cannot be guessed
BROWSE_PACKAGES = (*SERVER_PACKAGES, "jinja2")  # What the extra `browse` brings
REPORT_PACKAGES = ("jinja2",)  # What of it a report needs

SERVE_VARIABLE = "DEDUP_SERVE_TOKEN"
BROWSE_VARIABLE = "DEDUP_BROWSE_TOKEN"

SERVE_PORT = 8765
SERVE_RATE = 100.0  # Requests a second of one client: a third of what one corpus answers on two cores
BROWSE_RATE = 50.0  # As above, of a person, whose browser asks for a page and its three files


def serve(
    host: HostOption = "127.0.0.1",
    port: PortOption = SERVE_PORT,
    unix: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="Listen at a socket in the file system instead, which only this user may use.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A file that holds the token which clients have to send; or set `DEDUP_SERVE_TOKEN`.",
        ),
    ] = None,
    rate: RateOption = SERVE_RATE,
    max_body: Annotated[
        int | None,
        Option(
            min=1_000,
            metavar="BYTES",
            help="Of the body of a request; default: room for the longest text that the corpus reads.",
        ),
    ] = None,
    texts: Annotated[
        bool, Option("--texts", help="Clients may read the texts of articles, with `text=true`.")
    ] = False,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
    log_requests: LogRequestsOption = False,
) -> None:
    """Answer over HTTP, for scrapers in other languages: JSON articles in, JSON verdicts out.

    It listens at this machine only, unless told otherwise. SIGTERM and Ctrl-C finish the requests in hand,
    and end it with exit code 0. Addresses, answers and limits are in docs/http.md, and the server tells them
    at `/openapi.json`. Needs the extra `serve`.

    **Examples**

        dedup serve

        dedup serve --host 0.0.0.0 --token-file token
    """
    needs("dedup serve", "serve", SERVER_PACKAGES)
    from dedup.web.serve import server
    from dedup.web.serve.app import make_app
    from dedup.web.serve.guard import LOOPBACK_NAMES, Access
    from dedup.web.serve.limits import Limits

    token = token_from(token_file, SERVE_VARIABLE)
    access = Access(token, None if token is not None or unix is not None else LOOPBACK_NAMES | {host.lower()})
    with ExitStack() as stack:
        if unix is not None:
            sockets = [server.bind_unix(unix)]
            stack.callback(server.unbind, unix)
            places = str(unix)
        else:
            sockets = server.bind(host, port, loopback_only=token is None, variable=SERVE_VARIABLE)
            places = " and ".join(map(server.address_of, sockets))
        stop = stack.enter_context(stopping_gently())
        dd, longest = stack.enter_context(impatient())
        bound = max_body or longest
        configure(log_format, log_level)
        limits = Limits(body_bytes=bound, rate=rate)
        app = make_app(dd, limits, access, texts=texts, log_requests=log_requests)
        output.say(f"serving {dd.location} at {places}; SIGTERM or Ctrl-C ends it")
        server.serve(app, sockets, stop.is_set)
        output.say("stopped as asked")


def browse(
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
    edit: Annotated[
        bool, Option("--edit", help="Pairs can be judged, and sentences pinned; else it only shows.")
    ] = False,
    token_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A file that holds the token which people enter once; or set `DEDUP_BROWSE_TOKEN`.",
        ),
    ] = None,
    open_it: Annotated[bool, Option("--open", help="Open the first page in the browser.")] = False,
    rate: RateOption = BROWSE_RATE,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
    log_requests: LogRequestsOption = False,
) -> None:
    """Look at the corpus in a browser: days, stories, versions side by side, who copies whom.

    It listens at this machine only, unless told otherwise, and prints its address. SIGTERM and Ctrl-C end it
    with exit code 0. The pages are described in docs/browse.md. Needs the extra `browse`.

    **Examples**

        dedup browse --open

        dedup browse --edit

        dedup browse --host 0.0.0.0 --port 8080 --token-file token
    """
    needs("dedup browse", "browse", BROWSE_PACKAGES)
    from dedup.web.browse.app import make_app
    from dedup.web.browse.visitors import Visitors
    from dedup.web.serve import server
    from dedup.web.serve.guard import LOOPBACK_NAMES
    from dedup.web.serve.limits import Limits

    token = token_from(token_file, BROWSE_VARIABLE)
    with ExitStack() as stack:
        sockets = server.bind(host, port, loopback_only=token is None, variable=BROWSE_VARIABLE)
        addresses = [server.address_of(listener) for listener in sockets]
        stop = stack.enter_context(stopping_gently())
        dd, longest = stack.enter_context(impatient())
        configure(log_format, log_level)
        limits = Limits(body_bytes=3 * longest, rate=rate)  # a form writes most bytes as three
        visitors = Visitors(token, None if token is not None else LOOPBACK_NAMES | {host.lower()})
        app = make_app(dd, limits, visitors, editing=edit, log_requests=log_requests)
        output.say(
            f"pages of {dd.location}, {'for judging too' if edit else 'read-only'},"
            f" at {' and '.join(addresses)}; SIGTERM or Ctrl-C ends it"
        )
        if open_it:
            webbrowser.open(addresses[0])
        server.serve(app, sockets, stop.is_set)
        output.say("stopped as asked")


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

    It holds what the pages of `dedup browse` show, with its style inside, without a script, and with links
    to the addresses of the articles only: figures, pictures, lists, and versions side by side. Parts of the
    texts are in it. Needs the extra `browse`.

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


def token_from(file: Path | None, variable: str) -> bytes | None:
    """The token from a file or an environment variable; None where neither is given.

    Raises InputError if it cannot be read, or could be guessed; the message does not hold it.
    """
    if file is not None:
        try:
            given = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or "it is not UTF-8"
            raise InputError(f"the token cannot be read from {file}: {why}") from None
        where = str(file)
    else:
        given, where = os.environ.get(variable, "").strip(), variable
        if not given:
            return None
    if len(given) < TOKEN_CHARACTERS or not given.isascii() or not given.isprintable() or " " in given:
        raise InputError(
            f"the token in {where} has to be one word of at least {TOKEN_CHARACTERS} ASCII characters;"
            " make one: openssl rand -hex 32"
        )
    return given.encode()


@contextmanager
def impatient() -> Iterator[tuple[dedup.Deduplicator, int]]:
    """The corpus for a server, whose requests wait only briefly; and the longest record in bytes."""
    from dedup.web.serve.limits import DATABASE_SECONDS

    with corpus() as patient:  # may make the schema of the embedded server, which takes its time
        longest = patient.settings.max_record_bytes()
    waits = dedup.Timeouts.from_environment()
    waits = replace(
        waits,
        **{name: min(getattr(waits, name), DATABASE_SECONDS) for name in ("connect", "lock", "statement")},
    )
    with dedup.Deduplicator(timeouts=waits) as found:
        yield found, longest


@contextmanager
def stopping_gently() -> Iterator[StopFlag]:
    """As `stopping`, and the first Ctrl-C too lets the requests in hand be finished."""
    with stopping() as stop:

        def interrupted(_number: int, _frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, before)  # a second one ends it at once
            stop.set()

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield stop
        finally:
            signal.signal(signal.SIGINT, before)
