"""Methods of the lab: laws that all methods obey, worked examples, and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from dedup.base.errors import InputError
from dedup.base.numbers import NO_PAIRS
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.extras.lab.methods import METHODS, label, make, parameters, parse
from dedup.extras.lab.methods.common_runs import CommonSubsequence, CommonSubstring
from dedup.extras.lab.methods.fuzzy_hash import FuzzyHash
from dedup.extras.lab.methods.keys import Sketches, TextProfile, profile, quantum
from dedup.extras.lab.methods.sentences import Cascade, WeightedSentences, form_weight
from dedup.extras.lab.methods.shingles import (
    CharacterShingles,
    LengthGroups,
    MinHashLSH,
    SpotSigs,
    WordShingles,
)
from dedup.extras.lab.methods.simhash import SimHash, simhash
from dedup.extras.lab.methods.words import TfIdf, WordsOnce
from dedup.text.normalize import words
from dedup.text.signature import shingles

NAMES = [name for name in METHODS if not name.startswith("dedup")]  # row 0 has its own tests
SELLING = "Selling a beautiful house in California."
BUYING = "Buying a beautiful crip in California."
FOX = (
    "the quick brown fox jumps over the lazy dog. "
    "now is the time for all good men to come to the aid of the party"
)
SUDZO = "I recommend that you buy Sudzo for your laundry"


def similarity(method: Method, a: str, b: str) -> float:
    """Return the score of two texts that are the whole corpus."""
    method.fit(DocumentSet.of_texts([a, b]))
    return float(method.score(np.array([[0, 1]], np.int32))[0])


COUNCILS = """\
city Ostmark Monday bridge
town Lindal Tuesday tower
county Verrin Friday school
village Halden Sunday library
harbour Tosco Thursday market
district Brevik May theatre
parish Marlow June road
regional Quint July mill
state Sorn August wall
border Ulde March church
river Vask April station
island Wend Easter museum
valley Yarrow Lent pier
hill Zell Advent dam
lake Dorne Saturday gate
"""
# Sentences of an invented report that is long enough for every method. Variants of the report leave some out.
SENTENCES = [
    "The {} council of {} voted on {} to repair the old {} before the winter storms return.".format(
        *line.split()
    )
    for line in COUNCILS.splitlines()
]
REPORT = " ".join(SENTENCES)
REPORTS = st.lists(st.sampled_from(SENTENCES), min_size=8, max_size=15, unique=True).map(" ".join)
CORPORA = st.lists(REPORTS | st.sampled_from(["", "Hello.", REPORT, SELLING]), max_size=6)


def every_pair(count: int) -> np.ndarray:
    return np.array(list(combinations(range(count), 2)), np.int32).reshape(-1, 2)


def found(method: Method) -> list[tuple[int, int]]:
    return [(i, j) for pairs in method.candidates() for i, j in pairs.tolist()]


def scores(method: Method, texts: list[str]) -> dict[tuple[int, int], float]:
    """Return the score of every pair of texts."""
    method.fit(DocumentSet.of_texts(texts))
    pairs = every_pair(len(texts))
    return {(i, j): s for (i, j), s in zip(pairs.tolist(), method.score(pairs).tolist(), strict=True)}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(texts=CORPORA)
def test_laws_of_every_method(name: str, texts: list[str]) -> None:
    method = make(name)
    score = scores(method, texts)
    candidates = found(method)
    assert len(candidates) == len(set(candidates))
    assert all(0 <= i < j < len(texts) for i, j in candidates)
    assert all(0 <= value <= 1 for value in score.values())
    backwards = scores(method, texts[::-1])
    for (i, j), value in score.items():
        assert backwards[len(texts) - 1 - j, len(texts) - 1 - i] == pytest.approx(value, abs=1e-6)
        if not texts[i] or not texts[j]:
            assert value == 0
            assert (i, j) not in candidates


@pytest.mark.parametrize("name", NAMES)
def test_the_same_text_twice(name: str) -> None:
    method = make(name)
    texts = [SENTENCES[0], REPORT, SENTENCES[1], REPORT]
    assert scores(method, texts)[1, 3] == pytest.approx(1)
    assert (1, 3) in found(method)
    assert similarity(method, REPORT, REPORT) == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("texts", [[], [""], [REPORT], ["", ""], ["", REPORT]])
def test_nothing_to_compare(name: str, texts: list[str]) -> None:
    method = make(name)
    assert set(scores(method, texts).values()) <= {0.0}
    assert found(method) == []
    assert method.score(NO_PAIRS).shape == (0,)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_every_method(name: str) -> None:
    method = make(name)
    method.fit(DocumentSet.of_texts([REPORT, REPORT, SENTENCES[0]]))
    for pairs in method.candidates():
        assert pairs.dtype == np.int32
        assert pairs.shape[1] == 2
        assert method.score(pairs).dtype == np.float32


COMPLETE: list[Callable[[], Method]] = [
    lambda: SpotSigs(floor=0.4),
    WordShingles,
    lambda: WordShingles(floor=0.6, size=2),
    CharacterShingles,
    lambda: CommonSubstring(floor=0.2),
    lambda: CommonSubstring(floor=0.3, over="longer"),
    lambda: TfIdf(floor=0.7),
    SimHash,
    FuzzyHash,
    LengthGroups,
    lambda: LengthGroups(floor=0.55),
    WordsOnce,
]


def test_words_said_once_in_one_order_are_landmarks() -> None:
    # "alpha" occurs twice, so it does not count. Of the other 5 and 4 words, 3 are in the same order.
    one, other = "alpha bravo charlie delta alpha echoes foxtrot", "delta bravo charlie foxtrot"
    assert similarity(WordsOnce(), one, other) == pytest.approx(3 / 5)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("build", COMPLETE)
@settings(max_examples=15)
@given(texts=st.lists(REPORTS, max_size=6))
def test_candidates_miss_no_pair_above_the_floor(build: Callable[[], Method], texts: list[str]) -> None:
    method = build()
    near = {pair for pair, value in scores(method, texts).items() if value >= np.float32(method.floor)}
    assert near <= set(found(method))


def jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b)


@settings(max_examples=20)
@given(REPORTS, REPORTS)
def test_set_methods_are_the_jaccard_of_their_sets(a: str, b: str) -> None:
    def grams(text: str, size: int) -> set[str]:
        found = words(text)
        return {" ".join(found[i : i + size]) for i in range(len(found) - size + 1)}

    of_words = jaccard(grams(a, 5), grams(b, 5))
    for method in (WordShingles(), MinHashLSH(), LengthGroups()):
        assert similarity(method, a, b) == pytest.approx(of_words)
    one, other = " ".join(words(a)), " ".join(words(b))
    of_characters = jaccard(*({t[i : i + 9] for i in range(len(t) - 8)} for t in (one, other)))
    assert similarity(CharacterShingles(), a, b) == pytest.approx(of_characters)
    of_stop_words = jaccard(shingles(words(a), 4), shingles(words(b), 4))
    assert similarity(SpotSigs(), a, b) == pytest.approx(of_stop_words)


def test_worked_sets_of_words() -> None:
    assert similarity(WordShingles(size=1), SELLING, BUYING) == 0.5  # 4 words of 8


def test_worked_shingles_of_whitespace_tokens() -> None:
    assert shingles(FOX.split(), 4) == {
        "the quick brown", "fox jumps over", "the lazy dog.", "now is the", "is the time", "the time for",
        "for all good", "all good men", "men to come", "to come to", "to the aid", "the aid of", "aid of the",
        "of the party",
    }  # fmt: skip
    listed = {"I", "that", "you", "for", "your"}
    assert shingles(SUDZO.split(), 4, listed) == {
        "I recommend that",
        "that you buy",
        "you buy Sudzo",
        "for your laundry",
    }
    assert shingles(["buy", "Sudzo"], 4, listed) == set()


def test_spotsigs_with_a_list_of_stop_words() -> None:
    method = SpotSigs(stop_words="I that you for your")
    # The other text shares 1 of the 4 shingles of SUDZO, "for your laundry", and has 1 shingle more.
    assert similarity(method, SUDZO, "Best for your laundry today") == pytest.approx(1 / 5)
    assert similarity(method, "buy Sudzo", "buy Sudzo") == 0


def test_worked_common_substring() -> None:
    # The published example takes " in California." with 15 characters, but "ing a beautiful " has 16.
    assert (len(SELLING), len(BUYING)) == (40, 38)
    assert similarity(CommonSubstring(over="longer"), SELLING, BUYING) == pytest.approx(16 / 40)
    assert similarity(CommonSubstring(), SELLING, BUYING) == pytest.approx(16 / 38)
    plain = SELLING.replace("a beautiful", "one pleasant")  # removes the longer run
    assert similarity(CommonSubstring(over="longer"), plain, BUYING) == pytest.approx(15 / 41)


def test_white_space_does_not_cut_a_run() -> None:
    assert similarity(CommonSubstring(), REPORT, REPORT.replace(" of ", "\n\n of\t")) == 1


def simple_subsequence(a: str, b: str) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        above, row = row, [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
    return row[-1]


@given(st.text("abc", max_size=20), st.text("abc", max_size=20))
def test_common_subsequence(a: str, b: str) -> None:
    length = simple_subsequence(a, b)
    longer, shorter = max(len(a), len(b), 1), max(min(len(a), len(b)), 1)
    assert similarity(CommonSubsequence(), a, b) == pytest.approx(length / longer)
    assert similarity(CommonSubsequence(over="shorter"), a, b) == pytest.approx(length / shorter)


def test_minhash_finds_what_its_bands_promise() -> None:
    # 1 - (1 - s^r)^b: of pairs of Jaccard 0.58, 0.38 and 0.1, 32 bands of 4 find 98 %, 49 % and 0.3 %.
    random = np.random.default_rng(7)
    texts, shared = [], {0.58: 220, 0.38: 165, 0.1: 55}  # two texts of 300 words share k: s = k / (600 - k)
    for count in shared.values():
        for _ in range(60):
            pool = [f"w{n}" for n in random.choice(10**9, 600 - count, replace=False)]
            texts += [" ".join(pool[:300]), " ".join(pool[-300:])]
    method = MinHashLSH(size=1)
    method.fit(DocumentSet.of_texts(texts))
    hits = Counter(i // 120 for i, j in found(method) if i % 2 == 0 and j == i + 1)
    assert hits[0] >= 54
    assert 15 <= hits[1] <= 45
    assert hits[2] <= 3


def test_more_bands_are_looser() -> None:
    def candidates(method: MinHashLSH) -> set[tuple[int, int]]:
        method.fit(DocumentSet.of_texts([" ".join(SENTENCES[i : i + 9]) for i in range(7)]))
        return set(found(method))

    assert candidates(MinHashLSH(bands=4)) < candidates(MinHashLSH(bands=32))


def test_minhash_takes_no_more_bands_than_it_has_values() -> None:
    with pytest.raises(InputError, match="need 256 permutations, not 128"):
        MinHashLSH(bands=64)


def test_sketches_by_hand() -> None:
    def bucket(text: str) -> int:
        return min(xxh3_64_intdigest(shingle.encode()) for shingle in shingles(words(text), 4)) % 8

    method = Sketches(buckets=8)
    texts = [*SENTENCES, FOX, SUDZO]
    for (i, j), value in scores(method, texts).items():
        assert value == (bucket(texts[i]) == bucket(texts[j]))


def test_weighted_sentences_by_hand() -> None:
    shared, rare = "The mayor of Ostmark opened the bridge.", "Nobody was hurt when it rained."
    other = "Trains will run again next week."
    texts = [f"{shared} {rare}", f"{shared} {other}", other]
    # Weight: ln((n + 1) / df) * sqrt(words) * (1 + share of names among the words after the first). Here n is
    # 3 texts; `rare` is in df = 1 text, the others in 2. Only `shared` has a name: 1 of its last 6 words.
    of_shared = np.log(4 / 2) * 7**0.5 * (1 + 1 / 6)
    of_rare, of_other = np.log(4) * 6**0.5, np.log(4 / 2) * 6**0.5
    score = scores(WeightedSentences(), texts)
    assert score[0, 1] == pytest.approx(of_shared / (of_shared + of_rare + of_other))
    assert score[1, 2] == pytest.approx(of_other / (of_shared + of_other))
    assert score[0, 2] == 0


def test_names_make_a_sentence_heavier_where_there_are_capitals() -> None:
    assert form_weight("Yesterday Anna Berg flew") > form_weight("Yesterday anna berg flew")
    assert form_weight("Then I slept") == form_weight("Then we slept") == 3**0.5
    assert form_weight("ถ้อยคำ ข่าว วันนี้ ที่นี่") > 0


def test_weighted_sentences_cut_off_common_ones() -> None:
    method = WeightedSentences(most=2)
    assert scores(method, [REPORT] * 3)[0, 1] == pytest.approx(1)
    assert set(scores(method, [REPORT] * 4).values()) == {0.0}
    assert found(method) == []


def test_text_profile_by_hand() -> None:
    # "of" and "it" are too short to be counted. The largest count is 2, so the quantum is 2. Words with the
    # count 1, "the" and "game", are dropped.
    assert profile("End of it: THE end-game") == [("end", 2)]
    # The largest count is 1, so the quantum is 1, and both words stay.
    assert profile("The end of it") == [("end", 1), ("the", 1)]
    # The largest count is 5, so the quantum is 2: the count 5 becomes 4, 3 becomes 2, and 1 is dropped.
    assert profile("sun " * 5 + "sea " * 3 + "fog") == [("sun", 4), ("sea", 2)]
    # The largest count is 350, so the quantum is 3.5, rounded to 4: the count 350 becomes 348, 7 becomes 4,
    # and 3 is dropped.
    assert profile("sun " * 350 + "sea " * 7 + "fog " * 3) == [("sun", 348), ("sea", 4)]
    assert [quantum(n) for n in (1, 2, 100, 249, 250, 349, 350)] == [1, 2, 2, 2, 3, 3, 4]
    assert profile("a_b snow_ball x1y2") == [("ball", 1), ("snow", 1), ("x1y2", 1)]
    assert similarity(TextProfile(), "sun sun sun rain", "SUN! sun, sun; sleet") == 1
    assert similarity(TextProfile(), "sun sun rain", "sun sun sea sea") == 0


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=30))
def test_simhash_is_the_vote_of_the_words(found: list[str]) -> None:
    expected = 0
    for bit in range(64):
        vote = sum(1 if xxh3_64_intdigest(word.encode()) >> bit & 1 else -1 for word in found)
        expected |= (vote > 0) << bit
    assert simhash(Counter(found)) == expected


@given(st.lists(st.text("abcdef", min_size=3, max_size=20), min_size=2, max_size=2))
def test_simhash_counts_different_bits(texts: list[str]) -> None:
    a, b = (simhash(Counter(words(text))) for text in texts)
    assert similarity(SimHash(), *texts) == 1 - (a ^ b).bit_count() / 64


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=3))
def test_simhash_finds_all_hashes_of_three_different_bits(first: int, flips: set[int]) -> None:
    method = SimHash()
    method.fit(DocumentSet.of_texts(["one", "other"]))
    method._hashes = np.array([first, first ^ sum(1 << bit for bit in flips)], np.uint64)
    assert found(method) == [(0, 1)]
    assert method.accepts(NO_PAIRS, method.score(every_pair(2))).all()


def test_tfidf_by_hand() -> None:
    # The smoothed idf is ln((1 + n) / (1 + df)) + 1: 1 for "sun", and ln 1.5 + 1 for other words.
    other = np.log(1.5) + 1
    assert similarity(TfIdf(), "sun sea", "sun fog") == pytest.approx(1 / (1 + other**2))
    assert similarity(TfIdf(), "sun", "fog") == 0


def test_cascade_stops_early() -> None:
    one = SENTENCES[0]
    texts = [REPORT, REPORT.replace("council", "board"), f"{one} {SUDZO} {FOX}", f"{one} {SELLING}" * 9]
    method = Cascade()
    score = scores(method, texts)
    assert (0, 2) in found(method)  # the texts share a sentence
    assert score[0, 2] == 0  # they share few shingles
    assert score[0, 1] == pytest.approx(similarity(CommonSubstring(), texts[0], texts[1]))
    assert scores(Cascade(bound=0.0), texts)[0, 2] > 0


def test_every_method_says_what_it_is() -> None:
    rows = [method.row for method in METHODS.values()]
    assert rows == [
        "0",
        "0p",
        "1",
        "1w",
        "2",
        "3",
        "4",
        "5",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
        "11",
        "12",
        "13",
        "14",
        "15",
    ]
    for name, method in METHODS.items():
        assert method.name == name
        assert all((method.about, method.source, method.finds))
        assert 0 <= make(name).floor <= make(name).threshold <= 1


def names(labels: str) -> list[str]:
    return [label(method) for method in parse(labels)]


def test_names_become_methods() -> None:
    assert names("all") == list(METHODS)
    assert names("linear") == [name for name in METHODS if name not in names("5,8,15")]
    assert names("1w, 5") == ["weighted-sentences", "word-shingles", "character-shingles"]
    assert names("minhash:bands=16:rows=8,minhash,3") == ["minhash:bands=16:rows=8", "minhash"]
    assert names("minhash:bands=32") == ["minhash"]
    assert names("5:size=3") == ["word-shingles:size=3", "character-shingles:size=3"]
    assert make("spotsigs:stop_words=the a of") == SpotSigs(stop_words="the a of")
    assert make("simhash:threshold=0.98") == SimHash(threshold=0.98)
    assert parameters(MinHashLSH) == {
        "threshold": 0.5, "floor": 0.2, "size": 5, "permutations": 128, "bands": 32, "rows": 4
    }  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_labels_make_the_method_again(name: str) -> None:
    method = make(f"{name}:threshold=0.75:floor=0.5")
    assert make(label(method)) == method


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("", "no method is named"),
        (" , ", "no method is named"),
        ("shingle", "no such method: choose from dedup, dedup-prints, sentences"),
        ("minhash:band=3", "no parameter band: choose from threshold, floor"),
        ("minhash:bands", "bands must be of type int"),
        ("minhash:bands=many", "bands must be of type int"),
        ("minhash:bands=0", "bands must be at least 1"),
        ("minhash:threshold=2", "threshold must be from 0 to 1"),
        ("length-groups:threshold=0.3", "pairs below the floor 0.8 are lost"),
        ("minhash:threshold=nan", "threshold must be from 0 to 1"),
        ("common-substring:over=both", 'over must be "shorter" or "longer"'),
    ],
)
def test_names_that_cannot_be_used(labels: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(labels)


def test_make_takes_one_method() -> None:
    with pytest.raises(InputError, match="names several methods"):
        make("5")


@pytest.mark.long("dedup", "migrations")
def test_minhash_and_common_substring_on_real_news(shared_data: Path) -> None:
    corpus = DocumentSet.read(shared_data / "mccormick_minhash_1000.jsonl.gz")
    baseline = WordShingles(floor=0.6)
    baseline.fit(corpus)
    near = set(found(baseline))
    assert near
    for method in (MinHashLSH(), SpotSigs(), CommonSubstring(), Cascade()):
        method.fit(corpus)
        assert near <= set(found(method)), method.name
