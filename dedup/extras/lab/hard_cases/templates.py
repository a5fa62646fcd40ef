"""Items of bots that fill in a template: nearly the same words about other events, so no duplicates.

Items on earthquakes and closing markets differ in numbers, places and times. Only the items that are sent
twice, verbatim, are duplicates.
"""

from __future__ import annotations

from dedup.extras.lab.hard_cases.case import LISTS, CaseStory, MadeCase
from dedup.extras.lab.hard_cases.prose import WORDS, Dice, place


def make(seed: int, items: int = 1_000, twice: int = 50) -> MadeCase:
    """Make `items` different items by alternating bots, and send `twice` (at most `items`) of them again."""
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
