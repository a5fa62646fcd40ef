"""Live blogs: versions of one page, each with more posts on top.

Neighbouring versions overlap strongly, the first and the last hardly, so linking neighbours makes a story of
texts without common words. By the truth, a pair with a word-5-shingle Jaccard of at least 0.8 is a duplicate;
a pair with less is not counted.
"""

from __future__ import annotations

import itertools

from dedup.extras.lab.algorithms.grams import word_grams
from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, MadeCase
from dedup.extras.lab.hard_cases.prose import Dice, Writer
from dedup.text.normalize import words

SAME_FROM = 0.8  # least word-5-shingle Jaccard of two versions that are duplicates
FIRST_POSTS = 5  # posts of the first version; each later version has 1 to 3 more

HEAD = "Follow our live coverage below. The newest posts are at the top of the page."


def make(seed: int, blogs: int = 20, versions: int = 20) -> MadeCase:
    made = MadeCase()
    for number in range(blogs):
        _add_versions(made, f"live-blogs/{seed}/{number}", f"blog-{number:02}", versions, number)
        found = made.articles[-versions:]
        numbers: dict[str, int] = {}  # sets of numbers compare faster than sets of texts
        grams = [
            {numbers.setdefault(gram, len(numbers)) for gram in word_grams(words(article.text), 5)}
            for article in found
        ]
        for i, j in itertools.combinations(range(versions), 2):
            overlap = round(len(grams[i] & grams[j]) / len(grams[i] | grams[j]), 4)
            label = DUPLICATE if overlap >= SAME_FROM else SIMILAR
            kind = "next version" if j == i + 1 else "later version"
            pair = CasePair(found[i].source_id, found[j].source_id, label, kind=kind, overlap=overlap)
            made.truth.append(pair)
    return made


def _add_versions(made: MadeCase, seed: str, name: str, count: int, day: int) -> None:
    dice, writer = Dice(seed), Writer(f"{seed}/prose")
    title = writer.headline()
    clock = 7 * 60
    posts: list[str] = []
    for version in range(count):
        for _ in range(dice.between(1, 3) if version else FIRST_POSTS):
            clock += dice.between(3, 20)
            posts.insert(
                0, f"{clock // 60 % 24}:{clock % 60:02}\n\n{writer.article(dice.between(40, 90)).text}"
            )
        text = "\n\n".join((HEAD, *posts))
        made.add(f"{name}-v{version:02}", text, title, "Orrin Live", day * 24 * 60 + clock)
