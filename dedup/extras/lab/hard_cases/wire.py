"""A wire story in 300 papers, whose sentences look like boilerplate to a method that counts articles.

The agency sends the story first; 299 papers print the story, edited by `edits.py`, with their own lines above
and below. To make precision meaningful, the papers also print 700 articles once, and 60 stories in 2 to 4
papers each. A copy has a word-5-shingle Jaccard of at least 0.75 with the agency's text: a less similar copy
would be an excerpt or a different article, so the paper draws its edits again. `least=0` keeps every copy.
"""

from __future__ import annotations

from dedup.extras.lab.algorithms.grams import word_grams
from dedup.extras.lab.hard_cases.case import CaseStory, MadeCase
from dedup.extras.lab.hard_cases.edits import Paper, printed
from dedup.extras.lab.hard_cases.prose import Dice, Draft, Writer
from dedup.text.normalize import words

WIRE_WORDS = 450  # length of the wire story
SPREAD = 36 * 60  # minutes within which the papers print the story
REHEADLINED = 0.7  # share of papers with their own headline
LEAST_JACCARD = 0.75  # minimum Jaccard (of 5-word shingles) of a copy with the agency's text
DRAWS = 20  # maximum number of times that a paper draws its edits of a story


def make(
    seed: int, papers: int = 300, singles: int = 700, small_stories: int = 60, least: float = LEAST_JACCARD
) -> MadeCase:
    """Make a big story and other articles.

    `papers`: articles of the big story, at least 4. `small_stories`: stories of 2 to 4 articles. `singles`:
    articles without copies.
    """
    dice = Dice(f"wire/{seed}")
    houses = [Paper.number(seed, number) for number in range(papers)]
    found = MadeCase()

    def story(name: str, length: int, copies: int, start: int) -> None:
        writer = Writer(f"wire/{seed}/{name}")
        draft = writer.article(length)
        printers = dice.picks(houses, copies)
        ids = tuple(f"{name}-{number:03}" for number in range(copies))
        for source_id, paper in zip(ids, printers, strict=True):
            if source_id == ids[0] and copies > 1:
                found.add(source_id, draft.text, draft.headline, "The Wire", start)
            else:
                text = _printed(dice, draft, paper, writer, least)
                title = writer.headline() if dice.chance(REHEADLINED) else draft.headline
                found.add(source_id, text, title, paper.name, start + 1 + dice.below(SPREAD))
        if copies > 1:
            found.truth.append(CaseStory(name, ids))

    story("wire", WIRE_WORDS, papers, 0)
    for number in range(small_stories):
        story(f"story-{number:03}", dice.between(300, 600), dice.between(2, 4), dice.below(SPREAD))
    for number in range(singles):
        story(f"single-{number:03}", dice.between(120, 700), 1, dice.below(SPREAD))
    return found


def _printed(dice: Dice, draft: Draft, paper: Paper, writer: Writer, least: float) -> str:
    """Return the first page with random edits that is similar enough to the agency's text.

    If `DRAWS` pages are too different, returns the most similar page.
    """
    page, kept = "", -1.0
    for _ in range(DRAWS):
        drawn = paper.page(printed(dice, draft, writer))
        like = _jaccard(drawn, draft.text)
        if like > kept:
            page, kept = drawn, like
        if kept >= least:
            break
    return page


def _jaccard(a: str, b: str) -> float:
    one, other = (word_grams(words(text), 5) for text in (a, b))
    return len(one & other) / len(one | other)
