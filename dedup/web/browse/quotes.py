"""What the page of quotes asks: sentences that several outlets share, by outlets or by stories."""

from __future__ import annotations

from typing import Any

from dedup.api.browsing import QuotesPage
from dedup.api.deduplicator import Deduplicator
from dedup.web.browse.asking import Fields, View

FIELDS = ("by", "speech", "after")
SPEECH = "only"  # The value of `speech` for sentences with a quotation mark


def quotes(dd: Deduplicator, given: Fields) -> View:
    speech = SPEECH if given["speech"] == SPEECH else ""
    values = {"page": quotes_of(dd, given), "order": _order(given), "speech": speech, "only": SPEECH}
    return View("quotes.html.j2", {**values, "one": None})


def quotes_of(dd: Deduplicator, given: Fields, rows: int | None = None) -> QuotesPage:
    """A page of quotes; `rows`: how many, where it is not as many as pages show."""
    more = {} if rows is None else {"limit": rows}
    speech = given["speech"] == SPEECH
    return dd.browsing.quotes(_order(given), speech=speech, after=given["after"] or None, **more)


def _order(given: Fields) -> Any:
    return given["by"] or "outlets"
