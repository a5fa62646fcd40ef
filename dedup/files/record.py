"""What a file holds one of per article, its bounds, and how its values become an article.

`(line, raw, found)`: the 1-based line (Parquet: row) where it starts, its bytes (None for Parquet), and the
values by article field, or the reason why there are none. A plan says which names a field goes by.

What is wrong with an optional field is repaired, and said; the rest is refused. The repairs, and no others:

- a time that cannot be read is left out;
- in a title, url, publication, language or byline a number becomes its text; NUL and lone surrogates, which
  Postgres cannot store, are dropped; any other value that is no text, or is too long, is left out;
- a value that the file has and Python cannot hold is left out.

An id that is an integer is its text, without a word, and the names in a list of authors are a byline. What is
`kept` is an object, or JSON that is one, or made of values that were asked for by their names (`keep`). The
text of an article is never changed.
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

MAX_RECORD_KEYS = 1_000
"""Keys of an object that is an article. Each is looked up among the names of fields, at 4 µs; exports have
100."""

MAX_RAW_BYTES = 1_048_576
"""Of a refused record, what is kept and goes to the rejects file. Real articles fit; a bomb does not."""

TOO_MANY_VALUES = f"the record has more than {MAX_RECORD_VALUES:,} values"
NO_MEMORY = "the record needs more memory than there is"


def unexpected(error: Exception) -> str:
    """Why a record is refused that a parser fails on; without the error's words, which may hold its text."""
    return f"it cannot be read ({type(error).__name__})"


UNREADABLE = object()
"""In place of a value that the file has and Python cannot hold, such as a time in the year 33,000."""


class Refused(str):
    """Why a record is refused, with its id where that can be told all the same."""

    source_id: Any

    def __new__(cls, reason: str, source_id: Any = None) -> Refused:
        made = super().__new__(cls, reason)
        made.source_id = source_id
        return made


def unreadable(found: Mapping[str, Any]) -> Refused | None:
    """The reason to refuse values of which a required one could not be read; None where all could."""
    bad = [field for field in REQUIRED_FIELDS if found.get(field) is UNREADABLE]
    if not bad:
        return None
    return Refused(f"{bad[0]} cannot be read", None if "source_id" in bad else found.get("source_id"))


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
    return json.dumps(found, default=lambda value: "(cannot be read)" if value is UNREADABLE else str(value))


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
    if isinstance(found.get("byline"), (list, dict)):
        found = {**found, "byline": _named(found["byline"]) or None}
    if isinstance(found.get("kept"), str):
        found = {**found, "kept": _object(found["kept"])}
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
            and made.byline is get("byline")
        ):
            return made, ()
    return _repaired(found)


KEPT = "kept."  # What the fields of a plan begin with that are names of values to be kept


def keep(found: dict[str, Any], names: Sequence[str]) -> None:
    """Make the values that were found by these names what the article keeps, beside what it says itself."""
    values = {name: found.pop(KEPT + name, None) for name in names}
    given = {name: value for name, value in values.items() if value not in (None, "", [], {})}
    if given:
        said = found.get("kept")
        found["kept"] = {**(said if isinstance(said, dict) else {}), **given}


def _object(value: str) -> Any:
    """The object that a text is in JSON; the text where it is none."""
    try:
        made = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return made if isinstance(made, dict) else value


def _named(value: Any) -> str:
    """The names in a list of authors, or in an object that is one."""
    if isinstance(value, dict):
        value = [value.get("name")]
    names = (_named(one) if isinstance(one, dict) else one for one in value)
    return ", ".join(name.strip() for name in names if isinstance(name, str) and name.strip())


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
        if field == "kept":
            return _checked_kept(value)
        kept = short_text(field, str(value) if number else value)
    except InputError as error:
        return str(error), None
    if number:
        return f"{field} is a number: taken as text", kept
    if kept != value:
        return (f"{field} has a NUL or a lone surrogate, which Postgres cannot store: dropped", kept or None)
    return None, kept


def _checked_kept(value: Any) -> tuple[str | None, Any]:
    lost = [name for name, one in value.items() if one is UNREADABLE] if isinstance(value, dict) else []
    if lost:
        value = {name: one for name, one in value.items() if name not in lost}
    return f"kept {lost[0]} cannot be read" if lost else None, kept_values(value)


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
