"""A record is what a file holds one of per article, before anyone asks whether it is one; and its bounds.

`(line, raw, found)`: the 1-based line (Parquet: row) it starts at, its bytes as read (None for Parquet),
and the values found, by article field; or, in place of the values, the reason why there are none. A plan
says which names a field goes by. Nothing here reads a file or knows what makes an article valid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dedup.errors import InputError

Record = tuple[int, bytes | None, dict[str, Any] | str]
Plan = Mapping[str, tuple[str, ...]]
"""Article field -> the input names that may hold it, in the order they are tried."""

MAX_RECORD_BYTES = 16 * 1_048_576
"""Bytes of a line of JSONL, a row of CSV, or the cells of a row of Parquet; a longer one is refused without
being held. The longest of 120,000 real articles has 132,000 characters. Reading takes up to 13 times as much
memory: a row of CSV is there as bytes, as text, as csv's four bytes a character, and as values."""

MAX_RECORD_VALUES = 1_000_000
"""Commas and opening brackets in a line of JSONL; delimiters and line ends in a row of CSV. A small object
takes 30 times as many bytes in Python as in JSON, so the bytes of a record alone do not bound its memory."""

MAX_RAW_BYTES = 1_048_576
"""Of a refused record, what is kept and goes to the rejects file. Real articles fit; a bomb does not."""

TOO_MANY_VALUES = f"the record has more than {MAX_RECORD_VALUES:,} values"
NO_MEMORY = "the record needs more memory than there is"

_MAX_SHOWN_NAME = 30
_MAX_SHOWN_NAMES = 20


class Beginning(bytes):
    """The first bytes of a record that is not there as a whole.

    Attributes:
        length: bytes of the whole record.
        quotes: quotation marks in the whole record, which tell where a row of CSV goes on.
    """

    length: int
    quotes: int


def beginning(first: bytes, length: int, quotes: int) -> Beginning:
    """At most `MAX_RAW_BYTES` of a record of so many bytes."""
    made = Beginning(first[:MAX_RAW_BYTES])
    made.length, made.quotes = length, quotes
    return made


def too_long(length: int, most: int) -> str:
    """Why a record of so many bytes is refused."""
    return f"the record has {length:,} bytes, the limit is {most:,}"


def choose_columns(file: str, names: Sequence[str], plan: Plan, needed: set[str]) -> dict[str, int]:
    """The index of the column of every field that has one.

    Raises:
        InputError: a needed field has none, or the name of a column is taken twice.
    """
    chosen: dict[str, int] = {}
    for field, candidates in plan.items():
        present = [name for name in candidates if name in names]
        if present:
            if names.count(present[0]) > 1:
                raise InputError(f"{file}: column '{present[0]}' appears twice; rename one of the two")
            chosen[field] = names.index(present[0])
        elif field in needed:
            # Without a header the first row is an article: show what can be names, not what may be text.
            shown = [name if len(name) <= _MAX_SHOWN_NAME else "(long)" for name in names[:_MAX_SHOWN_NAMES]]
            more = ", …" if len(names) > _MAX_SHOWN_NAMES else ""
            raise InputError(
                f"{file} has no column for {field} (looked for: {', '.join(candidates)}); its columns are "
                f"{', '.join(shown)}{more}; say which one it is with {field}=COLUMN"
            )
    return chosen


def row_as_json(found: dict[str, Any]) -> str:
    """A row of Parquet, which has no text of its own, as a rejects file can show it."""
    return json.dumps(found, default=str)
