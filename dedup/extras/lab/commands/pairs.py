"""Command `dedup judge pairs`: pick pairs for people to judge, with methods of the lab."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.shared import JsonOption, corpus, counted, needs
from dedup.extras.judging.commands import NewestOption
from dedup.extras.lab.commands import LAB_PACKAGES, LARGE

# These methods run besides dedup's own rule, because each method finds pairs that the rule does not find.
OTHERS = "sentences,spotsigs,minhash,tfidf"

LIMIT_SECONDS = 300.0  # Maximum time per method; on two cores, the four methods above take 10 minutes at most


def pairs(
    size: Annotated[int, Option(min=1, help="Number of pairs to pick.")] = 100,
    methods: Annotated[
        str | None,
        Option(
            help=f"Methods to run besides dedup: names, or rows in `dedup lab methods`, comma-separated."
            f" Default: {OTHERS}; above {LARGE:,} articles, without methods that look at every pair.",
        ),
    ] = None,
    newest: NewestOption = 20_000,
    limit: Annotated[float, Option(min=1, help="Maximum number of seconds per method.")] = LIMIT_SECONDS,
    seed: Annotated[int, Option(help="A different seed draws different pairs.")] = 0,
    json: JsonOption = False,
) -> None:
    """Pick pairs for people to judge, mostly pairs near a threshold and pairs on which methods disagree.

    Pairs of each kind (by score, and by agreement of methods) are picked at random, so that the judgements
    represent all pairs that any method found. A new selection replaces the old selection. Judgements stay,
    and a judged pair is not asked again. A method that fails or takes too long is left out, with a message.
    """
    needs("picking pairs", "lab", LAB_PACKAGES)
    from dedup.extras.lab import picking
    from dedup.extras.lab.methods import parse

    wanted = [method for method in parse(methods or OTHERS) if method.name != "dedup"]
    with corpus() as dd:
        found = picking.read(dd, newest)
        if methods is None and len(found) > LARGE:
            slow = ",".join(method.name for method in wanted if method.quadratic)
            wanted = [method for method in wanted if not method.quadratic]
            output.say(f"without {slow}, which looks at every pair: to include it, add --methods {OTHERS}")
        names = ", ".join(("dedup", *(method.name for method in wanted)))
        output.say(f"comparing {counted(len(found), 'article')} by {names}")
        with progress_bar("methods") as bar:
            results = picking.find_pairs(dd, found, wanted, limit_seconds=limit, progress=bar)
        for result in results:
            if not result.done:
                output.say(f"left out {result.label}, {result.outcome}: {result.reason}")
        results = [result for result in results if result.done]
        picked = picking.picks(found, results, dd.settings.in_force(), size, seed)
        dd.judgements.pick(picked)
    strata = {p.stratum: (p.stratum_size, p.stratum_picked) for p in picked}
    if json:
        output.write_json(
            [{"stratum": name, "pairs": n, "picked": k} for name, (n, k) in strata.items()], indent=2
        )
    else:
        output.table(
            f"picked {counted(len(picked), 'pair')}",
            ("dedup's score", "pairs", "picked"),
            ((name, n, k) for name, (n, k) in strata.items()),
            ("pairs", "picked"),
        )
    output.say("next: dedup judge review")
