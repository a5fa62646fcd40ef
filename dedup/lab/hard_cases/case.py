"""What a hard case is: articles, and the truth about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from dedup.article import Article

START = datetime(2024, 3, 1, 6, tzinfo=UTC)
"""When the first article of a case is published."""

DUPLICATE, SIMILAR = "duplicate", "similar"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two articles and what they are to each other.

    Attributes:
        label: "duplicate", or "similar", which counts for nobody.
        kind: what was done to the one to make the other.
        level: percent of the characters that are noise.
        share: percent of the words that are left.
        overlap: word-5-shingle Jaccard.
    """

    a: str
    b: str
    label: str
    kind: str | None = None
    level: int | None = None
    share: int | None = None
    overlap: float | None = None

    def record(self) -> dict[str, Any]:
        """Its line in a file of truth; what is not known is not in it."""
        keys = {"kind": self.kind, "level": self.level, "share": self.share, "overlap": self.overlap}
        known = {key: value for key, value in keys.items() if value is not None}
        return {"a": self.a, "b": self.b, "label": self.label, **known}


@dataclass(frozen=True, slots=True)
class Story:
    """Articles every two of which are duplicates."""

    cluster: str
    ids: tuple[str, ...]
    kind: str | None = None

    def record(self) -> dict[str, Any]:
        """Its line in a file of truth."""
        known = {} if self.kind is None else {"kind": self.kind}
        return {"cluster": self.cluster, "ids": list(self.ids), **known}


Truth = Sequence[Pair | Story]


@dataclass(frozen=True, slots=True)
class Made:
    """What a case makes: articles in the order of their file, and all that is known of them."""

    articles: Sequence[Article]
    truth: Truth


@dataclass(frozen=True, slots=True)
class Case:
    """A phenomenon that breaks tools.

    Attributes:
        about: what it is, in a line.
        make: takes a seed, and sizes by name, whose defaults are the case at full size.
    """

    name: str
    about: str
    make: Callable[..., Made]


def minute(count: int) -> datetime:
    """A time so many minutes after `START`."""
    return START + timedelta(minutes=count)
