"""One news article as a caller gives it: the type that enters every door (files, hook, library).

It does not read the text: what a text means is in `dedup.text`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from dedup.errors import InputError

MAX_SOURCE_ID_BYTES = 1024
"""Postgres refuses unique index entries above 2,704 bytes; 1,024 leaves room and fits any URL in use."""

MAX_TEXT_CHARACTERS = 50_000_000
"""The highest value of the setting `text_max_characters`: no corpus reads a longer text. A shorter one that
is too long for its corpus is stored and `failed`."""

MAX_FIELD_BYTES: dict[str, int] = {
    "source_id": MAX_SOURCE_ID_BYTES,
    "title": 16_384,
    "url": 16_384,
    "publication": 4_096,
    "language": 64,
}
"""Bytes of UTF-8. In real news the longest title we saw has 255, the longest address 910, the longest name of
a publication 89; RFC 5646 asks for room for 35 in a language. What is longer is something else: refused."""


@dataclass(frozen=True, slots=True)
class Article:
    """An article to be stored and judged.

    Attributes:
        source_id: the caller's own key; unique in a corpus; 1 to 1,024 bytes of UTF-8.
        text: the body, plain text, at most 50,000,000 characters. May be anything: what cannot be read
            becomes a `failed` mark.
        title, url, publication: shown and grouped by, never compared; at most 16,384, 16,384 and 4,096
            bytes of UTF-8.
        published_at: when it was published; a naive time is taken for UTC.
        added_at: when the corpus first stored it; None means now.
        language: ISO 639 code such as `en`; chooses the sentence parameters. None means the default. At most
            64 bytes.

    Raises:
        InputError: a value of the wrong type, too long, or impossible; the message never holds the value.
    """

    source_id: str
    text: str
    title: str | None = None
    url: str | None = None
    publication: str | None = None
    published_at: datetime | None = None
    added_at: datetime | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.source_id, str):
            raise InputError(f"source_id must be a string, not {type(self.source_id).__name__}")
        if not isinstance(self.text, str):
            raise InputError(f"text must be a string, not {type(self.text).__name__}")
        for name in ("title", "url", "publication", "language"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} must be a string, not {type(value).__name__}")
            if value is not None:
                object.__setattr__(self, name, storable(value))
        if "\0" in self.source_id or _has_surrogate(self.source_id):
            raise InputError("source_id has a NUL or a lone surrogate, which Postgres cannot store")
        if not self.source_id.strip():
            raise InputError("source_id is empty")
        if len(self.text) > MAX_TEXT_CHARACTERS:
            raise InputError(f"text is longer than {MAX_TEXT_CHARACTERS:,} characters")
        for name, most in MAX_FIELD_BYTES.items():
            value = getattr(self, name)
            if value is not None and utf8_size(value) > most:
                raise InputError(f"{name} is longer than {most} bytes")
        for name in ("published_at", "added_at"):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, datetime):
                raise InputError(f"{name} must be a datetime, not {type(value).__name__}")
            object.__setattr__(self, name, _as_utc(value, name))


ARTICLE_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Article))
"""The names of an article's fields, in the order files and tables list them."""


def utf8_size(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def stored_size(article: Article) -> int:
    """Bytes of all texts of an article together, which is what it takes to send it to the database."""
    values = (getattr(article, name) for name in ARTICLE_FIELDS)
    return sum(utf8_size(value) for value in values if isinstance(value, str))


def storable(text: str) -> str:
    """Drop what Postgres cannot hold in a text column: NUL and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "")
    if _has_surrogate(text):
        text = text.encode("utf-8", "ignore").decode("utf-8")
    return text


def parse_time(value: Any, name: str) -> datetime | None:
    """A time as files give it: ISO 8601 text, a date, or a datetime; None and "" mean missing.

    Raises:
        InputError: the value is of another type, or no time can be read from it.
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return _as_utc(value, name)
    if not isinstance(value, str):
        raise InputError(f"{name} must be an ISO 8601 string, not {type(value).__name__}")
    try:
        return _as_utc(datetime.fromisoformat(value.strip()), name)
    except ValueError:
        raise InputError(f"{name} is not an ISO 8601 time") from None


def _as_utc(value: datetime, name: str) -> datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InputError(f"{name} is outside the years 1 to 9999") from None


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
