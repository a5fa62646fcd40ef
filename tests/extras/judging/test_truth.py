"""Truth files: their forms, pairs that they do not name, and refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dedup.base.errors import InputError
from dedup.extras.judging.truth import DIFFERENT, DUPLICATE, UNCLEAR, read_truth

NUMBERS = {name: i for i, name in enumerate("abcdefg")}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "truth.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def grades(path: Path, **options: Any) -> dict[str, int]:
    truth = read_truth(path, NUMBERS, **options)
    names = "abcdefg"
    return {names[i] + names[j]: int(g) for (i, j), g in zip(truth.pairs, truth.grades, strict=True)}


def test_labels(tmp_path: Path) -> None:
    labels = ("duplicate", "near_duplicate", "similar", "unsure", "different")
    rows = [{"a": "g", "b": b, "label": label} for b, label in zip("abcde", labels, strict=True)]
    expected = {"ag": DUPLICATE, "bg": DUPLICATE, "cg": UNCLEAR, "dg": UNCLEAR, "eg": DIFFERENT}
    assert grades(written(tmp_path, *rows)) == expected


def test_graded_pairs_and_their_bound(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": "a", "b": "b", "jaccard5": 0.8}, {"a": "a", "b": "c", "jaccard5": 0.79})
    assert grades(path) == {"ab": DUPLICATE, "ac": UNCLEAR}
    assert grades(path, min_jaccard=0.5) == {"ab": DUPLICATE, "ac": DUPLICATE}


def test_stories_are_every_two_of_them(tmp_path: Path) -> None:
    path = written(tmp_path, {"cluster": "x", "ids": ["a", "c", "b"]}, {"cluster": "y", "ids": ["d"]})
    assert grades(path) == {"ab": DUPLICATE, "ac": DUPLICATE, "bc": DUPLICATE}
    truth = read_truth(path, NUMBERS)
    stories = truth.stories.tolist()
    assert stories[0] == stories[1] == stories[2]
    assert len(set(stories)) == 5
    assert (truth.duplicates, truth.unclear) == (3, 0)


def test_a_pair_that_is_not_named_is_different(tmp_path: Path) -> None:
    truth = read_truth(written(tmp_path, {"a": "b", "b": "c", "label": "similar"}), NUMBERS)
    asked = np.array([[1, 2], [0, 1], [5, 6]], np.int32)
    assert truth.grade(asked).tolist() == [UNCLEAR, DIFFERENT, DIFFERENT]


def test_an_empty_truth_knows_no_duplicates(tmp_path: Path) -> None:
    truth = read_truth(written(tmp_path), NUMBERS)
    assert truth.grade(np.array([[0, 1]], np.int32)).tolist() == [DIFFERENT]
    assert len(set(truth.stories.tolist())) == len(NUMBERS)


def test_ids_that_the_corpus_does_not_have_are_counted(tmp_path: Path) -> None:
    rows = [{"a": "a", "b": "zz", "label": "duplicate"}, {"a": "a", "b": "a", "label": "duplicate"}]
    truth = read_truth(written(tmp_path, *rows), NUMBERS)
    assert truth.unknown == 1
    assert len(truth.pairs) == 0


def test_kinds_are_kept(tmp_path: Path) -> None:
    rows = [
        {"a": "a", "b": "b", "label": "duplicate", "level": 10, "kind": "top"},
        {"a": "a", "b": "c", "jaccard5": 0.9},
    ]
    assert read_truth(written(tmp_path, *rows), NUMBERS).kinds == (("kind top", "level 10"), ())


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "truth.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": "a", "b": "b", "jaccard5": 1}\n\n'))
    assert grades(path) == {"ab": DUPLICATE}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"a": "x"}', "line 1: not a truth"),
        ('{"a": "a", "b": "b"}', "line 1: not a truth"),
        ('{"a": "a", "b": "b", "label": "maybe"}', "line 1: not a truth"),
        ('{"a": "a", "b": "b", "jaccard5": "high"}', "line 1: not a truth"),
        ("[1]", "line 1: line is not a JSON object"),
        ("{", "line 1: broken JSON"),
    ],
)
def test_what_is_no_truth_is_refused(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "truth.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=why):
        read_truth(path, NUMBERS)


def test_a_truth_that_breaks_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "truth.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": "a", "b": "b", "jaccard5": 1}\n' * 50)[:-10])
    with pytest.raises(InputError, match="ends early"):
        read_truth(path, NUMBERS)
