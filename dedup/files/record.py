"""A record is what a file holds one of per article, before anyone asks whether it is one.

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

_MAX_SHOWN_NAME = 30
_MAX_SHOWN_NAMES = 20


def choose_columns(file: str, names: Sequence[str], plan: Plan, needed: set[str]) -> dict[str, int]:
    """The index of the column of every field that has one.

    Raises:
        InputError: a needed field has none, or the name of a column is taken twice.
    """
    chosen = {}
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
