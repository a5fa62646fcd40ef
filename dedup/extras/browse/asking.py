"""Read the fields of a query, and make addresses that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from dedup.base.errors import InputError, NotFoundError

Fields = Mapping[str, str]  # Fields of a query: all fields of the page, "" if not given

# Spaces around other fields are dropped; a source_id or the name of an outlet may begin or end with one.
EXACT = frozenset(("id", "a", "b", "publication", "copier", "original", "after"))


@dataclass(frozen=True, slots=True)
class View:
    template: str
    values: dict[str, Any]


def go(path: str, **query: object) -> str:
    """Return the address of a page."""
    # Ids are in the query, not in the path: most are addresses themselves.
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def chosen(given: Fields, *names: str) -> dict[str, Any]:
    """Return fields of a query, None for those not given."""
    return {name: given[name] or None for name in names}


def id_of(given: str) -> str:
    if not given:
        raise NotFoundError("no article is named; search for one")
    return given


def day_of(given: str) -> date | None:
    if not given:
        return None
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InputError(f"a day is written like 2026-11-20, not {given[:20]!r}") from None


def moved(day: date, by: timedelta) -> date:
    try:
        return day + by
    except OverflowError:
        return day


def sentence_of(words: str) -> str:
    return words[:1].upper() + words[1:]
