"""Read the fields of a query string, and make addresses with query strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from dedup.base.errors import InputError, NotFoundError

Fields = Mapping[str, str]  # All query fields that a page knows; "" for a field that is not in the query

# Fields that are not stripped, because a source_id or the name of an outlet may begin or end with a space.
EXACT = frozenset(("id", "a", "b", "publication", "copier", "original", "scope", "after"))


@dataclass(frozen=True, slots=True)
class View:
    template: str
    values: dict[str, Any]


def go(path: str, **query: object) -> str:
    # Ids are in the query, not in the path: most ids are addresses with slashes.
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def chosen(given: Fields, *names: str) -> dict[str, Any]:
    """Return the named fields of a query; empty fields become None."""
    return {name: given[name] or None for name in names}


def id_of(given: str) -> str:
    if not given:
        raise NotFoundError("the address names no article; search for an article")
    return given


def day_of(given: str) -> date | None:
    if not given:
        return None
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InputError(f"write a day like 2026-11-20, not {given[:20]!r}") from None


def moved(day: date, by: timedelta) -> date:
    try:
        return day + by
    except OverflowError:
        return day


def sentence_of(words: str) -> str:
    return words[:1].upper() + words[1:]
