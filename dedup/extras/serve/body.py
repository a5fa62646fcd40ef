"""Read articles from JSON bodies, with the same limits and repairs as for lines of JSONL. An id must be
named `source_id`. The text of an `html` page is extracted in the same way as by `dedup load --html`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedup.base.article import Article
from dedup.base.errors import DedupError, InputError
from dedup.files.jsonl import BLANK, extract_object, parse_json
from dedup.files.naming import DEFAULT_FIELDS, TEASERS, Shapes, fold
from dedup.files.record import NO_MEMORY, Flaw, Refusal, find_usable_id, make_article
from dedup.files.report import Understanding

PAGES = ("html", "body_html", "content_html")  # Names of the field with an HTML page

FIELDS: dict[str, tuple[str, ...]] = {
    **DEFAULT_FIELDS,
    "source_id": ("source_id",),
    "text": tuple(
        name for name in DEFAULT_FIELDS["text"] if name not in (*PAGES, *TEASERS, "content.rendered")
    ),
    "html": PAGES,
}
"""Accepted names of each field; the first name that an article has is used."""


UNNAMED = "\U0010ffff"
"""Id of an article that is only looked up, and has no id. It is the last of all ids in order: the article
counts as later than stored articles of the same time."""


class RefusedError(InputError):
    """Raised for a body that is not an article; `source_id` is the article's id if it could be read."""

    def __init__(self, reason: str, source_id: object = None) -> None:
        super().__init__(reason)
        self.source_id = None if source_id == UNNAMED else find_usable_id(source_id)


class MissingExtraError(DedupError):
    """Raised for an HTML page if trafilatura is not installed; the message names the extra to install."""


def read_article(body: bytes, what: str = "body", *, needs_id: bool = True) -> tuple[Article, Sequence[Flaw]]:
    """Return the article in a JSON object, and the repairs made. `what` names the object in errors.

    `needs_id`: refuse an article without an id; else its id becomes `UNNAMED`.
    """
    return article_of(value_of(body, what), what, needs_id=needs_id)


def value_of(body: bytes, what: str) -> Any:
    """Parse JSON and return the value; raise RefusedError if the JSON is damaged or empty."""
    if not body or body.isspace():
        raise RefusedError(BLANK if what == "line" else f"the {what} is empty")
    found, reason = parse_json(body, what)
    if reason:
        raise RefusedError(reason)
    return found


def text_of(body: bytes) -> str:
    """Return the text in a JSON object; raise RefusedError without one."""
    content = value_of(body, "body")
    text = content.get("text") if isinstance(content, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise RefusedError("the body must be a JSON object with a `text`")
    return text


def ids_of(body: bytes) -> list[Any]:
    """Return the ids in a JSON object; raise RefusedError without a list of ids."""
    content = value_of(body, "body")
    ids = content.get("source_ids") if isinstance(content, dict) else None
    if not isinstance(ids, list):
        raise RefusedError("the body must be a JSON object with a list of `source_ids`")
    return ids


def article_of(content: Any, what: str, *, needs_id: bool = True) -> tuple[Article, Sequence[Flaw]]:
    """Return the same as `read_article`, but from a parsed value."""
    if not isinstance(content, dict):
        raise RefusedError(f"{what} is not a JSON object")
    understood = Understanding(what, "jsonl")
    found = extract_object(content, Shapes(FIELDS, understood), understood)
    if isinstance(found, str):
        raise RefusedError(found, found.source_id if isinstance(found, Refusal) else None)
    others = set(DEFAULT_FIELDS["source_id"][1:]).intersection(map(fold, content))
    if "source_id" not in found and others:
        raise RefusedError(f"the id of an article must be named 'source_id': rename '{min(others)}'")
    if not needs_id and found.get("source_id") is None:
        found["source_id"] = UNNAMED
    try:
        if "html" in found:
            _take_out_of_html(found)
        return make_article(found)
    except InputError as error:
        raise RefusedError(str(error), found.get("source_id")) from None
    except MemoryError:
        raise RefusedError(NO_MEMORY, found.get("source_id")) from None


def _take_out_of_html(found: dict[str, Any]) -> None:
    page = found.pop("html")
    if "text" in found:
        raise InputError("an article has a text or its html: give one of the two")
    if not isinstance(page, str):
        raise InputError(f"html must be a string, not {type(page).__name__}")
    from dedup.base.html import need_extractor, take_out

    try:
        need_extractor()
    except InputError as error:
        raise MissingExtraError(str(error)) from None
    take_out(found, page)
