"""Run all methods on all sets of real news that have a silver truth, and print F1 of near-duplicate pairs.

    scripts/all_sets.py [SET ...] [--data FOLDER] [--methods LIST] [--keep FOLDER] [--limit SECONDS] [--json]

Runs `dedup lab compare` on each set and prints one table per measure: a row per set, a column per method. On
sets of more than 10,000 articles, methods that compare every pair are left out. `own`: F1 at the method's own
threshold. `tuned`: F1 at the threshold that is best for the other half of the articles. `strict`: like `own`,
but pairs with a Jaccard of 0.5 to 0.8 are wrong instead of not counted. A * follows the name of a method that
computes the Jaccard of the silver truth itself. Takes about 20 minutes; --keep reuses finished results.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sandbox import DATA, silver_sets

from dedup.base.errors import DedupError
from dedup.extras.judging.truth import read_truth
from dedup.extras.lab.evaluation.compare import LIMIT_SECONDS, Source, compare
from dedup.extras.lab.evaluation.measures import Evaluation, evaluate
from dedup.extras.lab.methods import parse

LARGE = 10_000
"""Maximum number of articles of a set on which methods that compare every pair are run."""

CIRCULAR = ("minhash", "word-shingles", "length-groups")
"""Methods that compute the measure that defines the silver truth: the Jaccard of word 5-shingles."""

MEASURES: dict[str, Callable[[Evaluation], float | None]] = {
    "own": lambda e: e.own.f1,
    "tuned": lambda e: e.tuned.f1,
    "strict": lambda e: e.strict.f1,
}

Scores = Mapping[str, Mapping[str, float | None]]
"""Values by the label of the method, and then by the name of the measure."""


def main() -> int:
    options = _options()
    try:
        with tempfile.TemporaryDirectory(prefix="dedup-all-sets-") as folder:
            found = {
                name: measure(
                    Source(news), truth, options.methods, (options.keep or Path(folder)) / name, options.limit
                )
                for name, (news, truth) in silver_sets(options.data, options.sets).items()
            }
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    for name in MEASURES:
        show(name, found)
    return 0


def measure(
    source: Source, truth: Path, methods: str, folder: Path, limit: float
) -> dict[str, dict[str, float | None]]:
    """Return the measures of every method on one set, and the number of pairs in its truth."""
    corpus = source.read()
    known = read_truth(truth, corpus.numbers)
    chosen = [method for method in parse(methods) if len(corpus) <= LARGE or not method.quadratic]
    found: dict[str, dict[str, float | None]] = {"pairs": {"pairs": known.duplicates}}
    for result in compare(source, chosen, folder, limit_seconds=limit):
        if result.done:
            evaluation = evaluate(result, known)
            found[result.label] = {name: score(evaluation) for name, score in MEASURES.items()}
        else:
            print(f"{source.path.name}: {result.label}: {result.outcome}: {result.reason}", file=sys.stderr)
    print(f"{source.path.name}: done", file=sys.stderr)
    return found


def show(name: str, found: Mapping[str, Scores]) -> None:
    """Print one measure: a row per set, a column per method."""
    labels = list(dict.fromkeys(label for scores in found.values() for label in scores if label != "pairs"))
    heads = [f"{label[:11]}*" if label in CIRCULAR else label[:11] for label in labels]
    print(f"\n{name:24}{'pairs':>7}" + "".join(f"{head:>13}" for head in heads))
    for set_name, scores in found.items():
        cells = [scores[label][name] if label in scores else None for label in labels]
        print(
            f"{set_name:24}{scores['pairs']['pairs']:7,}"
            + "".join(f"{'-' if cell is None else format(cell, '.3f'):>13}" for cell in cells)
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: every set with silver truth")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    parser.add_argument("--methods", default="all", help="names or rows with commas; default: all")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep and reuse results there")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds a method may take")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
