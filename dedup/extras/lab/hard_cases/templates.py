"""Bots that fill in a template: nearly the same words about another event, so no duplicates.

Earthquakes and closing markets. Items differ in numbers, places and times. Some are sent twice, word for
word: those are the duplicates, and nothing else.
"""

from __future__ import annotations

from dedup.base.article import Article
from dedup.extras.lab.hard_cases.case import CaseStory, MadeCase, minute
from dedup.extras.lab.hard_cases.prose import Dice, place

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

EARTHQUAKE = """An earthquake of magnitude {a}.{b} shook the ground {c} miles from {place} on {day} at \
{h}:{m:02} {half}, the Orrin Seismic Survey reports. It began {d}.{b} miles below the surface.

The closest towns are {other}, at {e} miles, and {third}, at {f} miles. It is {g} miles to a city of at \
least {i},000 people. No damage was known of when this was sent.

The survey has counted {j} earthquakes of magnitude 3 or more in this district since the first of the month.

A program fills in this notice as soon as the numbers of the survey are in. If you noticed the earthquake, \
or slept through it, please tell the editors in {place} or {other}."""

MARKET = """Shares on the {place} exchange {moved} on {day}, with the main index {direction} {a}.{b} \
percent, or {i} points, to close at {j},{k}.

{company} was the best performer of the session and added {c}.{b} percent. {rival} was the worst and lost \
{d}.{a} percent. Of the shares that were traded, {e} rose, {f} fell and {g} did not change.

The crown bought {h}.{m:02} marks at the close in {place}. Crude oil for delivery next month stood at \
${l}.{b} a barrel, and gold was at ${n} an ounce.

This report was generated from market data at {h}:{m:02} {half} on {day} and was not read by an editor."""

BOTS = (
    ("quake", "Orrin Quake Bot", "Earthquake: {a}.{b} quake strikes near {place}", EARTHQUAKE),
    ("market", "Orrin Market Wire", "{place} shares {moved} on {day}", MARKET),
)


def make(seed: int, items: int = 1_000, twice: int = 50) -> MadeCase:
    """`items` different items, by two bots in turn, and `twice` (at most `items`) of them sent again."""
    dice = Dice(f"templates/{seed}")
    articles: list[Article] = []
    for number in range(items):
        name, bot, headline, body = BOTS[number % len(BOTS)]
        values = _values(dice)
        text, title = body.format(**values), headline.format(**values)
        time = minute(20 * number)
        articles.append(Article(f"{name}-{number:04}", text, title, None, bot, time, None, "en"))
    truth: list[CaseStory] = []
    for first in dice.picks(articles, twice):
        again = f"{first.source_id}-again"
        time = minute(20 * items + len(truth))
        articles.append(Article(again, first.text, first.title, None, first.publication, time, None, "en"))
        truth.append(CaseStory(first.source_id, (first.source_id, again), kind="verbatim"))
    return MadeCase(articles, truth)


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
        "day": dice.pick(WEEKDAYS),
        "half": dice.pick(("a.m.", "p.m.")),
        "moved": dice.pick(moved),
        "direction": "up" if up else "down",
        "place": place(dice),
        "other": place(dice),
        "third": place(dice),
        "company": f"{place(dice)} Holdings",
        "rival": f"{place(dice)} Group",
    }
