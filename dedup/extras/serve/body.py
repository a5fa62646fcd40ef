"""Read articles as JSON from a network, with the same bounds and repairs as for a line of JSONL. The
id has one name, `source_id`, and the text of an `html` page is extracted as by `dedup load --html`.
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

PAGES = ("html", "body_html", "content_html")  # Names of a page

FIELDS: dict[str, tuple[str, ...]] = {
    **DEFAULT_FIELDS,
    "source_id": ("source_id",),
    "text": tuple(
        name for name in DEFAULT_FIELDS["text"] if name not in (*PAGES, *TEASERS, "content.rendered")
    ),
    "html": PAGES,
}
"""Names of each field, in the order in which they are tried."""


class RefusedError(InputError):
    """A body that is not an article: the reason, and its id if it could still be read."""

    def __init__(self, reason: str, source_id: object = None) -> None:
        super().__init__(reason)
        self.source_id = find_usable_id(source_id)


class MissingExtraError(DedupError):
    """A page cannot be read without trafilatura; the message names the extra."""


def read_article(body: bytes, what: str = "body") -> tuple[Article, Sequence[Flaw]]:
    """Return the article of a JSON object, and its repairs. `what` names the object in reasons."""
    return article_of(value_of(body, what), what)


def value_of(body: bytes, what: str) -> Any:
    """Return the value of JSON; raise RefusedError if it is damaged or empty."""
    if not body or body.isspace():
        raise RefusedError(BLANK if what == "line" else f"the {what} is empty")
    found, reason = parse_json(body, what)
    if reason:
        raise RefusedError(reason)
    return found


def article_of(content: Any, what: str) -> tuple[Article, Sequence[Flaw]]:
    """Return the same as `read_article`, for a value that is already parsed."""
    if not isinstance(content, dict):
        raise RefusedError(f"{what} is not a JSON object")
    understood = Understanding(what, "jsonl")
    found = extract_object(content, Shapes(FIELDS, understood), understood)
    if isinstance(found, str):
        raise RefusedError(found, found.source_id if isinstance(found, Refusal) else None)
    others = set(DEFAULT_FIELDS["source_id"][1:]).intersection(map(fold, content))
    if "source_id" not in found and others:
        raise RefusedError(
            f"the id of an article is its source_id: say 'source_id' in place of '{min(others)}'"
        )
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
