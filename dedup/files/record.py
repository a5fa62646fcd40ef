"""What a file holds one of per article, before anyone asks whether it is one; and its bounds.

`(line, raw, found)`: the 1-based line (Parquet: row) where it starts, its bytes (None for Parquet), and the
values by article field, or the reason why there are none. A plan says which names a field goes by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Record = tuple[int, bytes | None, dict[str, Any] | str]
Plan = Mapping[str, tuple[str, ...]]
"""Article field -> the input names that may hold it, in the order they are tried."""

REQUIRED_FIELDS = ("source_id", "text")  # What a record is refused without

MAX_RECORD_BYTES = 16 * 1_048_576
"""Bytes of a line of JSONL, a row of CSV, or the cells of a row of Parquet; a longer one is refused without
being held. The longest of 120,000 real articles has 132,000 characters. Reading takes up to 13 times as much
memory: a row of CSV is there as bytes, as text, as csv's four bytes a character, and as values."""

OTHER_BYTES = 1_048_576  # Room in a record for what is not its text, where the text is longer than usual

MAX_RECORD_VALUES = 1_000_000
"""Commas and opening brackets in a line of JSONL; delimiters and line ends in a row of CSV. A small object
takes 30 times as many bytes in Python as in JSON, so the bytes of a record alone do not bound its memory."""

MAX_RAW_BYTES = 1_048_576
"""Of a refused record, what is kept and goes to the rejects file. Real articles fit; a bomb does not."""

TOO_MANY_VALUES = f"the record has more than {MAX_RECORD_VALUES:,} values"
NO_MEMORY = "the record needs more memory than there is"

UNREADABLE = object()
"""In place of a value that the file has and Python cannot hold, such as a time in the year 33,000."""


class Refused(str):
    """Why a record is refused, with its id where that can be told all the same."""

    source_id: Any = None


def refused(reason: str, source_id: Any) -> Refused:
    made = Refused(reason)
    made.source_id = source_id
    return made


def unreadable(found: Mapping[str, Any]) -> Refused | None:
    """The reason to refuse values of which a required one could not be read; None where all could."""
    bad = [field for field in REQUIRED_FIELDS if found.get(field) is UNREADABLE]
    if not bad:
        return None
    return refused(f"{bad[0]} cannot be read", None if "source_id" in bad else found.get("source_id"))


class Beginning(bytes):
    """The first bytes of a record that is not there as a whole."""

    length: int  # bytes of the whole record
    quotes: int  # quotation marks in the whole record, which tell where a row of CSV goes on


def beginning(first: bytes, length: int, quotes: int) -> Beginning:
    """At most `MAX_RAW_BYTES` of a record of so many bytes."""
    made = Beginning(first[:MAX_RAW_BYTES])
    made.length, made.quotes = length, quotes
    return made


def record_bytes(text_characters: int) -> int:
    """The bound of a record where texts may be so long: in JSON a character takes up to 6 bytes."""
    return max(MAX_RECORD_BYTES, 6 * text_characters + OTHER_BYTES)


def too_long(length: int, most: int) -> str:
    """Why a record of so many bytes is refused."""
    return f"the record has {length:,} bytes, the limit is {most:,}"


def row_as_json(found: dict[str, Any]) -> str:
    """A row of Parquet, which has no text of its own, as a rejects file can show it."""
    return json.dumps(found, default=_as_text)


def _as_text(value: Any) -> str:
    return "(cannot be read)" if value is UNREADABLE else str(value)
