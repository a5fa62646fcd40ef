"""How large the pages of a Parquet file are: pyarrow unpacks a page as a whole and does not tell its size.

The size stands in the header before each page, a struct in Thrift's compact protocol. Only sizes are read.
"""

from __future__ import annotations

from typing import Any

HEADER_BYTES = 65_536
"""Of a header, at most. Writers leave out the statistics of values that are longer than a few kilobytes."""

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)  # Of 16, 32 and 64 bits

_UNPACKED, _PACKED = 2, 3  # Fields of a header: bytes of the page


def largest_page(raw: Any, chunk: Any) -> int:
    """The bytes of the largest page of a column when it is unpacked.

    Where a header cannot be read it is what all pages together have.
    `raw`: the file; `chunk`: what pyarrow knows of the column in a row group.
    """
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page:
        starts.append(chunk.dictionary_page_offset)
    at, most = min(starts), 0
    end = at + chunk.total_compressed_size
    while at < end:
        raw.seek(at)
        try:
            fields, length = _struct(raw.read(HEADER_BYTES), 0)
            size, packed = fields[_UNPACKED], fields[_PACKED]
        except (IndexError, KeyError, ValueError, RecursionError):
            return int(chunk.total_uncompressed_size)
        most = max(most, size)
        at += length + max(packed, 0)
    return most


def _struct(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """The numbers among the fields of a struct that begins there, and where it ends."""
    found: dict[int, int] = {}
    field = 0
    while head := data[at]:
        at, kind, step = at + 1, head & 15, head >> 4
        if step:
            field += step
        else:
            field, at = _number(data, at)
        if kind in _NUMBERS:
            found[field], at = _number(data, at)
        elif kind not in (_TRUE, _FALSE):  # whose value is their kind
            at = _after(data, at, kind)
    return found, at + 1


def _after(data: bytes, at: int, kind: int) -> int:
    """Where a value that begins there ends."""
    if kind in (_TRUE, _FALSE, _BYTE):  # in a list a flag is a byte
        return at + 1
    if kind in _NUMBERS:
        return _number(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        return at + length
    if kind in (_LIST, _SET):
        count, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _varint(data, at)
        for _ in range(count):
            at = _after(data, at, inner)
        return at
    if kind == _STRUCT:
        return _struct(data, at)[1]
    raise ValueError(kind)  # a map, which no header has


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number as zigzag: the sign is the last bit."""
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at
