"""A text on its way to its fingerprint: what a worker is handed, and what it hands back. No database."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.text.fingerprint import Fingerprint, Fingerprinter, UnreadableError


@dataclass(frozen=True, slots=True)
class TextTask:
    """A stored text to be fingerprinted.

    Attributes:
        id, revision: of the article, and of what its fingerprint is made from.
    """

    id: int
    revision: int
    language: str | None
    title: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """What became of a text: a fingerprint, or the reason why there is none."""

    article_id: int
    revision: int
    fingerprint: Fingerprint | None
    reason: str | None = None


def fingerprint_task(fingerprinter: Fingerprinter, task: TextTask) -> Fingerprinted:
    """Fingerprint a text. Never raises: whatever a text can do, it must not stop the others."""
    try:
        made = fingerprinter.fingerprint(task.text, task.language, task.title)
    except UnreadableError as error:
        return Fingerprinted(task.id, task.revision, None, str(error))
    except Exception as error:
        return Fingerprinted(task.id, task.revision, None, f"unreadable: {type(error).__name__}")
    return Fingerprinted(task.id, task.revision, made)
