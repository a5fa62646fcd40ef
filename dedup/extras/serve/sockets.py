"""Open the sockets of a server: on a TCP port, or as a Unix socket in the file system."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from pathlib import Path

from dedup.base.errors import InputError

BACKLOG = 128  # Maximum number of connections that wait to be accepted


def bind(
    host: str, port: int, *, loopback_only: bool, variable: str = "DEDUP_SERVE_TOKEN"
) -> list[socket.socket]:
    """Listen on all addresses of a host. Port 0: a free port of the first address. Raises InputError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError(
            f"there is no host {host!r}; give an address of this machine, such as 127.0.0.1"
        ) from None
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    numbers = [ipaddress.ip_address(str(address[0]).partition("%")[0]) for _, address in addresses]
    if loopback_only and not all(number.is_loopback for number in numbers):
        raise InputError(
            f"other machines can reach {host}, so a token is needed: put a secret into a file"
            f" (`openssl rand -hex 32 > token`), give --token-file token, or set {variable}"
        )
    made: list[socket.socket] = []
    try:
        for family, address in addresses[:1] if port == 0 else addresses:
            made.append(socket.create_server(address, family=family, backlog=BACKLOG))
            # Connections inherit TCP_NODELAY, which asyncio does not set. Without it, a body is 40 ms late.
            made[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        for listener in made:
            listener.close()
        why = os.strerror(error.errno or 0)
        raise InputError(f"cannot listen on port {port} of {host}: {why}; choose another --port") from None
    return made


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def bind_unix(path: Path) -> socket.socket:
    """Listen on a Unix socket that only its owner may use; replace a socket that a dead server has left."""
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mask sets the rights at creation: before a later chmod, other users could connect.
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise InputError(f"cannot listen on {path}: {why}; choose another --unix") from None
    finally:
        os.umask(mask)
    return listener


def _remove_stale(path: Path) -> None:
    if not path.exists():
        return
    if not path.is_socket():
        raise InputError(f"{path} exists and is not a socket; choose another --unix")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        if trial.connect_ex(str(path)) == errno.ECONNREFUSED:
            path.unlink()
            return
    raise InputError(f"another server listens on {path}; stop it, or choose another --unix")
