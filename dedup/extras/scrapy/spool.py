"""Keep articles in a JSONL file until the database can take them; the file is emptied after the delivery.

Any number of threads and processes may use the same file. When `add` returns, the line survives a crash of
the machine. `dedup load FILE` can also read the file.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from dedup.base.answer import plain
from dedup.base.article import ARTICLE_FIELDS, Article, storable
from dedup.base.errors import ClosedError, DatabaseError, InputError, SpoolError, is_about_input
from dedup.files.whole import ends_a_line

MAX_BYTES = 1_000_000_000  # Default maximum size of a spool; 200,000 articles of 5 kB


class Spool:
    """A file of at most `max_bytes` with articles that wait; `bool(spool)` is True if an article waits."""

    def __init__(self, path: str | Path, max_bytes: int = MAX_BYTES) -> None:
        self.path = Path(path)  # created with the first article; the folder must exist
        # File for articles and lines that can never be delivered.
        self.refused = self.path.with_name(f"{self.path.name}.refused")
        self._max_bytes = max_bytes

    def __bool__(self) -> bool:
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False

    def add(self, article: Article) -> None:
        """Add an article; raise SpoolError if the file is full or cannot be written."""
        if article.added_at is None:
            # The corpus orders articles by arrival. The article arrives now, not when it is delivered.
            article = replace(article, added_at=datetime.now(UTC))
        self._append(self.path, _line(article))

    def refuse(self, article: Article) -> None:
        """Add an article that the database will never accept to the file `refused`."""
        self._append(self.refused, _line(article))

    def deliver(self, send: Callable[[Article], object]) -> int:
        """Send all articles in order, also articles added meanwhile; empty the file; return the number sent.

        `send` may get an article twice, because an interrupted delivery begins again. Returns 0 while another
        process delivers. If the database fails, or for ClosedError or MemoryError, the delivery ends with the
        error. Any other error of `send` moves the line to the file `refused`.
        """
        if not self:
            return 0
        lock_path = self.path.with_name(f"{self.path.name}.lock")
        with _plainly(self.path), lock_path.open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return 0
            sent, position = 0, 0
            with self.path.open("r+b") as file:
                while not self._emptied(file, position):
                    # The size is read under the lock, so that no half-written line is read.
                    with _locked(file):
                        end = file.seek(0, os.SEEK_END)
                    file.seek(position)
                    while position < end:
                        line = file.readline()
                        sent += self._send(line, send)
                        position += len(line)
            return sent

    def _send(self, line: bytes, send: Callable[[Article], object]) -> bool:
        try:
            send(_article(line))
        except (ClosedError, MemoryError):
            raise
        except Exception as error:
            if isinstance(error, DatabaseError) and not is_about_input(error):
                raise
        else:
            return True
        self._append(self.refused, line)
        return False

    def _emptied(self, file: BinaryIO, position: int) -> bool:
        with _locked(file):
            if file.seek(0, os.SEEK_END) > position:
                return False
            file.truncate(0)
            os.fsync(file.fileno())
            return True

    def _append(self, path: Path, line: bytes) -> None:
        with _plainly(path):
            new = not path.exists()
            with path.open("ab") as file, _locked(file):
                size = file.seek(0, os.SEEK_END)
                if size + len(line) > self._max_bytes:
                    raise SpoolError(f"{path} would be larger than {self._max_bytes:,} bytes")
                if size and not ends_a_line(path):
                    line = b"\n" + line  # the last writer was killed within a line
                file.write(line.rstrip(b"\n") + b"\n")
                file.flush()
                os.fsync(file.fileno())
            if new:
                # A new file survives a crash only if its folder was synced, too.
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)


def _line(article: Article) -> bytes:
    values = {name: plain(getattr(article, name)) for name in ARTICLE_FIELDS}
    given = {name: value for name, value in values.items() if value is not None}
    given["text"] = storable(article.text)
    return json.dumps(given, ensure_ascii=False).encode() + b"\n"


def _article(line: bytes) -> Article:
    """Parse a line; raise ValueError, TypeError or InputError if `add` did not write the whole line."""
    values = json.loads(line)
    if not isinstance(values, dict) or set(values) - set(ARTICLE_FIELDS):
        raise InputError("the line is not an article")
    return Article(**values)


@contextmanager
def _locked(file: BinaryIO) -> Iterator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SpoolError(f"{path} cannot be used: {error.strerror or type(error).__name__}") from None
