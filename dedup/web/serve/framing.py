"""HTTP/1.1 whose requests have one end, whoever counts.

h11 takes heads that a proxy before it may read in another way, so that one of the two sees another request
within the body (request smuggling; RFC 9112, sections 5.2, 6.1 and 6.3). Here such a head is no HTTP.
"""

from __future__ import annotations

import h11


class Framing(h11.Connection):
    """The server's side of one connection; `ambiguous`: what was wrong with a refused head."""

    ambiguous: str | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        # h11 tells of the head what it has made of it, so the head as it came is looked at.
        before = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = before[: len(before) - len(self.trailing_data[0])]
            self.ambiguous = ambiguity(head, event.http_version)
            if self.ambiguous:
                raise h11.RemoteProtocolError(self.ambiguous)
        return event


def ambiguity(head: bytes, version: bytes) -> str | None:
    """Why the head of a request, from its first line to the blank one, could be read in two ways; None if
    not.
    """
    lines = [line.removesuffix(b"\r") for line in head.split(b"\n")]
    if any(line.startswith((b" ", b"\t")) for line in lines):
        return "a header is folded over two lines"
    if any(b"\r" in line for line in lines):
        return "there is a carriage return within a line of the head"
    fields = [line.lower().partition(b":") for line in lines[1:]]
    lengths = [value for name, _, value in fields if name == b"content-length"]
    if len(lengths) > 1 or any(b"," in value for value in lengths):
        return "Content-Length is said more than once"
    if any(name == b"transfer-encoding" for name, _, _ in fields):
        if lengths:
            return "Content-Length and Transfer-Encoding exclude each other: send one of them"
        if version != b"1.1":
            return "HTTP/1.0 knows no Transfer-Encoding"
    return None
