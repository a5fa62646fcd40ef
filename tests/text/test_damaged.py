"""Prints: C, NumPy and plain Python make equal prints; misread copies differ from edits and templates."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import PRINT_KEYS, Settings
from dedup.rules.pair import Profile, Relation, Rule, relate
from dedup.text import damaged
from dedup.text.damaged import (
    EDGE,
    LEAST_LETTERS,
    PLANES,
    ROUNDS,
    SIZE_BYTES,
    SLOTS,
    Printer,
    PrintPairs,
    letters,
)
from dedup.text.fingerprint import Fingerprinter
from dedup.text.hashing import MIX, Hasher
from dedup.text.native import library
from tests.corpora import misread, sentence, text, window

ON = Settings(damaged_print="on")
STORY = text(window(0, 20, ring=1_000))
ALL = (1 << 64) - 1

needs_kernel = pytest.mark.skipif(library() is None, reason="no compiled kernel here")


def mixed(h: int) -> int:
    for multiplier in MIX:
        h = (h ^ h >> 33) * multiplier & ALL
    return h ^ h >> 33


def plain_print(given_text: str, key: str = "") -> list[int]:
    """Compute the bytes of a print step by step, as docs/semantics.md, section 1.9, defines them."""
    folded = unicodedata.normalize("NFKC", given_text).casefold()
    found = [ord(c) for c in folded if c.isalpha()]
    add, *times = Hasher(key).of_letters(8).tolist()

    def gram(at: int, size: int) -> int:
        return mixed((add + sum(a * b for a, b in zip(times, found[at : at + size], strict=False))) & ALL)

    best: dict[int, tuple[int, int, int]] = {}
    places = range(14, len(found) - 8 - 14 + 1)
    for number in range(ROUNDS):
        dealt: dict[int, tuple[int, int, int]] = {}
        for at in places:
            h = gram(at, 8) if not number else mixed(gram(at, 8) + number * 0x9E3779B97F4A7C15 & ALL)
            value = number << 24 | (h & 0xFFFFFFFF) >> 8
            tie = mixed(gram(at - 8, 8) * 0x9E3779B97F4A7C15 + gram(at + 8, 8) & ALL) & 0xFFFFFFFF
            dealt[h >> 56] = min(dealt.get(h >> 56, (1 << 32, 0, 0)), (value, tie, at))
        best = dealt | best
        if len(best) == SLOTS:
            break
    slots = []
    for slot in range(SLOTS):
        value, _, at = next(best[(slot + i) % SLOTS] for i in range(SLOTS) if (slot + i) % SLOTS in best)
        place = (at - 14) * 256 // len(places)
        sides = gram(at - 8, 8), gram(at + 8, 8)
        beyond = gram(at - 13, 5), gram(at - 14, 5), gram(at + 16, 5), gram(at + 17, 5)
        slots.append([value, place, *sides, *beyond])
    planes = [slot[plane] & 255 for plane in range(PLANES) for slot in slots]
    return [*len(found).to_bytes(4, "little"), *planes]


TEXTS = st.one_of(
    st.text(min_size=60, max_size=400),
    st.text("abcde ", min_size=90, max_size=300),
    st.lists(st.integers(0, 400), min_size=2, max_size=12).map(text),
    st.sampled_from(
        ["a" * 200, "ab" * 100, "Straße ǅ ﬁ " * 40, "पुराना बंदरगाह " * 30, "x" * 86, "x" * 87, ""]
    ),
)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@needs_kernel
@given(TEXTS, st.sampled_from(["", "secret"]))
def test_the_kernel_numpy_and_plain_python_make_the_same_prints(given_text: str, key: str) -> None:
    compiled, keys = Printer(key).prints([given_text])
    in_numpy, same_keys = Printer(key, compiled=False).prints([given_text])
    assert compiled.tobytes() == in_numpy.tobytes()
    assert keys.tolist() == same_keys.tolist()
    if len(letters(given_text)) < LEAST_LETTERS:
        assert not compiled.any()
    elif len(given_text) < 150:  # plain Python is slow
        assert compiled[0].tolist() == plain_print(given_text, key)


def test_a_print_by_the_letter_of_the_contract() -> None:
    given_text = text([3, 4, 3]) + " 12 Straße, ﬁne."
    assert Printer("").prints([given_text])[0][0].tolist() == plain_print(given_text)


def test_fingerprints_hold_prints_where_the_setting_is_on_and_nothing_more_where_it_is_off() -> None:
    off, on = (Fingerprinter(settings).fingerprint(STORY) for settings in (Settings(), ON))
    size = len(off.signature)
    assert on.signature[:size].tolist() == off.signature.tolist()
    assert on.buckets[: len(off.buckets)] == off.buckets
    assert len(on.buckets) == len(off.buckets) + PRINT_KEYS
    assert int.from_bytes(on.signature[size : size + SIZE_BYTES].tobytes(), "little") == len(letters(STORY))
    assert Settings().digest("fingerprint") != ON.digest("fingerprint")


def test_a_corpus_from_before_the_setting_keeps_its_fingerprints() -> None:
    without = [
        f"{name}={value!r}"
        for name, value in vars(Settings()).items()
        if name not in ("default_language", "damaged_print") and _kind(name) == "fingerprint"
    ]
    assert hashlib.sha256("\n".join(without).encode()).hexdigest() == Settings().digest("fingerprint")


def _kind(name: str) -> str:
    kind: str = Settings.__dataclass_fields__[name].metadata["kind"]
    return kind


@pytest.mark.parametrize("words", [1, 23, 24])
def test_short_texts_and_texts_without_letters_have_no_print(words: int) -> None:
    for given_text in ("The 12 of 13. " * words, "of a " * words):
        made = Fingerprinter(ON).fingerprint(given_text)
        assert not len(made.signature) or made.signature[256:].any() == (len(letters(given_text)) >= 87)
        assert len(made.buckets) in (0, 16 + PRINT_KEYS)


def related(a: str, b: str, settings: Settings = ON) -> tuple[str, str] | None:
    one, other = (Profile.of(Fingerprinter(settings).fingerprint(t), ()) for t in (a, b))
    found = relate(one, other, settings)
    return None if found is None else (found.relation.value, found.rule.value)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("every", [40, 25, 20, 12, 10])
def test_a_misread_reprint_is_a_duplicate(every: int) -> None:
    damage = misread(STORY, every)
    assert related(STORY, damage, Settings()) != ("duplicate", "signature")
    assert related(STORY, damage) == (Relation.DUPLICATE.value, Rule.DAMAGED.value)
    assert related(damage, STORY) == related(STORY, damage)


def test_two_misread_prints_of_one_text_are_duplicates() -> None:
    assert related(misread(STORY, 30, 1), misread(STORY, 30, 2)) == ("duplicate", "damaged")


def _template(seed: int) -> str:
    """Return a report made from a template: the sentences are always the same, but for a few long words."""
    rng = np.random.default_rng(seed)
    fill = ["".join(rng.choice(list("abdegiklmnoprstu"), 9)) for _ in range(20)]
    return " ".join(
        f"The shares of {fill[i]} rose in early trade on the market of {fill[-i - 1]}." for i in range(20)
    )


OTHERS: dict[str, Callable[[], tuple[str, str]]] = {
    "reports from one template": lambda: (_template(1), _template(2)),
    "a third of the sentences are others": lambda: (
        STORY,
        text([*window(0, 14, ring=1_000), *window(500, 6, ring=1_000)]),
    ),
    "another text": lambda: (STORY, text(window(300, 20, ring=1_000))),
    "a fifth is cut off": lambda: (STORY, misread(STORY, 25)[len(STORY) // 5 :]),
    "sentences in another order": lambda: (
        STORY,
        misread("\n\n".join(sentence(4 * i) for i in np.random.default_rng(1).permutation(20).tolist()), 25),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_damage_is_no_duplicate_by_it(name: str) -> None:
    found = related(*OTHERS[name]())
    assert found is None or found[1] != "damaged"


def damaged_by_the_contract(
    fewer: int,
    more: int,
    j: float,
    s: float,
    equal: int,
    whole: int,
    in_place: int,
    differing: int,
    mended: int,
) -> bool:
    """Return whether the rule "Damaged" (docs/semantics.md, section 4) holds for a pair with these counts."""
    p, long = 2 * j / (1 + j), fewer >= 500
    error = math.sqrt(p * (1 - p) / max(equal, 1))
    if long and j >= 0.4:
        least = max(0.4 * whole / max(equal, 1), 0.2 * p)
    else:
        least = p * (0.5 if long else 0.7 if fewer >= 200 else 0.9)
    return (
        j >= (0.15 if long else 0.25 if fewer >= 200 else 0.4)
        and fewer >= (0.88 if long else 0.9) * more
        and s >= j * j / 2 - 0.05
        and whole <= (p + (error if long else 0)) * equal
        and in_place >= 0.85 * equal
        and mended >= least * differing
    )


SHARES = st.floats(0, 1, allow_nan=False)


@given(
    st.one_of(st.integers(87, 700), st.sampled_from([199, 200, 499, 500])),
    *[st.floats(0.8, 1.25), st.integers(1, SLOTS), SHARES, SHARES, st.floats(0.7, 1), SHARES, SHARES],
)
def test_the_conditions_are_those_of_the_contract(
    count: int, ratio: float, equal: int, s: float, whole: float, near: float, sides: float, mended: float
) -> None:
    other = max(1, round(count * ratio))
    j = max(0.0, (256 * equal - SLOTS) / (255 * SLOTS))
    full = int(whole * equal)
    differing = int(sides * 2 * (equal - full))
    counts = {
        "fewer": min(count, other),
        "more": max(count, other),
        "equal": equal,
        "whole": full,
        "in_place": int(near * equal),
        "differing": differing,
        "mended": int(mended * differing),
    }
    pairs = PrintPairs(jaccard=np.array([j]), **{name: np.array([n]) for name, n in counts.items()})
    found = all(flags[0] for flags in pairs.conditions(np.array([s])))
    assert found == damaged_by_the_contract(j=j, s=s, **counts)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_misread_reprints_of_real_papers_are_found(shared_data: Path) -> None:
    # `scripts/damaged_prints.py --folds` also measures this, with thresholds chosen on other papers.
    with gzip.open(shared_data / "ocr_papers_a.jsonl.gz", "rt") as file:
        texts = {row["id"]: row["text"] for row in map(json.loads, file)}
    with gzip.open(shared_data / "ocr_papers_a.truth.jsonl.gz", "rt") as file:
        truth = [row for row in map(json.loads, file) if row["words"] >= 24]
    maker = Fingerprinter(ON)
    for low, high, least in ((0.02, 0.05, 0.98), (0.05, 0.1, 0.95), (0.1, 0.2, 0.8)):
        band = [row for row in truth if low <= row["cer"] < high]
        pairs = ([Profile.of(maker.fingerprint(texts[row[side]]), ()) for side in "ab"] for row in band)
        found = [relate(one, other, ON) for one, other in pairs]
        duplicates = sum(one is not None and one.relation is Relation.DUPLICATE for one in found)
        assert duplicates >= least * len(band)


def test_many_pairs_are_told_as_each_one_is() -> None:
    texts = [
        STORY,
        *(misread(STORY, every, every) for every in (60, 30, 20, 12, 8, 4)),
        _template(1),
        _template(2),
    ]
    prints, _ = Printer("").prints(texts)
    pairs = np.array([(i, j) for i in range(len(texts)) for j in range(len(texts))])
    estimated = np.linspace(0, 0.6, len(pairs))
    together = damaged.print_jaccards(prints[pairs[:, 0]], prints[pairs[:, 1]], estimated)
    alone = [
        damaged.print_jaccards(prints[[i]], prints[[j]], estimated[[row]])[0]
        for row, (i, j) in enumerate(pairs.tolist())
    ]
    assert together.tolist() == alone
    assert 0 < np.count_nonzero(together) < len(pairs)
    assert EDGE == 14
