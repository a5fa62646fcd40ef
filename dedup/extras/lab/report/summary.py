"""Write sentences of the report from its figures: the summary, and the losses of the plain cut-off.

The plain cut-off ignores a sentence that more than a fixed number of articles contain.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup.extras.judging.truth import Tally
from dedup.extras.lab.evaluation.comparison import Comparison
from dedup.extras.lab.evaluation.disagreements import PRODUCT_ROW
from dedup.extras.lab.report.figures import FigureEntry, amount, percent, share

CUT_OFF = "sentences"  # the method that uses the plain cut-off (see above)
CLOSE = (
    0.01  # a smaller difference of tuned F1 does not count: another corpus may reverse the order of methods
)
LOSS = 0.02  # `losses` reports the bands of story sizes in which more recall than this is lost


def summary(comparison: Comparison, entries: Sequence[FigureEntry]) -> list[str]:
    """Return the summary of the page, in up to three sentences."""
    if not entries:
        return ["No method was run on this corpus."]
    ranked = sorted((e for e in entries if e.tuned is not None), key=lambda e: -(e.tuned or 0))
    if ranked:
        return [_best(ranked), _product(ranked), _unfinished(entries)]
    if comparison.evaluations:
        return ["No method could be judged by this truth.", _unfinished(entries)]
    return [
        "No truth was given: the page shows what each method accepts and what it costs, not which is right.",
        _accepted([entry for entry in entries if entry.result.done]),
        _unfinished(entries),
    ]


def _best(ranked: Sequence[FigureEntry]) -> str:
    best = ranked[0]
    tally = best.evaluation.tuned if best.evaluation else None
    level = [e.result.label for e in ranked[1:] if (best.tuned or 0) - (e.tuned or 0) < CLOSE]
    text = f"With its threshold tuned, {best.result.label} is best"
    if tally and tally.precision is not None and tally.recall is not None:
        clear = "clear " if tally.unclear else ""
        text += (
            f": {percent(tally.precision)} of its {clear}pairs are duplicates, and it finds"
            f" {percent(tally.recall)} of all duplicates"
        )
    text += f" (F1\u00a0{share(best.tuned or 0)})"
    if tally and tally.unclear:
        strict = Tally(tally.right, tally.wrong + tally.unclear, tally.missed).f1 or 0.0
        text += (
            f"; it finds {tally.unclear:,} more pairs that are unclear in the truth, and if these were wrong,"
            f" its F1 would be {share(strict)}"
        )
    if level:
        text += f"; {_listed(level)} {'is' if len(level) == 1 else 'are'} level with it (within {CLOSE})"
    return text + "."


def _product(ranked: Sequence[FigureEntry]) -> str:
    place = next((i for i, e in enumerate(ranked) if e.result.row == PRODUCT_ROW), None)
    if place is None:
        return "The product's own rule could not be judged."
    entry = ranked[place]
    own = entry.evaluation.own.f1 if entry.evaluation else None
    text = f"{entry.result.label}, the product's own rule, is number {place + 1} of {len(ranked)}"
    text += f" with F1\u00a0{share(entry.tuned or 0)}"
    if own is not None:
        text += f" ({share(own)} at its own threshold)"
    if entry.seconds is not None:
        text += f" and takes {amount(entry.seconds)} CPU seconds per 1,000 articles"
        best = ranked[0]
        if place and best.seconds is not None:
            text += f", where {best.result.label} takes {amount(best.seconds)}"
    return text + "."


def _accepted(done: Sequence[FigureEntry]) -> str:
    if not done:
        return "No method finished."
    counts = sorted((int(e.result.accepted.sum()), e.result.label) for e in done)
    (least, few), (most, many) = counts[0], counts[-1]
    product = next((e for e in done if e.result.row == PRODUCT_ROW), None)
    text = f"Methods accept between {least:,} pairs ({few}) and {most:,} ({many})"
    if least == most:
        return f"Each of the {len(done)} finished methods accepts {most:,} pairs."
    if product:
        text += f"; {product.result.label}, the product's own rule, accepts {product.result.accepted.sum():,}"
    return text + "."


def _unfinished(entries: Sequence[FigureEntry]) -> str:
    missing = [
        f"{e.result.label} ({e.result.outcome}{f': {e.result.reason}' if e.result.reason else ''})"
        for e in entries
        if not e.result.done
    ]
    if not missing:
        return "Every method finished; none failed, and none was too slow."
    return f"{len(missing)} of {len(entries)} methods gave no result: {_listed(missing)}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def losses(entries: Sequence[FigureEntry]) -> list[str]:
    """Return a sentence for each band of story sizes in which the product beats the plain cut-off clearly."""
    ended = [entry for entry in entries if entry.tuned is not None]
    product = next((e for e in ended if e.result.row == PRODUCT_ROW), None)
    plain = next((e for e in ended if e.result.name == CUT_OFF), None)
    if not (product and plain and product.evaluation and plain.evaluation):
        return []
    return [
        f"In stories of {span(ours.least, ours.most)} articles, “{plain.result.label}” finds"
        f" {percent(theirs.recall)} of the pairs and {product.result.label} {percent(ours.recall)}:"
        f" {ours.found - theirs.found:,} pairs of {ours.pairs:,} are lost."
        for ours, theirs in zip(
            product.evaluation.groups.by_size, plain.evaluation.groups.by_size, strict=True
        )
        if ours.recall is not None and theirs.recall is not None and ours.recall - theirs.recall > LOSS
    ]


def span(least: int, most: int | None) -> str:
    return f"{least}–{most}" if most else f"{least} and more"
