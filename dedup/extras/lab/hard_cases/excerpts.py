"""Excerpts: 10 to 90 % of an article's words in one piece, from the top or from the middle.

An excerpt of at least 70 % is a duplicate, because editors cut up to a third; a shorter excerpt is "similar",
and is not counted. Every excerpt has its own original, so that no excerpt is found through another excerpt.
"""

from __future__ import annotations

import re

from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, MadeCase
from dedup.extras.lab.hard_cases.prose import Dice, Writer

SHARES = tuple(range(10, 100, 10))  # percent of the words that are left
SAME_FROM = 70  # an excerpt of at least this share is a duplicate
PLACES = ("top", "middle")
LENGTHS = (350, 700)  # fewest and most words of an original; a tenth of it is still an article


def make(seed: int, per_share: int = 20) -> MadeCase:
    """Make `per_share` articles for every share and place, each with one excerpt."""
    dice = Dice(f"excerpts/{seed}")
    found = MadeCase()
    for share in SHARES:
        label = DUPLICATE if share >= SAME_FROM else SIMILAR
        for place in PLACES:
            for number in range(per_share):
                name = f"whole-{share}-{place}-{number:02}"
                draft = Writer(f"excerpts/{seed}/{name}").article(dice.between(*LENGTHS))
                part = excerpt(dice, draft.text, share, place == "top")
                other = f"part-{share}-{place}-{number:02}"
                found.add(name, draft.text, draft.headline)
                found.add(other, part, draft.headline)
                found.truth.append(CasePair(name, other, label, kind=place, share=share))
    return found


def excerpt(dice: Dice, text: str, share: int, top: bool) -> str:
    """Return a run of `share` percent of a text's words, from the top or from a later word."""
    found = list(re.finditer(r"\S+", text))
    count = round(share / 100 * len(found))
    start = 0 if top else dice.between(1, len(found) - count)
    return text[found[start].start() : found[start + count - 1].end()]
