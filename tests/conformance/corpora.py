"""Small corpora on which every engine must agree; each tests one thing that an engine may get wrong.

A corpus is data: articles with all their times, settings, and the decisions of people. It has no order of
arrival, because each engine chooses an order.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from dedup.base.article import Article
from dedup.rules.pair import Relation
from tests.corpora import PLAIN, VARIANTS, Code, article, at, code, misread, sentence, text, window

PairSaid = tuple[str, str, Relation]
"""Two source_ids, and the relation that a person pinned for them."""


@dataclass(frozen=True)
class Corpus:
    """The input of an engine.

    Attributes:
        articles: the articles; each has an added_at.
        settings: values other than the defaults.
        pairs: pinned pairs; some name absent articles.
        sentences: pinned sentences; True means always common, False never common.
    """

    articles: list[Article]
    settings: dict[str, Any] = field(default_factory=dict)
    pairs: list[PairSaid] = field(default_factory=list)
    sentences: dict[Code, bool] = field(default_factory=dict)


def made(name: str, codes: list[Code], minute: float | None = 0, added: float = 100, **more: Any) -> Article:
    """Make an article with all its times."""
    return article(name, codes, minute, added_at=at(added), **more)


def chains() -> Corpus:
    """Make windows of a ring of sentences: neighbours are duplicates, and windows two apart are similar."""
    times = random.Random(1).sample(range(14), 14)
    return Corpus(
        [made(f"{kind}{i}", window(i, 6), times[i] + 20 * kind) for i in range(14) for kind in (0, 1)]
    )


def ties() -> Corpus:
    """Make copies with the same time, ordered only by the bytes of their names. Other articles match two
    originals equally well."""
    names = ["é", "z", "Z", "a", "10", "9", "ß", "B"]
    copies = [made(name, window(0, 6)) for name in names]
    between = made("m", [*window(0, 4), *window(40, 4, ring=100)], 5)
    sides = [
        made(name, [*window(start, 4, ring=100), code(60 + start)], 4)
        for name, start in (("y", 0), ("x", 40))
    ]
    best_match = [made(f"like {i}", window(i, 6), 9) for i in (3, 11)]
    return Corpus([*copies, *sides, between, *best_match], {"duplicate_sentence_jaccard": 0.5})


def wire_story() -> Corpus:
    """Make a report and print it, cut and edited, in 60 papers. As it is one story, no sentence is common."""
    rng = random.Random(2)
    copies = []
    for i in range(60):
        codes = window(0, 20, ring=100)
        for _ in range(rng.randrange(3)):
            codes[rng.randrange(20)] += rng.randrange(2)
        copies.append(made(f"copy {i:02}", codes[: rng.choice((20, 20, 19, 14, 9))], rng.randrange(30)))
    return Corpus(copies)


def boilerplate() -> Corpus:
    """Make two sentences: one is in so many stories that it is common, one is in just too few."""
    many = [made(f"by {i:02}", [*window(20 * i, 6, ring=10_000), code(9_500)], i) for i in range(30)]
    ten = [made(f"ten {i:02}", [*window(2_000 + 20 * i, 6, ring=10_000), code(9_600)], i) for i in range(10)]
    only = [made(f"only {i}", [code(9_500), code(9_700 + i), code(9_800 + i)], 50 + i) for i in range(3)]
    return Corpus([*many, *ten, *only])


def twice() -> Corpus:
    """Make stories, each in two papers, that end with a byline. The byline of 10 stories is not common; the
    byline of 11 stories is common."""
    found = []
    for stories, byline in ((10, 9_600), (11, 9_700)):
        for i in range(stories):
            codes = [*window(20 * (i + stories), 6, ring=10_000), code(byline)]
            found += [made(f"{stories} {i} {paper}", codes, i + paper) for paper in (0, 1)]
    return Corpus(found)


def templates() -> Corpus:
    """Make pages that are mostly furniture, and copies of some of them."""
    furniture = [code(800 + i) for i in range(7)]
    pages = [made(f"page {i:02}", [*furniture, *window(20 * i, 4, ring=10_000)], i) for i in range(25)]
    copies = [made(f"again {i}", [*furniture, *window(20 * i, 4, ring=10_000)], 60 + i) for i in range(3)]
    return Corpus([*pages, *copies])


def families() -> Corpus:
    """Make pages from two templates. Most pairs of a template are similar, many with the same score."""
    rng = random.Random(4)
    found = []
    for i in range(120):
        shared = rng.sample([code(100 * (i % 2) + j) for j in range(8)], rng.choice((5, 6)))
        own = [code(1_000 + 10 * i + j) for j in range(4)]
        found.append(made(f"item {i:03}", [*shared, *own], rng.randrange(40)))
    pairs = [("item 000", "item 002", Relation.SIMILAR), ("item 004", "item 006", Relation.UNRELATED)]
    settings = {"similar_pairs": 3, "common_stories": 1_000, "similar_sentence_jaccard": 0.25}
    return Corpus([*found, made("again", [*shared, *own], 60)], settings, pairs)


def briefs() -> Corpus:
    """Make short texts with and without titles, and a text that equals a title and a text together.

    The title is part of the content. Still, a title with a text has other content than a text of the same
    words.
    """
    found, minute = [], 0
    for body in ("Comment now.", "Rain later in the west, then a dry night.", "Comment  NOW"):
        for title in ("Harbour closed", "Storm", "storm", None, ""):
            minute += 1
            found.append(Article(f"{minute:02}", body, title, published_at=at(minute), added_at=at(99)))
    joined = Article("joined", "Storm\nComment now.", published_at=at(0), added_at=at(99))
    own = [made(f"long {i}", window(0, 6), 40 + i, title=title) for i, title in enumerate(("A", "B"))]
    return Corpus([*found, joined, *own])


def border_of_short() -> Corpus:
    """Make texts just below and above the limit for short texts, each with a copy."""
    words = " ".join(sentence(code(i)) for i in range(4)).split()
    found = []
    for count in (23, 24, 25, 40):
        for i in range(2):
            text = " ".join(words[:count])
            found.append(Article(f"{count} {i}", text, "T", published_at=at(count + i), added_at=at(99)))
    return Corpus(found)


def without_shingles() -> Corpus:
    """Make texts that have no shingles, so only texts of equal content are duplicates. The last text also has
    two ordinary sentences."""
    plain = [code(PLAIN + i) for i in range(14)]
    bodies = [plain, plain, plain[::-1], [*plain, code(PLAIN + 20)], plain[:13], [*plain, code(1), code(2)]]
    return Corpus([made(f"plain {i}", codes, i) for i, codes in enumerate(bodies)])


def excerpts() -> Corpus:
    """Make excerpts of a long article, dated before and after it: long enough, too short, and edited."""
    long = window(0, 14, ring=100)
    pieces = {
        "five": long[3:8],
        "four early": long[9:13],
        "three": long[:3],
        "two and others": [*long[:2], code(70), code(71)],
        "edited": [c + 1 for c in long[4:10]] + long[10:11],
        "mostly": [*long[2:7], code(72)],
    }
    found = [made(name, codes, 5 if "early" in name else 20) for name, codes in pieces.items()]
    return Corpus([made("long", long, 10), *found, made("long again", long, 30)])


def pinned_pairs() -> Corpus:
    """Make pins of every relation on pairs of every kind: equal contents, chains, absent articles."""
    groups = {
        "same": (window(0, 6), window(0, 6)),
        "near": (window(100, 6, ring=1_000), window(101, 6, ring=1_000)),
        "like": (window(200, 6, ring=1_000), window(203, 6, ring=1_000)),
        "apart": (window(300, 6, ring=1_000), window(400, 6, ring=1_000)),
        "brief": ([code(500)], [code(501)]),
    }
    found: list[Article] = []
    pairs: list[PairSaid] = []
    for name, (one, other) in groups.items():
        for number, relation in enumerate(Relation):
            shift = 2_000 * number * 4
            a, b = f"{name} {relation} a", f"{name} {relation} b"
            found += [made(a, [c + shift for c in one], 3), made(b, [c + shift for c in other], 7)]
            pairs.append((a, b, relation))
    # Pin a duplicate of a duplicate. Pin an original as unrelated to its copy. Pin an absent article.
    found += [made(f"chain {i}", window(600 + 20 * i, 6, ring=10_000), i) for i in range(3)]
    found += [made(f"story {i}", window(900, 6, ring=1_000), i) for i in range(4)]
    pairs += [
        ("chain 0", "chain 1", Relation.DUPLICATE),
        ("chain 1", "chain 2", Relation.DUPLICATE),
        ("story 0", "story 2", Relation.UNRELATED),
        ("story 0", "absent", Relation.DUPLICATE),
        ("absent", "nobody", Relation.SIMILAR),
    ]
    return Corpus(found, pairs=pairs)


def pins_of_copies() -> Corpus:
    """Make pins that name a copy; only a pin of an original has an effect."""
    found: list[Article] = []
    pairs: list[PairSaid] = []
    for number, relation in enumerate(Relation):
        base = 4_000 + 200 * number
        texts = {
            "first": window(base, 6, ring=10_000),
            "copy": window(base, 6, ring=10_000),
            "like": window(base + 60, 6, ring=10_000),
            "pinned": [*window(base + 60, 3, ring=10_000), *window(base + 90, 3, ring=10_000)],
            "after": window(base + 90, 6, ring=10_000),
            "last": window(base + 90, 6, ring=10_000),
        }
        names = {name: f"{name} {relation}" for name in texts}
        found += [made(names[name], codes, minute) for minute, (name, codes) in enumerate(texts.items())]
        pairs += [
            (names["copy"], names["pinned"], relation),
            (names["copy"], names["last"], relation),
            (names["after"], names["like"], relation),
        ]
    return Corpus(found, pairs=pairs)


def pinned_sentences() -> Corpus:
    """Pin sentences: a frequent one is not common, a rare one is common, and one is in no article."""
    many = [made(f"by {i:02}", [*window(20 * i, 3, ring=10_000), code(9_500)], i) for i in range(14)]
    pair = [made(f"pair {i}", [code(8_000), code(8_001 + 10 * i), code(8_002 + 10 * i)], i) for i in range(2)]
    return Corpus([*many, *pair], sentences={code(9_500): False, code(8_000): True, code(9_999): True})


def wrong_dates() -> Corpus:
    """Make articles with impossible dates, which count as missing, and with valid dates at the limit."""
    day, year = 24 * 60, 365.25 * 24 * 60
    minutes = {
        "no date": None,
        "true": 99,
        "future": 100 + 2 * day,
        "just not future": 100 + day,
        "just future": 100 + day + 1,
        "ancient": -800 * year,
        "old": -300 * year,
    }
    copies = [made(name, window(0, 6), minute) for name, minute in minutes.items()]
    later = [
        made(f"{name} 2", window(100, 6, ring=1_000), m, added=50)
        for name, m in minutes.items()
        if name != "old"
    ]
    return Corpus([*copies, *later], {"earliest_year": 1605})


def order_of_arrival() -> Corpus:
    """Make articles in the canonical order of added_at, which is not the order of their dates."""
    rng = random.Random(3)
    return Corpus(
        [made(f"a{i}", window(i % 7, 6), rng.randrange(9), added=rng.randrange(9)) for i in range(20)],
        {"canonical_order": "added"},
    )


def unreadable() -> Corpus:
    """Make texts without a word, and texts that are too long, among readable texts."""
    bodies = {"empty": "", "blank": " \n\t", "marks": "?! …", "long": made("-", window(0, 14)).text * 3}
    # Each of these characters becomes 18 when it is normalised.
    bodies |= {"grows": "\ufdfa" * 56, "grows to the limit": "\ufdfa " * 52}
    found = [
        Article(name, text, "Title", published_at=at(i), added_at=at(99))
        for i, (name, text) in enumerate(bodies.items())
    ]
    return Corpus(
        [*found, made("a", window(0, 6), 1), made("b", window(0, 6), 2)], {"text_max_characters": 1_000}
    )


def many_pins(corpus: Corpus, seed: int) -> Corpus:
    """Return the corpus with random pins, half as many as articles, on originals and on copies."""
    rng = random.Random(seed)
    names = [article.source_id for article in corpus.articles]
    known = {frozenset(pair[:2]) for pair in corpus.pairs}
    drawn = {frozenset(rng.sample(names, 2)): rng.choice(list(Relation)) for _ in range(len(names) // 2)}
    more: list[PairSaid] = []
    for pair, relation in drawn.items():
        if pair not in known:
            one, other = sorted(pair)
            more.append((one, other, relation))
    return replace(corpus, pairs=[*corpus.pairs, *more])


def mix(seed: int) -> Corpus:
    """Make a random mix of all kinds of articles, settings and pins."""
    rng = random.Random(seed)
    found: list[Article] = []
    texts: list[list[Code]] = []
    for i in range(45):
        kind = rng.random()
        if kind < 0.1:
            codes = [code(PLAIN + rng.randrange(3) + j) for j in range(rng.choice((2, 14)))]
        elif kind < 0.4 and texts:
            codes = [c ^ (rng.random() < 0.2) for c in rng.choice(texts)]
            codes = codes[rng.randrange(2) :]
        else:
            codes = window(rng.randrange(12), rng.choice((3, 5, 6, 6, 7, 12)), ring=20)
        if rng.random() < 0.4:
            codes = [*codes, code(500 + rng.randrange(3))]
        texts.append(codes)
        found.append(
            made(
                f"{'éaZ1'[i % 4]}{i}",
                codes,
                rng.choice((None, 9_999, *range(8))),
                added=rng.randrange(8),
                title=rng.choice(("A", "B", None)),
            )
        )
    names = [a.source_id for a in found]
    pairs = {tuple(sorted(rng.sample(names, 2))): rng.choice(list(Relation)) for _ in range(6)}
    return Corpus(
        found,
        {
            "common_stories": rng.choice((2, 3, 5)),
            "text_min_words": rng.choice((6, 24)),
            "similar_pairs": rng.choice((1, 2, 50)),
        },
        [(a, b, relation) for (a, b), relation in pairs.items()],
        {code(rng.randrange(12)): rng.random() < 0.5 for _ in range(2)},
    )


def reprints() -> Corpus:
    """Make copies, versions and excerpts of a report: within 3 days, just later, weeks later, and undated."""
    day, second = 24 * 60, 1 / 60
    found = [made("report", window(0, 8, ring=100), 0, added=60 * day)]
    for name, minute in (
        ("in time", 3 * day),
        ("late", 3 * day + second),
        ("weeks later", 40 * day),
        ("undated", None),
        ("wrong", 900 * day),
    ):
        for kind, codes in (
            ("copy", window(0, 8, ring=100)),
            ("version", [*window(0, 7, ring=100), code(200)]),
            ("excerpt", window(2, 5, ring=100)),
        ):
            found.append(made(f"{kind} {name}", codes, minute, added=60 * day))
    return Corpus(found)


def furniture() -> Corpus:
    """Make pages that share only common sentences, and pages that share one more sentence."""
    shared = [code(800 + i) for i in range(10)]
    other = [made(f"other {i:02}", [*shared, *window(20 * i, 9, ring=10_000)], i) for i in range(30)]
    bare = [made(f"bare {i}", [*shared, code(7_000 + i)], 40 + i) for i in range(3)]
    with_news = [made(f"news {i}", [*shared, code(8_000), code(8_100 + i)], 50 + i) for i in range(2)]
    return Corpus([*other, *bare, *with_news], {"common_stories": 5})


def set_otherwise(corpus: Corpus, **settings: Any) -> Corpus:
    return replace(corpus, settings=corpus.settings | settings)


def scanned() -> Corpus:
    """Make reprints that a machine misread a little or much, whole and cut.

    Beside them are edited versions, short texts, and a text of numbers with few letters.
    """
    found = []
    for story in range(4):
        whole = text(window(40 * story, 22, ring=10_000))
        for copy, every in enumerate((0, 60, 25, 15, 12, 8)):
            body = misread(whole, every, copy) if every else whole
            found.append(Article(f"{story} read {copy}", body, published_at=at(copy), added_at=at(100)))
        cut = misread(whole, 20, 7)
        found += [
            Article(
                f"{story} cut {share}", cut[: int(len(cut) * share)], published_at=at(9), added_at=at(100)
            )
            for share in (0.95, 0.85)
        ]
        edited = [code(40 * story + i, i % VARIANTS) for i in range(22)]
        found.append(made(f"{story} edited", edited, 10))
    short = text([code(900 + i) for i in range(3)])
    found += [
        Article(f"short {i}", misread(short, 30, i), published_at=at(i), added_at=at(100)) for i in range(3)
    ]
    found.append(Article("numbers", "The 12 of 13 in 14 and 15, " * 10, published_at=at(3), added_at=at(100)))
    pairs = [("0 read 0", "0 read 3", Relation.UNRELATED), ("1 read 1", "2 read 2", Relation.SIMILAR)]
    return Corpus(found, {"damaged_print": "on"}, pairs)


CORPORA: dict[str, Callable[[], Corpus]] = {
    builder.__name__: builder
    for builder in (
        chains,
        ties,
        wire_story,
        boilerplate,
        twice,
        templates,
        families,
        briefs,
        border_of_short,
        without_shingles,
        excerpts,
        pinned_pairs,
        pins_of_copies,
        pinned_sentences,
        wrong_dates,
        order_of_arrival,
        unreadable,
        scanned,
        reprints,
        furniture,
    )
} | {f"mix_{seed}": (lambda seed=seed: mix(seed)) for seed in range(1, 6)}
CORPORA["mix_far"] = lambda: set_otherwise(mix(7), reprint_days=0, furniture_sentences=1)
CORPORA["mix_far_and_long"] = lambda: set_otherwise(
    mix(8), reprint_days=0, reprint_score=0.75, containment_ratio=1
)
CORPORA["mix_with_many_pins"] = lambda: many_pins(mix(6), 6)
