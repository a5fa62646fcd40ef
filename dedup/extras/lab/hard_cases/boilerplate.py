"""10,000 articles of one outlet with the same boilerplate: what a sentence index drowns in.

Three sentences above and three below are in every article, with a newsletter plug and a copyright line.
All articles are different, but for 100 that were published twice: half of those verbatim, half with the
edits of one paper (`edits.py`).
"""

from __future__ import annotations

from dedup.base.article import Article
from dedup.extras.lab.hard_cases.case import DUPLICATE, CasePair, MadeCase, minute
from dedup.extras.lab.hard_cases.edits import lead_reworded, numbers_updated, trimmed
from dedup.extras.lab.hard_cases.prose import Dice, Draft, Writer

ABOVE = (
    "The Tarnport Record has told the story of the valley since 1871.",
    "We are owned by our readers, and we answer to nobody else.",
    "Your support pays for the reporting that you are about to read.",
)
BELOW = (
    "Thank you for reading the Record, and for telling your friends about it.",
    "If you see a mistake in this article, please let our editors know.",
    "The Record follows the code of the Valley Press Council in all it prints.",
    "Get the morning edition in your inbox: sign up for First Light, our free daily newsletter.",
    "Copyright 2024 Tarnport Record Ltd. All rights reserved. No part may be used without permission.",
)
"""Each a paragraph of every article."""


def make(seed: int, articles: int = 10_000, twice: int = 100) -> MadeCase:
    """`articles` articles; the last `twice`, at most half, are second publications of the first ones."""
    dice = Dice(f"boilerplate/{seed}")
    drafts: list[Draft] = []
    for number in range(articles - twice):
        writer = Writer(f"boilerplate/{seed}/{number}")
        drafts.append(writer.article(dice.between(150, 350)))
    found = [_article(f"record-{i:05}", draft, i) for i, draft in enumerate(drafts)]
    truth = []
    for number in range(twice):
        again = drafts[number] if number % 2 == 0 else _edited(dice, drafts[number])
        found.append(_article(f"again-{number:05}", again, len(found)))
        kind = "verbatim" if number % 2 == 0 else "edited"
        truth.append(CasePair(f"record-{number:05}", f"again-{number:05}", DUPLICATE, kind=kind))
    return MadeCase(found, truth)


def _edited(dice: Dice, draft: Draft) -> Draft:
    change = dice.pick((trimmed, lead_reworded, numbers_updated))
    body = change(dice, draft.paragraphs)
    if body == draft.paragraphs:  # no number, or a last sentence too long to cut
        body = lead_reworded(dice, draft.paragraphs)
    return Draft(draft.headline, body)


def _article(source_id: str, draft: Draft, number: int) -> Article:
    text = "\n\n".join((*ABOVE, draft.text, *BELOW))
    return Article(source_id, text, draft.headline, None, "Tarnport Record", minute(number), None, "en")
