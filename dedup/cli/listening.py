"""What `serve` and `browse` share: the token, a corpus that is not waited for, and the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dedup.base.errors import InputError
from dedup.cli.shared import corpus, stopping
from dedup.cli.signals import StopFlag

if TYPE_CHECKING:
    from dedup import Deduplicator

HostOption = Annotated[
    str, Option("--host", help="The address to listen at; one that other machines reach needs a token.")
]
PortOption = Annotated[int, Option("--port", min=0, max=65_535, help="The port; 0 takes any that is free.")]
RateOption = Annotated[float, Option("--rate", min=0.1, help="Requests a second that one client may send.")]
LogRequestsOption = Annotated[
    bool, Option("--log-requests", help="Log a line for every request, without its query.")
]

SERVER_PACKAGES = ("starlette", "uvicorn")  # What the extras `newsdedup[serve]` and `newsdedup[browse]` bring
TOKEN_CHARACTERS = 16  # At least, so that it cannot be guessed


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
def impatient() -> Iterator[tuple[Deduplicator, int]]:
    """The corpus for a server, whose requests wait only briefly; and the longest record in bytes."""
    from dedup import Deduplicator, Timeouts
    from dedup.web.serve.limits import DATABASE_SECONDS

    with corpus() as patient:  # may make the schema of the embedded server, which takes its time
        longest = patient.settings.max_record_bytes()
    waits = Timeouts.from_environment()
    waits = replace(
        waits,
        **{name: min(getattr(waits, name), DATABASE_SECONDS) for name in ("connect", "lock", "statement")},
    )
    with Deduplicator(timeouts=waits) as found:
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
