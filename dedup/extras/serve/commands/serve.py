"""Command `dedup serve`, and parts that every server needs: options, token, a corpus with short timeouts."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

from typer import Option

import dedup
from dedup.base import config
from dedup.base.errors import InputError
from dedup.base.logs import LogFormat, LogLevel, configure
from dedup.cli import output
from dedup.cli.shared import LogFormatOption, LogLevelOption, corpus, needs, stopping
from dedup.cli.signals import StopFlag
from dedup.cli.systemd import notifying

HostOption = Annotated[
    str, Option("--host", help="Address to listen on; if other machines can reach it, a token is needed.")
]
PortOption = Annotated[int, Option("--port", min=0, max=65_535, help="Port to listen on; 0: any free port.")]
RateOption = Annotated[float, Option("--rate", min=0.1, help="Maximum requests per second from one client.")]
LogRequestsOption = Annotated[
    bool, Option("--log-requests", help="Log a line for every request, without the query string.")
]

SERVER_PACKAGES = ("starlette", "uvicorn")  # Packages of the extras `serve` and `browse`
TOKEN_CHARACTERS = 16  # Minimum length of a token; a shorter token could be guessed
SERVE_VARIABLE = "DEDUP_SERVE_TOKEN"
SERVE_PORT = 8765
SERVE_RATE = 100.0  # Default of `--rate`; two cores answer three times as many requests per second


def token_option(variable: str) -> Any:
    """Return the option that names a file with the token; `variable` can hold the token instead."""
    told = f"File with the token that clients send; or set `{variable}`."
    return Option("--token-file", metavar="FILE", help=told)


def serve(
    host: HostOption = "127.0.0.1",
    port: PortOption = SERVE_PORT,
    unix: Annotated[
        Path | None,
        Option(metavar="PATH", help="Listen on this Unix socket, not on a port; only you can connect."),
    ] = None,
    token_file: Annotated[Path | None, token_option(SERVE_VARIABLE)] = None,
    rate: RateOption = SERVE_RATE,
    max_body: Annotated[
        int | None,
        Option(min=1_000, metavar="BYTES", help="Maximum size of a request; default: enough for any text."),
    ] = None,
    texts: Annotated[
        bool, Option("--texts", help="Let clients read the texts of articles with `text=true`.")
    ] = False,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
    log_requests: LogRequestsOption = False,
) -> None:
    """Answer requests over HTTP, for scrapers in other languages: read JSON articles, send JSON verdicts.

    The server listens only on this machine, unless you add `--host`. After SIGTERM or Ctrl-C it answers the
    requests that it has begun, and ends with exit code 0. See docs/http.md, or `/openapi.json` on the server,
    for addresses, answers and limits. Needs the extra `serve`.

    **Examples**

        dedup serve

        dedup serve --host 0.0.0.0 --token-file token
    """
    needs("dedup serve", "serve", SERVER_PACKAGES)
    from dedup.extras.serve import server
    from dedup.extras.serve.app import make_app
    from dedup.extras.serve.guard import LOOPBACK_NAMES, Access
    from dedup.extras.serve.limits import Limits
    from dedup.extras.serve.sockets import address_of, bind, bind_unix

    token = token_from(token_file, SERVE_VARIABLE)
    access = Access(token, None if token is not None or unix is not None else LOOPBACK_NAMES | {host.lower()})
    with ExitStack() as stack:
        if unix is not None:
            sockets = [bind_unix(unix)]
            stack.callback(unix.unlink, missing_ok=True)
            places = str(unix)
        else:
            sockets = bind(host, port, loopback_only=token is None, variable=SERVE_VARIABLE)
            places = " and ".join(map(address_of, sockets))
        dd, longest, stop = stack.enter_context(started(log_format, log_level, make=True))
        limits = Limits(body_bytes=max_body or longest, rate=rate)
        app = make_app(dd, limits, access, texts=texts, log_requests=log_requests)
        announce(f"serving {dd.location} at {places}; SIGTERM or Ctrl-C ends it", log_format)
        server.serve(app, sockets, stop.is_set)


def token_from(file: Path | None, variable: str) -> bytes | None:
    """Return the token in a file or an environment variable, or None; raise InputError for a weak token."""
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
    # The message must not contain the token, because a log may keep the message.
    if len(given) < TOKEN_CHARACTERS or not given.isascii() or not given.isprintable() or " " in given:
        raise InputError(
            f"the token in {where} must be one word of at least {TOKEN_CHARACTERS} ASCII characters;"
            " make one: openssl rand -hex 32"
        )
    return given.encode()


@contextmanager
def started(
    log_format: LogFormat, log_level: LogLevel, *, make: bool = False
) -> Iterator[tuple[dedup.Deduplicator, int, StopFlag]]:
    """Yield the corpus, the maximum bytes of an article's record, and a flag that ends the server if set."""
    with (
        stopping_gently() as stop,
        brief_corpus(log_format, log_level, make=make) as (found, longest),
        notifying(stop) as notifier,
    ):
        notifier.say(f"serving {found.location}")
        yield found, longest, notifier
        announce("stopped as asked", log_format)


def announce(words: str, log_format: LogFormat) -> None:
    """Print `words` on stderr; with a JSON log, log them, so that programs can parse each line of stderr."""
    if log_format == "json":
        logging.getLogger("dedup.serve").info(words)
    else:
        output.say(words)


@contextmanager
def brief_corpus(
    log_format: LogFormat, log_level: LogLevel, *, make: bool = False
) -> Iterator[tuple[dedup.Deduplicator, int]]:
    """Yield the corpus with the short timeouts of a server, and the maximum bytes of an article's record."""
    from dedup.extras.serve.limits import DATABASE_SECONDS

    # The first connection has longer timeouts: dedup's embedded PostgreSQL may have to create the schema.
    with corpus(make=make) as patient:
        longest = patient.settings.max_record_bytes()
    with dedup.Deduplicator(timeouts=config.timeouts().at_most(DATABASE_SECONDS)) as found:
        configure(log_format, log_level)
        yield found, longest


@contextmanager
def stopping_gently() -> Iterator[StopFlag]:
    """Yield a flag that SIGTERM, SIGHUP or the first Ctrl-C sets, so that begun requests can finish."""
    with stopping() as stop:

        def interrupted(_number: int, _frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, before)  # a second Ctrl-C ends the server at once
            stop.set()

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield stop
        finally:
            signal.signal(signal.SIGINT, before)
