"""The figures of a comparison: columns of tables, rounding, and the best values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dedup.base.words import whole
from dedup.extras.lab.evaluation.comparison import Comparison
from dedup.extras.lab.evaluation.measures import Evaluation
from dedup.extras.lab.evaluation.results import MethodResult

MEGABYTE = 1_000_000
MAX_BEST = 3  # maximum number of methods that share a best value; if more do, the value is not underlined
NONE = "–"  # shown for a missing number


@dataclass(frozen=True, slots=True)
class FigureEntry:
    """A result and its evaluation (None without a truth). A figure is None if it cannot be computed."""

    result: MethodResult
    evaluation: Evaluation | None

    @property
    def tuned(self) -> float | None:
        """Return F1 of both halves of the articles, each with the threshold tuned on the other half."""
        return self.evaluation.tuned.f1 if self.evaluation and self.result.done else None

    def per_article(self, total: float) -> float | None:
        return total / self.result.documents if self.result.documents else None

    @property
    def seconds(self) -> float | None:
        """Return CPU seconds per 1,000 articles."""
        return self.per_article(1_000 * self.result.seconds)

    @property
    def group_sizes(self) -> list[int]:
        """Return the number of articles of each group with at least two articles."""
        counts = np.unique(self.result.groups, return_counts=True)[1]
        return [int(count) for count in counts if count > 1]


def share(value: float) -> str:
    """Format a measure from 0 to 1 with three digits; only exactly 0 and 1 are shown as 0.000 and 1.000.

    >>> share(0.9412), share(1.0), share(0.9999)
    ('0.941', '1.000', '>0.999')
    """
    if 0.9995 <= value < 1:
        return ">0.999"
    if 0 < value < 0.0005:
        return "<0.001"
    return f"{value:.3f}"


def percent(value: float) -> str:
    """Format a share as a percentage, whole unless it is close to 0 or 100 %."""
    if 0 < value < 0.01 or 0.99 < value < 1:
        return f"{min(max(value, 0.001), 0.999):.1%}".replace("%", "\u00a0%")
    return f"{value:.0%}".replace("%", "\u00a0%")


def amount(value: float) -> str:
    """Format a cost with two significant digits below 10, and whole above.

    >>> amount(0.0314), amount(3.14), amount(31.4), amount(31415)
    ('0.031', '3.1', '31', '31,415')
    """
    if value >= 9.95 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:#.2g}" if value >= 0.0001 else "<0.0001"


def threshold(value: float) -> str:
    return f"{value:.2f}" if round(value, 2) == round(value, 4) else f"{value:.4f}".rstrip("0")


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """A column of the tables."""

    group: str  # upper heading in the report; the report leaves out a column without this heading
    name: str  # lower heading in the report
    value: Callable[[FigureEntry], float | None]
    show: Callable[[float], str] = share
    best: int = 1  # 1 if more is better, -1 if less is better, 0 if neither is better
    short: str = ""  # heading in a terminal; the terminal leaves out a column without this heading

    def shown(self, entry: FigureEntry) -> str:
        value = self.value(entry)
        return NONE if value is None else self.show(value)


def _of(name: Callable[[Evaluation], float | None]) -> Callable[[FigureEntry], float | None]:
    return lambda entry: name(entry.evaluation) if entry.evaluation else None


OWN, TUNED, COST = "At its own threshold", "Threshold tuned", "Cost"
THRESHOLD = FigureColumn(OWN, "threshold", lambda e: e.result.threshold, threshold, best=0)

COSTS = (
    FigureColumn(
        COST, "candidates per article", lambda e: e.per_article(e.result.candidates), amount, -1, "cand."
    ),
    FigureColumn(COST, "CPU s per 1,000", lambda e: e.seconds, amount, -1, "s"),
    FigureColumn(
        COST, "MB per 1,000", lambda e: e.per_article(1_000 * e.result.memory / MEGABYTE), amount, -1, "MB"
    ),
)

JUDGED = (
    THRESHOLD,
    FigureColumn(OWN, "F1", _of(lambda e: e.own.f1), short="F1"),
    FigureColumn("", "", _of(lambda e: e.strict.f1), short="strict"),
    FigureColumn(OWN, "precision", _of(lambda e: e.own.precision), short="prec."),
    FigureColumn(OWN, "recall", _of(lambda e: e.own.recall), short="recall"),
    FigureColumn(TUNED, "F1", _of(lambda e: e.tuned.f1), short="tuned"),
    FigureColumn(TUNED, "from", _of(lambda e: min(e.thresholds)), best=0),
    FigureColumn(TUNED, "to", _of(lambda e: max(e.thresholds)), best=0),
    FigureColumn("All thresholds", "average precision", _of(lambda e: e.average_precision), short="AP"),
    FigureColumn("Groups", "adjusted Rand", _of(lambda e: e.groups.adjusted_rand), short="ARI"),
    FigureColumn("Groups", "B\u2011cubed F1", _of(lambda e: e.groups.b_cubed_f1), short="B³"),
    FigureColumn("", "", _of(lambda e: e.groups.by_size[-1].recall), short="100+"),
    *COSTS,
)
"""Columns of a comparison with a truth."""

UNJUDGED = (
    THRESHOLD,
    FigureColumn(OWN, "pairs accepted", lambda e: int(e.result.accepted.sum()), whole, 0, "pairs"),
    FigureColumn("Groups", "of two and more", lambda e: len(e.group_sizes), whole, 0, "groups"),
    FigureColumn("Groups", "articles in them", lambda e: sum(e.group_sizes), whole, best=0),
    FigureColumn("Groups", "largest", lambda e: max(e.group_sizes, default=0), whole, 0, "largest"),
    *COSTS,
)
"""Columns of a comparison without a truth."""


def entries_of(comparison: Comparison) -> list[FigureEntry]:
    return [FigureEntry(r, comparison.evaluations.get(r.label)) for r in comparison.results]


def headings(columns: Sequence[FigureColumn]) -> list[tuple[str, int]]:
    """Return the upper headings, each with the number of its columns."""
    names = [column.group for column in columns]
    return [(name, names.count(name)) for name in dict.fromkeys(names)]


def cells(
    entry: FigureEntry, entries: Sequence[FigureEntry], columns: Sequence[FigureColumn]
) -> list[tuple[str, bool]]:
    """Return the texts of a method's row, each with True if it is shown as the best value."""
    found = []
    for column in columns:
        text = column.shown(entry)
        others = [v for e in entries if e.result.done and (v := column.value(e)) is not None]
        best = column.show(max(others, key=lambda v: column.best * v)) if others else NONE
        equal = [column.show(other) for other in others].count(text)
        found.append(
            (text, column.best != 0 and text == best != NONE and equal <= MAX_BEST and equal < len(others))
        )
    return found
