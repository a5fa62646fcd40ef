"""A file becomes lines: plain or gzipped, named or standard input, never more than a piece in memory.

It knows bytes: gzip, byte order marks, line ends, how far it has read, and that a file may break off.
It does not know what a line means.
"""

from __future__ import annotations

import itertools
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dedup.errors import InputError

GZIP_ENDS_EARLY = "gzip stream ends early: the rest of the file is missing"

PLAIN_CHUNK_BYTES = 65_536
GZIP_CHUNK_BYTES = 16_384
"""Compressed bytes per step. What precedes a corrupt byte within one step is lost, so steps are small;
larger ones measured no faster."""
INFLATED_CHUNK_BYTES = 1_048_576
"""At most this much comes out of one step, so that a bomb of zeros does not fill the memory."""

GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_FOREIGN_BOMS = (  # longest first: the mark of UTF-32 begins with that of UTF-16
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_LONGEST_BOM = 4


class LineSource:
    """The lines of a file or of standard input ("-"), gunzipped when the first bytes say gzip.

    Attributes:
        bytes_read, bytes_total: position and size in the file as stored; no total for pipes.
        truncated: the gzip stream ended early or is corrupt; `partial` is the line it broke off in.

    Raises:
        InputError: the file cannot be opened or read, or is UTF-16 or UTF-32.
    """

    def __init__(self, path: str) -> None:
        self.file = "<stdin>" if path == "-" else path
        self.bytes_read = 0
        self.bytes_total: int | None = None
        self.truncated = False
        self.partial = b""
        self.line = 0
        self._read: Callable[[int], bytes]
        self.close: Callable[[], None]
        if path == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed; name a file instead of -")
            stdin: Any = sys.stdin.buffer
            # read1 hands on what a slow producer has written so far, read would wait for a full buffer.
            self._read, self.close = stdin.read1, lambda: None
        else:
            raw, self.bytes_total = open_file(path)
            self._read, self.close = raw.read, raw.close
        try:
            self._chunks = self._from_bom()
        except BaseException:
            self.close()
            raise

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number, without its newline; a line cut off by broken gzip is not one."""
        pending: list[bytes] = []
        for chunk in self._chunks:
            first, *others = chunk.split(b"\n")
            pending.append(first)
            if others:
                rest = others.pop()
                self.line += 1
                yield self.line, b"".join(pending)
                for line in others:
                    self.line += 1
                    yield self.line, line
                pending = [rest]
        last = b"".join(pending)
        if self.truncated:
            self.partial = last
        elif last:
            self.line += 1
            yield self.line, last

    def _from_bom(self) -> Iterator[bytes]:
        chunks = self._inflated()
        head = b""
        for chunk in chunks:
            head += chunk
            if len(head) >= _LONGEST_BOM:
                break
        for mark, encoding in _FOREIGN_BOMS:
            if head.startswith(mark):
                unpacked = " (unpacked)" if self.packed else ""
                raise InputError(
                    f"{self.file}: the text is {encoding}, not UTF-8; convert it first: "
                    f"iconv -f {encoding} -t UTF-8 < FILE{unpacked} > NEW"
                )
        head = head.removeprefix(_UTF8_BOM)
        self.starts_with = head.lstrip()[:1]
        return itertools.chain([head], chunks)

    def _inflated(self) -> Iterator[bytes]:
        head = self._take(GZIP_CHUNK_BYTES)
        while len(head) < len(GZIP_MAGIC) and (more := self._take(GZIP_CHUNK_BYTES)):
            head += more
        # An interrupted download may have left nothing, not even the magic bytes, of what was gzip.
        emptied = len(head) < len(GZIP_MAGIC) and self.file.lower().endswith(".gz")
        self.packed = head.startswith(GZIP_MAGIC) or emptied
        if self.packed:
            yield from self._gunzipped(head)
        else:
            while head:
                yield head
                head = self._take(PLAIN_CHUNK_BYTES)

    def _gunzipped(self, chunk: bytes) -> Iterator[bytes]:
        member = zlib.decompressobj(wbits=31)  # 31: gzip framing, checksum verified by zlib
        try:
            while chunk:
                while chunk:
                    if member.eof:  # files joined with cat have several members, tapes pad with zeros
                        chunk = chunk.lstrip(b"\0")
                        if not chunk:
                            break
                        member = zlib.decompressobj(wbits=31)
                    if inflated := member.decompress(chunk, INFLATED_CHUNK_BYTES):
                        yield inflated
                    chunk = member.unused_data if member.eof else member.unconsumed_tail
                chunk = self._take(GZIP_CHUNK_BYTES)
            self.truncated = not member.eof
        except zlib.error:
            self.truncated = True

    def _take(self, size: int) -> bytes:
        try:
            chunk = self._read(size)
        except OSError as error:
            raise InputError(
                f"{self.file}: reading failed after {self.bytes_read} bytes: {error.strerror}"
            ) from None
        self.bytes_read += len(chunk)
        return chunk


def open_file(path: str) -> tuple[Any, int | None]:
    """The file, unbuffered, and its size in bytes (None for what is not a regular file).

    Raises:
        InputError: it is missing, a directory, or not readable.
    """
    try:
        raw = Path(path).open("rb", buffering=0)  # noqa: SIM115 (the source closes it)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name, or give - to read standard input") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; name the files in it, such as {path}/*.jsonl") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it; try: chmod +r {path}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = (error.strerror if isinstance(error, OSError) else None) or "not a file name"
        raise InputError(f"{path}: cannot be opened: {why}; check the name") from None
    status = os.fstat(raw.fileno())
    return raw, status.st_size if stat.S_ISREG(status.st_mode) else None
