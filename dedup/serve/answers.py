"""Answers of the library as those of the HTTP door: the same values, and no text unless asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dedup import Explanation, MarkedArticle, Story
from dedup.files.repairs import Flaw


def repaired(flaws: Iterable[Flaw]) -> list[dict[str, str]]:
    """The fields of an article that could not be taken as they were."""
    return [{"field": field, "reason": reason, "value": value} for field, reason, value in flaws]


def marked(found: MarkedArticle, *, text: bool) -> dict[str, Any]:
    """An article with its mark."""
    answer = found.as_dict()
    if not text:
        del answer["article"]["text"]
    return answer


def story(found: Story, limit: int) -> dict[str, Any]:
    """A story with its first copies, and how many it has."""
    return {
        "original": found.original.as_dict(),
        "copies": [copy.as_dict() for copy in found.copies[:limit]],
        "count": len(found.copies),
    }


def explanation(found: Explanation, *, text: bool) -> dict[str, Any]:
    """Two articles compared; without text, the sentences are counted."""
    answer = found.as_dict()
    answer["shared_sentences"] = len(found.shared)
    answer["differing_sentences"] = len(found.differing)
    if not text:
        del answer["shared"], answer["differing"]
        del answer["earlier"]["ignored"], answer["later"]["ignored"]
    return answer
