"""Edits that papers make in a wire story, and the lines that papers put around the story.

Each edit takes random choices (`dice`) and paragraphs of sentences, and returns paragraphs. `printed` draws
each edit independently, so one paper in fifteen prints the body unchanged. The probabilities are guesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dedup.extras.lab.hard_cases.case import LISTS, pairs
from dedup.extras.lab.hard_cases.prose import NAMES, Dice, Draft, Writer, place, surname

Paragraphs = tuple[tuple[str, ...], ...]
MOST_TRIMMED = 1 / 3  # the largest share of the words that papers cut from the bottom

SYNONYMS: dict[str, str] = pairs("synonyms")
PAPER = LISTS["paper"]


def printed(dice: Dice, draft: Draft, writer: Writer) -> str:
    """Return the body of a draft as one paper prints it; `writer` writes a local paragraph."""
    body = draft.paragraphs
    if dice.chance(0.45):
        body = trimmed(dice, body)
    if dice.chance(0.30):
        body = lead_reworded(dice, body)
    if dice.chance(0.15):
        body = numbers_updated(dice, body)
    if dice.chance(0.10):
        at = dice.between(1, len(body))
        local = tuple(writer.sentence() for _ in range(dice.between(1, 2)))
        body = (*body[:at], local, *body[at:])
    if dice.chance(0.30):
        body = regrouped(dice, body)
    # All papers give the same city, agency and reporter, so these depend on the story alone.
    origin = Dice(f"origin/{draft.headline}")
    city, agency = place(origin), origin.pick(PAPER["agencies"])
    reporter = f"{origin.pick(NAMES['first name'])} {surname(origin)}"
    if dice.chance(0.50):
        line = dice.pick((f"{city.upper()} ({agency}) - ", f"{city} ({agency}) -- ", f"{city.upper()} - "))
        body = ((line + body[0][0], *body[0][1:]), *body[1:])
    if dice.chance(0.35):
        body = ((f"By {reporter}, {agency}",), *body)
    return Draft(draft.headline, body).text


def trimmed(dice: Dice, body: Paragraphs) -> Paragraphs:
    """Cut sentences at the end, at most a third of all words. If the last sentence is longer, cut nothing."""
    sentences = [(i, sentence) for i, paragraph in enumerate(body) for sentence in paragraph]
    most = int(MOST_TRIMMED * sum(_length(sentence) for _, sentence in sentences))
    room = dice.between(min(_length(sentences[-1][1]), most), most)
    while len(sentences) > 1 and _length(sentences[-1][1]) <= room:
        room -= _length(sentences.pop()[1])
    kept = [tuple(s for i, s in sentences if i == number) for number in range(len(body))]
    return tuple(paragraph for paragraph in kept if paragraph)


def lead_reworded(dice: Dice, body: Paragraphs) -> Paragraphs:
    """Replace one or two words of the first sentence by synonyms. Without synonyms, prefix "Update:"."""
    words = body[0][0].split(" ")
    known = [i for i, word in enumerate(words) if word in SYNONYMS]
    for i in dice.picks(known, dice.between(1, 2)):
        words[i] = SYNONYMS[words[i]]
    lead = " ".join(words) if known else f"Update: {body[0][0]}"
    return ((lead, *body[0][1:]), *body[1:])


def numbers_updated(dice: Dice, body: Paragraphs) -> Paragraphs:
    """Raise a number in one or two sentences that have a number of one to three digits."""
    places = [(i, j) for i, p in enumerate(body) for j, s in enumerate(p) if _COUNT.search(s)]
    chosen = dice.picks(places, dice.between(1, 2))
    return tuple(
        tuple(_risen(dice, s) if (i, j) in chosen else s for j, s in enumerate(p)) for i, p in enumerate(body)
    )


def regrouped(dice: Dice, body: Paragraphs) -> Paragraphs:
    found = [body[0]]
    for paragraph in body[1:]:
        if dice.chance(0.3):
            found[-1] = found[-1] + paragraph
        else:
            found.append(paragraph)
    return tuple(found)


def _risen(dice: Dice, sentence: str) -> str:
    return _COUNT.sub(lambda match: f" {int(match[1]) + dice.between(1, 9)} ", sentence, count=1)


_COUNT = re.compile(r" (\d{1,3}) ")


def _length(sentence: str) -> int:
    return sentence.count(" ") + 1


@dataclass(frozen=True, slots=True)
class Paper:
    """A newspaper's site, with the lines that it puts above and below every article."""

    name: str
    above: tuple[str, ...]
    below: tuple[str, ...]

    @classmethod
    def number(cls, seed: int, number: int) -> Paper:
        """Return a paper by its number. A paper puts 0 to 2 lines above every article, and 0 to 4 below."""
        dice = Dice(f"paper/{seed}/{number}")
        city = place(dice)
        name = f"The {city} {dice.pick(PAPER['names'])} {number}"
        site = f"{city.lower()}{number}.example"
        fill = {"city": city, "name": name, "site": site, "price": dice.between(2, 19)}
        above = [line.format(**fill) for line in dice.picks(PAPER["above"], dice.below(3))]
        below = [line.format(**fill) for line in dice.picks(PAPER["below"], dice.below(5))]
        return cls(name, tuple(above), tuple(below))

    def page(self, body: str) -> str:
        return "\n\n".join((*self.above, body, *self.below))
