"""An HTML page about a comparison: self-contained, without scripts, for the person choosing a method.

Article texts are hostile input: `pages/environment.py` escapes every value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from dedup.extras.judging.truth import SizeBand
from dedup.extras.lab.evaluation.comparison import Comparison
from dedup.extras.lab.evaluation.disagreements import PRODUCT_ROW
from dedup.extras.lab.evaluation.measures import Evaluation, KindRecall
from dedup.extras.lab.report.charts import Curve, Dot, Scatter, scatter
from dedup.extras.lab.report.figures import (
    JUDGED,
    NONE,
    UNJUDGED,
    FigureEntry,
    cells,
    entries_of,
    headings,
    percent,
)
from dedup.extras.lab.report.summary import losses, span, summary
from dedup.extras.pages.comparison import compare
from dedup.extras.pages.environment import environment


def render(comparison: Comparison) -> str:
    entries = entries_of(comparison)
    measured = [entry for entry in entries if entry.tuned is not None]
    curves = [curve for entry in measured if (curve := _curve(entry))]
    columns = [column for column in (JUDGED if comparison.evaluations else UNJUDGED) if column.group]
    return (
        environment("dedup.extras.lab.report")
        .get_template("report.html.j2")
        .render(
            comparison=comparison,
            summary=summary(comparison, entries),
            groups=headings(columns),
            columns=columns,
            rows=[(entry, cells(entry, entries, columns)) for entry in entries],
            by_size=_recalls(measured, lambda evaluation: evaluation.groups.by_size),
            by_kind=_recalls(measured, lambda evaluation: evaluation.by_kind),
            losses=losses(entries),
            curves=curves,
            scatter=_scatter(measured),
            disagreements=[(d, compare(d.a.text, d.b.text)) for d in comparison.disagreements],
        )
    )


HEAT_STEPS = (0.005, 0.05, 0.15, 0.35, 0.65)  # at each of these shares of lost pairs, a cell gets darker

Classes = list[tuple[str, str]]  # classes of pairs: the name, and the size as a phrase such as "3 pairs"
Heated = tuple[str, int | None]  # a recall, and the darkness of its cell


def _recalls(
    entries: Sequence[FigureEntry], classes: Callable[[Evaluation], Sequence[SizeBand | KindRecall]]
) -> tuple[Classes, list[tuple[str, list[Heated]]]] | None:
    """Return a table of recall by class of pairs: the classes, and a row for each method."""
    tables = [(e.result.label, classes(e.evaluation)) for e in entries if e.evaluation]
    if not any(table for _, table in tables):
        return None
    return (
        [_class(one) for one in tables[0][1]],
        [(label, [_heated(one.pairs, one.found) for one in table]) for label, table in tables],
    )


def _class(one: SizeBand | KindRecall) -> tuple[str, str]:
    pairs = _plural(one.pairs, "pair", "pairs")
    if isinstance(one, KindRecall):
        return one.name, pairs
    return span(one.least, one.most), f"{_plural(one.stories, 'story', 'stories')}, {pairs}"


def _heated(pairs: int, found: int) -> Heated:
    if not pairs:
        return NONE, None
    return percent(found / pairs), bisect_right(HEAT_STEPS, 1 - found / pairs)


def _plural(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}" if count else f"no {one}"


def _curve(entry: FigureEntry) -> Curve | None:
    found = entry.evaluation
    if not found or not found.curve:
        return None
    own = found.own.recall, found.own.precision
    mark = (own[0], own[1]) if own[0] is not None and own[1] is not None else None
    return Curve(entry.result.label, [(p.recall, p.precision) for p in found.curve], mark)


def _scatter(entries: Sequence[FigureEntry]) -> Scatter | None:
    dots = [
        Dot(e.result.label, e.seconds, e.tuned, strong=e.result.row == PRODUCT_ROW)
        for e in entries
        if e.seconds and e.tuned is not None
    ]
    return scatter(dots) if dots else None
