"""Results of methods, kept in `NAME.json` (facts and counts) and `NAME.npz` (pairs); nothing is pickled."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from dedup.base.numbers import NO_PAIRS, Flags, Groups, Keys, Likeness, Pairs, pair_keys
from dedup.extras.lab.method import Method
from dedup.extras.lab.methods import label
from dedup.text.hashing import hash64

Outcome = Literal["done", "failed", "too slow"]


@dataclass(frozen=True)
class MethodResult:
    """The result of a method on a corpus; pairs with scores below the method's floor are left out."""

    label: str  # name of the method, and parameters with other values than the default
    row: str
    name: str
    about: str
    source: str
    finds: str
    threshold: float
    outcome: Outcome
    reason: str | None = None
    documents: int = 0
    candidates: int = 0  # number of scored pairs
    seconds: float = 0.0  # CPU time, without reading the file
    memory: int = 0  # peak memory in bytes, without the articles
    pairs: Pairs = field(default_factory=lambda: NO_PAIRS, repr=False)
    scores: Likeness = field(default_factory=lambda: np.empty(0, np.float32), repr=False)
    accepted: Flags = field(default_factory=lambda: np.empty(0, np.bool_), repr=False)
    groups: Groups = field(default_factory=lambda: np.empty(0, np.int32), repr=False)

    @classmethod
    def of(cls, method: Method, **facts: Any) -> Self:
        names = ("row", "name", "about", "source", "finds", "threshold")
        return cls(label(method), **{name: getattr(method, name) for name in names}, **facts)

    @property
    def done(self) -> bool:
        return self.outcome == "done"


def opinions(results: Sequence[MethodResult], keys: Keys, size: int) -> tuple[Likeness, Flags]:
    """Return each method's score of each pair, and whether the method accepts the pair.

    Both arrays have the shape (methods, pairs); a missing score is NaN. `keys`: ascending `pair_keys` of the
    pairs. `size`: number of documents.
    """
    scores = np.full((len(results), len(keys)), np.nan, np.float32)
    accepted = np.zeros(scores.shape, np.bool_)
    for row, result in enumerate(results):
        own = pair_keys(result.pairs, size)
        asked = np.isin(own, keys)
        places = np.searchsorted(keys, own[asked])
        scores[row, places] = result.scores[asked]
        accepted[row, places] = result.accepted[asked]
    return scores, accepted


_ARRAYS = ("pairs", "scores", "accepted", "groups")


def save(result: MethodResult, folder: Path, key: str) -> None:
    """Save a result. The .json is written last, and atomically: a result counts only with its .json."""
    stem = folder / file_name(result.label)
    arrays = {name: getattr(result, name) for name in _ARRAYS}
    facts = {name: value for name, value in asdict(result).items() if name not in _ARRAYS}
    stem.with_suffix(".json").unlink(missing_ok=True)  # an older .json must not describe the new arrays
    np.savez_compressed(stem.with_suffix(".npz"), **arrays)
    fresh = stem.with_suffix(".json.new")
    fresh.write_text(json.dumps({"key": key, **facts}, indent=2), encoding="utf-8")
    fresh.replace(stem.with_suffix(".json"))


def load(name: str, folder: Path, key: str) -> MethodResult | None:
    """Return the kept result of this label and key, or None."""
    stem = folder / file_name(name)
    try:
        facts = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        if facts.pop("key") != key or facts["label"] != name:
            return None
        with np.load(stem.with_suffix(".npz"), allow_pickle=False) as arrays:
            return MethodResult(**facts, **{name: arrays[name] for name in _ARRAYS})
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        return None  # the result is unfinished, or of another version: the method runs again


def file_name(label: str) -> str:
    """Return a label as a file name without a suffix; for a label with parameters, add a part of its hash.

    >>> file_name("minhash"), file_name("minhash:bands=16")
    ('minhash', 'minhash-bands-16-b055797c')
    """
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in label)
    return plain if plain == label else f"{plain[:80]}-{hash64(label) % 2**32:08x}"
