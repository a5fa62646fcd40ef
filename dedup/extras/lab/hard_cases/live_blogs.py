"""Live blogs that grow: versions of one page, each with more posts on top.

Neighbours overlap strongly, the first and the last hardly: whoever joins what is linked makes one story of
texts with nothing in common. So the truth is told pair by pair: two versions of a blog are duplicates from
a word-5-shingle Jaccard of 0.8, and count for nobody below. Versions of different blogs are different.
"""

from __future__ import annotations

import itertools

from dedup.base.article import Article
from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, MadeCase, minute
from dedup.extras.lab.hard_cases.prose import Dice, Writer
from dedup.text.normalize import words

SAME_FROM = 0.8  # two versions are duplicates from this word-5-shingle Jaccard

FIRST_POSTS = 5
"""Posts of the first version; each later one has 1 to 3 more."""

FIVE = 5
HEAD = "Follow our live coverage below. The newest posts are at the top of the page."


def make(seed: int, blogs: int = 20, versions: int = 20) -> MadeCase:
    articles: list[Article] = []
    truth: list[CasePair] = []
    for number in range(blogs):
        found = _versions(f"live-blogs/{seed}/{number}", f"blog-{number:02}", versions, number)
        numbers: dict[tuple[str, ...], int] = {}  # sets of numbers compare faster than sets of tuples
        grams = [{numbers.setdefault(g, len(numbers)) for g in five_grams(a.text)} for a in found]
        articles += found
        for i, j in itertools.combinations(range(versions), 2):
            overlap = round(len(grams[i] & grams[j]) / len(grams[i] | grams[j]), 4)
            label = DUPLICATE if overlap >= SAME_FROM else SIMILAR
            kind = "next version" if j == i + 1 else "later version"
            truth.append(CasePair(found[i].source_id, found[j].source_id, label, kind=kind, overlap=overlap))
    return MadeCase(articles, truth)


def five_grams(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + FIVE]) for i in range(len(found) - FIVE + 1)}


def _versions(seed: str, name: str, count: int, day: int) -> list[Article]:
    dice, writer = Dice(seed), Writer(f"{seed}/prose")
    title = writer.headline()
    clock = 7 * 60
    posts: list[str] = []
    found = []
    for version in range(count):
        for _ in range(dice.between(1, 3) if version else FIRST_POSTS):
            clock += dice.between(3, 20)
            posts.insert(
                0, f"{clock // 60 % 24}:{clock % 60:02}\n\n{writer.article(dice.between(40, 90)).text}"
            )
        time = minute(day * 24 * 60 + clock)
        text = "\n\n".join((HEAD, *posts))
        found.append(Article(f"{name}-v{version:02}", text, title, None, "Orrin Live", time, None, "en"))
    return found
