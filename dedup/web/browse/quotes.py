"""What the pages of quotes show: sentences that several outlets share, and one of them with its articles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dedup.api.deduplicator import Deduplicator

FIELDS = ("by", "speech", "after")
SPEECH = "only"  # The value of `speech` for sentences with a quotation mark


def quotes_values(dd: Deduplicator, given: Mapping[str, str]) -> dict[str, Any]:
    order: Any = given["by"] or "outlets"
    speech = given["speech"] == SPEECH
    page = dd.browsing.quotes(order, speech=speech, after=given["after"] or None)
    return {"page": page, "order": order, "speech": SPEECH if speech else "", "only": SPEECH, "one": None}


def quote_values(dd: Deduplicator, sentence_hash: int) -> dict[str, Any]:
    return {"one": dd.browsing.quote(sentence_hash)}
