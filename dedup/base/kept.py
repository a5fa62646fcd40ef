"""Check the caller's own columns, which are stored with an article as JSON, shown, and never compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, time
from math import isfinite
from typing import Any

from dedup.base.errors import InputError

# dedup/attach/functions.py has the same limits for attached tables.
KEPT_CHARACTERS = 4_096  # A longer text is cut; any other value is left out if its JSON is longer
KEPT_NAMES = 1_000  # Maximum number of kept values per article


def kept_values(given: Any) -> dict[str, Any] | None:
    """Return the values to store with an article, without nulls; None if no value is left.

    Times become ISO 8601, decimals become floats; NUL, lone surrogates, NaN and infinity are left out.
    Raises InputError (which quotes no value): not a mapping, too many names, too deep, or a type not in JSON.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"kept must be an object of names and values, not {type(given).__name__}")
    if len(given) > KEPT_NAMES:
        raise InputError(f"kept has {len(given):,} names, the limit is {KEPT_NAMES:,}")
    try:
        values = _plain(given)
        kept = {name: _bounded(value) for name, value in values.items()}
    except RecursionError:
        raise InputError("kept is nested too deeply") from None
    return {name: value for name, value in kept.items() if value is not None} or None


def as_json(kept: Mapping[str, Any] | None) -> str | None:
    return json.dumps(kept, ensure_ascii=False) if kept else None


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value[:KEPT_CHARACTERS]
    if value is None or isinstance(value, (bool, float)):
        return value
    return value if len(json.dumps(value, ensure_ascii=False)) <= KEPT_CHARACTERS else None


def _plain(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\0", "").encode("utf-8", "ignore").decode()
        case None | bool() | int():
            return value
        case float():
            return value if isfinite(value) else None
        case date() | time():
            return value.isoformat()
        case Mapping():
            if not all(isinstance(name, str) for name in value):
                raise InputError("kept has a name that is not a string")
            return {_plain(name): _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case _:
            # Imported only here, to keep the start of commands quick: every command imports this module.
            from decimal import Decimal

            if isinstance(value, Decimal):
                return _plain(float(value))
            raise InputError(f"kept has a value of type {type(value).__name__}, which JSON does not have")
