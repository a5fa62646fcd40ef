"""Measure how time, memory and disk space grow with the corpus, from 10,000 to 1,000,000 articles.

    scripts/benchmarks/growth.py [FILE] [--sizes N ...] [--nights N ...] [--memory MB] [--verify N]
        --json RESULTS

Each size is measured on a fresh corpus on an embedded server: a load, one cold backfill, the bytes of every
table and index, and then a backfill of 2,000 new articles (a night). At the largest size, articles are also
submitted one by one, compared with a bare INSERT: new articles, and after a night a mixed stream of 60 % new
articles, 20 % duplicates, 10 % similar articles and 10 % edits of the night's articles. Last, with --verify,
marks of random articles are computed again. If a corpus is larger than the file, copies with rotated words
are added (`rotated.py`).

Each size is written to RESULTS when it is done, and the same command continues after the last size in
RESULTS. `plot.py` draws RESULTS. A run with 1,000,000 articles takes half an hour and 20 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import meter
import ours
from counts import mixed
from rotated import TooManyError, grown
from servers import Server, database_mb, embedded_server

from dedup import Article
from dedup.base.errors import DedupError, InputError
from dedup.files.readers import read_articles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA

FILE = "reuters_web_2006_2010.jsonl.gz"
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
NIGHT, HELD, MIXED = 2_000, 500, 600
"""Numbers of new articles: of a nightly run, of single submits at the largest size, of the mixed stream."""

LIMIT_SECONDS = 24 * 3600.0
TOLD_ARTICLES = 50_000
"""Number of loaded articles between two lines of progress."""

MEASURES = {
    "backfill seconds": ("backfill", "wall"),
    "backfill CPU seconds": ("backfill", "cpu"),
    "peak memory": ("backfill", "peak_mb"),
    "disk": ("disk_mb",),
    "night seconds": ("night", "wall"),
}
"""Name of a measure that gets an exponent -> keys that lead to its figure in the result for one size."""


def main() -> int:
    options = _options()
    try:
        results = _resumed(options.json, options.file)
        have = sum(1 for _ in _articles(options.file))
        with tempfile.TemporaryDirectory(prefix="dedup-growth-", dir=options.folder) as folder:
            Path(folder).chmod(0o711)  # if root runs this, the server is another user, who needs the folder
            with embedded_server(Path(folder) / "home") as server:
                for size in sorted(options.sizes):
                    if any(found["size"] == size for found in results["sizes"]):
                        _tell(f"{size:,}: done before")
                        continue
                    nightly = options.nights is None or size in options.nights
                    hooked = size == max(options.sizes)
                    memory = ["--memory", str(options.memory)] if options.memory else []
                    sample = options.verify if hooked else None
                    found = measure(
                        server, options.file, have, size, nightly, hooked, Path(folder), memory, sample
                    )
                    results["sizes"].append(found)
                    results["exponents"] = exponents(results["sizes"])
                    options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                    print(_row(found), flush=True)
    except (DedupError, TooManyError) as error:
        print(error, file=sys.stderr)
        return 1
    print("grows with the articles to the power of: ", end="")
    print(", ".join(f"{name} {value:.2f}" for name, value in results["exponents"].items()))
    return 0


def measure(
    server: Server,
    file: Path,
    have: int,
    size: int,
    nightly: bool,
    hooked: bool,
    folder: Path,
    options: Sequence[str] = (),
    sample: int | None = None,
) -> dict[str, Any]:
    """Measure one size. If a part fails, the result has the reason instead of the figures of that part.

    `options`: those of `dedup backfill`. `sample`: number of articles that `dedup verify` checks at the end.
    """
    found: dict[str, Any] = {"size": size, "text_mb": 0.0}
    articles = grown(lambda: _articles(file), have, size + NIGHT + HELD + MIXED)
    with server.database(f"growth_{size}") as url:
        _tell(f"{size:,}: loading")
        started = time.perf_counter()
        ours.load(url, _counted(islice(articles, size), found))
        found["load_seconds"] = time.perf_counter() - started
        before = database_mb(url)
        _tell(f"{size:,}: backfill, after {found['load_seconds']:,.0f} s of loading")
        cost = ours.backfill(server, url, *options, limit_seconds=LIMIT_SECONDS)
        found["backfill"] = asdict(cost)
        if cost.failure:
            return found
        found["rate"] = size / cost.wall
        found["database_mb"] = database_mb(url)
        found["disk_mb"] = found["database_mb"] - before
        found["relations_mb"] = ours.sizes(url)
        night, held = list(islice(articles, NIGHT)), list(articles)
        if nightly:
            _tell(f"{size:,}: a night, after {cost.wall:,.0f} s of backfill")
            ours.load(url, night)
            found["night"] = asdict(ours.backfill(server, url, *options, limit_seconds=LIMIT_SECONDS))
        if hooked:
            _tell(f"{size:,}: the hook")
            found["hook"] = _hook(server, url, held[:HELD], folder)
        if hooked and nightly:
            _tell(f"{size:,}: a mixed stream")
            found["mixed"] = _hook(server, url, mixed(night, held[HELD:], Random(0)), folder)
        if sample:
            _tell(f"{size:,}: verify")
            found["verify"] = asdict(ours.verify(server, url, sample, limit_seconds=LIMIT_SECONDS))
    return found


def _hook(server: Server, url: str, articles: Sequence[Article], folder: Path) -> dict[str, Any]:
    cost, hook = ours.hook(server, url, articles, folder)
    return {"failure": cost.failure} if hook is None else hook.as_json()


def exponents(found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the exponent e of each measure, which grows in proportion to size ** e."""
    fitted = {}
    for name, path in MEASURES.items():
        points = [(size["size"], value) for size in found if (value := figure(size, path))]
        if len({size for size, _ in points}) > 1:
            fitted[name] = exponent(points)
    return fitted


def figure(found: Mapping[str, Any], path: Sequence[str]) -> float | None:
    """Return the figure at `path` in the result for one size; None if it was not measured, or failed."""
    value: Any = found
    for name in path:
        if value is None or value.get("failure"):
            return None
        value = value.get(name)
    last: float | None = value
    return last


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line (least squares) through the logarithms of the points."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middle = (sum(x for x, _ in logs) / len(logs), sum(y for _, y in logs) / len(logs))
    above = sum((x - middle[0]) * (y - middle[1]) for x, y in logs)
    return above / sum((x - middle[0]) ** 2 for x, _ in logs)


def _counted(articles: Iterator[Article], found: dict[str, Any]) -> Iterator[Article]:
    """Yield the articles, add the size of each text to `found["text_mb"]`, and print the progress."""
    for number, article in enumerate(articles, 1):
        found["text_mb"] += len(article.text.encode()) / 1e6
        yield article
        if number % TOLD_ARTICLES == 0:
            _tell(f"    {number:,} loaded")


def _articles(file: Path) -> Iterator[Article]:
    with read_articles(file) as reader:
        yield from (item for item in reader if isinstance(item, Article))


def _resumed(json_file: Path, file: Path) -> dict[str, Any]:
    """Return the results of earlier runs in the file, without failed sizes, so that these are measured again.

    Raises:
        InputError: the file holds no results, or results of other articles or of another machine.
    """
    new = {"file": file.name, "cores": meter.cores(), "python": platform.python_version()}
    if not json_file.exists():
        return {**new, "exponents": {}, "sizes": []}
    try:
        kept: dict[str, Any] = json.loads(json_file.read_text(encoding="utf-8"))
        same = all(kept[name] == value for name, value in new.items()) and isinstance(kept["sizes"], list)
    except (ValueError, KeyError, TypeError):
        same = False
    if not same:
        raise InputError(f"{json_file} holds no results of {file.name} on this machine; name a new file")
    kept["sizes"] = [found for found in kept["sizes"] if not found["backfill"]["failure"]]
    return kept


def _tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _row(found: Mapping[str, Any]) -> str:
    cost = found["backfill"]
    if cost["failure"]:
        return f"{found['size']:>9,}  {cost['failure']}"
    parts = [
        f"{found['size']:>9,} articles, {found['text_mb']:,.0f} MB of text: {cost['wall']:,.1f} s"
        f" ({found['rate']:,.0f} a second), {cost['cpu']:,.1f} CPU s",
        f"peak {cost['peak_mb']:,.0f} MB and shared buffers {cost['shared_buffers_mb']:,.0f} MB",
        f"disk {found['disk_mb']:,.0f} MB, {found['disk_mb'] / found['text_mb']:.0%} of the text",
    ]
    largest = list(found["relations_mb"].items())[:6]
    parts.append(", ".join(f"{name} {size / found['text_mb']:.0%}" for name, size in largest))
    if night := found.get("night"):
        parts.append(night["failure"] or f"night {night['wall']:.1f} s")
    for name in ("hook", "mixed"):
        if hook := found.get(name):
            parts.append(
                hook.get("failure")
                or f"{name} {hook['submit_median']:.1f} ms, p99 {hook['submit_p99']:.1f};"
                f" bare INSERT {hook['insert_median']:.2f} and {hook['insert_p99']:.2f} ms;"
                f" {hook['ratio_median']:.1f} and {hook['ratio_p99']:.1f} times"
            )
    if verified := found.get("verify"):
        parts.append(verified["failure"] or f"verify found no difference in {verified['wall']:,.0f} s")
    return "; ".join(parts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE, help=f"default: {FILE}")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="articles of the corpora")
    parser.add_argument("--nights", type=int, nargs="+", metavar="N", help="sizes with a night; default: all")
    parser.add_argument("--memory", type=int, metavar="MB", help="of the memory engine; default: a quarter")
    parser.add_argument("--verify", type=int, metavar="N", help="at the largest size, check N articles again")
    parser.add_argument("--folder", type=Path, help="where the server keeps its data; default: the system's")
    parser.add_argument("--json", type=Path, required=True, metavar="RESULTS", help="written size by size")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
