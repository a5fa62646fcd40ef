"""A proxy in front of the test server that can silence connections, like a firewall that has forgotten them.

A silent connection still takes every byte, so that TCP reports no error.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """A proxy that forwards connections to a server.

    Attributes:
        url: the address of the database through the proxy.
        opened: number of connections that were made.
        swallowed: set when a silent connection has taken data.
        turns: number of round trips: times that a client spoke first, or after the server."""

    def __init__(self, url: str) -> None:
        parts = conninfo_to_dict(url)
        self._upstream = (str(parts.get("host") or "localhost"), int(parts.get("port") or 5432))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = make_conninfo(
            url, host="127.0.0.1", port=self._listener.getsockname()[1], sslmode="disable"
        )
        self.opened = self.turns = 0
        self.swallowed = Event()
        self._silent: list[Event] = []
        self._sockets: list[socket.socket] = []
        self._lock = Lock()
        self._deaf = False
        Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """Stop traffic on the present connections; new connections work."""
        with self._lock:
            for event in self._silent:
                event.set()

    def deafen(self, deaf: bool) -> None:
        """Stop traffic on all connections, also on new ones; or let new connections work again."""
        self._deaf = deaf
        if deaf:
            self.silence()

    def close(self) -> None:
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            event = Event()
            if self._deaf:
                event.set()
            server = self._connect()
            with self._lock:
                self._silent.append(event)
                self._sockets += [client, server]
                self.opened += 1
            # The sender of each turn; the server counts as the first.
            speakers: list[socket.socket] = [server]
            for one, other in ((client, server), (server, client)):
                Thread(target=self._forward, args=(one, other, event, speakers), daemon=True).start()

    def _forward(
        self, one: socket.socket, other: socket.socket, silent: Event, speakers: list[socket.socket]
    ) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                with self._lock:
                    if speakers[-1] is not one:
                        self.turns += len(speakers) % 2
                        speakers.append(one)
                if silent.is_set():
                    self.swallowed.set()
                else:
                    other.sendall(data)
            if not silent.is_set():
                other.shutdown(socket.SHUT_WR)

    def _connect(self) -> socket.socket:
        host, port = self._upstream
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server


@contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Yield a proxy in front of a database."""
    found = Proxy(url)
    try:
        yield found
    finally:
        found.close()
