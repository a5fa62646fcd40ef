"""Answers of the library as those of the HTTP service: the same values, and no text unless asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dedup import Explanation, MarkedArticle, Story, Verdict
from dedup.files.record import Flaw

NAMES = {"id": "source_id"}  # Members of the library's answers -> what they are called here


def judged(found: Verdict, flaws: Iterable[Flaw]) -> dict[str, Any]:
    """A verdict on an article that was sent, with the fields that could not be taken as they were."""
    repairs = [{"field": field, "reason": reason, "value": value} for field, reason, value in flaws]
    return {**_named(found.as_dict()), "repairs": repairs}


def marked(found: MarkedArticle, *, text: bool) -> dict[str, Any]:
    answer: dict[str, Any] = _named(found.as_dict())
    if not text:
        del answer["article"]["text"]
    return answer


def story(found: Story, limit: int) -> dict[str, Any]:
    """A story with its first copies, and how many it has."""
    return {
        "original": _named(found.original.as_dict()),
        "copies": [_named(copy.as_dict()) for copy in found.copies[:limit]],
        "count": len(found.copies),
    }


def explanation(found: Explanation, *, text: bool) -> dict[str, Any]:
    """Two articles compared; without text, the sentences are counted."""
    answer: dict[str, Any] = _named(found.as_dict())
    answer["shared_sentences"] = len(found.shared)
    answer["differing_sentences"] = len(found.differing)
    if not text:
        del answer["shared"], answer["differing"]
        del answer["earlier"]["ignored"], answer["later"]["ignored"]
    return answer


def _named(value: Any) -> Any:
    """The same with the names of this door."""
    if isinstance(value, dict):
        return {NAMES.get(name, name): _named(item) for name, item in value.items()}
    return [_named(item) for item in value] if isinstance(value, list) else value
