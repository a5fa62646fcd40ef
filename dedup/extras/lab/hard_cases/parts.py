"""Articles that contain parts of other articles: digests, excerpts and live blogs.

- A digest is one text with six different articles, whole or only their first paragraphs. A method makes an
  error if it puts the six articles into one story because of the digest.
- An excerpt holds 10 to 90 % of the words of an article in one piece, from the top or from the middle.
  Editors cut up to a third, so an excerpt of at least 70 % is a duplicate.
- A version of a live blog has more posts on top than the version before. Neighbouring versions overlap
  strongly, the first and the last hardly at all. So a method that links neighbours makes stories of unlike
  texts.

All other pairs of these articles are "similar", and are not counted.
"""

from __future__ import annotations

import itertools
import re

from dedup.extras.lab.algorithms.grams import word_grams
from dedup.extras.lab.hard_cases.case import DUPLICATE, SIMILAR, CasePair, MadeCase
from dedup.extras.lab.hard_cases.prose import Dice, Draft, Writer
from dedup.text.normalize import words

DIGEST_STORIES = 6  # number of articles in a digest
FIRST_PARAGRAPHS = 2  # number of paragraphs of each article in a digest without whole articles
DIGEST_HEAD = "Good morning. Here is what you need to know before you leave the house today."
DIGEST_FOOT = "That is all for now. If a friend sent you this briefing, you can sign up for your own copy."

SHARES = tuple(range(10, 100, 10))  # percent of the words that are left in an excerpt
EXCERPT_SAME_FROM = 70  # an excerpt with at least this percentage of the words is a duplicate
PLACES = ("top", "middle")
LENGTHS = (350, 700)  # minimum and maximum words of an original; an excerpt of 10 % still has 35 words

BLOG_SAME_FROM = 0.8  # minimum Jaccard (of 5-word shingles) of two versions that are duplicates
FIRST_POSTS = 5  # number of posts in the first version; each later version has 1 to 3 more
BLOG_HEAD = "Follow our live coverage below. The newest posts are at the top of the page."


def make_digests(seed: int, digests: int = 100) -> MadeCase:
    """Make digests with six articles each; every second digest has only first paragraphs."""
    dice = Dice(f"digest/{seed}")
    found = MadeCase()
    for number in range(digests):
        kind = "whole" if number % 2 == 0 else "first paragraphs"
        writers = [Writer(f"digest/{seed}/{number}/{i}") for i in range(DIGEST_STORIES)]
        drafts = [writer.article(dice.between(180, 450)) for writer in writers]
        page = f"digest-{number:03}"
        for i, draft in enumerate(drafts):
            name, minute = f"{page}-story-{i}", 24 * 60 * number + dice.below(20 * 60)
            found.add(name, draft.text, draft.headline, "Orrin Daily", minute)
            found.truth.append(CasePair(page, name, SIMILAR, kind=kind))
        text = _digest(drafts, None if kind == "whole" else FIRST_PARAGRAPHS)
        found.add(page, text, "Your daily briefing", "Orrin Daily", 24 * 60 * number + 22 * 60)
    return found


def _digest(drafts: list[Draft], most: int | None) -> str:
    items = (f"{draft.headline}\n\n{Draft('', draft.paragraphs[:most]).text}" for draft in drafts)
    return "\n\n".join((DIGEST_HEAD, *items, DIGEST_FOOT))


def make_excerpts(seed: int, per_share: int = 20) -> MadeCase:
    """Make `per_share` articles with one excerpt each, for every share in `SHARES` and place in `PLACES`."""
    dice = Dice(f"excerpts/{seed}")
    found = MadeCase()
    for share in SHARES:
        label = DUPLICATE if share >= EXCERPT_SAME_FROM else SIMILAR
        for place in PLACES:
            for number in range(per_share):
                name = f"whole-{share}-{place}-{number:02}"
                draft = Writer(f"excerpts/{seed}/{name}").article(dice.between(*LENGTHS))
                part = excerpt(dice, draft.text, share, place == "top")
                other = f"part-{share}-{place}-{number:02}"
                found.add(name, draft.text, draft.headline)
                found.add(other, part, draft.headline)
                found.truth.append(CasePair(name, other, label, kind=place, share=share))
    return found


def excerpt(dice: Dice, text: str, share: int, top: bool) -> str:
    """Return `share` percent of a text's words in one piece, from the first or from a random later word."""
    found = list(re.finditer(r"\S+", text))
    count = round(share / 100 * len(found))
    start = 0 if top else dice.between(1, len(found) - count)
    return text[found[start].start() : found[start + count - 1].end()]


def make_live_blogs(seed: int, blogs: int = 20, versions: int = 20) -> MadeCase:
    """Make live blogs; only two versions that overlap by `BLOG_SAME_FROM` or more are duplicates."""
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
            label = DUPLICATE if overlap >= BLOG_SAME_FROM else SIMILAR
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
        text = "\n\n".join((BLOG_HEAD, *posts))
        made.add(f"{name}-v{version:02}", text, title, "Orrin Live", day * 24 * 60 + clock)
