"""A report shows disagreements of methods with the texts of the pairs."""

from __future__ import annotations

import numpy as np

from dedup.base.numbers import linked
from dedup.extras.judging.truth import DIFFERENT, DUPLICATE, Truth
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.evaluation.disagreements import SHOWN_PER_KIND, disagreements
from dedup.extras.lab.evaluation.results import MethodResult

CORPUS = DocumentSet.of_texts(f"Text {i}." for i in range(40))
TRUTH = Truth.of(40, {(0, 1): DUPLICATE, (2, 3): DUPLICATE, (4, 5): DIFFERENT, (6, 7): DIFFERENT}, {})


def result(
    label: str, *accepted: tuple[int, int], row: str = "9", seen: tuple[int, int] | None = None
) -> MethodResult:
    """Return the result of a method that accepts some pairs, and scores one more pair."""
    pairs = np.array(sorted([*accepted, *([seen] if seen else [])]), np.int32).reshape(-1, 2)
    yes = np.array([tuple(pair) in accepted for pair in pairs.tolist()], np.bool_)
    return MethodResult(
        label, row, label, "", "", "", 0.5, "done", documents=40, pairs=pairs,
        scores=np.where(yes, 0.9, 0.2).astype(np.float32), accepted=yes, groups=linked(40, pairs[yes]),
    )  # fmt: skip


def shown(*results: MethodResult, truth: Truth | None = TRUTH) -> dict[tuple[str, str], tuple[str, str]]:
    return {(d.a.id, d.b.id): (d.kind, d.truth) for d in disagreements(CORPUS, results, truth)}


def test_what_the_product_has_wrong_and_right() -> None:
    product = result("dedup", (2, 3), (4, 5), row="0", seen=(0, 1))
    found = shown(product, result("x", (0, 1), (6, 7)), result("y", (0, 1)))
    assert found == {
        ("0", "1"): ("a duplicate that dedup misses", "duplicates"),
        ("2", "3"): ("a duplicate that dedup finds and most other methods miss", "duplicates"),
        ("4", "5"): ("not duplicates, though dedup says so", "not duplicates"),
        ("6", "7"): ("not duplicates, though other methods say so", "not duplicates"),
    }


def test_the_product_is_known_by_its_row_whatever_its_parameters() -> None:
    found = shown(result("dedup:threshold=0.7", (0, 1), (2, 3), row="0"), result("x", (0, 1)))
    assert found == {("2", "3"): ("a duplicate that dedup finds and most other methods miss", "duplicates")}


def test_without_the_product_nothing_is_called_its_mistake() -> None:
    found = shown(result("x", (0, 1), (4, 5)), result("y", (2, 3)))
    assert found
    assert not any("dedup" in kind for kind, _ in found.values())


def test_agreement_is_not_shown() -> None:
    assert shown(result("dedup", (0, 1), (2, 3), row="0"), result("x", (0, 1), (2, 3))) == {}


def test_scores_and_opinions_of_a_pair() -> None:
    product = result("dedup", row="0", seen=(0, 1))
    (first, *_) = disagreements(CORPUS, [product, result("x", (0, 1)), result("y")], TRUTH)
    assert first.accepted == ("x",)
    assert first.scores == {"dedup": np.float32(0.2), "x": np.float32(0.9), "y": None}


def test_without_truth_the_most_divided_pairs_few_and_no_article_twice() -> None:
    many = [(2 * i, 2 * i + 1) for i in range(10)]
    found = shown(result("x", *many, (0, 3)), result("y", (0, 1)), result("z"), truth=None)
    assert len(found) == SHOWN_PER_KIND
    assert {kind for kind, _ in found.values()} == {"the methods are divided"}
    ids = [name for pair in found for name in pair]
    assert len(set(ids)) == len(ids)
    assert shown(truth=None) == {}
