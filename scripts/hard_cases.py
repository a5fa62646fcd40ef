"""Run all methods on all hard cases: texts that are difficult for tools for near-duplicates.

    scripts/hard_cases.py [CASE ...] [--seed N] [--methods LIST] [--keep FOLDER]

Makes each case (`dedup lab generate`), runs the methods on the case, and prints a table: precision, recall
and F1 of pairs, F1 of the pairs that end in one group, and recall by kind of pair, or by size of story. The
texts are invented, so every machine finds the same numbers. Takes about 20 minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dedup.base.errors import DedupError, InputError
from dedup.extras.judging.truth import read_truth
from dedup.extras.lab.evaluation.compare import Source, compare
from dedup.extras.lab.evaluation.measures import Evaluation, evaluate
from dedup.extras.lab.evaluation.results import MethodResult
from dedup.extras.lab.hard_cases import CASES, generate
from dedup.extras.lab.methods import parse

LIMIT_SECONDS = 120.0
"""Seconds on one case after which a method counts as too slow."""


def main() -> int:
    options = _options()
    try:
        for name in options.cases:
            if name not in CASES:
                raise InputError(f"no case {name!r}; the cases are {', '.join(CASES)}")
        with tempfile.TemporaryDirectory(prefix="dedup-hard-cases-") as folder:
            home = options.keep or Path(folder)
            for name in options.cases or CASES:
                show(name, options.seed, options.methods, home)
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def show(name: str, seed: int, methods: str, home: Path) -> None:
    """Make one case, run the methods on it, and print their results."""
    articles, truth = generate(name, seed, home)
    source = Source(articles)
    corpus = source.read()
    known = read_truth(truth, corpus.numbers)
    results = compare(source, parse(methods), home / f"{name}.lab", limit_seconds=LIMIT_SECONDS)
    judged = [(result, evaluate(result, known) if result.done else None) for result in results]
    columns = next((_details(evaluation) for _, evaluation in judged if evaluation), {})
    print(f"\n{name}: {CASES[name].about}; {len(corpus):,} articles, {known.duplicates:,} duplicate pairs")
    heads = ("prec.", "recall", "F1", "groups", *columns, "cand.", "s")
    print(f"{'':22}" + "".join(f"{head:>9}" for head in heads))
    for result, evaluation in judged:
        print(f"{result.label:22}" + "".join(f"{cell:>9}" for cell in _cells(result, evaluation)), flush=True)


def _cells(result: MethodResult, evaluation: Evaluation | None) -> Sequence[str]:
    if evaluation is None:
        return (f" {result.outcome}: {result.reason}",)
    own = evaluation.own
    shares = (own.precision, own.recall, own.f1, evaluation.groups.pairs.f1, *_details(evaluation).values())
    cost = (f"{result.candidates / result.documents:,.1f}", f"{result.seconds:.1f}")
    return (*("-" if share is None else f"{share:.3f}" for share in shares), *cost)


def _details(evaluation: Evaluation) -> dict[str, float | None]:
    """Return the recall by kind of pair. For a case without kinds, return the recall by size of story."""
    if evaluation.by_kind:
        return {_short(kind.name): kind.found / kind.pairs for kind in evaluation.by_kind}
    bands = [band for band in evaluation.groups.by_size if band.pairs]
    return {f"{band.least}-{band.most}" if band.most else f"{band.least}+": band.recall for band in bands}


def _short(kind: str) -> str:
    key, _, value = kind.partition(" ")
    return (f"{value} %" if key in ("level", "share") else value)[:8]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the texts; a different seed makes different texts"
    )
    parser.add_argument("--methods", default="all", help="names or rows with commas; default: all")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep articles, truths and results there")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
