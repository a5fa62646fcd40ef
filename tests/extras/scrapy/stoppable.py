"""A separate server that a test stops and starts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dedup import Deduplicator
from dedup.db import embedded


class Stoppable:
    """An embedded server with a corpus."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.url = embedded.start(home)
        Deduplicator.initialize(self.url)

    def stop(self) -> None:
        assert embedded.stop(self._home)

    def start(self) -> None:
        assert embedded.start(self._home) == self.url


@contextmanager
def stoppable() -> Iterator[Stoppable]:
    """Yield a new server; stop and delete it at the end."""
    home = Path(tempfile.mkdtemp(prefix="dedup-stop-"))  # a short path, because it contains the socket
    home.chmod(0o711)  # root's server runs as another user
    try:
        yield Stoppable(home)
    finally:
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)
