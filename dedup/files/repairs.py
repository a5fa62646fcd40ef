"""Values become an article. What is wrong with an optional field is repaired, and said; the rest is refused.

The repairs, and there are no others:

- a time that cannot be read is left out;
- in a title, url, publication or language a number becomes its text; NUL and lone surrogates, which Postgres
  cannot store, are dropped; any other value that is no text, or is too long, is left out;
- a value that the file has and Python cannot hold is left out.

An id that is an integer is its text, without a word. The text of an article is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from dedup.base.article import Article, short_text
from dedup.base.errors import InputError
from dedup.base.times import parse_time
from dedup.files.dates import TIMES
from dedup.files.record import REQUIRED_FIELDS, UNREADABLE
from dedup.files.rejects import MAX_REPAIR_CHARACTERS

Flaw = tuple[str, str, str]  # A repaired field, the reason, and the beginning of its value


def make_article(found: dict[str, Any]) -> tuple[Article, Sequence[Flaw]]:
    """The article that values make, and its repairs. Raises InputError if id or text cannot be used."""
    for field in REQUIRED_FIELDS:
        if found.get(field) is None:
            raise InputError(f"{field} is missing")
    if "" in found.values():  # an empty cell of CSV is a missing value
        found = {field: value for field, value in found.items() if value != "" or field in REQUIRED_FIELDS}
    if type(found["source_id"]) is int:  # not isinstance: True is an int too
        found["source_id"] = str(found["source_id"])
    try:
        made = Article(**found)
    except InputError:
        pass  # one of its fields is bad; which one is found out below
    else:
        # Article keeps a text as it is unless something had to be dropped from it.
        get = found.get
        if (
            made.title is get("title")
            and made.url is get("url")
            and made.publication is get("publication")
            and made.language is get("language")
        ):
            return made, ()
    return _repaired(found)


def _repaired(found: dict[str, Any]) -> tuple[Article, Sequence[Flaw]]:
    values: dict[str, Any] = {}
    flaws: list[Flaw] = []
    for field, value in found.items():
        if field in REQUIRED_FIELDS:
            values[field] = value
            continue
        reason, kept = _checked(field, value)
        if reason:
            flaws.append((field, reason, beginning_of(value)))
        if kept is not None:
            values[field] = kept
    return Article(**values), flaws


def _checked(field: str, value: Any) -> tuple[str | None, Any]:
    """What is wrong with the value of an optional field, and what is kept of it."""
    from decimal import Decimal  # here: every command imports this module, and few repair anything

    if value is UNREADABLE:
        return f"{field} cannot be read", None
    number = type(value) is int or (isinstance(value, (float, Decimal)) and isfinite(value))
    try:
        if field in TIMES:
            return None, parse_time(value, field)
        kept = short_text(field, str(value) if number else value)
    except InputError as error:
        return str(error), None
    if number:
        return f"{field} is a number: taken as text", kept
    if kept != value:
        return (f"{field} has a NUL or a lone surrogate, which Postgres cannot store: dropped", kept or None)
    return None, kept


def beginning_of(value: Any) -> str:
    """The first characters of a bad value, as JSON where it is no text."""
    if isinstance(value, str):
        return value[:MAX_REPAIR_CHARACTERS]
    shown = ""
    if value is UNREADABLE:
        return shown
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            shown += piece[:MAX_REPAIR_CHARACTERS]
            if len(shown) >= MAX_REPAIR_CHARACTERS:
                break
    except (RecursionError, ValueError):  # nested too deeply to be shown
        pass
    return shown[:MAX_REPAIR_CHARACTERS]


def usable_id(value: Any) -> str | None:
    """The id of a refused record, if it can be one."""
    try:
        return Article(str(value) if type(value) is int else value, "").source_id
    except InputError:
        return None
