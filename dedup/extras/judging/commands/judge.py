"""Command `dedup judge`: pick pairs for people, store the judgements, and compute figures from them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from dedup.cli import output
from dedup.cli.shared import JsonOption, corpus, counted
from dedup.extras.judging.commands import MinJaccardOption, NewestOption, TruthOption
from dedup.extras.judging.commands.review import review

if TYPE_CHECKING:
    from dedup.extras.judging.estimate import Estimate, Quality
    from dedup.extras.judging.judgements import SettingsEffect
    from dedup.extras.judging.tuning import Tuned

app = typer.Typer(
    no_args_is_help=True,
    help="""
Collect judgements of people on pairs of articles; estimate the quality of the marks and better thresholds.

The commands, in this order:

    dedup judge pairs     # picks pairs; needs the extra `lab`
    dedup judge review    # asks you: duplicate, similar or different
    dedup judge score     # shows precision and recall of the marks
    dedup judge tune      # finds better thresholds, and what would change

About 100 pairs are enough to start. The pairs are a random sample of each kind of pair, so the figures hold
for all pairs. Several people may judge, and all judgements are kept.
""",
)
app.command()(review)


@app.command()
def tune(newest: NewestOption = 20_000, json: JsonOption = False) -> None:
    """Find the thresholds that agree best with the judgements, and show what would change with them.

    Every figure has a 95 % interval. If the interval of a gain reaches below 0, the gain may be luck: judge
    more pairs before you adopt the thresholds. The command changes no settings.
    """
    with corpus() as dd:
        settings = dd.settings.in_force()
        found = dd.judgements.tune(newest)
    if json:
        rows = [
            {**asdict(p.tuned), "worthwhile": p.tuned.worthwhile, "change": p.effect and asdict(p.effect)}
            for p in found
        ]
        output.write_json(rows)
        return
    for proposal in found:
        _print_tuned(proposal.tuned, proposal.effect, settings)


def _print_tuned(tuned: Tuned, change: SettingsEffect | None, settings: Any) -> None:
    values = tuned.values()
    rows: list[tuple[Any, ...]] = [
        (name, getattr(settings, name), values[name], _interval(estimate))
        for name, estimate in zip(values, (tuned.sentence, tuned.signature), strict=True)
    ]
    rows.append(("F1", tuned.present.value, tuned.f1.value, _interval(tuned.f1)))
    output.table(
        f"{tuned.level}: {tuned.judged} judged pairs ({tuned.positive} positive),"
        f" which represent {tuned.covered:.0%} of all pairs",
        ("", "now", "best", "95 % interval"),
        rows,
        ("now", "best", "95 % interval"),
    )
    gain = f"gain in F1: {_shown(tuned.gain.value)} ({_interval(tuned.gain)})"
    # A gain counts only if its interval is above 0: thresholds look too good on the pairs they were tuned on.
    if not tuned.worthwhile:
        output.say(f"{gain}: this may be luck; keep the present thresholds, or judge more pairs")
        output.say("")
        return
    if change:
        output.say(
            f"{gain}. Of the newest {change.articles:,} articles {change.joined:,} would become duplicates,"
            f" {change.left:,} would no longer be duplicates, {change.moved:,} would get another original"
        )
    else:
        output.say(gain)
    wanted = " ".join(f"{name}={value:g}" for name, value in values.items())
    output.say(f"to adopt these thresholds: dedup settings set {wanted} && dedup backfill")
    output.say("")


@app.command()
def score(truth: TruthOption = None, min_jaccard: MinJaccardOption = 0.8, json: JsonOption = False) -> None:
    """Score the marks of the corpus against a truth, or against the judgements of people.

    Any two articles of one story (an original with its duplicates) count as a found pair. The truth should
    name all pairs of duplicates, because a found pair that the truth does not name counts as wrong. The
    output shows the number of such pairs.
    """
    with corpus() as dd:
        if truth is None:
            _print_quality(dd.judgements.quality(), json)
            return
        found, unknown = dd.judgements.score(truth, min_jaccard)
    if unknown:
        output.say(f"left out: {counted(unknown, 'pair')} of {truth} with an article not in the corpus")
    pairs = found.pairs
    if found.unnamed:
        named = pairs.right + pairs.wrong - found.unnamed
        output.say(
            f"counted as wrong: {counted(found.unnamed, 'found pair')} that {truth} does not name;"
            f" of the {named:,} found pairs that {truth} names, {pairs.right:,} are right"
        )
    if pairs.unclear:
        output.say(f"not counted: {counted(pairs.unclear, 'found pair')} that {truth} calls unclear")
    measures = {
        "pairs, precision": pairs.precision,
        "pairs, recall": pairs.recall,
        "pairs, F1": pairs.f1,
        "adjusted Rand index": found.adjusted_rand,
        "B-cubed precision": found.b_cubed_precision,
        "B-cubed recall": found.b_cubed_recall,
        "B-cubed F1": found.b_cubed_f1,
    }
    if json:
        bands = [{**asdict(band), "recall": band.recall} for band in found.by_size]
        output.write_json({**asdict(pairs), "unnamed": found.unnamed, **measures, "by_size": bands})
        return
    output.table("the marks against the truth", ("", "value"), measures.items(), ("value",))
    output.table(
        "recall by size of story",
        ("articles", "stories", "pairs", "recall"),
        (
            (f"{b.least}–{b.most}" if b.most else f"{b.least}+", b.stories, b.pairs, b.recall)
            for b in found.by_size
        ),
        ("stories", "pairs", "recall"),
    )


def _print_quality(quality: Quality, json: bool) -> None:
    if json:
        output.write_json(asdict(quality))
        return
    output.table(
        f"the marks by {quality.judged} judged pairs, which represent {quality.covered:.0%} of all pairs",
        ("", "estimate", "95 % interval"),
        (
            (name, getattr(quality, name).value, _interval(getattr(quality, name)))
            for name in ("precision", "recall", "f1")
        ),
        ("estimate", "95 % interval"),
    )
    output.say("recall counts only pairs that at least one method found")


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f"{_shown(estimate.low)} to {_shown(estimate.high)}"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
