"""What the pages share: the fields of a query, and the addresses that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from dedup.base.errors import InputError, NotFoundError

Fields = Mapping[str, str]  # Those of a query: all that the page knows; "" where one is not given

EXACT = frozenset(("id", "a", "b", "publication", "copier", "original", "after"))
"""Fields whose spaces count; around others they are dropped."""


@dataclass(frozen=True, slots=True)
class View:
    template: str
    values: dict[str, Any]


def go(path: str, **query: object) -> str:
    """The address of a page. Ids are in the query: most are addresses themselves."""
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def some(given: Fields, *names: str) -> dict[str, Any]:
    """These fields of a query; None where one is not given."""
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
