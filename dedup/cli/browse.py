"""The command `browse`: the corpus as pages in a browser."""

from __future__ import annotations

import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from typer import Option

from dedup.base.logs import configure
from dedup.cli import listening, output
from dedup.cli.shared import LogFormatOption, LogLevelOption, needs

BROWSE_PACKAGES = (*listening.SERVER_PACKAGES, "jinja2")  # What the extra `newsdedup[browse]` brings

VARIABLE = "DEDUP_BROWSE_TOKEN"

RATE = 50.0  # Requests a second of one client: a person, whose browser asks for a page and its three files


def browse(
    host: listening.HostOption = "127.0.0.1",
    port: listening.PortOption = 0,
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
    rate: listening.RateOption = RATE,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
    log_requests: listening.LogRequestsOption = False,
) -> None:
    """Look at the corpus in a browser: days, stories, versions side by side, who copies whom.

    It listens at this machine only, unless told otherwise, and prints its address. SIGTERM and Ctrl-C end it
    with exit code 0. The pages are described in docs/browse.md. Needs `pip install 'newsdedup[browse]'`.

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

    token = listening.token_from(token_file, VARIABLE)
    with ExitStack() as stack:
        sockets = server.bind(host, port, loopback_only=token is None, variable=VARIABLE)
        addresses = [server.address_of(listener) for listener in sockets]
        stop = stack.enter_context(listening.stopping_gently())
        dd, longest = stack.enter_context(listening.impatient())
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
