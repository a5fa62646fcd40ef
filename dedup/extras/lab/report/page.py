"""One HTML page about a comparison: self-contained, without scripts, for the person who must decide.

Article texts are hostile input: `pages/environment.py` escapes every value. How it looks is in
`templates/report.html.j2`; `figures.py`, `summary.py` and `charts.py` make the pieces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dedup.extras.lab.evaluation.comparison import Comparison
from dedup.extras.lab.evaluation.disagreements import PRODUCT_ROW, Disagreement, Excerpt
from dedup.extras.lab.evaluation.measures import Evaluation
from dedup.extras.lab.report.charts import Curve, Dot, Scatter, scatter
from dedup.extras.lab.report.figures import JUDGED, NONE, UNJUDGED, FigureEntry, cells, headings, percent
from dedup.extras.lab.report.summary import losses, span, summary
from dedup.extras.pages.comparison import Block, compare
from dedup.extras.pages.environment import environment


def render(comparison: Comparison) -> str:
    """The page; to be written as UTF-8."""
    entries = [FigureEntry(r, comparison.evaluations.get(r.label)) for r in comparison.results]
    measured = [entry for entry in entries if entry.tuned is not None]
    curves = [curve for entry in measured if (curve := _curve(entry))]
    columns = JUDGED if comparison.evaluations else UNJUDGED
    return (
        environment("dedup.extras.lab.report")
        .get_template("report.html.j2")
        .render(
            comparison=comparison,
            summary=summary(comparison, entries),
            groups=headings(columns),
            columns=columns,
            rows=[(entry, cells(entry, entries, columns)) for entry in entries],
            by_size=_recalls(measured, _bands),
            by_kind=_recalls(measured, _kinds),
            losses=losses(entries),
            curves=curves,
            scatter=_scatter(measured),
            disagreements=[_view(disagreement) for disagreement in comparison.disagreements],
        )
    )


HEAT_STEPS = (0.005, 0.05, 0.15, 0.35, 0.65)  # shares of pairs lost from which a cell is one step darker

Counted = tuple[str, str, int, int]
"""A class of pairs: its name, how much there is of it, its pairs, and those that are found."""


@dataclass(frozen=True, slots=True)
class Recalls:
    """A table of recall by class of pairs."""

    classes: list[tuple[str, str]]  # name, and how much there is of it
    rows: list[tuple[str, list[tuple[str, int | None]]]]


def _recalls(
    entries: Sequence[FigureEntry], counted: Callable[[Evaluation], list[Counted]]
) -> Recalls | None:
    tables = [(e.result.label, counted(e.evaluation)) for e in entries if e.evaluation]
    if not any(table for _, table in tables):
        return None
    return Recalls(
        [(name, size) for name, size, _, _ in tables[0][1]],
        [(label, [_heated(pairs, found) for _, _, pairs, found in table]) for label, table in tables],
    )


def _heated(pairs: int, found: int) -> tuple[str, int | None]:
    if not pairs:
        return NONE, None
    return percent(found / pairs), bisect_right(HEAT_STEPS, 1 - found / pairs)


def _bands(evaluation: Evaluation) -> list[Counted]:
    return [
        (
            span(b.least, b.most),
            f"{_plural(b.stories, 'story', 'stories')}, {_pairs(b.pairs)}",
            b.pairs,
            b.found,
        )
        for b in evaluation.groups.by_size
    ]


def _kinds(evaluation: Evaluation) -> list[Counted]:
    return [(k.name, _pairs(k.pairs), k.pairs, k.found) for k in evaluation.by_kind]


def _pairs(count: int) -> str:
    return _plural(count, "pair", "pairs")


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


TRUTHS = {
    "duplicate": "duplicates",
    "different": "no duplicates",
    "unclear": "unclear; the pair counts for nobody",
    None: "nothing is known of this pair",
}


@dataclass(frozen=True, slots=True)
class ReportView:
    """A disagreement as it is shown; methods with their scores, the highest first."""

    kind: str
    truth: str
    sides: tuple[Excerpt, Excerpt]
    blocks: list[Block]
    accepting: list[tuple[str, str]]
    refusing: list[tuple[str, str]]
    unseeing: list[str]


def _view(found: Disagreement) -> ReportView:
    ranked = sorted(found.scores.items(), key=lambda item: -1.0 if item[1] is None else -item[1] - 2)
    scored = {label: NONE if score is None else f"{score:.2f}" for label, score in ranked}
    return ReportView(
        found.kind,
        TRUTHS.get(found.truth, found.truth or ""),
        (found.a, found.b),
        compare(found.a.text, found.b.text),
        [(m, s) for m, s in scored.items() if m in found.accepted],
        [(m, s) for m, s in scored.items() if m not in found.accepted and s != NONE],
        [m for m, s in scored.items() if m not in found.accepted and s == NONE],
    )
