"""Read the sizes of Parquet pages, which pyarrow does not report. Headers are in Thrift's compact form."""

from __future__ import annotations

from typing import Any

HEADER_BYTES = 65_536  # Maximum size of a page header; headers are short, since writers leave out long values

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)  # Types of integers with 16, 32 and 64 bits
_UNPACKED, _PACKED = 2, 3  # Ids of the header fields with the unpacked and packed size of a page


def find_largest_page(raw: Any, chunk: Any) -> int:
    """Return the unpacked size of the largest page of `chunk`; if a header is bad, of the whole chunk."""
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page:
        starts.append(chunk.dictionary_page_offset)
    at, most = min(starts), 0
    end = at + chunk.total_compressed_size
    while at < end:
        raw.seek(at)
        try:
            fields, length = _read_struct(raw.read(HEADER_BYTES), 0)
            size, packed = fields[_UNPACKED], fields[_PACKED]
        except (IndexError, KeyError, ValueError, RecursionError):
            return int(chunk.total_uncompressed_size)
        most = max(most, size)
        at += length + max(packed, 0)
    return most


def _read_struct(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """Return the integer fields of a struct, by field id, and the position after the struct."""
    found: dict[int, int] = {}
    field = 0
    while head := data[at]:
        at, kind, step = at + 1, head & 15, head >> 4
        if step:
            field += step
        else:
            field, at = _read_number(data, at)
        if kind in _NUMBERS:
            found[field], at = _read_number(data, at)
        elif kind not in (_TRUE, _FALSE):  # a boolean is stored as its type, without more bytes
            at = _skip_value(data, at, kind)
    return found, at + 1


def _skip_value(data: bytes, at: int, kind: int) -> int:
    """Return the position after a value."""
    if kind in (_TRUE, _FALSE, _BYTE):  # within a list, a boolean takes a byte
        return at + 1
    if kind in _NUMBERS:
        return _read_number(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = _read_varint(data, at)
        return at + length
    if kind in (_LIST, _SET):
        count, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _read_varint(data, at)
        for _ in range(count):
            at = _skip_value(data, at, inner)
        return at
    if kind == _STRUCT:
        return _read_struct(data, at)[1]
    raise ValueError(kind)  # a map, which page headers do not have


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _read_varint(data, at)
    # Numbers are in zigzag form, in which the last bit is the sign.
    return value >> 1 ^ -(value & 1), at
