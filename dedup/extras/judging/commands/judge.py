"""`dedup judge`: pick pairs for people, take their judgements, and make figures and thresholds of them."""

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
Your own judgement of pairs of articles: how good the marks are by it, and which thresholds fit it best.

The commands, in this order:

    dedup judge pairs     # picks pairs; needs the extra `lab`
    dedup judge review    # you say: duplicate, similar or different
    dedup judge score     # precision and recall of the marks
    dedup judge tune      # better thresholds, and what they would change

Some 100 pairs tell much. They are a random sample of each kind of pair, so what you say of them tells about
all pairs. Several people may judge, and all judgements are kept.
""",
)
app.command()(review)


@app.command()
def tune(newest: NewestOption = 20_000, json: JsonOption = False) -> None:
    """Find the thresholds that are best for what people judged, and what would change if they were adopted.

    Every number comes with the interval that holds it 95 times of 100. A gain whose interval reaches below 0
    may be luck: judge more pairs before you adopt it. Nothing is changed.
    """
    with corpus() as dd:
        settings = dd.settings.in_force()
        found = dd.judgements.tune(newest)
    if json:
        output.write_json(
            [
                {
                    **asdict(proposal.tuned),
                    "worthwhile": proposal.tuned.worthwhile,
                    "change": asdict(proposal.effect) if proposal.effect else None,
                }
                for proposal in found
            ]
        )
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
        f"{tuned.level}: {tuned.judged} judged pairs, {tuned.positive} of them positive,"
        f" which speak for {tuned.covered:.0%} of all pairs",
        ("", "now", "best", "95 % interval"),
        rows,
        ("now", "best", "95 % interval"),
    )
    gain = f"gain in F1: {_shown(tuned.gain.value)} ({_interval(tuned.gain)})"
    if not tuned.worthwhile:
        output.say(f"{gain}: no more than luck can give; keep the present thresholds, or judge more pairs")
        output.say("")
        return
    if change:
        output.say(
            f"{gain}. Of the newest {change.articles:,} articles {change.joined:,} would become duplicates,"
            f" {change.left:,} would no longer be, {change.moved:,} would be those of another article"
        )
    else:
        output.say(gain)
    wanted = " ".join(f"{name}={value:g}" for name, value in values.items())
    output.say(f"to adopt it: dedup settings set {wanted} && dedup backfill")
    output.say("")


@app.command()
def score(truth: TruthOption = None, min_jaccard: MinJaccardOption = 0.8, json: JsonOption = False) -> None:
    """Score the marks of the live corpus: against a truth, or against what people judged.

    Two articles of one story (a canonical article with its duplicates) count as found. A truth is to name all
    pairs of duplicates: a pair that is found and not named counts as wrong, and it is said how many do.
    """
    with corpus() as dd:
        if truth is None:
            _print_quality(dd.judgements.quality(), json)
            return
        found, unknown = dd.judgements.score(truth, min_jaccard)
    if unknown:
        output.say(f"{unknown:,} pairs of {truth} name articles that the corpus does not have")
    pairs = found.pairs
    if found.unnamed:
        named = pairs.right + pairs.wrong - found.unnamed
        output.say(
            f"counted as wrong: {counted(found.unnamed, 'pair')} of one story that {truth} does not name;"
            f" of {named:,} that it names {pairs.right:,} are right"
        )
    if pairs.unclear:
        output.say(f"not counted: {counted(pairs.unclear, 'pair')} of one story that {truth} calls unclear")
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
        f"the marks by {quality.judged} judged pairs, which speak for {quality.covered:.0%} of all pairs",
        ("", "estimate", "95 % interval"),
        (
            (name, getattr(quality, name).value, _interval(getattr(quality, name)))
            for name in ("precision", "recall", "f1")
        ),
        ("estimate", "95 % interval"),
    )
    output.say("recall is among the pairs that at least one method found")


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f"{_shown(estimate.low)} to {_shown(estimate.high)}"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
