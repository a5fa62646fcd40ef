"""Work in other processes: a backfill reports every step, so that a test can kill it there."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from dedup.base.errors import DatabaseError
from dedup.cli.main import main
from dedup.db.database import Database
from dedup.settling import backfill, fingerprinting, refresh

STAGES = ("fingerprinting", "counting sentences", "settling")
DONE = "done"
FAILED = 3


class _Telling:
    """Progress that is sent over a pipe."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.stage = ""

    def start(self, stage: str, total: int | None) -> None:
        self.stage = stage
        self._connection.send(stage)

    def advance(self, count: int, total: int | None = None) -> None:
        self._connection.send(self.stage)


def run(url: str, connection: Connection, batch: int, workers: int) -> None:
    """Run a backfill in small steps and report each step.

    The function must be importable, so that a process can start with it.
    """
    told = _Telling(connection)
    fingerprinting.PAGE_ARTICLES = fingerprinting.CHUNK_ARTICLES = 3 * batch
    refresh.CHANGES_PER_TRANSACTION = 3
    count = refresh.refresh

    def counting(*given: Any, **more: Any) -> Any:
        told.start(STAGES[1], 0)
        return count(*given, **more)

    vars(backfill)["refresh"] = counting
    database = Database(url)
    try:
        backfill_once(database, batch, workers, told)
    except DatabaseError:
        sys.exit(FAILED)
    connection.send(DONE)


def backfill_once(database: Database, batch: int, workers: int, told: _Telling) -> None:
    """Run a backfill as soon as no other run is at work."""
    # The server may not have noticed yet that the previous run was killed.
    while backfill.backfill(database, batch=batch, workers=workers, progress=told).already_running:
        pass


def command(url: str, stderr: str, arguments: list[str]) -> None:
    """Run the command line, and write its messages to a file."""
    file = os.open(stderr, os.O_CREAT | os.O_WRONLY)
    os.dup2(file, 2)
    os.environ["DEDUP_DATABASE_URL"] = url
    main(arguments)


@dataclass
class Running:
    """A backfill that runs in another process."""

    process: ForkServerProcess
    connection: Connection

    def next(self, seconds: float = 60) -> str:
        """Wait for the next step of the backfill, or for its end; return it."""
        if not self.connection.poll(seconds):
            raise TimeoutError
        try:
            return str(self.connection.recv())
        except EOFError:
            return DONE


def start(function: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Start a process within milliseconds, from a server process that has imported all modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "dedup.text.sentences"])
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


@contextmanager
def running(url: str, batch: int = 10, workers: int = 0) -> Iterator[Running]:
    """Start a backfill in another process; kill it at the end."""
    ours, theirs = multiprocessing.Pipe()
    process = start(run, url, theirs, batch, workers)
    theirs.close()
    try:
        yield Running(process, ours)
    finally:
        process.kill()
        process.join()
        ours.close()
