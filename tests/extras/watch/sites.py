"""A web server for tests: the tests decide its answers, and the server records the requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class SiteReply:
    """The answer for a path."""

    body: bytes | str = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    validated: bool = True  # The answer has an ETag, which the server checks
    before: Callable[[], object] | None = None  # Called before the first byte is sent
    drip: Callable[[], bool] | None = None  # Called before each space; False ends the spaces

    @property
    def content(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else self.body


class Site:
    """A site with answers by path; other paths answer 404."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.replies: dict[str, SiteReply] = {}
        self.asked: list[tuple[str, dict[str, str], int]] = []  # path, headers, status of the answer

    def put(self, path: str, body: bytes | str = b"", **how: Any) -> str:
        self.replies[path] = SiteReply(body, **how)
        return self.address + path

    def statuses(self, path: str) -> list[int]:
        return [status for asked, _, status in self.asked if asked == path]


@contextmanager
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = made.replies.get(self.path, SiteReply(status=404))
            etag = f'"{sha256(reply.content).hexdigest()[:8]}"'
            same = reply.validated and reply.status == 200 and self.headers.get("If-None-Match") == etag
            status = 304 if same else reply.status
            made.asked.append((self.path, dict(self.headers.items()), status))
            if reply.before:
                reply.before()
            try:
                self.send_response(status)
                if reply.validated and reply.status == 200:
                    self.send_header("ETag", etag)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.drip is None:
                    self.send_header("Content-Length", "0" if same else str(len(reply.content)))
                self.end_headers()
                while reply.drip is not None and reply.drip():
                    self.wfile.write(b" ")
                    self.wfile.flush()
                if not same:
                    self.wfile.write(reply.content)
            except OSError:  # the client is gone
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
