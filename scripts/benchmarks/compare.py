"""Compare dedup with other programs on the same texts: time, memory, disk and quality, in one table.

    scripts/benchmarks/compare.py [FILE] [--truth FILE] [--limit N | --grown N] [--only NAME ...] [--json]

Programs run one after another, each in its own processes, and `meter.py` measures all in the same way. The
texts are stored before the clock starts: in Postgres for programs that work there, in a file for all other
programs. A found pair is right if its Jaccard over word 5-shingles is at least 0.8, and wrong if it is below
0.5; other pairs are not counted. docs/benchmarks.md describes each row, and how fair the comparison is.

The other programs are installed once, with pinned hashes, into `.rivals` of this checkout (0.9 GB). A program
that cannot run has a row with the reason. Takes about 40 minutes; do not quote numbers of a busy machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import contestants
import meter
from contestants import CONTESTANTS, Bench, Row
from rotated import TooManyError, grown
from servers import embedded_server, version

from dedup.base.errors import DedupError
from dedup.extras.judging.truth import read_truth

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA

FILE = "reuters_web_2006_2010.jsonl.gz"
TRUTH = "reuters_web_2006_2010.truth_silver.jsonl.gz"
REPEATS = 2

VERSION = re.compile(r"^(datasketch|datatrove|rensa|text-dedup)==(\S+)", re.MULTILINE)
"""Pattern that finds the compared packages and their versions in the pinned requirements."""


def main() -> int:
    options = _options()
    try:
        with tempfile.TemporaryDirectory(prefix="dedup-compare-") as folder:
            work = Path(folder)
            work.chmod(0o711)  # if root runs this, the server is another user, who needs the folder
            articles = contestants.read(options.file, options.limit)
            named = options.truth
            if options.grown:
                given = articles
                articles = list(grown(lambda: given, len(given), options.grown))
                named = _of_copies(options.truth, -(-options.grown // len(given)), work / "truth.jsonl")
            numbers = {article.source_id: i for i, article in enumerate(articles)}
            truth = read_truth(named, numbers)
            with embedded_server(work / "home") as server:
                machine = _machine(server.url)
                bench = Bench(server, articles, numbers, truth, work, options.repeats)
                rows = list(_rows(bench, options.only or list(CONTESTANTS)))
    except (DedupError, TooManyError) as error:
        print(error, file=sys.stderr)
        return 1
    facts = {
        "articles": len(articles),
        "text_mb": round(sum(len(article.text.encode()) for article in articles) / 1e6, 1),
        "wanted_pairs": truth.duplicates,
        **machine,
    }
    if options.json:
        print(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print(", ".join(f"{name}: {value}" for name, value in facts.items()), _table(rows), sep="\n\n")
    return 0


def _of_copies(truth: Path, copies: int, place: Path) -> Path:
    """Write the pairs of a file of truth, and the same pairs of every copy of the articles, with the ids that
    `rotated.copied` gives to copies."""
    with gzip.open(truth, "rt", encoding="utf-8") as given, place.open("w", encoding="utf-8") as made:
        for row in map(json.loads, given):
            for end in ("", *(f"+{copy}" for copy in range(1, copies))):
                made.write(json.dumps(row | {name: row[name] + end for name in ("a", "b")}) + "\n")
    return place


def _rows(bench: Bench, names: list[str]) -> Iterator[Row]:
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        for row in contestants.run(name, bench):
            print(f"    {_line(row)}", file=sys.stderr, flush=True)
            yield row


def _machine(url: str) -> dict[str, object]:
    """Return the conditions of the measurement: cores, load, and versions of all programs."""
    return {
        "cores": meter.cores(),
        "load_average_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "postgres": version(url),
        **dict(VERSION.findall(contestants.PINNED.read_text())),
    }


def _number(digits: int) -> Callable[[float | None], str]:
    return lambda value: "–" if value is None else f"{value:,.{digits}f}"


COLUMNS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "wall": ("seconds", _number(1)),
    "cpu": ("CPU s", _number(1)),
    "peak_mb": ("peak MB", _number(0)),
    "disk_mb": ("disk MB", _number(1)),
    "f1": ("F1", _number(4)),
    "precision": ("precision", _number(4)),
    "recall": ("recall", _number(4)),
}


def _cells(row: Row) -> list[str]:
    if row.failure:
        return ["–"] * len(COLUMNS)
    return [show(getattr(row, name)) for name, (_, show) in COLUMNS.items()]


def _line(row: Row) -> str:
    heads = [head for head, _ in COLUMNS.values()]
    shown = [f"{head} {cell}" for head, cell in zip(heads, _cells(row), strict=True) if cell != "–"]
    return f"{row.name}: {'; '.join(filter(None, [', '.join(shown), row.failure or row.note]))}"


def _table(rows: list[Row]) -> str:
    """Return a table in Markdown, for docs/benchmarks.md."""
    heads = ["", *(head for head, _ in COLUMNS.values()), "note"]
    lines = [" | ".join(heads), " | ".join(["---", *["---:"] * len(COLUMNS), "---"])]
    lines += [" | ".join([row.name, *_cells(row), row.failure or row.note]) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE, help=f"default: {FILE}")
    parser.add_argument("--truth", type=Path, default=DATA / TRUTH, help=f"pairs; default: {TRUTH}")
    parser.add_argument("--limit", type=int, help="only the first articles")
    parser.add_argument("--grown", type=int, metavar="N", help="N articles, by copies with rotated words")
    parser.add_argument("--only", nargs="+", choices=list(CONTESTANTS), metavar="NAME",
                        help=", ".join(CONTESTANTS))  # fmt: skip
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help="runs of our cold backfill; the median counts"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
