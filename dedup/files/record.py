"""Records of a file, their limits, and the conversion of a record to an article.

Optional fields are repaired, and the repairs are reported; a record with any other fault is refused. The only
repairs are:

- A time that cannot be read is left out.
- In a title, url, publication, language or byline, a number is converted to text. NUL and lone surrogates,
  which Postgres cannot store, are dropped. Any other value is left out if it is not text or is too long.
- A value that Python cannot represent is left out.

A whole number as id is converted to text, and a list of authors to a byline, without a report. The text of an
article never changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from dedup.base.article import Article, kept_values, short_text
from dedup.base.errors import InputError
from dedup.base.times import parse_time
from dedup.files.dates import TIMES
from dedup.files.rejects import MAX_REPAIR_CHARACTERS

# (number of the first line or row, from 1; bytes, or None for rows; values by field, or a reason to refuse)
Record = tuple[int, bytes | None, dict[str, Any] | str]
Plan = Mapping[str, tuple[str, ...]]  # For each field of an article, the names to try, in order

REQUIRED_FIELDS = ("source_id", "text")
SHORT_FIELDS = ("title", "url", "publication", "language", "byline", "scope")

# Maximum bytes of a line, or of the cells of a row. The longest of 120,000 articles has 132,000 characters.
# Reading a record takes up to 13 times its size: bytes, text, csv's four bytes per character, and values.
MAX_RECORD_BYTES = 16 * 1_048_576
OTHER_BYTES = 1_048_576  # Room for all fields except the text, in the limit that `record_bytes` computes
# Maximum number of values: commas and opening brackets are counted in JSONL, delimiters and line ends in CSV.
# A limit on bytes is not enough: a small object takes 30 times as many bytes in Python as in JSON.
MAX_RECORD_VALUES = 1_000_000
MAX_RECORD_KEYS = 1_000  # Exports have about 100 keys; looking up each key takes 4 µs
MAX_RAW_BYTES = 1_048_576  # Maximum size of a refused record in the rejects file; real articles are smaller

TOO_MANY_VALUES = f"the record has more than {MAX_RECORD_VALUES:,} values"
NO_MEMORY = "the record needs more memory than is available"


def describe_error(error: Exception) -> str:
    """Return the reason to refuse a record on which a parser fails."""
    # The message of the error is left out, since it may quote the article.
    return f"it cannot be read ({type(error).__name__})"


UNREADABLE = object()  # Replaces a value that Python cannot represent, such as a time in the year 33,000


class Refusal(str):
    """Reason why a record is refused, with the id of the record if the id can be read."""

    source_id: Any

    def __new__(cls, reason: str, source_id: Any = None) -> Refusal:
        made = super().__new__(cls, reason)
        made.source_id = source_id
        return made


def find_unreadable(found: Mapping[str, Any]) -> Refusal | None:
    """Return the reason to refuse a record if a required value cannot be read, else None."""
    bad = [field for field in REQUIRED_FIELDS if found.get(field) is UNREADABLE]
    if not bad:
        return None
    return Refusal(f"{bad[0]} cannot be read", None if "source_id" in bad else found.get("source_id"))


class Beginning(bytes):
    """First bytes of a record that is too large to hold in memory."""

    length: int  # number of bytes of the whole record
    quotes: int  # number of quotation marks in the whole record; if odd, a CSV value is not closed


def make_beginning(first: bytes, length: int, quotes: int) -> Beginning:
    """Return the `Beginning` of a record, with at most `MAX_RAW_BYTES`."""
    made = Beginning(first[:MAX_RAW_BYTES])
    made.length, made.quotes = length, quotes
    return made


def record_bytes(text_characters: int) -> int:
    """Return the maximum size of a record whose text may have up to `text_characters` characters."""
    return max(MAX_RECORD_BYTES, 6 * text_characters + OTHER_BYTES)  # JSON takes up to 6 bytes per character


def describe_size(length: int, most: int) -> str:
    """Return the reason to refuse a record that is larger than `most` bytes."""
    return f"the record has {length:,} bytes, the limit is {most:,}"


def format_row(found: dict[str, Any]) -> str:
    """Return a row of a table, or a dict, as JSON for the rejects file."""
    try:
        return json.dumps(
            found, default=lambda value: "(cannot be read)" if value is UNREADABLE else str(value)
        )
    except (TypeError, ValueError, RecursionError):  # a dict of a program may hold anything, even itself
        return json.dumps(dict.fromkeys(found, "(cannot be shown)"))


class Flaw(NamedTuple):
    """A repaired field, the reason, and the beginning of the bad value."""

    field: str
    reason: str
    value: str


def make_article(found: dict[str, Any]) -> tuple[Article, Sequence[Flaw]]:
    """Return an article and its repairs. Raises InputError if the id or the text cannot be used."""
    for field in REQUIRED_FIELDS:
        if found.get(field) is None:
            raise InputError(f"{field} is missing")
    if "" in found.values():  # an empty text, such as a cell of CSV, is a missing value
        found = {field: value for field, value in found.items() if value != "" or field in REQUIRED_FIELDS}
    for field in ("source_id", "scope"):
        if isinstance(found.get(field), int | float):
            found[field] = _whole_as_text(found[field])
    if isinstance(found.get("byline"), (list, dict)):
        found = {**found, "byline": _join_names(found["byline"]) or None}
    if isinstance(found.get("kept"), str):
        found = {**found, "kept": _parse_object(found["kept"])}
    try:
        made = Article(**found)
    except InputError:
        pass  # `_repair` then finds the bad field
    else:
        # `Article` keeps a valid string as the same object (`is`), and makes a new one to drop characters.
        if all(getattr(made, field) is found.get(field) for field in SHORT_FIELDS):
            return made, ()
    return _repair(found)


def _whole_as_text(value: Any) -> Any:
    """Return a whole number as text, and any other value unchanged."""
    # pandas makes floats of the whole numbers of a column in which a value is missing. From 2^53 on, one
    # float stands for several whole numbers.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value) if type(value) is int else value  # isinstance would also accept True


KEPT = "kept."  # Prefix, in a `Plan`, of the names that come from the option `keep`


def keep(found: dict[str, Any], names: Sequence[str]) -> None:
    """Move the values of `names` into the dict `found["kept"]`. Other values of this dict stay."""
    values = {name: found.pop(KEPT + name, None) for name in names}
    given = {name: value for name, value in values.items() if value not in (None, "", [], {})}
    if given:
        said = found.get("kept")
        found["kept"] = {**(said if isinstance(said, dict) else {}), **given}


def _parse_object(value: str) -> Any:
    """Return the JSON object that a text holds, as a dict. Return any other text unchanged."""
    try:
        made = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return made if isinstance(made, dict) else value


def _join_names(value: Any) -> str:
    """Return the names of authors, joined by commas.

    `value`: an object with the `name` of one author, or a list of names and such objects.
    """
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
            flaws.append(Flaw(field, reason, show_beginning(value)))
        if kept is not None:
            values[field] = kept
    return Article(**values), flaws


def _check_value(field: str, value: Any) -> tuple[str | None, Any]:
    """Return a pair: the fault of an optional value (None if it has no fault), and the value to store."""
    from decimal import Decimal  # imported late, since few commands need it

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
    """Return the first characters of a bad value, as JSON if the value is not text."""
    if isinstance(value, str):
        return value[:MAX_REPAIR_CHARACTERS]
    shown = ""
    if value is UNREADABLE:
        return shown
    try:
        # Only the first pieces are encoded, since a value may be large.
        for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            shown += piece[:MAX_REPAIR_CHARACTERS]
            if len(shown) >= MAX_REPAIR_CHARACTERS:
                break
    except (RecursionError, ValueError):  # the value is nested too deeply to be shown
        pass
    return shown[:MAX_REPAIR_CHARACTERS]


def find_usable_id(value: Any) -> str | None:
    """Return the id of a refused record if it is valid, else None."""
    try:
        return Article(_whole_as_text(value), "").source_id
    except InputError:
        return None
