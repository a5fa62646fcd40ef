"""Different articles with much text in common: boilerplate of an outlet, and templates of bots.

- 10,000 articles of one outlet have the same six sentences, three above and three below the text. Of these
  articles, 100 are published twice: half of them verbatim, half with an edit of `edits.py`.
- Items of bots on earthquakes and closing markets differ in numbers, places and times only. Only the items
  that are sent twice, verbatim, are duplicates.
"""

from __future__ import annotations

from dedup.extras.lab.hard_cases.case import DUPLICATE, LISTS, CasePair, CaseStory, MadeCase
from dedup.extras.lab.hard_cases.edits import lead_reworded, numbers_updated, trimmed
from dedup.extras.lab.hard_cases.prose import WORDS, Dice, Draft, Writer, place

ABOVE, BELOW = LISTS["boilerplate"]["above"], LISTS["boilerplate"]["below"]


def make_boilerplate(seed: int, articles: int = 10_000, twice: int = 100) -> MadeCase:
    """Make articles, and repeat some of them at the end. `twice`: number of repeats, at most half of all."""
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
    if body == draft.paragraphs:  # no number can be raised, or the last sentence is too long to cut
        body = lead_reworded(dice, draft.paragraphs)
    return Draft(draft.headline, body)


def _publish(found: MadeCase, name: str, draft: Draft) -> None:
    found.add(name, "\n\n".join((*ABOVE, draft.text, *BELOW)), draft.headline, "Tarnport Record")


def make_templates(seed: int, items: int = 1_000, twice: int = 50) -> MadeCase:
    """Make articles from the templates of several bots in turn. `twice`: number of articles to repeat."""
    dice = Dice(f"templates/{seed}")
    found = MadeCase()
    for number in range(items):
        bot = LISTS["bots"][number % len(LISTS["bots"])]
        values = _values(dice)
        text, title = bot["body"].format(**values), bot["headline"].format(**values)
        found.add(f"{bot['name']}-{number:04}", text, title, bot["bot"], 20 * number)
    for count, first in enumerate(dice.picks(found.articles, twice)):
        again = f"{first.source_id}-again"
        found.add(again, first.text, first.title or "", first.publication, 20 * items + count)
        found.truth.append(CaseStory(first.source_id, (first.source_id, again), kind="verbatim"))
    return found


def _values(dice: Dice) -> dict[str, int | str]:
    up = dice.chance(0.5)
    between = {
        "a": (1, 6), "b": (0, 9), "c": (1, 40), "d": (1, 30), "e": (41, 200), "f": (41, 200), "g": (21, 90),
        "h": (1, 12), "i": (11, 99), "j": (1, 30), "k": (100, 999), "l": (40, 120), "m": (0, 59),
        "n": (1_100, 2_600),
    }  # fmt: skip
    moved = ("ended higher", "finished up", "gained") if up else ("fell", "slipped")
    return {
        **{name: dice.between(*bounds) for name, bounds in between.items()},
        "day": dice.pick(WORDS["weekday"]),
        "half": dice.pick(("a.m.", "p.m.")),
        "moved": dice.pick(moved),
        "direction": "up" if up else "down",
        "place": place(dice),
        "other": place(dice),
        "third": place(dice),
        "company": f"{place(dice)} Holdings",
        "rival": f"{place(dice)} Group",
    }
