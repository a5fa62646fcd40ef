"""The rounds of `reference.py` give the oracle's answer for all `Options`, but not if a rule is left out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.extras.spark.options import HEAD_MINIMUM, PAIRS_PER_ENTRY, head
from dedup.rules import oracle
from dedup.rules.marks import Pair, order_key, published_second
from dedup.rules.oracle import Pins, Subject
from dedup.rules.pair import Relation
from dedup.text.fingerprint import Fingerprint
from tests.conformance.corpora import CORPORA
from tests.corpora import fingerprint as fingerprint_of
from tests.corpora import sentence_hash
from tests.extras.spark import reference as rounds
from tests.extras.spark.reference import Options, ReferenceMarks
from tests.reference import nodes
from tests.reference.nodes import Groups
from tests.rules.test_oracle import PINS, RULES, corpora, fingerprint, short, subject
from tests.settling.test_rules_needed import Mutant, replace_in_module

CHUNKS, CHUNK = 10, 2_000
"""Numbers of chunks, and of random corpora per chunk, in the default run."""

TRIES = 4_000
"""Maximum number of corpora until a missing rule shows; most rules need fewer than a hundred."""


@dataclass
class RoundsCase:
    """A corpus, and an engine's choices."""

    subjects: list[Subject]
    settings: Settings = RULES
    pins: Pins = field(default_factory=dict)
    sentences: Mapping[int, bool] = field(default_factory=dict)
    options: Options = field(default_factory=Options)


@lru_cache
def settings_of(common_stories: int, similar_pairs: int) -> Settings:
    return replace(RULES, common_stories=common_stories, similar_pairs=similar_pairs)


SIGNATURES: tuple[list[int], ...] = (
    [],
    [0] * 8,
    [0] * 6 + [1] * 2,
    [0] * 4 + [1] * 4,
    [1] * 6 + [0] * 2,
    [1] * 8,
    [2] * 8,
)


@lru_cache(maxsize=10_000)
def made(first: int, length: int, signature: int, content: int) -> Fingerprint:
    """Return a fingerprint of sentences from a ring of nine. With five sentences, neighbours are duplicates,
    and fingerprints two apart are similar."""
    return fingerprint([1 + (first + i) % 9 for i in range(length)], SIGNATURES[signature], content)


def drawn_text(rng: random.Random, number: int) -> Fingerprint:
    if rng.random() < 0.1:
        return short(rng.randrange(2))
    signature = rng.choice((0, 0, 0, rng.randrange(len(SIGNATURES))))
    content = 90 if rng.random() < 0.05 else 100 + number
    return made(rng.randrange(9), rng.choice((1, 4, 5, 5, 5, 6)), signature, content)


def drawn_articles(rng: random.Random, size: int) -> list[Subject]:
    """Return articles with few different texts and times; or a chain in which each text is a duplicate of the
    next, and some texts are repeated."""
    if rng.random() < 0.6:
        texts = [drawn_text(rng, number) for number in range(rng.randrange(2, 8))]
        return [subject(id, rng.randrange(6), rng.choice(texts)) for id in range(size)]
    texts = [made(number, 5, 0, 100 + number) for number in range(size)]
    chosen = [id if rng.random() < 0.8 else rng.randrange(id + 1) for id in range(size)]
    return [subject(id, id // rng.choice((1, 1, 2)), texts[text]) for id, text in enumerate(chosen)]


def drawn(seed: int) -> RoundsCase:
    """Return a random case: few articles, and an engine that compares few nodes per key in a round."""
    rng = random.Random(seed)
    size = rng.choice((3, 5, 7, 8, 9, 9))
    subjects = drawn_articles(rng, size)
    pins = {}
    for _ in range(rng.choice((0, 0, 1, 3))):
        a, b = rng.sample(range(size + 1), 2)  # number `size` belongs to no article
        pins[frozenset((a, b))] = rng.choice(tuple(Relation))
    sentences = {rng.randrange(1, 10): rng.random() < 0.5 for _ in range(rng.choice((0, 0, 0, 2)))}
    parts = rng.choice(((0,), (0,), tuple(range(10)), tuple(rng.choices((0, 1), k=10))))
    options = Options(
        head_minimum=rng.choice((1, 1, 2, 2, 2, 3)),
        budget=rng.choice((0, 0, 0, 20, None)),
        part=lambda number: parts[number % len(parts)],
        starts=rng.choice((_always, _sometimes)),
    )
    settings = settings_of(rng.choice((2, 50, 50, 50)), rng.choice((1, 2, 50)))
    return RoundsCase(subjects, settings, pins, sentences, options)


def _always(number: int, node: int) -> bool:
    return True


def _sometimes(number: int, node: int) -> bool:
    return (3 * number + 5 * node) % 7 < 3


CHOICES = [Options(), Options(1, 0), Options(2, 50, lambda number: number)]


def nodes_of(case: RoundsCase) -> list[nodes.Node]:
    ordered = nodes.in_order(case.subjects)
    return nodes.nodes(ordered, nodes.numbered(ordered, case.pins), case.options.part)


def check(case: RoundsCase) -> tuple[ReferenceMarks, set[int]]:
    """Check that the rounds give the oracle's answer; return this answer and the common sentences."""
    common = oracle.common_sentences([s.fingerprint for s in case.subjects], case.settings, case.sentences)
    assert nodes.common_sentences(nodes_of(case), case.settings, case.sentences) == common
    found = rounds.marks(case.subjects, common, case.settings, case.pins, case.options)
    marks, pairs = oracle.marks(case.subjects, common, case.settings, case.pins)
    assert found.marks == marks
    assert found.pairs == pairs
    assert found.best_match == best_match(case, pairs)
    return found, set(common)


def best_match(case: RoundsCase, pairs: set[Pair]) -> set[tuple[int, int]]:
    """Return the pairs in which the later article is the earlier article's best match."""
    order = {s.id: s.order for s in case.subjects}
    best: dict[int, tuple[float, str, object, int]] = {}
    for pair in pairs:
        if pair.relation == "similar":
            for one, other in ((pair.article_id, pair.other_id), (pair.other_id, pair.article_id)):
                own = (-pair.score, pair.rule, order[other], other)
                best[one] = min(best.get(one, own), own)
    return {(found[3], one) for one, found in best.items() if order[found[3]] > order[one]}


def happened(case: RoundsCase, found: ReferenceMarks, common: set[int]) -> set[str]:
    """Return the names of the special cases that occur in a corpus or in its rounds."""
    kept = Counter(pair.article_id for pair in found.pairs if pair.rule != "pinned")
    copied = Counter(pair.article_id for pair in found.pairs if pair.relation == "duplicate")
    weights = [node.weight for node in nodes_of(case)]
    events = {
        "several rounds": len(found.rounds) > 1,
        "four rounds": len(found.rounds) > 3,
        "waiting nodes": any(r.waiting for r in found.rounds),
        "star, a later one": any(r.star_later for r in found.rounds),
        "star puts one out": any(r.put_out for r in found.rounds),
        "star, an earlier one": any(r.star_earlier for r in found.rounds),
        "a class of several": max(weights) > 1,
        "a class in parts": len(weights) > len({id(s.fingerprint) for s in case.subjects}),
        "a pin": any(pair.rule == "pinned" for pair in found.pairs),
        "as many pairs as may be kept": any(n >= case.settings.similar_pairs for n in kept.values()),
        "a best_match one": bool(found.best_match),
        "a common sentence": bool(common),
        "several originals": max(copied.values(), default=0) > 1,
        "equal times": len({s.order[0] for s in case.subjects}) < len(case.subjects),
    }
    return {name for name, true in events.items() if true}


@pytest.mark.long("dedup/rules", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_corpora_are_decided_as_the_oracle_decides_them(chunk: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        case = drawn(seed)
        try:
            seen.update(happened(case, *check(case)))
        except AssertionError as error:
            raise AssertionError(f"corpus {seed}") from error
    print(dict(seen))
    assert len(seen) == 14
    assert min(seen.values()) >= 40


@pytest.mark.long("dedup", "migrations")
@given(
    corpora(20),
    PINS,
    st.builds(
        Options,
        head_minimum=st.integers(1, 4),
        budget=st.sampled_from([0, 20, 100, None]),
        part=st.sampled_from([lambda _: 0, lambda number: number, lambda number: number // 4]),
        starts=st.sampled_from([_always, _sometimes]),
    ),
    st.sampled_from([2, 5]),
    st.integers(1, 3),
)
def test_the_rounds_are_the_oracle(
    subjects: list[Subject], pins: Pins, options: Options, stories: int, most: int
) -> None:
    check(RoundsCase(subjects, settings_of(stories, most), pins, options=options))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("options", CHOICES, ids=["default", "head of one", "no classes"])
@pytest.mark.parametrize("name", CORPORA)
def test_the_corpora_of_all_engines_are_decided_alike(name: str, options: Options) -> None:
    corpus = CORPORA[name]()
    settings = Settings().with_values(corpus.settings)
    subjects, numbers = [], {}
    for number, article in enumerate(corpus.articles):
        own = fingerprint_of(settings, article.text, article.language, article.title)
        if isinstance(own, Fingerprint):
            assert article.added_at is not None
            order = order_key(settings, article.published_at, article.added_at, article.source_id)
            published = published_second(settings, order[0], article.published_at)
            subjects.append(Subject(number, order, own, published))
            numbers[article.source_id] = number
    pins = {frozenset((numbers[a], numbers[b])): r for a, b, r in corpus.pairs if {a, b} <= numbers.keys()}
    sentences = {sentence_hash(code): common for code, common in corpus.sentences.items()}
    check(RoundsCase(subjects, settings, pins, sentences, options))


@pytest.mark.long("dedup", "migrations")
def test_every_pair_is_scored_once_and_with_all_that_it_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[Groups] = []
    seen: set[tuple[int, int]] = set()
    real_groups, real_score = nodes.groups, rounds.score

    def groups(*args: object) -> Groups:
        known.append(real_groups(*args))  # type: ignore[arg-type]
        seen.clear()
        return known[-1]

    def score(met: rounds.Meetings, *args: object) -> object:
        for (a, b), kinds in met.items():
            assert (a, b) not in seen
            seen.add((a, b))
            assert Counter(kinds) == Counter(kind for (kind, _), own in known[-1].items() if {a, b} <= {*own})
        return real_score(met, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "groups", groups)
    monkeypatch.setattr(rounds, "score", score)
    for seed in range(1_000):
        check(drawn(seed))
    assert len(known) == 1_000


def ring(size: int) -> list[Subject]:
    """Return articles with sentences from a ring: each is a duplicate of its two neighbours. Article i has
    time i."""
    return [
        subject(i, i, fingerprint([1 + (i + j) % size for j in range(5)], content=i)) for i in range(size)
    ]


def test_a_chain_that_needs_many_rounds_ends() -> None:
    subjects = ring(90)
    settings = settings_of(50, 50)
    found, _ = check(RoundsCase(subjects, settings, options=Options(1, 0)))
    assert 30 < len(found.rounds) <= 90
    assert all(r.head == 1 and r.eligible for r in found.rounds)
    # With the default options the head holds all nodes of each key: one round decides a chain of any length.
    found, _ = check(RoundsCase(subjects, settings))
    assert len(found.rounds) == 1


def copies(count: int) -> list[Subject]:
    """Return copies of the five editions of a report. A copy differs from its edition in at most three
    sentences, and in at most three values of the signature."""
    rng = random.Random(1)

    def edited(given: list[int], places: int) -> list[int]:
        found = list(given)
        for place in rng.sample(range(len(found)), places):
            found[place] = rng.getrandbits(60)
        return found

    sentences, values = [rng.getrandbits(60) for _ in range(30)], [rng.getrandbits(60) for _ in range(64)]
    editions = [(edited(sentences, 8), edited(values, 16)) for _ in range(5)]
    found = []
    for id in range(count):
        own, shingles = (edited(part, rng.randrange(4)) for part in rng.choice(editions))
        buckets = tuple(hash(tuple(shingles[4 * band : 4 * band + 4])) for band in range(16))
        signature = np.array([value % 256 for value in shingles], np.uint8)
        content = rng.getrandbits(60)
        found.append(subject(id, id, Fingerprint(1, content, tuple(own), signature, buckets, 500, 200)))
    return found


STORY = replace(
    RULES, bands=16, rows=4, common_stories=10, duplicate_sentence_jaccard=0.7, evidence_sentences=2
)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("options", CHOICES, ids=["default", "head of one", "no classes"])
def test_three_hundred_edited_copies_of_a_story(options: Options) -> None:
    found, common = check(RoundsCase(copies(300), STORY, options=options))
    assert Counter(mark.status.value for mark in found.marks.values()) == {"similar": 5, "duplicate": 295}
    assert common == set()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("budget", [None, 5_000])
def test_the_pairs_of_a_story_grow_as_its_copies_do(budget: int | None) -> None:
    pairs = {}
    for count in (250, 500, 1_000):
        found = rounds.marks(copies(count), set(), STORY, options=Options(budget=budget))
        pairs[count] = sum(r.pairs for r in found.rounds)
        print(f"{count} copies: {pairs[count]} pairs in {len(found.rounds)} rounds")
    assert pairs[1_000] < 2.2 * pairs[500] < 2.2**2 * pairs[250]
    assert pairs[1_000] < 10 * 1_000


@given(
    st.dictionaries(st.integers(0, 30), st.integers(1, 50), max_size=6),
    st.integers(1, 20),
    st.integers(0, 20_000),
)
def test_the_window_is_the_largest_that_the_budget_allows(
    sizes: dict[int, int], minimum: int, budget: int
) -> None:
    def pairs(w: int) -> float:
        return sum(keys * min(n, w) ** 2 / 2 for n, keys in sizes.items())

    allowed = [w for w in range(1, max(sizes, default=0) + 1) if pairs(w) <= budget]
    assert head(sizes, minimum, budget) == max([minimum, *allowed])


def test_the_smallest_window_is_within_the_budget_of_the_default() -> None:
    sizes = {1: 100, 7: 20, 40: 9, 10_000: 2}
    entries = sum(n * keys for n, keys in sizes.items())
    assert head(sizes, 1, PAIRS_PER_ENTRY * entries) >= HEAD_MINIMUM


NODES, ROUNDS = "tests.reference.nodes", "tests.extras.spark.reference"
MUTANTS = [
    Mutant(
        "a star leaves out later ones that were never eligible",
        ROUNDS,
        "return x > c and x not in state.eligible_in",
        "return False",
    ),
    Mutant(
        "a star leaves out later ones that are decided",
        ROUNDS,
        "return x > c and x not in state.eligible_in",
        "return x > c and x not in state.eligible_in and x in state.undecided",
    ),
    Mutant(
        "a star leaves out earlier ones with a later member",
        ROUNDS,
        "return x < c < last and",
        "return False and",
    ),
    Mutant(
        "inside the head under one key is enough",
        ROUNDS,
        "return set(undecided).difference(*(own[w:] for own in places.values()))",
        "return {n for n in undecided if any(n in own[:w] for own in places.values())"
        " or not any(n in own for own in places.values())}",
    ),
    Mutant(
        "an undecided duplicate of a canonical one stays in",
        ROUNDS,
        "for x in out:\n            state.settle(x, False, number)",
        "for x in out:\n            pass",
    ),
    Mutant(
        "the head shows only those that become eligible together",
        ROUNDS,
        "for a in own[:at]:",
        "for a in [a for a in own[:at] if a in newly]:",
    ),
    Mutant("nobody waits", ROUNDS, "elif None not in earlier:", "else:"),
    Mutant(
        "what a waiting node waits for is forgotten",
        ROUNDS,
        "state.undecided & state.eligible_in.keys(), state.duplicates, state.canonical)",
        "state.undecided & state.eligible_in.keys(),"
        " {b: own for b, own in state.duplicates.items() if b in newly}, state.canonical)",
    ),
    Mutant(
        "a member has originals that come after it",
        ROUNDS,
        "if source[0] < copy.order]",
        "]",
    ),
    Mutant(
        "a class counts once",
        NODES,
        "weights = [node.weight for node in own]",
        "weights = [1 for node in own]",
    ),
    Mutant(
        "a pinned article shares its node",
        NODES,
        '("alone", number) if number in pinned else part(number)',
        "part(number)",
    ),
    Mutant(
        "pinned articles do not meet",
        NODES,
        '{("pin", pair): list(pair) for pair in said}',
        "{}",
    ),
    Mutant(
        "equal contents do not meet",
        NODES,
        'keys.append(("content", f.content_hash))',
        "pass",
    ),
    Mutant(
        "common sentences meet",
        NODES,
        "if h not in common]",
        "]",
    ),
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_lost_rule_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_in_module(mutant, monkeypatch)
    for seed in range(TRIES):
        if goes_wrong(seed):
            print(f"{mutant.name}: noticed in corpus {seed}")
            return
    pytest.fail(f"{TRIES} corpora did not notice: {mutant.name}")


def goes_wrong(seed: int) -> bool:
    """Return whether the rounds decide a corpus differently from the oracle, or fail."""
    try:
        check(drawn(seed))
    except (AssertionError, ArithmeticError, LookupError):
        return True
    return False
