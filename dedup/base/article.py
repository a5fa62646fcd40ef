"""Define `Article`, a news article as read from a file or given to `submit`. Check the limits of fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time
from math import isfinite
from typing import Any, NamedTuple

from dedup.base.errors import InputError
from dedup.base.times import Time, parse_time

# Postgres refuses entries above 2,704 bytes in a unique index; 1,024 bytes are enough for a URL as the key.
MAX_SOURCE_ID_BYTES = 1024

MAX_TEXT_CHARACTERS = 50_000_000
"""Upper limit of the setting `text_max_characters`. A text above this limit is refused with an InputError."""

# In real news the longest title that we saw has 255 bytes, the longest address 910, the longest name of a
# publication 89. RFC 5646 asks for 35 bytes for a language tag. Values above these limits are errors.
MAX_FIELD_BYTES: dict[str, int] = {
    "source_id": MAX_SOURCE_ID_BYTES,
    "title": 16_384,
    "url": 16_384,
    "publication": 4_096,
    "language": 64,
    "byline": 4_096,
    "scope": 1_024,
}
"""Maximum size of each field, in bytes of UTF-8."""

# dedup/attach/functions.py has the same limits for attached tables.
KEPT_CHARACTERS = 4_096  # Maximum; a longer text is cut, and any other longer value is left out
KEPT_NAMES = 1_000  # Maximum number of kept values per article


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Article:
    """An article to be stored and judged.

    Attributes:
        source_id: the caller's key for the article, unique in a corpus; 1 to 1,024 bytes of UTF-8.
        text: the body as plain text, at most 50,000,000 characters. An unreadable text is marked `failed`.
        title, url, publication, byline: for display and grouping; only the title of a short text is compared.
            Title and url: at most 16,384 bytes of UTF-8; others: 4,096. The byline names author and agency.
        published_at: when the article was published, in UTC.
        added_at: when the corpus first stored the article; None means now.
        language: ISO 639 code such as `en`, at most 64 bytes; None means the default of the corpus.
        kept: your own columns, JSON values by column name: shown beside the mark, never compared. A text is
            cut to 4,096 characters. Any other value is left out if its JSON has more than 4,096 characters.
        scope: articles are compared only with articles of the same scope, such as the reader whose feed
            brought them; None is a scope of its own. At most 1,024 bytes of UTF-8.
    """

    source_id: str
    text: str
    title: str | None = None
    url: str | None = None
    publication: str | None = None
    published_at: datetime | None = None
    added_at: datetime | None = None
    language: str | None = None
    byline: str | None = None
    kept: Mapping[str, Any] | None = field(default=None, hash=False)
    scope: str | None = None

    def __init__(
        self,
        source_id: str,
        text: str | None = None,
        title: str | None = None,
        url: str | None = None,
        publication: str | None = None,
        published_at: Time = None,
        added_at: Time = None,
        language: str | None = None,
        byline: str | None = None,
        kept: Mapping[str, Any] | None = None,
        scope: str | None = None,
        *,
        html: str | None = None,
    ) -> None:
        """Check the values and convert times to UTC.

        Args:
            published_at, added_at: a datetime or a date, or a text or number that `times.py` reads: ISO
                8601, RFC 2822, epoch seconds or milliseconds. A time without a zone is UTC.
            html: a page or fragment of HTML from which the text is extracted, in place of `text`; needs the
                extra `html`.

        Raises InputError: a value has the wrong type, is too long or impossible; `text` and `html` are both
        given or both missing; the HTML has no text. The message never contains the value.
        """
        if html is not None:
            if text is not None:
                raise InputError("an article has a text or its html: give one of the two")
            if not isinstance(html, str):
                raise InputError(f"html must be a string, not {type(html).__name__}")
            from dedup.base.html import extract

            text = extract(html)
        if not isinstance(source_id, str):
            raise InputError(f"source_id must be a string, not {type(source_id).__name__}")
        if text is None:
            raise InputError("an article needs its text: give text or html")
        if not isinstance(text, str):
            raise InputError(f"text must be a string, not {type(text).__name__}")
        if "\0" in source_id or _has_surrogate(source_id):
            raise InputError("source_id has a NUL or a lone surrogate, which Postgres cannot store")
        if not source_id or source_id.isspace():
            raise InputError("source_id is empty")
        if len(text) > MAX_TEXT_CHARACTERS:
            raise InputError(f"text is longer than {MAX_TEXT_CHARACTERS:,} characters")
        if utf8_size(source_id) > MAX_SOURCE_ID_BYTES:
            raise InputError(f"source_id is longer than {MAX_SOURCE_ID_BYTES} bytes")
        # The class is frozen: its own __setattr__ would raise an error.
        set_ = object.__setattr__
        set_(self, "source_id", source_id)
        set_(self, "text", text)
        set_(self, "title", None if title is None else short_text("title", title))
        set_(self, "url", None if url is None else short_text("url", url))
        set_(self, "publication", None if publication is None else short_text("publication", publication))
        set_(self, "language", None if language is None else short_text("language", language))
        set_(self, "byline", None if byline is None else short_text("byline", byline))
        set_(self, "kept", None if kept is None else kept_values(kept))
        set_(self, "scope", None if scope is None else short_text("scope", scope))
        set_(self, "published_at", None if published_at is None else parse_time(published_at, "published_at"))
        set_(self, "added_at", None if added_at is None else parse_time(added_at, "added_at"))

    def __repr__(self) -> str:
        # Logs must not contain texts: show only the length of the text, and only the names of kept values.
        others = (
            f"{name}={getattr(self, name)!r}" if name != "kept" else f"kept=<{', '.join(self.kept or ())}>"
            for name in ARTICLE_FIELDS[2:]
            if getattr(self, name) is not None
        )
        shown = (f"source_id={self.source_id!r}", f"text=<{len(self.text):,} characters>", *others)
        return f"Article({', '.join(shown)})"


# Columns of the table `article` have the same names.
ARTICLE_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Article))


def utf8_size(text: str) -> int:
    # Most fields are ASCII, whose size in bytes is `len`: encoding them only to count would be slow.
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def stored_size(article: Article) -> int:
    """Return the total size of an article's text fields, in bytes of UTF-8, as sent to the database."""
    values = (getattr(article, name) for name in ARTICLE_FIELDS)
    return sum(utf8_size(value) for value in (*values, kept_json(article.kept)) if isinstance(value, str))


def storable(text: str) -> str:
    """Remove NUL characters and lone surrogates, which Postgres cannot store in a text column."""
    if "\0" in text:
        text = text.replace("\0", "")
    if _has_surrogate(text):
        text = text.encode("utf-8", "ignore").decode("utf-8")
    return text


def short_text(name: str, value: str) -> str:
    """Return a field's value, made storable. Raises InputError: the value is too long, or not a string."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, not {type(value).__name__}")
    # A shortcut: a load checks millions of values, and nearly all are short ASCII.
    if value.isascii() and "\0" not in value and len(value) <= MAX_FIELD_BYTES[name]:
        return value
    value = storable(value)
    if utf8_size(value) > MAX_FIELD_BYTES[name]:
        raise InputError(f"{name} is longer than {MAX_FIELD_BYTES[name]} bytes")
    return value


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


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


def kept_json(kept: Mapping[str, Any] | None) -> str | None:
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


class TextTask(NamedTuple):
    """A stored text that must be fingerprinted."""

    # A NamedTuple, since creating a frozen dataclass takes four times as long.
    id: int
    revision: int
    language: str | None
    title: str | None
    text: str
    characters: int | None = None  # Length of the text if it is too long to be loaded
    byline: str | None = None  # Read for credits; not part of the fingerprint
    scope: str | None = None
