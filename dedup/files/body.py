"""One article as JSON that is no line of a file: what comes over a network.

Names, bounds and repairs are those of a line of JSONL. It knows no network.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup.article import Article
from dedup.errors import InputError
from dedup.files.jsonl import BLANK, values_in
from dedup.files.naming import DEFAULT_FIELDS, Shapes
from dedup.files.record import NO_MEMORY, Refused
from dedup.files.repairs import Flaw, make_article, usable_id
from dedup.files.understanding import Understanding


class RefusedError(InputError):
    """What was sent is no article; the message is the reason.

    Attributes:
        source_id: its id, where that can be told all the same.
    """

    source_id: str | None = None


def read_article(body: bytes, what: str = "body") -> tuple[Article, Sequence[Flaw]]:
    """The article that a JSON object is, and what had to be repaired for it.

    Args:
        what: the name of the object in reasons.

    Raises:
        RefusedError: it is none; nothing of it is in the message.
    """
    if not body or body.isspace():
        raise RefusedError(BLANK if what == "line" else f"the {what} is empty")
    understood = Understanding(what, "jsonl")
    found = values_in(body, Shapes(DEFAULT_FIELDS, understood), understood, what)
    if isinstance(found, str):
        raise _refused(found, found.source_id if isinstance(found, Refused) else None)
    try:
        return make_article(found)
    except InputError as error:
        raise _refused(str(error), found.get("source_id")) from None
    except MemoryError:
        raise _refused(NO_MEMORY, found.get("source_id")) from None


def _refused(reason: str, source_id: object) -> RefusedError:
    error = RefusedError(reason)
    error.source_id = usable_id(source_id)
    return error
