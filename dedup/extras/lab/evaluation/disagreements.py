"""Instructive pairs on which methods disagree, beginning with errors of the product's own rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dedup.base.numbers import pair_keys, pairs_of
from dedup.extras.judging.truth import DIFFERENT, DUPLICATE, UNCLEAR, Truth
from dedup.extras.lab.documents import Document, DocumentSet
from dedup.extras.lab.evaluation.results import MethodResult, opinions

SHOWN_PER_KIND = 4  # maximum number of examples per kind of disagreement
PRODUCT_ROW = "0"  # `Method.row` of the product's own rule, whatever its parameters
_WORDS = {DUPLICATE: "duplicates", UNCLEAR: "unclear; the pair is not counted", DIFFERENT: "not duplicates"}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair that some methods call a duplicate and others do not."""

    kind: str  # the reason why the pair is instructive, in words
    truth: str  # the truth about the pair, in words
    a: Document
    b: Document
    scores: dict[str, float | None]  # label -> score, the highest first; None: no score, or below the floor
    accepted: tuple[str, ...]  # labels of the methods that call the pair a duplicate


def disagreements(
    corpus: DocumentSet, results: Sequence[MethodResult], truth: Truth | None
) -> Iterator[Disagreement]:
    labels = [result.label for result in results]
    found = [pair_keys(result.pairs[result.accepted], len(corpus)) for result in results]
    keys = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    if truth:
        keys = np.union1d(keys, pair_keys(truth.pairs[truth.grades == DUPLICATE], len(corpus)))
    pairs = pairs_of(keys, len(corpus))
    scores, accepted = opinions(results, keys, len(corpus))
    grades = truth.grade(pairs) if truth else np.full(len(keys), UNCLEAR, np.int8)
    votes = accepted.sum(axis=0)
    product = next((row for row, result in enumerate(results) if result.row == PRODUCT_ROW), None)
    own = accepted[product] if product is not None else np.zeros(len(keys), np.bool_)
    others = votes - own
    many = np.argsort(-others, kind="stable")
    few = many[::-1]
    split = np.argsort(np.abs(votes - len(results) / 2), kind="stable")
    divided = votes < len(results)
    about_product = [
        ("a duplicate that dedup misses", many, ~own & (grades == DUPLICATE)),
        ("not duplicates, though dedup says so", few, own & (grades == DIFFERENT)),
        ("a duplicate that dedup finds and most other methods miss", few, own & (grades == DUPLICATE)),
        ("not duplicates, though other methods say so", many, ~own & (grades == DIFFERENT)),
    ]
    about_others = [
        ("a duplicate that most methods miss", few, grades == DUPLICATE),
        ("not duplicates, though most methods say so", many, grades == DIFFERENT),
    ]
    kinds = about_others if product is None else about_product
    kinds.append(("the methods are divided", split, grades == UNCLEAR))
    # Show no article twice, so that the examples have different causes.
    shown: set[int] = set()
    for kind, order, wanted in kinds:
        left = SHOWN_PER_KIND
        for row in order[(wanted & divided)[order]].tolist():
            a, b = pairs[row].tolist()
            if not left:
                break
            if a in shown or b in shown:
                continue
            shown |= {a, b}
            left -= 1
            ranked = sorted(
                zip(labels, scores[:, row].tolist(), strict=True),
                key=lambda item: -np.nan_to_num(item[1], nan=-1),
            )
            yield Disagreement(
                kind,
                _WORDS[int(grades[row])] if truth else "nothing is known of this pair",
                corpus[a],
                corpus[b],
                {name: None if np.isnan(score) else score for name, score in ranked},
                tuple(name for name, yes in zip(labels, accepted[:, row], strict=True) if yes),
            )
