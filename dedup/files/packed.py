"""Unpack files: gzip, bzip2, xz, Zstandard, and zip archives.

The unpacked size has no limit, because a limit would refuse large honest files. Files are unpacked in steps,
so a decompression bomb takes little memory. An archive's directory is held in memory, so its size is limited.
"""

from __future__ import annotations

import bz2
import lzma
import os
import re
import stat
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from dedup.base import plugins
from dedup.base.errors import InputError
from dedup.base.extras import installing

PLAIN_CHUNK_BYTES = 65_536
PACKED_CHUNK_BYTES = 16_384  # Bytes per read; few, since a corrupt byte spoils its chunk
UNPACKED_CHUNK_BYTES = 1_048_576  # Maximum bytes unpacked per step: a decompression bomb must not fill memory

GZIP_MAGIC = b"\x1f\x8b"
_MAGIC = {GZIP_MAGIC: "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_ZIP_MAGIC = b"PK\x03\x04"

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[^/]*)(?P<name>.*)", re.IGNORECASE | re.DOTALL
)
_HOST = re.compile(r"([^:@?#]*|\[[0-9a-fA-F:.]*\])(:\d+)?")
_QUERY = re.compile("[?#]")

PACKED_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}

# Maximum memory of the decoder of xz. `xz -9` needs 64 MiB, but a forged header may ask for 4 GiB.
XZ_MEMORY_BYTES = 128 * 1_048_576


class Address(str):
    """Address of a file, such as `s3://bucket/news.jsonl`, without login and query, which may be secret."""

    url: str  # the whole address, with login and query


def find_address(path: str) -> str:
    """Return the `Address` if a path is the address of a file elsewhere, else the path."""
    if not (found := _ADDRESS.fullmatch(path)):
        return path
    scheme, name = found["scheme"].lower(), found["name"]
    login, _, host = found["host"].rpartition("@")
    if scheme in ("http", "https"):  # with other schemes, ? and # are part of the name
        name = _QUERY.split(name)[0]
        host = _QUERY.split(host)[0]
    # If a password contains `/`, `?` or `#`, then `host` and `name` may hold parts of the password.
    if _QUERY.search(login) or not _HOST.fullmatch(host):
        host, name = "…", f"/{name.rpartition('/')[2]}"
    made = Address(f"{scheme}://{host}{name}")
    made.url = path
    return made


class PackedFile:
    """Bytes of a file, of standard input ("-") or of a member of an archive."""

    def __init__(self, path: str, archive: Archive | None = None) -> None:
        self.file = "<stdin>" if path == "-" else path
        self.bytes_read = 0  # position in the stored file, before unpacking
        self.bytes_total: int | None = None  # size of the stored file; None for pipes
        self.packing: str | None = None  # name of the packing: gzip, bzip2, xz, zstd or zip
        self.truncated = False  # whether the packed data end early or are corrupt
        self._archive = archive
        self._read: Callable[[int], bytes]
        self.close: Callable[[], None]
        if archive is not None:
            self._read, self.close = archive.open(path)
            self.file, self.packing = f"{archive.file}/{path}", "zip"
            self.bytes_total = archive.bytes_total
        elif path == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed; name a file instead of -")
            stdin: Any = sys.stdin.buffer
            # read1 returns the bytes written so far by a slow producer; read would wait for a full buffer.
            self._read, self.close = stdin.read1, lambda: None
        else:
            raw, self.bytes_total = open_file(path)
            self._read, self.close = raw.read, raw.close

    @property
    def ends_early(self) -> str:
        """Reason to refuse the last record of a truncated file."""
        what = "file within the archive" if self.packing == "zip" else f"{self.packing} stream"
        return f"{what} ends early: the rest of the file is missing"

    def _unpack(self) -> Iterator[bytes]:
        head = self._fetch(PACKED_CHUNK_BYTES)
        while any(magic.startswith(head) for magic in _MAGIC) and (more := self._fetch(PACKED_CHUNK_BYTES)):
            head += more
        if head.startswith(_ZIP_MAGIC):
            where = "save it to a file" if self.file == "<stdin>" else "rename it to a name"
            raise InputError(f"{self.file} is a zip archive; {where} with the suffix .zip")
        packing = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
        if any(magic.startswith(head) for magic in _MAGIC):
            # An interrupted download may end before or within the magic bytes; then the suffix decides.
            packing = packing or PACKED_SUFFIXES.get(Path(self.file.lower()).suffix)
        if packing is not None:
            self.packing = packing
            yield from self._unpack_streams(head, _choose_unpacker(packing, self.file))
        else:
            while head:
                yield head
                head = self._fetch(PLAIN_CHUNK_BYTES)

    def _unpack_streams(self, chunk: bytes, make: Callable[[], Any]) -> Iterator[bytes]:
        # A file may hold several streams (joined with `cat`), and zeros after them (added by a tape drive).
        member, began = make(), False
        try:
            while chunk:
                if member.eof:
                    chunk = chunk.lstrip(b"\0")
                    member = make() if chunk else member
                if chunk:
                    unpacked = member.decompress(chunk, UNPACKED_CHUNK_BYTES)
                    while unpacked:
                        began = True
                        yield unpacked
                        more = not (member.eof or member.needs_input)
                        unpacked = member.decompress(b"", UNPACKED_CHUNK_BYTES) if more else b""
                    chunk = member.unused_data if member.eof else b""
                chunk = chunk or self._fetch(PACKED_CHUNK_BYTES)
            self.truncated |= not member.eof
        except (InputError, MemoryError):
            raise
        except Exception as error:
            # zlib, bz2, lzma and zstd raise errors without a common class. If a header asks for more memory
            # than allowed, the message contains "Memory" or "memory".
            if not began and "emory" in str(error):
                raise InputError(f"{self.file} asks for more memory than allowed; unpack it first") from None
            self.truncated = True

    def _fetch(self, size: int) -> bytes:
        try:
            chunk = self._read(size)
        except OSError as error:
            why = f"reading failed after {self.bytes_read} bytes: {error.strerror}"
            raise InputError(f"{self.file}: {why}") from None
        except _BROKEN_MEMBER:
            self.truncated, chunk = True, b""
        self.bytes_read = self._archive.bytes_read if self._archive else self.bytes_read + len(chunk)
        return chunk


class _Gzip:
    """Decompressor of gzip with the interface of the decompressors in bz2 and lzma."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)  # 31 stands for gzip, whose checksum zlib verifies

    def decompress(self, chunk: bytes, most: int) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + chunk, most)

    @property
    def needs_input(self) -> bool:
        return not self._member.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data


def _choose_unpacker(packing: str, file: str) -> Callable[[], Any]:
    if packing == "gzip":
        return _Gzip
    if packing == "bzip2":
        return bz2.BZ2Decompressor
    if packing == "xz":
        return partial(lzma.LZMADecompressor, memlimit=XZ_MEMORY_BYTES)
    try:
        from backports import zstd
    except ImportError:
        try:
            from compression import zstd  # type: ignore[import-not-found,no-redef]  # from Python 3.14 on
        except ImportError:
            raise InputError(f"{file}: Zstandard needs backports.zstd: run `{installing('zstd')}`") from None
    return zstd.ZstdDecompressor


MAX_DIRECTORY_BYTES = 4 * 1_048_576  # Enough for 40,000 files; reading such a directory takes 60 MB
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # Methods that Python can unpack in steps
_ENCRYPTED = 1  # Flag of an encrypted member
_BROKEN_MEMBER = (zipfile.BadZipFile, EOFError, zlib.error)


class Archive:
    """Zip archive, whose members are read one after the other."""

    def __init__(self, path: str) -> None:
        self.file = path
        raw, self.bytes_total = open_regular(path, "a zip archive")
        self._counted = CountingFile(raw, path, self.bytes_total)
        try:
            self._zip = zipfile.ZipFile(self._counted)
        except BaseException as error:
            raw.close()
            if not isinstance(error, (zipfile.BadZipFile, OSError, ValueError, NotImplementedError)):
                raise
            raise InputError(f"{path} is not a whole zip archive; check it with: unzip -t {path}") from None
        # Leave out hidden files and the folder `__MACOSX`, which macOS adds: neither holds articles.
        files = (info.filename for info in self._zip.infolist() if not info.is_dir())
        self.names = [name for name in files if not _is_hidden(name)]
        twice = next((name for name, count in Counter(self.names).items() if count > 1), None)
        if twice is not None:  # zipfile would read only the last file of this name
            self.close()
            raise InputError(f"{path} holds several files named {twice}; unpack them with: unzip -B {path}")

    @property
    def bytes_read(self) -> int:
        return min(self._counted.bytes_read, self.bytes_total)

    def open(self, name: str) -> tuple[Callable[[int], bytes], Callable[[], None]]:
        """Return functions that read and close a member. Raises InputError if the member cannot be read."""
        info = self._zip.getinfo(name)
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _PACKINGS:
            why = "needs a password" if info.flag_bits & _ENCRYPTED else "is packed in an unusual way"
            raise InputError(f"{self.file}/{name} {why}; unpack it first: unzip {self.file}")
        try:
            member = self._zip.open(info)
        except _BROKEN_MEMBER:
            raise InputError(f"{self.file}/{name} is broken; check with: unzip -t {self.file}") from None
        return member.read, member.close

    def close(self) -> None:
        self._zip.close()
        self._counted.close()


def _is_hidden(name: str) -> bool:
    parts = (part for part in name.split("/") if part not in (".", ".."))
    return any(part.startswith((".", "__MACOSX")) for part in parts)


class CountingFile:
    """File that counts the bytes read, and refuses to read more than `MAX_DIRECTORY_BYTES` at once."""

    def __init__(self, raw: Any, path: str, size: int) -> None:
        self._path, self._total = path, size
        self.bytes_read = 0
        self.seek, self.tell, self.close = raw.seek, raw.tell, raw.close
        self.seekable: Callable[[], bool] = lambda: True
        self._read = raw.read

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            size = max(0, self._total - self.tell())
        # A large read can only be the directory of the archive, since members are read in steps.
        if size > MAX_DIRECTORY_BYTES:
            raise InputError(f"{self._path} holds too many files for one archive; unpack it first")
        found: bytes = self._read(size)
        self.bytes_read += len(found)
        return found


def open_file(path: str) -> tuple[Any, int | None]:
    """Return an unbuffered file, and its size in bytes (None for a pipe). Raises InputError on failure."""
    if isinstance(path, Address):
        opened: tuple[Any, int | None] = plugins.needed("inputs", "address", extra="fsspec")(path.url, path)
        return opened
    try:
        raw = Path(path).open("rb", buffering=0)  # noqa: SIM115 (the source closes it)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name, or give - to read standard input") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; name the files in it, such as {path}/*.jsonl") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it; try: chmod +r {path}") from None
    except (OSError, ValueError) as error:  # ValueError: the name has a NUL
        why = (error.strerror if isinstance(error, OSError) else None) or "not a file name"
        raise InputError(f"{path}: cannot be opened: {why}; check the name") from None
    status = os.fstat(raw.fileno())
    return raw, status.st_size if stat.S_ISREG(status.st_mode) else None


def open_regular(path: str, what: str) -> tuple[Any, int]:
    """Return a file that can be read in any order, and its size. Raises InputError if it is not regular."""
    raw, size = open_file(path)
    if size is None:
        raw.close()
        raise InputError(f"{path} is not a regular file, which {what} needs; save it to a file")
    return raw, size
