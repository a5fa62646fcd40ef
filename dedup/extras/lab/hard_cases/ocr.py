"""Articles read from paper: from 0 to 20 % of the characters are errors of optical character recognition.

Two errors in three are confusions of shapes (rn for m, 1 for l); the rest are characters dropped or put in,
and spaces lost or found. A copy is a duplicate of its original at every level, so that recall can be told by
level; two copies of one original count for nobody.
"""

from __future__ import annotations

import itertools

from dedup.base.article import Article
from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, MadeCase, minute
from dedup.extras.lab.hard_cases.prose import Dice, Writer

LEVELS = (0, 1, 2, 5, 10, 15, 20)  # percent of the characters that are read wrongly

CONFUSED = {
    "e": "c", "c": "e", "l": "1", "i": "l", "I": "l", "O": "0", "o": "0", "h": "b", "b": "h", "n": "u",
    "u": "n", "a": "o", "s": "5", "S": "5", "t": "f", "f": "t", "g": "q", "m": "rn", "w": "vv", "d": "cl",
    "B": "8", "D": "O", "1": "l", "0": "O", "5": "S", "8": "B", ",": ".", ".": ",", "r": "t", "v": "y",
    "y": "v", "k": "lc", "p": "n",
}  # fmt: skip
"""What is printed -> what is read."""

CONFUSION, DROPPED, INSERTED = 0.67, 0.12, 0.11
"""Shares of the errors at letters that have a confusion; the rest are spaces found where none is."""

SPECKS = ".,'-:;~1lij"  # characters read from dirt on the paper
WORDS = 350  # length of an article, in words


def make(seed: int, originals: int = 100) -> MadeCase:
    dice = Dice(f"ocr/{seed}")
    articles: list[Article] = []
    truth: list[CasePair] = []
    for number in range(originals):
        draft = Writer(f"ocr/{seed}/{number}").article(WORDS)
        name = f"ocr-{number:03}"
        copies = [f"{name}-level-{level:02}" for level in LEVELS]
        texts = [draft.text, *(noisy(dice, draft.text, level) for level in LEVELS)]
        for source_id, text in zip((name, *copies), texts, strict=True):
            time = minute(len(articles))
            articles.append(Article(source_id, text, draft.headline, None, None, time, None, "en"))
        truth += [CasePair(name, copy, DUPLICATE, level=lv) for copy, lv in zip(copies, LEVELS, strict=True)]
        truth += [CasePair(a, b, SIMILAR) for a, b in itertools.combinations(copies, 2)]
    return MadeCase(articles, truth)


def noisy(dice: Dice, text: str, level: int) -> str:
    """A text with an error at `level` percent of its characters; line breaks stay."""
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
