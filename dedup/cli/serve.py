"""The command `serve`: the corpus over HTTP."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from dedup.cli import output
from dedup.cli.shared import LogFormatOption, LogLevelOption, corpus, needs, stopping
from dedup.errors import InputError
from dedup.logs import configure

if TYPE_CHECKING:
    from dedup.serve.guard import Access

SERVE_PACKAGES = ("starlette", "uvicorn")
"""What the extra `newsdedup[serve]` brings."""

PORT = 8765

RATE = 100.0
"""Requests a second of one client: a third of what one corpus answers on two cores."""

TOKEN_CHARACTERS = 16
"""At least, so that it cannot be guessed."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    host: Annotated[
        str,
        typer.Option("--host", help="The address to listen at; one that other machines reach needs a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes any that is free.")
    ] = PORT,
    unix: Annotated[
        Path | None,
        typer.Option(
            "--unix",
            metavar="PATH",
            help="Listen at a socket in the file system instead, which only this user may use.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A file that holds the token which clients have to send; or set `DEDUP_SERVE_TOKEN`.",
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", min=0.1, help="Requests a second that one client may send.")
    ] = RATE,
    max_body: Annotated[
        int | None,
        typer.Option(
            "--max-body",
            min=1_000,
            metavar="BYTES",
            help="Of the body of a request; default: room for the longest text that the corpus reads.",
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Clients may read the texts of articles, with `text=true`.")
    ] = False,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log a line for every request, without its query.")
    ] = False,
) -> None:
    """Answer over HTTP, for scrapers in other languages: JSON articles in, JSON verdicts out.

    It listens at this machine only, unless told otherwise. SIGTERM and Ctrl-C finish the requests in hand,
    and end it with exit code 0. Addresses, answers and limits are in docs/http.md, and the server tells them
    at `/openapi.json`. Needs `pip install 'newsdedup[serve]'`.

    **Examples**

        dedup serve

        dedup serve --host 0.0.0.0 --token-file token
    """
    needs("dedup serve", "serve", SERVE_PACKAGES)
    from dedup import Deduplicator, Timeouts
    from dedup.serve import server
    from dedup.serve.app import make_app
    from dedup.serve.limits import DATABASE_SECONDS, Limits

    access = _access(host, token_file, unix is not None)
    with ExitStack() as stack:
        if unix is not None:
            sockets = [server.bind_unix(unix)]
            stack.callback(server.unbind, unix)
            places = str(unix)
        else:
            sockets = server.bind(host, port, loopback_only=access.token is None)
            places = " and ".join(map(server.address_of, sockets))
        stop = stack.enter_context(_stopping())
        with corpus() as patient:  # may make the schema of the embedded server, which takes its time
            bound = max_body or patient.settings.max_record_bytes()
        waits = Timeouts.from_environment()
        waits = replace(
            waits,
            **{
                name: min(getattr(waits, name), DATABASE_SECONDS) for name in ("connect", "lock", "statement")
            },
        )
        dd = stack.enter_context(Deduplicator(timeouts=waits))
        configure(log_format, log_level)
        limits = Limits(body_bytes=bound, rate=rate)
        app = make_app(dd, limits, access, texts=texts, log_requests=log_requests)
        output.say(f"serving {dd.place} at {places}; SIGTERM or Ctrl-C ends it")
        server.serve(app, sockets, stop.is_set)
        output.say("stopped as asked")


def _access(host: str, token_file: Path | None, is_unix: bool) -> Access:
    from dedup.serve.guard import LOOPBACK_NAMES, Access

    if token_file is not None:
        try:
            given = token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or "it is not UTF-8"
            raise InputError(f"the token cannot be read from {token_file}: {why}") from None
        where = str(token_file)
    else:
        given, where = os.environ.get("DEDUP_SERVE_TOKEN", "").strip(), "DEDUP_SERVE_TOKEN"
        if not given:
            return Access(None, None if is_unix else LOOPBACK_NAMES | {host.lower()})
    if len(given) < TOKEN_CHARACTERS or not given.isascii() or not given.isprintable() or " " in given:
        raise InputError(
            f"the token in {where} has to be one word of at least {TOKEN_CHARACTERS} ASCII characters;"
            " make one: openssl rand -hex 32"
        )
    return Access(given.encode())


@contextmanager
def _stopping() -> Iterator[Event]:
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
