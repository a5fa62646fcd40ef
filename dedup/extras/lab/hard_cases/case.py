"""What a hard case is: articles, and the truth about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from dedup.base.article import Article

START = datetime(2024, 3, 1, 6, tzinfo=UTC)  # when the first article of a case is published
DUPLICATE, SIMILAR = "duplicate", "similar"


@dataclass(frozen=True, slots=True)
class CasePair:
    a: str
    b: str
    label: str  # "duplicate", or "similar", which counts for nobody
    kind: str | None = None  # what was done to the one to make the other
    level: int | None = None  # percent of the characters that are noise
    share: int | None = None  # percent of the words that are left
    overlap: float | None = None  # word-5-shingle Jaccard

    def record(self) -> dict[str, Any]:
        keys = {"kind": self.kind, "level": self.level, "share": self.share, "overlap": self.overlap}
        known = {key: value for key, value in keys.items() if value is not None}
        return {"a": self.a, "b": self.b, "label": self.label, **known}


@dataclass(frozen=True, slots=True)
class CaseStory:
    """Articles every two of which are duplicates."""

    cluster: str
    ids: tuple[str, ...]
    kind: str | None = None

    def record(self) -> dict[str, Any]:
        known = {} if self.kind is None else {"kind": self.kind}
        return {"cluster": self.cluster, "ids": list(self.ids), **known}


Truth = Sequence[CasePair | CaseStory]


@dataclass(frozen=True, slots=True)
class MadeCase:
    articles: Sequence[Article]
    truth: Truth


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    about: str
    make: Callable[..., MadeCase]  # takes a seed, and sizes by name, whose defaults are the case at full size


def minute(count: int) -> datetime:
    """A time so many minutes after `START`."""
    return START + timedelta(minutes=count)
