"""Read a file, packed or not, in any encoding, as lines of UTF-8, with only one line in memory."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterable, Iterator

from dedup.base.errors import InputError
from dedup.files.packed import PLAIN_CHUNK_BYTES, Archive, PackedFile
from dedup.files.record import MAX_RAW_BYTES, MAX_RECORD_BYTES, make_beginning

UTF8 = "UTF-8"
_MARKS = (  # Byte order marks, longest first, since the mark of UTF-32 begins with the mark of UTF-16
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"\xef\xbb\xbf", UTF8),
)
_LONGEST_MARK = 4
_MARK = "\ufeff".encode()
# Python lists these as text encodings, but no document uses them.
_UNUSED = frozenset({"charmap", "idna", "mbcs", "oem", "punycode", "undefined"})
# Stands for bytes that cannot be decoded. It is invalid UTF-8, so the record is refused later.
_NO_CHARACTER = "\udcff"


class Pieces:
    """Pieces of a record; if the record is too long, only its beginning and its length are kept."""

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
        """Return the record, or its `Beginning`, and start a new record."""
        pieces, length, quotes = self._pieces, self._length, self._quotes
        self._start()
        if length > self._most:
            return make_beginning(pieces[0], length, quotes)
        try:
            return b"".join(pieces)
        except MemoryError:
            return make_beginning(pieces[0], length, sum(piece.count(b'"') for piece in pieces))


class LineSource(PackedFile):
    """Lines of a file, of standard input ("-"), or of a file in an archive."""

    def __init__(
        self,
        path: str,
        max_line_bytes: int = MAX_RECORD_BYTES,
        encoding: str | None = None,
        archive: Archive | None = None,
    ) -> None:
        self.max_line_bytes = max_line_bytes
        self.partial = b""  # last, incomplete line of a truncated file
        self.line = 0
        # A byte order mark overrides this encoding.
        self.encoding = UTF8 if encoding is None else check_encoding(encoding)
        self.start = b""  # first bytes in UTF-8, without a byte order mark; few bytes if a pipe is slow
        super().__init__(path, archive)
        try:
            self.chunks = self._begin()  # the whole file in UTF-8, which can be read once
        except BaseException:
            self.close()
            raise

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each line and its bytes without newline; a `Beginning` if it is too long."""
        pending = Pieces(self.max_line_bytes)
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
                    yield self.line, line if within else make_beginning(line, size, line.count(b'"'))
                pending.add(rest)
        last = pending.take()
        if self.truncated:
            self.partial = last
        elif last:
            self.line += 1
            yield self.line, last

    def _begin(self) -> Iterator[bytes]:
        chunks = self._unpack()
        head = b""
        for chunk in chunks:
            head += chunk
            if len(head) >= _LONGEST_MARK:
                break
        marked = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
        self.encoding = marked or self.encoding
        if self.encoding != UTF8:
            chunks = _convert_to_utf8(itertools.chain([head], chunks), self.encoding)
            head = next(chunks, b"")
        head = head.removeprefix(_MARK)
        # A bracket alone on the first line shows JSON, not JSONL. So read on until the first line ends.
        while head.strip() in (b"{", b"[") and b"\n" not in head.lstrip() and len(head) < PLAIN_CHUNK_BYTES:
            more = next(chunks, b"")
            if not more:
                break
            head += more
        self.start = head
        return itertools.chain([head], chunks)


codecs.register_error("dedup.none", lambda error: (_NO_CHARACTER, getattr(error, "end", 0)))


def _convert_to_utf8(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("dedup.none")
    for chunk in chunks:
        if text := decoder.decode(chunk):
            yield text.encode(errors="surrogatepass")
    if text := decoder.decode(b"", final=True):
        yield text.encode(errors="surrogatepass")


def check_encoding(name: str) -> str:
    """Return the name of an encoding; `UTF8` for UTF-8. Raises InputError for an unknown encoding."""
    codec = text_codec(name)
    if codec is None:
        usual = "cp1252, utf-16, latin-1, cp1250, cp1251, mac_roman"
        raise InputError(f"unknown encoding '{name}'; usual ones are {usual}")
    return UTF8 if codec == "utf-8" else name


def text_codec(name: str) -> str | None:
    """Return Python's name for a text encoding; None if there is no text encoding of this name."""
    try:
        found = codecs.lookup(name).name
        if found in _UNUSED or "escape" in found:  # No document uses unicode_escape
            return None
        sample = "text".encode(found)  # LookupError: the codec is not for texts, such as zlib
        codecs.getincrementaldecoder(found)("replace").decode(sample)
    except (LookupError, ValueError):
        return None
    return found


def declared_codec(name: str, start: bytes) -> str | None:
    """Return Python's name for the encoding that HTTP or a document names; None if the name cannot be right.

    `start`: the first bytes of the document, which is HTML or XML.
    """
    codec = text_codec(name)
    if codec is None or not codec.startswith(("utf-16", "utf-32")):
        return codec
    # HTML and XML have ASCII characters, such as "<". UTF-16 and UTF-32 write these characters with NULs. So
    # without a NUL the name of the encoding is wrong.
    if 0 not in start:
        return None
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return _order_of_utf16(start) if codec == "utf-16" and not marked else codec


def _order_of_utf16(sample: bytes) -> str:
    return "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"


def guess_encoding(sample: bytes) -> str:
    """Guess the encoding of bytes that are not UTF-8 from the values and positions of the bytes."""
    if sample.count(0) * 4 > len(sample):
        return _order_of_utf16(sample)
    high = [byte for byte in sample if byte >= 0x80]
    beside = sum(a >= 0x80 and b >= 0x80 for a, b in itertools.pairwise(sample))
    low = sum(byte < 0xA0 for byte in high)
    if beside * 2 > len(high):  # most high bytes are adjacent: the script is not Latin
        if low * 4 > len(high):
            return "shift_jis"
        return "cp1251" if sum(byte >= 0xE0 for byte in high) * 2 > len(high) else "gb18030"
    return "mac_roman" if low * 2 > len(high) else "cp1252"
