"""A text on its way to its fingerprint, and what became of it. No database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dedup.text.fingerprint import Fingerprint, Fingerprinter, UnreadableError, too_long


class TextTask(NamedTuple):
    """A stored text to be fingerprinted. A tuple, which costs a quarter of what a frozen dataclass does.

    Attributes:
        id, revision: of the article, and of what its fingerprint is made from.
        characters: of a text that is too long and was left in the database, how long it is; `text` is empty.
    """

    id: int
    revision: int
    language: str | None
    title: str | None
    text: str
    characters: int | None = None


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """What became of a text: a fingerprint, or the reason why there is none."""

    article_id: int
    revision: int
    fingerprint: Fingerprint | None
    reason: str | None = None


def fingerprint_task(fingerprinter: Fingerprinter, task: TextTask) -> Fingerprinted:
    """Fingerprint a text. Whatever a text can do, it must not stop the others, but for a MemoryError."""
    try:
        if task.characters is not None:
            raise too_long(task.characters, fingerprinter.settings)
        made = fingerprinter.fingerprint(task.text, task.language, task.title)
    except UnreadableError as error:
        return Fingerprinted(task.id, task.revision, None, str(error))
    except MemoryError:
        raise
    except Exception as error:
        return Fingerprinted(task.id, task.revision, None, f"unreadable: {type(error).__name__}")
    return Fingerprinted(task.id, task.revision, made)
