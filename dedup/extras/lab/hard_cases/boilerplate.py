"""10,000 articles of one outlet with the same boilerplate, which swamps an index of sentences.

Every article has three equal sentences above and three below. 100 articles are published twice: half of them
verbatim, half with an edit of `edits.py`.
"""

from __future__ import annotations

from dedup.extras.lab.hard_cases.case import DUPLICATE, LISTS, CasePair, MadeCase
from dedup.extras.lab.hard_cases.edits import lead_reworded, numbers_updated, trimmed
from dedup.extras.lab.hard_cases.prose import Dice, Draft, Writer

ABOVE, BELOW = LISTS["boilerplate"]["above"], LISTS["boilerplate"]["below"]


def make(seed: int, articles: int = 10_000, twice: int = 100) -> MadeCase:
    """Make `articles` articles; the last `twice` articles, at most half of all, repeat the first `twice`."""
    dice = Dice(f"boilerplate/{seed}")
    drafts: list[Draft] = []
    for number in range(articles - twice):
        writer = Writer(f"boilerplate/{seed}/{number}")
        drafts.append(writer.article(dice.between(150, 350)))
    found = MadeCase()
    for number, draft in enumerate(drafts):
        _publish(found, f"record-{number:05}", draft)
    for number in range(twice):
        again = drafts[number] if number % 2 == 0 else _edited(dice, drafts[number])
        _publish(found, f"again-{number:05}", again)
        kind = "verbatim" if number % 2 == 0 else "edited"
        found.truth.append(CasePair(f"record-{number:05}", f"again-{number:05}", DUPLICATE, kind=kind))
    return found


def _edited(dice: Dice, draft: Draft) -> Draft:
    change = dice.pick((trimmed, lead_reworded, numbers_updated))
    body = change(dice, draft.paragraphs)
    if body == draft.paragraphs:  # the body has no number, or its last sentence is too long to cut
        body = lead_reworded(dice, draft.paragraphs)
    return Draft(draft.headline, body)


def _publish(found: MadeCase, name: str, draft: Draft) -> None:
    found.add(name, "\n\n".join((*ABOVE, draft.text, *BELOW)), draft.headline, "Tarnport Record")
