"""What is known about a corpus: which pairs are duplicates, from a file of pairs or of stories.

Two forms, one JSON object a line, plain or gzipped:

    {"a": ID, "b": ID, "label": "duplicate"}        or "near_duplicate", "similar", "different", "unsure"
    {"a": ID, "b": ID, "jaccard5": 0.83}            graded: a duplicate from a bound on, unclear below
    {"cluster": NAME, "ids": [ID, ...]}             a story: every two of them are duplicates

A pair that is neither clearly a duplicate nor clearly none ("similar", "unsure", a graded pair below the
bound) counts for nobody: no method is blamed for finding it or for missing it. A pair that is not named is
no duplicate. The keys `band`, `kind`, `level` and `share` are kept, so that recall can be told for each of
their values. It measures nothing: that is `groups.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.base.errors import InputError
from dedup.base.numbers import Groups, Pairs, linked, pair_keys
from dedup.files.jsonl import jsonl_records
from dedup.files.source import LineSource

NEAR_JACCARD = 0.8
"""Graded pairs of at least this Jaccard are duplicates: the near-duplicates of an exact join."""

DUPLICATE, UNCLEAR, DIFFERENT = 1, 0, -1

GRADES = {
    "duplicate": DUPLICATE,
    "near_duplicate": DUPLICATE,
    "similar": UNCLEAR,
    "unsure": UNCLEAR,
    "different": DIFFERENT,
}
"""What a label says of a pair."""

KINDS = ("band", "kind", "level", "share")
_NAMES = ("a", "b", "label", "jaccard5", "cluster", "ids", *KINDS)

Grades = npt.NDArray[np.int8]  # Shape (m,): DUPLICATE, UNCLEAR or DIFFERENT for each pair


@dataclass(frozen=True)
class Truth:
    """The named pairs of a corpus, and the stories that its duplicates make."""

    pairs: Pairs  # pairs, grades: the named pairs, sorted, and what is known of each
    grades: Grades
    # for each pair its `band`, `kind`, `level` and `share`, those it has, such as "level 10".
    kinds: tuple[tuple[str, ...], ...]
    stories: Groups  # the story of every document; those in none are alone
    unknown: int = 0  # lines that name an id the corpus does not have

    @property
    def duplicates(self) -> int:
        return int((self.grades == DUPLICATE).sum())

    @property
    def unclear(self) -> int:
        return int((self.grades == UNCLEAR).sum())

    def grade(self, pairs: Pairs) -> Grades:
        """What is known of some pairs; shape (m,)."""
        size = len(self.stories)
        known, asked = pair_keys(self.pairs, size), pair_keys(pairs, size)
        if not len(known):
            return np.full(len(pairs), DIFFERENT, np.int8)
        place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where(known[place] == asked, self.grades[place], np.int8(DIFFERENT))

    @classmethod
    def of(
        cls,
        size: int,
        graded: Mapping[tuple[int, int], int],
        kinds: Mapping[tuple[int, int], tuple[str, ...]],
        unknown: int = 0,
    ) -> Truth:
        """Truth from grades by pair of numbers i < j."""
        ordered = sorted(graded)
        pairs = np.array(ordered, np.int32).reshape(-1, 2)
        grades = np.array([graded[pair] for pair in ordered], np.int8)
        stories = linked(size, pairs[grades == DUPLICATE])
        return cls(pairs, grades, tuple(kinds.get(pair, ()) for pair in ordered), stories, unknown)


def read_truth(path: str | Path, numbers: Mapping[str, int], min_jaccard: float = NEAR_JACCARD) -> Truth:
    """The truth of a file for a corpus that numbers its ids so; graded pairs are duplicates from
    `min_jaccard` on.

    Raises InputError if the file cannot be read, or a line is in none of the forms.
    """
    graded: dict[tuple[int, int], int] = {}
    kinds: dict[tuple[int, int], tuple[str, ...]] = {}
    unknown = 0
    for line, row in _rows(path):
        try:
            named = [(pair, _grade(row, min_jaccard)) for pair in _pairs(row)]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f'{path}, line {line}: not a truth; write {{"a": ID, "b": ID, "label": "duplicate"}}'
                ' or {"cluster": NAME, "ids": [ID, …]}'
            ) from None
        for (a, b), grade in named:
            if a not in numbers or b not in numbers:
                unknown += 1
                continue
            i, j = sorted((numbers[a], numbers[b]))
            if i != j:
                graded[i, j] = grade
                kinds[i, j] = _kinds(row)
    return Truth.of(len(numbers), graded, kinds, unknown)


def _rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    source = LineSource(str(path))
    try:
        for line, _, found in jsonl_records(source, {name: (name,) for name in _NAMES}):
            if isinstance(found, str):
                raise InputError(f"{path}, line {line}: {found}")
            yield line, found
    finally:
        source.close()


def _pairs(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "ids" in row:
        return list(itertools.combinations(dict.fromkeys(str(id) for id in row["ids"]), 2))
    return [(str(row["a"]), str(row["b"]))]


def _grade(row: Mapping[str, Any], min_jaccard: float) -> int:
    if "ids" in row:
        return DUPLICATE
    if "label" in row:
        return GRADES[row["label"]]
    return DUPLICATE if float(row["jaccard5"]) >= min_jaccard else UNCLEAR


def _kinds(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{key} {row[key]}" for key in KINDS if key in row)
