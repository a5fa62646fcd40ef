"""Articles with errors of optical character recognition in 0 to 20 % of the characters.

Two errors in three are confusions of shapes (rn for m, 1 for l); the rest are characters and spaces dropped
or inserted. A copy is a duplicate of its original at every level; pairs of two copies are not counted.
"""

from __future__ import annotations

import itertools

from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, MadeCase, pairs
from dedup.extras.lab.hard_cases.prose import Dice, Writer

LEVELS = (0, 1, 2, 5, 10, 15, 20)  # percent of characters that are misread
CONFUSION, DROPPED, INSERTED = 0.67, 0.12, 0.11  # shares of errors; the other errors are inserted spaces
SPECKS = ".,'-:;~1lij"  # characters read from dirt on the paper
WORDS = 350  # length of an article, in words
CONFUSED: dict[str, str] = pairs("confused")


def make(seed: int, originals: int = 100) -> MadeCase:
    dice = Dice(f"ocr/{seed}")
    found = MadeCase()
    for number in range(originals):
        draft = Writer(f"ocr/{seed}/{number}").article(WORDS)
        name = f"ocr-{number:03}"
        copies = [f"{name}-level-{level:02}" for level in LEVELS]
        texts = [draft.text, *(noisy(dice, draft.text, level) for level in LEVELS)]
        for source_id, text in zip((name, *copies), texts, strict=True):
            found.add(source_id, text, draft.headline)
        truth = zip(copies, LEVELS, strict=True)
        found.truth.extend(CasePair(name, copy, DUPLICATE, level=level) for copy, level in truth)
        found.truth.extend(CasePair(a, b, SIMILAR) for a, b in itertools.combinations(copies, 2))
    return found


def noisy(dice: Dice, text: str, level: int) -> str:
    """Return a text with errors at `level` percent of its characters; line breaks stay."""
    places = [i for i, character in enumerate(text) if character != "\n"]
    wrong = set(dice.picks(places, round(level / 100 * len(places))))
    read: list[str] = []
    i = 0
    while i < len(text):
        if i not in wrong:
            read.append(text[i])
        elif text[i : i + 2] == "rn" and i + 1 not in wrong:
            read.append("m")
            i += 1
        else:
            read.append(_misread(dice, text[i]))
        i += 1
    return "".join(read)


def _misread(dice: Dice, character: str) -> str:
    if character == " ":
        return ""
    chance = dice.below(100) / 100
    if chance < CONFUSION and character in CONFUSED:
        return CONFUSED[character]
    if chance < CONFUSION + DROPPED:
        return ""
    if chance < CONFUSION + DROPPED + INSERTED:
        return character + dice.pick(SPECKS)
    return character + " "
