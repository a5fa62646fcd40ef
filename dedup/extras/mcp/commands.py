"""Command `dedup mcp`: answer the questions of language models over the Model Context Protocol."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

from typer import Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.shared import LogLevelOption, needs
from dedup.extras.serve.commands.serve import (
    HostOption,
    PortOption,
    RateOption,
    brief_corpus,
    started,
    token_from,
    token_option,
)

MCP_PACKAGES = ("mcp", "starlette", "uvicorn")
MCP_VARIABLE = "DEDUP_MCP_TOKEN"
MCP_PORT = 8767
MCP_RATE = 20.0  # Maximum requests per second from a client; a model asks a few times a minute


def mcp(
    http: Annotated[bool, Option("--http", help="Listen on a port, not on standard input.")] = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = MCP_PORT,
    token_file: Annotated[Path | None, token_option(MCP_VARIABLE)] = None,
    rate: RateOption = MCP_RATE,
    texts: Annotated[bool, Option("--texts", help="Let answers hold texts of articles.")] = False,
    log_level: LogLevelOption = "warning",
) -> None:
    """Answer questions of language models about the corpus, over the Model Context Protocol (MCP).

    An assistant starts this command and asks over standard input. With `--http`, clients ask at
    `http://HOST:PORT/mcp`. No tool writes. Answers are bounded, name article ids, and say how sure they are.
    See docs/mcp.md. Needs the extra `mcp`.

    **Examples**

        dedup mcp

        dedup mcp --http --token-file token --host 0.0.0.0
    """
    needs("dedup mcp", "mcp", MCP_PACKAGES)
    from dedup.extras.mcp.server import make_app, make_server
    from dedup.extras.serve import server
    from dedup.extras.serve.guard import LOOPBACK_NAMES, Access
    from dedup.extras.serve.limits import Limits
    from dedup.extras.serve.sockets import address_of, bind

    if not http:
        if token_file is not None:
            raise InputError(
                "give --token-file only with --http: no other program can write to standard input"
            )
        # Nothing is half-done when a read-only server ends, so Ctrl-C may end it at once.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with brief_corpus("text", log_level) as (dd, _):
            output.say(f"answering for {dd.location} on standard input")
            make_server(dd, Limits(), texts=texts).run()
        return
    token = token_from(token_file, MCP_VARIABLE)
    access = Access(token, None if token is not None else LOOPBACK_NAMES | {host.lower()})
    sockets = bind(host, port, loopback_only=token is None, variable=MCP_VARIABLE)
    with started("text", log_level) as (dd, longest, stop):
        limits = Limits(body_bytes=longest, rate=rate)
        app = make_app(make_server(dd, limits, texts=texts), limits, access, dd.location)
        places = " and ".join(f"{address_of(one)}/mcp" for one in sockets)
        output.say(f"answering for {dd.location} at {places}; SIGTERM or Ctrl-C ends it")
        server.serve(app, sockets, stop.is_set, lifespan=True)
