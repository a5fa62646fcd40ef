"""Records of a file, their bounds, and the article that a record makes.

Optional fields are repaired, and the repairs reported; any other fault refuses the record. These are all the
repairs:

- a time that cannot be read is left out;
- in a title, url, publication, language or byline a number becomes its text; NUL and lone surrogates, which
  Postgres cannot store, are dropped; any other value that is no text, or is too long, is left out;
- a value that Python cannot hold is left out.

An integer id becomes its text, and a list of authors a byline, without a report. The text never changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from dedup.base.article import Article, short_text
from dedup.base.errors import InputError
from dedup.base.kept import kept_values
from dedup.base.times import parse_time
from dedup.files.dates import TIMES
from dedup.files.rejects import MAX_REPAIR_CHARACTERS

# First line or row, counted from 1; bytes (None for rows); and values by article field, or a reason.
Record = tuple[int, bytes | None, dict[str, Any] | str]
Plan = Mapping[str, tuple[str, ...]]  # Article field -> names that may hold it, in the order they are tried

REQUIRED_FIELDS = ("source_id", "text")

# Bytes of a line, or of the cells of a row. The longest of 120,000 real articles has 132,000 characters.
# Reading takes up to 13 times as much memory: csv holds bytes, text, four bytes a character, and values.
MAX_RECORD_BYTES = 16 * 1_048_576
OTHER_BYTES = 1_048_576  # Room for the other fields of a record whose text may be longer than usual
# Commas and opening brackets in a line of JSONL; delimiters and line ends in a row of CSV. A small object
# takes 30 times as many bytes in Python as in JSON, so the bytes of a record alone do not bound its memory.
MAX_RECORD_VALUES = 1_000_000
MAX_RECORD_KEYS = 1_000  # Each is looked up among the names of fields, which takes 4 µs; exports have 100
MAX_RAW_BYTES = 1_048_576  # Bytes of a refused record that are kept. Real articles fit

TOO_MANY_VALUES = f"the record has more than {MAX_RECORD_VALUES:,} values"
NO_MEMORY = "the record needs more memory than there is"


def describe_error(error: Exception) -> str:
    """Return the reason to refuse a record on which a parser fails."""
    # Without the message of the error, which may quote the article.
    return f"it cannot be read ({type(error).__name__})"


UNREADABLE = object()  # A value that Python cannot hold, such as a time in the year 33,000


class Refusal(str):
    """The reason why a record is refused, with its id if that can be read."""

    source_id: Any

    def __new__(cls, reason: str, source_id: Any = None) -> Refusal:
        made = super().__new__(cls, reason)
        made.source_id = source_id
        return made


def find_unreadable(found: Mapping[str, Any]) -> Refusal | None:
    """Return the reason to refuse values if a required one cannot be read, else None."""
    bad = [field for field in REQUIRED_FIELDS if found.get(field) is UNREADABLE]
    if not bad:
        return None
    return Refusal(f"{bad[0]} cannot be read", None if "source_id" in bad else found.get("source_id"))


class Beginning(bytes):
    """The first bytes of a record that is too large to be held."""

    length: int  # bytes of the whole record
    quotes: int  # quotation marks of the whole record: an odd number leaves a value of CSV open


def make_beginning(first: bytes, length: int, quotes: int) -> Beginning:
    """Return the first `MAX_RAW_BYTES` at most of a record."""
    made = Beginning(first[:MAX_RAW_BYTES])
    made.length, made.quotes = length, quotes
    return made


def record_bytes(text_characters: int) -> int:
    """Return the bytes that a record may have if its text may have so many characters."""
    return max(MAX_RECORD_BYTES, 6 * text_characters + OTHER_BYTES)  # JSON takes up to 6 bytes a character


def describe_size(length: int, most: int) -> str:
    """Return the reason to refuse a record of so many bytes."""
    return f"the record has {length:,} bytes, the limit is {most:,}"


def format_row(found: dict[str, Any]) -> str:
    """Return a row of Parquet or Excel as JSON for the rejects file."""
    return json.dumps(found, default=lambda value: "(cannot be read)" if value is UNREADABLE else str(value))


Flaw = tuple[str, str, str]  # A repaired field, the reason, and the beginning of its value


def make_article(found: dict[str, Any]) -> tuple[Article, Sequence[Flaw]]:
    """Return an article and its repairs. Raises InputError if its id or text cannot be used."""
    for field in REQUIRED_FIELDS:
        if found.get(field) is None:
            raise InputError(f"{field} is missing")
    if "" in found.values():  # an empty cell of CSV is a missing value
        found = {field: value for field, value in found.items() if value != "" or field in REQUIRED_FIELDS}
    if type(found["source_id"]) is int:  # not isinstance: True is an int too
        found["source_id"] = str(found["source_id"])
    if isinstance(found.get("byline"), (list, dict)):
        found = {**found, "byline": _join_names(found["byline"]) or None}
    if isinstance(found.get("kept"), str):
        found = {**found, "kept": _parse_object(found["kept"])}
    try:
        made = Article(**found)
    except InputError:
        pass  # a field is bad: `_repair` finds which
    else:
        # Compared by identity, which is fast: Article makes a new text only if it had to drop something.
        get = found.get
        if (
            made.title is get("title")
            and made.url is get("url")
            and made.publication is get("publication")
            and made.language is get("language")
            and made.byline is get("byline")
        ):
            return made, ()
    return _repair(found)


KEPT = "kept."  # Prefix of fields of a plan that are values to be kept


def keep(found: dict[str, Any], names: Sequence[str]) -> None:
    """Move the values found by these names to `kept`, beside the values that the record has there."""
    values = {name: found.pop(KEPT + name, None) for name in names}
    given = {name: value for name, value in values.items() if value not in (None, "", [], {})}
    if given:
        said = found.get("kept")
        found["kept"] = {**(said if isinstance(said, dict) else {}), **given}


def _parse_object(value: str) -> Any:
    """Return a text as the object that it is in JSON, or unchanged."""
    try:
        made = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return made if isinstance(made, dict) else value


def _join_names(value: Any) -> str:
    """Return the names in a list of authors, or in an object that is an author."""
    if isinstance(value, dict):
        value = [value.get("name")]
    names = (_join_names(one) if isinstance(one, dict) else one for one in value)
    return ", ".join(name.strip() for name in names if isinstance(name, str) and name.strip())


def _repair(found: dict[str, Any]) -> tuple[Article, Sequence[Flaw]]:
    values: dict[str, Any] = {}
    flaws: list[Flaw] = []
    for field, value in found.items():
        if field in REQUIRED_FIELDS:
            values[field] = value
            continue
        reason, kept = _check_value(field, value)
        if reason:
            flaws.append((field, reason, show_beginning(value)))
        if kept is not None:
            values[field] = kept
    return Article(**values), flaws


def _check_value(field: str, value: Any) -> tuple[str | None, Any]:
    """Return the fault of an optional value, if any, and the value to store."""
    from decimal import Decimal  # imported here: every command imports this module, and few repair anything

    if value is UNREADABLE:
        return f"{field} cannot be read", None
    number = type(value) is int or (isinstance(value, (float, Decimal)) and isfinite(value))
    try:
        if field in TIMES:
            return None, parse_time(value, field)
        if field == "kept":
            return _check_kept(value)
        kept = short_text(field, str(value) if number else value)
    except InputError as error:
        return str(error), None
    if number:
        return f"{field} is a number: taken as text", kept
    if kept != value:
        return (f"{field} has a NUL or a lone surrogate, which Postgres cannot store: dropped", kept or None)
    return None, kept


def _check_kept(value: Any) -> tuple[str | None, Any]:
    lost = [name for name, one in value.items() if one is UNREADABLE] if isinstance(value, dict) else []
    if lost:
        value = {name: one for name, one in value.items() if name not in lost}
    return f"kept {lost[0]} cannot be read" if lost else None, kept_values(value)


def show_beginning(value: Any) -> str:
    """Return the first characters of a bad value, as JSON if it is no text."""
    if isinstance(value, str):
        return value[:MAX_REPAIR_CHARACTERS]
    shown = ""
    if value is UNREADABLE:
        return shown
    try:
        # Piece by piece: a value may be large, and only its first characters are shown.
        for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            shown += piece[:MAX_REPAIR_CHARACTERS]
            if len(shown) >= MAX_REPAIR_CHARACTERS:
                break
    except (RecursionError, ValueError):  # nested too deeply to be shown
        pass
    return shown[:MAX_REPAIR_CHARACTERS]


def find_usable_id(value: Any) -> str | None:
    """Return the id of a refused record if it is valid, else None."""
    try:
        return Article(str(value) if type(value) is int else value, "").source_id
    except InputError:
        return None
