"""Fingerprints as rows of COPY in its binary form, made from arrays: no Python call per value.

psycopg would convert each value of each row on its own, which costs more than half of what making the
fingerprints costs. A row is a count of columns, then each value after its length in bytes; an array is as
`../db/arrays.py` says. Columns of a fixed width come first, so all of a row but its sentences is one NumPy
record.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.db.arrays import ELEMENT, INT8, Bigints
from dedup.text.fingerprints import Fingerprints

COLUMNS = (
    "article_id, version, content_hash, revision, word_count, shingle_count, buckets, signature,"
    " sentence_hashes"
)
"""In the order of the values of a row."""

_PLAIN = (
    ("article_id", 8),
    ("version", 8),
    ("content_hash", 8),
    ("revision", 4),
    ("word_count", 4),
    ("shingle_count", 4),
)
BEGINNING = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"
_ARRAY = 20
"""Bytes of an array before its elements: dimensions, nulls, element type, length and lower bound."""


def copy_rows(ids: Bigints, revisions: Bigints, made: Fingerprints) -> list[bytes]:
    """The rows of some articles, in their order; a text without a fingerprint has an empty one. `ids`,
    `revisions`: of the articles that `made` is of.
    """
    rows = [b""] * len(made)
    sentences = _elements(made.sentence_hashes).tobytes()
    ends = (made.sentence_starts * ELEMENT.itemsize).tolist()
    counts = np.diff(made.sentence_starts)
    readable = np.fromiter((reason is None for reason in made.reasons), np.bool_, len(made))
    signed = made.shingle_count > 0
    for bands in (made.buckets.shape[1], 0):
        for size in (made.signature.shape[1], 0):
            chosen = np.flatnonzero(readable & (made.banded == bool(bands)) & (signed == bool(size)))
            if not len(chosen):
                continue
            record = _record(bands, size)
            table = _table(record, bands, size, len(chosen))
            for name in ("version", "content_hash", "word_count", "shingle_count"):
                table[name] = getattr(made, name)[chosen]
            table["article_id"], table["revision"] = ids[chosen], revisions[chosen]
            if bands:
                table["buckets"]["value"] = made.buckets[chosen]
            if size:
                table["signature"] = made.signature[chosen]
            table["sentences_bytes"] = _ARRAY + ELEMENT.itemsize * counts[chosen]
            table["sentences_length"] = counts[chosen]
            fixed, width = table.tobytes(), record.itemsize
            for start, i in zip(range(0, len(fixed), width), chosen.tolist(), strict=True):
                rows[i] = fixed[start : start + width] + sentences[ends[i] : ends[i + 1]]
    return rows


def copy_data(rows: Iterable[bytes]) -> bytes:
    """What COPY ... FROM STDIN (FORMAT BINARY) takes: these rows."""
    return b"".join([BEGINNING, *rows, END])


@cache
def _record(bands: int, size: int) -> np.dtype[Any]:
    """All of a row but its sentences, for so many buckets and so many values of the signature."""
    fields: list[tuple[Any, ...]] = [("columns", ">i2")]
    for name, width in _PLAIN:
        fields += [(f"{name}_bytes", ">i4"), (name, f">i{width}")]
    fields += _array_fields("buckets")
    fields += [("buckets", ELEMENT, bands), ("signature_bytes", ">i4"), ("signature", "u1", size)]
    return np.dtype(fields + _array_fields("sentences"))


def _array_fields(name: str) -> list[tuple[Any, ...]]:
    parts = ("bytes", "dimensions", "nulls", "type", "length", "lower")
    return [(f"{name}_{part}", ">i4") for part in parts]


def _table(record: np.dtype[Any], bands: int, size: int, count: int) -> npt.NDArray[Any]:
    row = np.zeros((), record)
    row["columns"] = len(_PLAIN) + 3
    for name, width in _PLAIN:
        row[f"{name}_bytes"] = width
    for name in ("buckets", "sentences"):
        row[f"{name}_dimensions"], row[f"{name}_type"], row[f"{name}_lower"] = 1, INT8, 1
    row["buckets_bytes"] = _ARRAY + ELEMENT.itemsize * bands
    row["buckets_length"] = bands
    row["buckets"]["size"] = 8
    row["signature_bytes"] = size
    return np.full(count, row, record)


def _elements(values: Bigints) -> npt.NDArray[Any]:
    elements = np.empty(len(values), ELEMENT)
    elements["size"], elements["value"] = 8, values
    return elements
