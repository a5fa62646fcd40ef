"""A file becomes lines: plain or gzipped, named or standard input, never more than a line in memory.

What a file unpacks to has no bound: read in steps, a bomb takes time and no memory, while a bound would
refuse honest dumps.
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

from dedup.base.errors import InputError
from dedup.files.record import MAX_RAW_BYTES, MAX_RECORD_BYTES, beginning

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


class _Line:
    """A line as it comes in, piece by piece; past the bound its first bytes and its length are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._start()

    def _start(self) -> None:
        self._pieces: list[bytes] = []
        self._length = self._quotes = 0

    def add(self, piece: bytes) -> None:
        if self._length <= self._most:
            self._pieces.append(piece)
            if self._length + len(piece) > self._most:
                self._quotes = sum(earlier.count(b'"') for earlier in self._pieces[:-1])
                self._pieces = [b"".join(self._pieces)[:MAX_RAW_BYTES]]
        self._length += len(piece)
        if self._length > self._most:
            self._quotes += piece.count(b'"')

    def take(self) -> bytes:
        """The line, or its `Beginning`; then a new one begins."""
        pieces, length, quotes = self._pieces, self._length, self._quotes
        self._start()
        if length > self._most:
            return beginning(pieces[0], length, quotes)
        try:
            return b"".join(pieces)
        except MemoryError:
            return beginning(pieces[0], length, sum(piece.count(b'"') for piece in pieces))


class LineSource:
    """The lines of a file or of standard input ("-"), gunzipped when the first bytes say gzip."""

    def __init__(self, path: str, max_line_bytes: int = MAX_RECORD_BYTES) -> None:
        self.max_line_bytes = max_line_bytes  # of a longer line there is only the `Beginning`
        self.file = "<stdin>" if path == "-" else path
        # bytes_read, bytes_total: position and size in the file as stored; no total for pipes.
        self.bytes_read = 0
        self.bytes_total: int | None = None
        # the gzip stream ended early or is corrupt; `partial` is the line it broke off in.
        self.truncated = False
        self.partial = b""
        self.line = 0
        self.packed = False  # it is gzip
        # the first bytes, unpacked, without a byte order mark; a few of a slow pipe, many of a file.
        self.start = b""
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
            self.chunks = self._from_bom()  # all its bytes, unpacked, for who does not want lines; once
        except BaseException:
            self.close()
            raise

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number, without its newline; of one that is too long its `Beginning`.

        The line that a broken gzip stream ends in is not among them.
        """
        pending = _Line(self.max_line_bytes)
        for chunk in self.chunks:
            first, *others = chunk.split(b"\n")
            pending.add(first)
            if others:
                rest = others.pop()
                self.line += 1
                yield self.line, pending.take()
                for line in others:
                    self.line += 1
                    size = len(line)
                    within = size <= self.max_line_bytes
                    yield self.line, line if within else beginning(line, size, line.count(b'"'))
                pending.add(rest)
        last = pending.take()
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
        # A bracket so far may be all of its line, and then it is no line of JSONL.
        while head.strip() in (b"{", b"[") and b"\n" not in head.lstrip() and len(head) < PLAIN_CHUNK_BYTES:
            more = next(chunks, b"")
            if not more:
                break
            head += more
        self.start = head
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
    """The file, unbuffered, and its size in bytes (None for what is not a regular file)."""
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
