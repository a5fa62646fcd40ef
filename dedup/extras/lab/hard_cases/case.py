"""Types of hard cases: articles, and the truth about them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import resources

from dedup.base.article import Article

START = datetime(2024, 3, 1, 6, tzinfo=UTC)  # the time of the first article of a case
DUPLICATE, SIMILAR = "duplicate", "similar"
LISTS = tomllib.loads((resources.files(__package__) / "lists.toml").read_text(encoding="utf-8"))


def pairs(name: str) -> dict[str, str]:
    """Return the word pairs of a list in lists.toml, such as `color/colour`; underscores become spaces."""
    return dict(pair.replace("_", " ").split("/") for pair in LISTS[name]["pairs"].split())


@dataclass(frozen=True, slots=True)
class CasePair:
    a: str
    b: str
    label: str  # "duplicate", or "similar", which is not counted
    kind: str | None = None  # the change between the two articles
    level: int | None = None  # percent of characters that are noise
    share: int | None = None  # percent of the words of `a` that are in `b`
    overlap: float | None = None  # Jaccard of the sets of 5-word shingles


@dataclass(frozen=True, slots=True)
class CaseStory:
    """Articles that are all duplicates of each other."""

    cluster: str
    ids: tuple[str, ...]
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class MadeCase:
    articles: list[Article] = field(default_factory=list)
    truth: list[CasePair | CaseStory] = field(default_factory=list)

    def add(
        self, name: str, text: str, title: str, publication: str | None = None, minute: int | None = None
    ) -> None:
        """Add an article. `minute`: its time in minutes after `START`; default: number of articles so far."""
        time = START + timedelta(minutes=len(self.articles) if minute is None else minute)
        self.articles.append(Article(name, text, title, None, publication, time, None, "en"))


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    about: str
    make: Callable[..., MadeCase]  # takes a seed, and sizes by name; the defaults give the case at full size
