"""Measure how many transactions per second a server does for many parallel clients.

Clients are threads of several processes, so that Python does not limit the rate. `Rate.busy` is the processor
time of the clients themselves. Clients and their connections stay open for all measurements.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import psycopg

THREADS = 4
"""Maximum number of clients per process; more clients would wait for Python's global interpreter lock."""

NUMBERS = 1_000_000
"""Number of unique numbers (keys of rows) that each client may use in one measurement."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The transactions of all clients together, and their processor time.

    Attributes:
        transactions: number committed per second.
        busy: processor seconds of the clients' own processes per second; 1.0 is one core.
    """

    transactions: float
    busy: float


class Clients:
    """Clients that wait for work; the function `clients` starts such clients."""

    def __init__(self, pipes: list[Connection]) -> None:
        self._pipes = pipes
        self._measured = 0

    def rate(self, statement: str, values: list[tuple[object, ...]], seconds: float) -> Rate:
        """Let each client run a statement with its commit again and again for some seconds; return the rate.

        Args:
            statement: SQL; its first placeholder gets a unique number, the others get a row of `values`.
            values: the rows of values, used one after another.

        Raises:
            psycopg.Error: a statement failed.
        """
        for place, pipe in enumerate(self._pipes):
            first = (self._measured * len(self._pipes) + place) * THREADS * NUMBERS
            pipe.send((statement, values, seconds, first))
        self._measured += 1
        for pipe in self._pipes:  # all clients are ready: start them
            pipe.recv()
        for pipe in self._pipes:
            pipe.send(None)
        found = [pipe.recv() for pipe in self._pipes]
        for one in found:
            if isinstance(one, BaseException):
                raise one
        took = max(one[1] for one in found)
        return Rate(sum(one[0] for one in found) / took, sum(one[2] for one in found) / took)


@contextmanager
def clients(url: str, count: int) -> Iterator[Clients]:
    """Start `count` clients, at most `THREADS` per process; end these clients after the block."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    threads = [min(THREADS, count - first) for first in range(0, count, THREADS)]
    ours, processes = [], []
    for size in threads:
        mine, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(url, theirs, size), daemon=True)
        process.start()
        theirs.close()
        ours.append(mine)
        processes.append(process)
    try:
        yield Clients(ours)
    finally:
        for pipe in ours:
            pipe.close()
        for process in processes:
            process.join(10)


def _serve(url: str, pipe: Connection, size: int) -> None:
    """Run the clients of one process. They measure whenever the parent asks, until it closes the pipe."""
    connections = [psycopg.connect(url, autocommit=True) for _ in range(size)]
    while True:
        try:
            statement, values, seconds, first = pipe.recv()
        except EOFError:
            break
        for connection in connections:  # the server plans the statement before the clock starts
            connection.prepare_threshold = 0
        pipe.send("ready")
        pipe.recv()
        pipe.send(_measure(connections, statement.encode(), values, seconds, first))
    for connection in connections:
        connection.close()


def _measure(
    connections: list[psycopg.Connection],
    statement: bytes,
    values: list[tuple[object, ...]],
    seconds: float,
    first: int,
) -> tuple[int, float, float] | BaseException:
    done = [0] * len(connections)
    errors: list[BaseException] = []
    started, used = time.perf_counter(), os.times()
    deadline = started + seconds

    def work(place: int) -> None:
        number = first + place * NUMBERS
        try:
            while time.perf_counter() < deadline:
                number += 1
                connections[place].execute(statement, (number, *values[number % len(values)]))
                done[place] += 1
        except psycopg.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[place]) for place in range(len(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, now = time.perf_counter() - started, os.times()
    if errors:
        return errors[0]
    return sum(done), took, now.user + now.system - used.user - used.system
