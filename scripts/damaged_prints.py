"""Count the misread reprints that the setting `damaged_print=on` finds, and its false duplicates.

    scripts/damaged_prints.py [SET ...] [--data FOLDER] [--folds] [--ablation] [--picture FILE] [--json]

- papers: pairs of a correct and a machine-read transcript of a printed article of at least 24 words, by the
  share of wrong characters (*error*). Prints how many pairs are duplicates with the setting off and on.
  `both`: the correct transcript is damaged, too, by errors from a different pair with a similar share.
- false: pairs that only this rule makes duplicates, in each set of news and in the hard case `templates`;
  less: false pairs with an exact containment of word 5-shingles under 0.5.
- folds: pairs found by cross-validation. For each paper (or collection of papers) the thresholds are chosen
  that find the most pairs with 2 to 20 % of errors in the other papers, with no more false pairs than
  `MOST_FALSE`. Then pairs are counted in the paper left out.
- ablation: the same counts with one condition of the rule disabled, on the sets on which this matters.

Takes about 3 minutes; --folds and --ablation take a few minutes each.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import picture
from matplotlib.figure import Figure
from rapidfuzz.distance import Levenshtein
from recall import overlap
from sandbox import DATA, silver_sets

from dedup.base.errors import DedupError, InputError
from dedup.base.numbers import Flags, Pairs, Shares
from dedup.base.settings import PRINT_BYTES, Settings
from dedup.extras.lab.hard_cases import generate
from dedup.rules.pair import Rule
from dedup.rules.pairs import CODE, FingerprintArrays
from dedup.text.damaged import EVERY, NEAR, PrintPairs
from dedup.text.fingerprint import Fingerprinter, TextTask

PAPERS = "ocr_papers_a"
TEMPLATES = "templates"
BANDS = ((0.0, 0.01), (0.01, 0.02), (0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 1.0))
BOTH = ((0.01, 0.02), (0.02, 0.05), (0.04, 0.06), (0.05, 0.1), (0.1, 0.2))
ONE = "one side"
LEAST_WORDS = 24
CONFIRMING = 0.5

ABLATIONS: dict[str, dict[str, Any]] = {
    "the whole rule": {"NEAR": NEAR},
    "J ≥ 0.15 to 0.4": {"LEAST_JACCARD": ((EVERY, 0.0),)},
    "as many letters": {"LEAST_RATIO": ((EVERY, 0.0),)},
    "words agree as well": {"LESS_WORDS": 2.0},
    "many and small": {"MOST_WHOLE": ((EVERY, 1e9),)},
    "in place": {"LEAST_IN_PLACE": 0.0},
    "goes on behind": {"LEAST_MENDED": ((EVERY, 0.0),), "FIRM_MENDED": 0.0, "FLOOR_MENDED": 0.0},
    "short texts stricter": {
        "LEAST_JACCARD": ((EVERY, 0.15),),
        "LEAST_RATIO": ((EVERY, 0.88),),
        "MOST_WHOLE": ((EVERY, 1.0),),
        "LEAST_MENDED": ((EVERY, 0.5),),
        "MANY_LETTERS": 0,
    },
}
"""Conditions of the rule by name, each with the constants of `dedup/text/damaged.py` that disable it."""
ABLATED = ("reuters21578", "reuters_web_2006_2010", "masakhanews", TEMPLATES)

GRID: dict[str, Sequence[Any]] = {
    "LEAST_JACCARD": [
        ((200, a), (500, 0.25), (EVERY, b)) for a, b in itertools.product((0.4, 0.25), (0.25, 0.2, 0.15))
    ],
    "LEAST_RATIO": [((500, 0.9), (EVERY, least)) for least in (0.9, 0.88)],
    "MOST_WHOLE": [((500, 0.0), (EVERY, errors)) for errors in (0.0, 1.0)],
    "LEAST_MENDED": [
        ((200, a), (500, b), (EVERY, c))
        for a, b, c in itertools.product((0.95, 0.9), (0.75, 0.7), (0.6, 0.5, 0.4))
    ],
    "FIRM_MENDED": [0.45, 0.4, 0.35],
}
"""Constants of `dedup/text/damaged.py` -> values among which --folds chooses, the strictest first."""
MOST_FALSE = {"reuters21578": 71, "reuters_web_2006_2010": 10, TEMPLATES: 312}
"""Maximum number of false pairs by set: as many as the first edition of the rule had. In other sets that
edition had none."""
SAME_TEXT = ("wiki_versions", "insciout_releases_a")
"""Sets with versions or transcripts of the same text; their pairs are no false duplicates."""
PRINTS_AT_ONCE = 50_000
NEAREST_JACCARD = 0.1

Table = dict[str, dict[str, float]]


class Prints:
    """Fingerprints of texts, made with `damaged_print=off` and with `damaged_print=on`."""

    def __init__(self, texts: Sequence[str], languages: Sequence[str | None]) -> None:
        self.texts = texts
        tasks = [TextTask(i, 0, languages[i], None, text) for i, text in enumerate(texts)]
        self._profiles = {}
        for on in ("off", "on"):
            settings = Settings(damaged_print=on)
            made = Fingerprinter(settings).fingerprint_many(tasks)
            self._profiles[on] = settings, FingerprintArrays([made.one(i) for i in range(len(texts))], set())
        self._prints = np.zeros((len(texts), PRINT_BYTES), np.uint8)
        for i in range(len(texts)):
            fingerprint = made.one(i)
            if fingerprint is not None and len(fingerprint.signature):
                self._prints[i] = fingerprint.signature[settings.signature_size :]

    def duplicates(self, pairs: Pairs, on: str) -> np.ndarray[Any, Any]:
        settings, profiles = self._profiles[on]
        return profiles.score(pairs, settings).duplicates(settings)

    def damaged(self) -> Pairs:
        """Return the pairs that are duplicates only by the rule for damaged print."""
        settings, profiles = self._profiles["on"]
        pairs: Pairs = profiles.candidates()
        scored = profiles.score(pairs, settings)
        found: Pairs = pairs[scored.duplicates(settings) & (scored.rules(settings) == CODE[Rule.DAMAGED])]
        return found

    def candidates(self) -> Pairs:
        found: Pairs = self._profiles["on"][1].candidates()
        return found

    def undecided(self, pairs: Pairs) -> tuple[Flags, Flags, PrintPairs, Shares]:
        """Find the pairs that the rule for damaged print may decide: they are no duplicates without the rule,
        but have a common bucket and similar prints.

        Return flags of the duplicates without the rule, flags of the pairs found, and, for the pairs found,
        the counts of their prints and their signature Jaccards.
        """
        settings, profiles = self._profiles["on"]
        scored = profiles.score(pairs, settings)
        known = replace(scored, print_jaccard=np.zeros(len(pairs))).duplicates(settings)
        parts = (pairs[at : at + PRINTS_AT_ONCE].T for at in range(0, len(pairs), PRINTS_AT_ONCE))
        counts = [PrintPairs.of(self._prints[a], self._prints[b]) for a, b in parts]
        jaccard = np.concatenate([np.zeros(0), *(part.jaccard for part in counts)])
        chosen = ~known & scored.same_bucket & (jaccard >= NEAREST_JACCARD)
        a, b = pairs[chosen].T
        return (
            known,
            chosen,
            PrintPairs.of(self._prints[a], self._prints[b]),
            scored.signature_jaccard[chosen],
        )


class Papers:
    """Pairs of a correct and a damaged transcript of one article; and pairs with both transcripts damaged."""

    def __init__(self, data: Path) -> None:
        articles = {a["id"]: a for a in lines(data / f"{PAPERS}.jsonl.gz")}
        truth = list(lines(data / f"{PAPERS}.truth.jsonl.gz"))
        numbers = {id: i for i, id in enumerate(articles)}
        texts = [a["text"] for a in articles.values()]
        languages: list[str | None] = [None] * len(texts)
        sources = [str(a["source"]).partition(" (")[0] for a in articles.values()]
        pairs, self._labels, papers = [], list[tuple[str, float]](), list[str]()
        for row in truth:
            a, b = numbers[row["a"]], numbers[row["b"]]
            languages[a] = languages[b] = row["language"]
            if row["words"] >= LEAST_WORDS:
                pairs.append((a, b))
                self._labels.append((ONE, row["cer"]))
                papers.append(sources[a])
        donors = _Donors(truth, texts, numbers)
        for low, high in BOTH:
            for number, row in enumerate(truth):
                if low <= row["cer"] < high and row["words"] >= LEAST_WORDS:
                    spoilt = donors.spoil(number, low, high)
                    if spoilt is not None:
                        pairs.append((numbers[row["b"]], len(texts)))
                        self._labels.append((_band("both", low, high), row["cer"]))
                        papers.append(sources[numbers[row["a"]]])
                        texts.append(spoilt)
                        languages.append(row["language"])
        self._pairs, self._papers = np.array(pairs, np.int32), np.array(papers)
        self._story = np.full(len(texts), -1)
        for story, row in enumerate(truth):
            self._story[[numbers[row["a"]], numbers[row["b"]]]] = story
        self._prints = Prints(texts, languages)

    def recall(self) -> Table:
        """Return, by share of errors, the number of pairs, and the per cent found with setting off and on."""
        on, off = (self._prints.duplicates(self._pairs, setting) for setting in ("on", "off"))
        return self._by_band({"off": off, "on": on})

    def _by_band(self, flags: Mapping[str, Flags], only: Flags | None = None) -> Table:
        names = np.array(
            [
                next(_band(side, *band) for band in BANDS if error < band[1]) if side == ONE else side
                for side, error in self._labels
            ]
        )
        found: Table = {}
        for name in (*(_band(ONE, *band) for band in BANDS), *(_band("both", *band) for band in BOTH)):
            chosen = names == name if only is None else (names == name) & only
            if chosen.any():
                found[name] = {"pairs": chosen.sum()}
                found[name] |= {title: 100 * flag[chosen].mean() for title, flag in flags.items()}
        return found

    def folds(self, sets: Mapping[str, Prints]) -> dict[str, Table]:
        """Return the recall in each paper, and in all papers, with thresholds chosen on the other papers."""
        known, chosen, prints, signatures = self._prints.undecided(self._pairs)
        news = {
            name: each.undecided(each.candidates())[2:]
            for name, each in sets.items()
            if name not in SAME_TEXT
        }
        found, false, grid = list[Flags](), list[int](), list[str]()
        for values in itertools.product(*GRID.values()):
            with patch.multiple("dedup.text.damaged", **dict(zip(GRID, values, strict=True))):
                counts = {name: int(_all(*each).sum()) for name, each in news.items()}
                if all(count <= MOST_FALSE.get(name, 0) for name, count in counts.items()):
                    found.append(known.copy())
                    found[-1][chosen] |= _all(prints, signatures)
                    false.append(sum(counts.values()))
                    grid.append("; ".join(map(str, values)).replace(str(EVERY), "-"))
        side = np.array([side == ONE for side, _ in self._labels])
        errors = np.array([error for _, error in self._labels])
        counted = side & (errors >= 0.02) & (errors < 0.2)
        left_out = np.zeros(len(known), np.bool_)
        tables: dict[str, Table] = {}
        for paper in sorted(set(self._papers.tolist())):
            own = self._papers == paper
            best = max(range(len(grid)), key=lambda i: (found[i][counted & ~own].sum(), -false[i], -i))
            left_out[own] = found[best][own]
            tables[f"{paper}: {grid[best]}"] = self._by_band({"found": found[best]}, own & side)
        return {"all papers": self._by_band({"found": left_out})} | tables

    def others(self) -> int:
        """Count the pairs of transcripts of different articles that the rule wrongly makes duplicates."""
        pairs = self._prints.damaged()
        stories = self._story[pairs]
        return int(((stories >= 0).all(axis=1) & (stories[:, 0] != stories[:, 1])).sum())


def _all(prints: PrintPairs, signature_jaccard: Shares) -> Flags:
    found: Flags = np.logical_and.reduce(prints.conditions(signature_jaccard))
    return found


def _band(side: str, low: float, high: float) -> str:
    """Return the name of a row: one or both transcripts damaged, and the range of the share of errors."""
    return f"{side} {low:.0%}-{high:.0%}"


class _Donors:
    """Damaged texts from which errors are copied into correct texts, with the same gaps between errors."""

    def __init__(
        self, truth: Sequence[dict[str, Any]], texts: Sequence[str], numbers: dict[str, int]
    ) -> None:
        self._chooser = random.Random(7)
        self._truth = truth
        self._clean = [" ".join(texts[numbers[row["a"]]].split()) for row in truth]
        self._errors = []
        self._printed: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for row, clean in zip(truth, self._clean, strict=True):
            read = " ".join(texts[numbers[row["b"]]].split())
            found, last = [], 0
            for step in Levenshtein.opcodes(clean, read):
                if step.tag != "equal":
                    wrong, printed = (
                        clean[step.src_start : step.src_end],
                        read[step.dest_start : step.dest_end],
                    )
                    found.append((step.src_start - last, wrong, printed))
                    last = step.src_end
                    if len(wrong) <= 4:
                        self._printed[row["part"], row["language"]][wrong].append(printed)
            self._errors.append((found, len(clean) - last))

    def spoil(self, number: int, low: float, high: float) -> str | None:
        """Return the correct text of a pair with the errors of another pair; None if no pair is suitable."""
        own = self._truth[number]
        kind = own["part"], own["language"]
        others = [
            i
            for i, row in enumerate(self._truth)
            if i != number
            and (row["part"], row["language"]) == kind
            and low <= row["cer"] < high
            and self._errors[i][0]
        ]
        if not others:
            return None
        errors, rest = self._errors[self._chooser.choice(others)]
        clean, made, at = self._clean[number], list[str](), 0
        step = self._chooser.randrange(len(errors))
        gap = self._chooser.randrange(errors[step][0] + 1)
        while at + gap < len(clean):
            _, wrong, printed = errors[step]
            made.append(clean[at : at + gap])
            at += gap
            known = self._printed[kind].get(clean[at : at + len(wrong)])
            made.append(self._chooser.choice(known) if known else printed)
            at += len(wrong)
            step = (step + 1) % len(errors)
            gap = errors[step][0] + (0 if step else rest)
        return "".join([*made, clean[at:]])


def lines(file: Path) -> Iterator[dict[str, Any]]:
    if not file.exists():
        raise InputError(f"{file} is missing; name the folder of the sets with --data")
    with gzip.open(file, "rt", encoding="utf-8") as given:
        for line in given:
            yield json.loads(line)


def read(name: str, data: Path, folder: Path) -> Prints:
    file = generate(name, 1, folder)[0] if name == TEMPLATES else data / f"{name}.jsonl.gz"
    articles = list(lines(file))
    return Prints([a["text"] or "" for a in articles], [a.get("language") for a in articles])


def false_pairs(prints: Prints) -> dict[str, float]:
    pairs = prints.damaged().tolist()
    texts = prints.texts
    less = sum(overlap(texts[a], texts[b])[1] < CONFIRMING for a, b in pairs)
    return {"articles": len(texts), "pairs": len(pairs), "less": less}


def ablation(papers: Papers, sets: dict[str, Prints]) -> Table:
    found: Table = {}
    for condition in ABLATIONS:
        with patch.multiple("dedup.text.damaged", **ABLATIONS[condition]):
            recall = papers.recall()
            found[condition] = {name: row["on"] for name, row in recall.items() if row["pairs"] > 100}
            found[condition] |= {name: len(prints.damaged()) for name, prints in sets.items()}
    return found


def show(title: str, table: Table) -> None:
    columns = list(next(iter(table.values())))
    print(f"\n{title:28}" + "".join(f"{column:>16}" for column in columns))
    for name, row in table.items():
        cells = (f"{v:.1f}" if isinstance(v, float) else f"{v:,}" for v in (row[c] for c in columns))
        print(f"{name:28}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def drawn(recall: Table) -> Figure:
    """Draw bars of the pairs found with the setting off and on, by share of errors."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots()
    sides, errors = zip(*(name.rsplit(" ", 1) for name in recall), strict=True)
    labels = [f"{error.replace('%', '')} %\n{side}" for side, error in zip(sides, errors, strict=True)]
    places = np.arange(len(recall))
    for shift, on, colour in ((-0.2, "off", "0.6"), (0.2, "on", "tab:blue")):
        found = [row[on] for row in recall.values()]
        axes.bar(places + shift, found, 0.38, label=f"damaged_print={on}", color=colour)
    axes.set(ylabel="per cent found", ylim=(0, 100))
    axes.set_xticks(places, labels, fontsize=8)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
    return figure


def main() -> int:
    options = _options()
    try:
        papers = Papers(options.data)
        names = options.sets or sorted({*silver_sets(options.data), "insciout_releases_a", TEMPLATES})
        with tempfile.TemporaryDirectory(prefix="dedup-prints-") as folder:
            sets = {name: read(name, options.data, Path(folder)) for name in names}
        report: dict[str, Any] = {"papers": papers.recall(), "others": papers.others()}
        report["false"] = {name: false_pairs(prints) for name, prints in sets.items()}
        if options.folds:
            report["folds"] = papers.folds(sets)
        if options.ablation:
            chosen = {name: sets[name] for name in ABLATED if name in sets}
            report["ablation"] = ablation(papers, chosen)
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    if options.picture:
        picture.save(drawn(report["papers"]), options.picture)
    if options.json:
        print(json.dumps(report, indent=2, default=float))
        return 0
    show("papers", report["papers"])
    print(f"of different papers: {report['others']}")
    show("false", report["false"])
    for title, table in report.get("folds", {}).items():
        print(f"\n{title}")
        show("left out", table)
    if options.ablation:
        show("without", report["ablation"])
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help="default: all with silver truth, releases and templates"
    )
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    parser.add_argument("--folds", action="store_true", help="cross-validate the thresholds over papers")
    parser.add_argument("--ablation", action="store_true", help="take out one condition at a time")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw what is found, as SVG")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
