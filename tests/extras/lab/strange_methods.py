"""Methods of the lab that fail in various ways. Worker processes make them from their labels."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dedup.base.errors import InputError
from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method


@dataclass
class Strange(Method):
    """A method that finds the pair of the first two documents, or fails in the way that `does` names."""

    row = "x"
    name = "strange"
    about = source = finds = "for tests"

    threshold: float = 0.5
    floor: float = 0.0
    does: str = "works"

    def fit(self, corpus: DocumentSet) -> None:
        match self.does:
            case "hangs":
                signal.pause()
            case "dies":
                os._exit(9)
            case "raises":
                raise RuntimeError(corpus[0].text)
            case "refuses":
                raise InputError("this corpus is not for me")
            case "eats":
                np.ones(250_000_000)  # allocates 2 GB

    def candidates(self) -> Iterator[Pairs]:
        yield np.array([[0, 1]], np.int32)

    def score(self, pairs: Pairs) -> Likeness:
        return np.full(len(pairs), 0.75, np.float32)


def make_strange(label: str) -> Method:
    """Return the method with a label."""
    _, _, does = label.partition(":does=")
    return Strange(does=does or "works")
