"""The command `serve`: the corpus over HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from typer import Option

from dedup.base.logs import configure
from dedup.cli import listening, output
from dedup.cli.shared import LogFormatOption, LogLevelOption, needs

VARIABLE = "DEDUP_SERVE_TOKEN"

PORT = 8765

RATE = 100.0  # Requests a second of one client: a third of what one corpus answers on two cores


def serve(
    host: listening.HostOption = "127.0.0.1",
    port: listening.PortOption = PORT,
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
    rate: listening.RateOption = RATE,
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
    log_requests: listening.LogRequestsOption = False,
) -> None:
    """Answer over HTTP, for scrapers in other languages: JSON articles in, JSON verdicts out.

    It listens at this machine only, unless told otherwise. SIGTERM and Ctrl-C finish the requests in hand,
    and end it with exit code 0. Addresses, answers and limits are in docs/http.md, and the server tells them
    at `/openapi.json`. Needs `pip install 'newsdedup[serve]'`.

    **Examples**

        dedup serve

        dedup serve --host 0.0.0.0 --token-file token
    """
    needs("dedup serve", "serve", listening.SERVER_PACKAGES)
    from dedup.web.serve import server
    from dedup.web.serve.app import make_app
    from dedup.web.serve.guard import LOOPBACK_NAMES, Access
    from dedup.web.serve.limits import Limits

    token = listening.token_from(token_file, VARIABLE)
    access = Access(token, None if token is not None or unix is not None else LOOPBACK_NAMES | {host.lower()})
    with ExitStack() as stack:
        if unix is not None:
            sockets = [server.bind_unix(unix)]
            stack.callback(server.unbind, unix)
            places = str(unix)
        else:
            sockets = server.bind(host, port, loopback_only=token is None, variable=VARIABLE)
            places = " and ".join(map(server.address_of, sockets))
        stop = stack.enter_context(listening.stopping_gently())
        dd, longest = stack.enter_context(listening.impatient())
        bound = max_body or longest
        configure(log_format, log_level)
        limits = Limits(body_bytes=bound, rate=rate)
        app = make_app(dd, limits, access, texts=texts, log_requests=log_requests)
        output.say(f"serving {dd.location} at {places}; SIGTERM or Ctrl-C ends it")
        server.serve(app, sockets, stop.is_set)
        output.say("stopped as asked")
