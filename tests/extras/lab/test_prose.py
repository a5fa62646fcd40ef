"""Invented news has the properties of real news that methods use, and no two articles are alike."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from dedup.extras.lab.hard_cases.prose import SENTENCE_WORDS, Dice, Writer
from dedup.text.normalize import words
from dedup.text.signature import shingles


def fives(text: str) -> set[str]:
    found = words(text)
    return {" ".join(found[i : i + 5]) for i in range(len(found) - 4)}


def jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b)


def test_dice_and_prose_are_the_same_on_every_machine() -> None:
    dice = Dice("a")
    assert [dice.below(100) for _ in range(6)] == [27, 6, 59, 64, 17, 59]
    assert Dice("a").picks("abcdef", 4) == ["b", "a", "e", "c"]
    writer = Writer("golden")
    assert writer.headline() == "Cautious title waited near Fernhaven"
    assert writer.sentence() == (
        "Kelmere Lawyers' Guild decided not to ban another weak defeat, explained several veterans."
    )


@given(st.integers(0, 10**6).map(str), st.integers(20, 400))
def test_an_article_has_the_length_that_was_asked_for(seed: str, count: int) -> None:
    draft = Writer(seed).article(count)
    sentences = [sentence for paragraph in draft.paragraphs for sentence in paragraph]
    lengths = [len(sentence.split()) for sentence in sentences]
    assert SENTENCE_WORDS[0] <= min(lengths) <= max(lengths) <= SENTENCE_WORDS[1]
    assert sum(lengths) - lengths[-1] < count <= sum(lengths)
    assert len(draft.paragraphs[0]) == 1
    assert all(sentence.endswith((".", '"')) and "  " not in sentence for sentence in sentences)
    assert not any("{" in sentence or ".." in sentence.replace(" ... ", "") for sentence in sentences)


def test_articles_of_different_seeds_are_unrelated() -> None:
    drafts = [Writer(f"unrelated/{number}").article(300) for number in range(60)]
    sentences = [s for draft in drafts for paragraph in draft.paragraphs for s in paragraph]
    assert len(set(sentences)) >= 0.999 * len(sentences)
    sets = [(fives(draft.text), shingles(words(draft.text), 4)) for draft in drafts]
    for a, b in itertools.combinations(sets, 2):
        assert jaccard(a[0], b[0]) < 0.02
        assert jaccard(a[1], b[1]) < 0.1


def test_a_third_of_the_words_are_short_as_in_real_news() -> None:
    found = [word for number in range(60) for word in words(Writer(str(number)).article(300).text)]
    assert 0.3 <= sum(len(word) < 4 for word in found) / len(found) <= 0.4
