"""Commands of the lab: list methods, compare methods on files, generate files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from dedup.base.errors import InputError
from dedup.cli import output, shared
from dedup.cli.progress import progress_bar
from dedup.extras.judging.commands import MinJaccardOption, TruthOption
from dedup.extras.lab.commands import LAB_PACKAGES, LARGE

if TYPE_CHECKING:
    from dedup.extras.lab.evaluation.comparison import Comparison
    from dedup.extras.lab.evaluation.measures import Evaluation
    from dedup.extras.lab.report.figures import FigureColumn

lab = typer.Typer(
    no_args_is_help=True,
    help="""
Compare methods of near-duplicate detection on your own articles, with or without a truth (known pairs).

Without a truth, `dedup lab compare news.jsonl` shows the pairs that methods find, and their disagreements.
To judge pairs of your own corpus: `dedup judge pairs`.
""",
)


@lab.callback()
def needs_extra() -> None:
    # Typer calls this before each command of the group, because all of them need packages of an extra.
    shared.needs("the lab", "lab", LAB_PACKAGES)


@lab.command()
def methods(
    name: Annotated[str | None, Argument(metavar="NAME", help="Name or row of a method.")] = None,
    json: shared.JsonOption = False,
) -> None:
    """List the methods: what each computes, and its source; with a NAME, the parameters too.

    Set a parameter with `NAME:parameter=value`, such as `minhash:bands=16:rows=8`.
    """
    from dedup.extras.lab.methods import parameters, parse

    chosen = [type(method) for method in parse(name or "all")]
    if json:
        output.write_json(
            [
                {
                    **{key: getattr(method, key) for key in ("row", "name", "about", "finds", "source")},
                    "quadratic": method.quadratic,
                    "parameters": parameters(method),
                }
                for method in chosen
            ]
        )
        return
    if name is None:
        rows = ((method.row, method.name, method.about, method.source) for method in chosen)
        output.table("", ("row", "method", "computes", "source"), rows)
        output.say("next: dedup lab methods NAME, or dedup lab compare FILE")
        return
    for method in chosen:
        slow = "; it looks at every pair" if method.quadratic else ""
        facts = [
            ("computes", method.about),
            ("source", method.source),
            ("candidates", f"{method.finds}{slow}"),
            *((f":{key}=", value) for key, value in parameters(method).items()),
        ]
        output.table(f"{method.row} {method.name}", ("", ""), facts)


@lab.command()
def compare(
    file: Annotated[Path, Argument(metavar="FILE", help="Articles in any format that `dedup load` reads.")],
    truth: TruthOption = None,
    min_jaccard: MinJaccardOption = 0.8,
    chosen: Annotated[
        str | None,
        Option("--methods", help="Names or rows (comma-separated), `all` or `linear`; default: see above."),
    ] = None,
    out: Annotated[Path | None, Option(help="Folder for results and report; default: FILE.lab.")] = None,
    limit: Annotated[float, Option(min=1, help="Maximum number of seconds per method.")] = 900,
    jobs: Annotated[int | None, Option(min=1, help="Methods in parallel; default: one per core.")] = None,
    map_: shared.MapOption = None,
    format_: shared.FormatOption = None,
    language: shared.LanguageOption = None,
    json: shared.JsonOption = False,
) -> None:
    """Run methods on a file of articles; print a table, and write a report for a browser.

    By default all methods run; with more than 10,000 articles only `linear` methods, which do not look at
    every pair. Finished results stay in the folder `--out`, so the same command continues an interrupted
    comparison. If a method fails or takes too long, it is reported, and the other methods continue.
    """
    from dedup.extras.judging.truth import read_truth
    from dedup.extras.lab.evaluation.compare import Source, compare
    from dedup.extras.lab.evaluation.comparison import assemble
    from dedup.extras.lab.methods import parse
    from dedup.extras.lab.report import page as report

    source = Source(file, tuple(sorted(shared.field_map(map_).items())), format_, language)
    corpus = source.read()
    known = read_truth(truth, corpus.numbers, min_jaccard) if truth else None
    if known and known.unknown:
        output.say(f"{truth} has {shared.counted(known.unknown, 'pair')} of articles that are not in {file}")
    if chosen is None:
        chosen = "all" if len(corpus) <= LARGE else "linear"
        if chosen == "linear":
            output.say(
                f"{len(corpus):,} articles: methods that look at every pair run only if --methods names them"
            )
    wanted = parse(chosen)
    folder = out or Path(f"{file.name}.lab")
    with progress_bar("methods") as bar:
        bar.start("comparing", len(wanted))
        results = compare(
            source, wanted, folder, jobs=jobs, limit_seconds=limit, ended=lambda _: bar.advance(1)
        )
    found = assemble(file.name, corpus, results, known, str(truth) if truth else None)
    page = folder / "report.html"
    page.write_text(report.render(found), encoding="utf-8")
    if json:
        output.write_json(as_json(found))
    else:
        _print(found)
    output.say(f"wrote {page}; open it in a browser")


NARROW = ("F1", "strict", "prec.", "recall", "tuned", "100+", "s")  # Columns that a narrow terminal shows


def _print(found: Comparison) -> None:
    from dedup.extras.lab.report.figures import entries_of

    truth = f"{found.duplicates:,} duplicate pairs" if found.truth else "no truth"
    title = f"{found.corpus}: {found.documents:,} articles, {truth}"
    columns = _columns(found)
    rows: list[tuple[Any, ...]] = []
    for entry in entries_of(found):
        cells = [column.shown(entry) for column in columns]
        if not entry.result.done:
            cells = [entry.result.outcome, *("" for _ in columns[1:])]
        rows.append((entry.result.row, entry.result.label, *cells))
    names = [column.short for column in columns]
    output.table(title, ("", "method", *names), rows, names)
    for result in found.results:
        if not result.done:
            output.say(f"{result.label}: {result.outcome}: {result.reason}")
    if found.evaluations and found.unclear:
        output.say(
            f"unclear in the truth: {shared.counted(found.unclear, 'pair')}; if a method finds such a pair,"
            " only the column strict counts it, as an error"
        )
    if found.evaluations:
        output.say(
            "prec., recall, F1: at the method's own threshold; tuned: F1 if each half of the articles has"
            " the other half's best threshold; AP: area under the precision-recall curve; B³: B-cubed F1;"
            " 100+: recall in stories of 100 articles and more"
        )
    output.say("cand.: candidate pairs per article; s, MB: CPU seconds and memory per 1,000 articles")


def _columns(found: Comparison) -> list[FigureColumn]:
    """Return the columns that fit the terminal. The report has more columns, and --json has all figures."""
    from dedup.extras.lab.report.figures import JUDGED, UNJUDGED

    if not found.evaluations:
        return [column for column in UNJUDGED if column.short]
    every = [column for column in JUDGED if column.short and (found.unclear or column.short != "strict")]
    width = 5 + max(len(result.label) for result in found.results) + 7 * len(every)
    fits = width <= output.console().width
    return [column for column in every if fits or column.short in NARROW]


def as_json(found: Comparison) -> dict[str, Any]:
    """Return a comparison as data for JSON, without pairs, curves and texts."""
    return {
        "corpus": found.corpus,
        "articles": found.documents,
        "truth": found.truth,
        "duplicates": found.duplicates,
        "unclear": found.unclear,
        "methods": [
            {
                "row": result.row,
                "method": result.label,
                "outcome": result.outcome,
                "reason": result.reason,
                "threshold": result.threshold,
                "pairs": int(result.accepted.sum()),
                "candidates": result.candidates,
                "cpu_seconds": round(result.seconds, 3),
                "memory_bytes": result.memory,
                **_measures(found.evaluations.get(result.label)),
            }
            for result in found.results
        ],
    }


def _measures(evaluation: Evaluation | None) -> dict[str, Any]:
    if evaluation is None:
        return {}
    groups = evaluation.groups
    tallies = {
        name: {**asdict(tally), "precision": tally.precision, "recall": tally.recall, "f1": tally.f1}
        for name in ("own", "strict", "tuned")
        for tally in [getattr(evaluation, name)]
    }
    return {
        **tallies,
        "tuned_thresholds": evaluation.thresholds,
        "average_precision": evaluation.average_precision,
        "adjusted_rand": groups.adjusted_rand,
        "b_cubed": {
            "precision": groups.b_cubed_precision,
            "recall": groups.b_cubed_recall,
            "f1": groups.b_cubed_f1,
        },
        "by_size": [{**asdict(band), "recall": band.recall} for band in groups.by_size],
        "by_kind": [asdict(kind) for kind in evaluation.by_kind],
    }


@lab.command()
def generate(
    names: Annotated[list[str] | None, Argument(metavar="CASE", help="Cases to write. Default: all.")] = None,
    out: Annotated[Path, Option(help="Folder for articles and truth of each case.")] = Path("hard-cases"),
    seed: Annotated[int, Option(help="A different seed makes different texts.")] = 1,
    list_: Annotated[bool, Option("--list", help="Only list the cases.")] = False,
) -> None:
    """Write corpora of invented texts that are hard for these methods, with the truth of each corpus.

    Next: `dedup lab compare hard-cases/CASE.jsonl.gz --truth hard-cases/CASE.truth.jsonl.gz`.
    """
    from dedup.extras.lab.hard_cases import CASES
    from dedup.extras.lab.hard_cases import generate as write

    if list_:
        output.table("", ("case", "holds"), ((case.name, case.about) for case in CASES.values()))
        return
    for name in names or CASES:
        if name not in CASES:
            raise InputError(f"no case {name!r}; the cases are {', '.join(CASES)}")
    for name in names or CASES:
        articles, truth = write(name, seed, out)
        output.say(f"wrote {articles} and {truth}")
