"""Digests: pages that hold six articles, whole or only first paragraphs, and these articles themselves.

Pairs of a page and an article are "similar", and are not counted. The six articles are different; a method
that links them through the page makes an error.
"""

from __future__ import annotations

from dedup.extras.lab.hard_cases.case import SIMILAR, CasePair, MadeCase
from dedup.extras.lab.hard_cases.prose import Dice, Draft, Writer

STORIES = 6  # articles of a digest
FIRST_PARAGRAPHS = 2  # paragraphs of each article in a digest without whole articles

HEAD = "Good morning. Here is what you need to know before you leave the house today."
FOOT = "That is all for now. If a friend sent you this briefing, you can sign up for your own copy."


def make(seed: int, digests: int = 100) -> MadeCase:
    """Make digests with six articles each; every second digest has only first paragraphs."""
    dice = Dice(f"digest/{seed}")
    found = MadeCase()
    for number in range(digests):
        kind = "whole" if number % 2 == 0 else "first paragraphs"
        writers = [Writer(f"digest/{seed}/{number}/{i}") for i in range(STORIES)]
        drafts = [writer.article(dice.between(180, 450)) for writer in writers]
        page = f"digest-{number:03}"
        for i, draft in enumerate(drafts):
            name, minute = f"{page}-story-{i}", 24 * 60 * number + dice.below(20 * 60)
            found.add(name, draft.text, draft.headline, "Orrin Daily", minute)
            found.truth.append(CasePair(page, name, SIMILAR, kind=kind))
        text = _page(drafts, None if kind == "whole" else FIRST_PARAGRAPHS)
        found.add(page, text, "Your daily briefing", "Orrin Daily", 24 * 60 * number + 22 * 60)
    return found


def _page(drafts: list[Draft], most: int | None) -> str:
    items = (f"{draft.headline}\n\n{Draft('', draft.paragraphs[:most]).text}" for draft in drafts)
    return "\n\n".join((HEAD, *items, FOOT))
