"""Measure the cost of each step of the Spark engine per article: bytes, processor time, and growth of time.

    scripts/benchmarks/spark_cost.py [FILE] [--sizes N ...] [--cores N] --json RESULTS

For each size, a Parquet table is written (not counted), and a fresh Spark on this machine runs `deduplicate`
once. If a corpus is larger than the file, copies with rotated words are added (`rotated.py`). Each step has
its seconds, processor time of Java and of Python, and the bytes that the step stores and shuffles. Work
between two steps counts for the later step. Run this script with the Python of an environment of
`scripts/spark-test`.

Each size is written to RESULTS when it is done; the table on stdout is Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import psutil
from growth import FILE, exponent
from rotated import TooManyError, grown

from dedup import Article
from dedup.base.article import ARTICLE_FIELDS
from dedup.base.errors import DedupError
from dedup.base.machine import cores
from dedup.files.readers import read_articles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA

SIZES = (58_051, 580_510)
GROUP_ROWS = 5_000
"""Number of rows per row group of the Parquet file; a task reads at least one row group."""

LOOK_SECONDS = 0.2
"""Seconds between two samples of the processes. A worker's time after its last sample is not counted."""

MEASURES = {
    "python": "Python ms",
    "java": "Java ms",
    "stored": "stored bytes",
    "shuffled": "shuffled bytes",
}
"""Measures per article, with their headings."""


def main() -> int:
    options = _options()
    if options.one:
        print(json.dumps(_measured(options.one, options.folder, options.cores, options.memory)))
        return 0
    found: dict[str, Any] = {"file": options.file.name, "cores": options.cores, "sizes": []}
    try:
        have = sum(1 for _ in _articles(options.file))
        for size in sorted(options.sizes):
            with tempfile.TemporaryDirectory(prefix="dedup-spark-", dir=options.folder) as folder:
                _tell(f"{size:,}: writing the table")
                _write(grown(lambda: _articles(options.file), have, size), Path(folder) / "articles.parquet")
                _tell(f"{size:,}: the run")
                found["sizes"].append(_run(size, folder, options))
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except (DedupError, TooManyError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(markdown(found["sizes"])))
    return 0


def markdown(sizes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table: the costs per article of each step, side by side for all sizes. With
    several sizes, the exponents of growth follow."""
    heads = [f"{size['articles']:,}: {head}" for size in sizes for head in ("s", *MEASURES.values())]
    yield f"| step | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    for step in dict.fromkeys(step for size in sizes for step in size["steps"]):
        cells = [cell for size in sizes for cell in _cells(size["steps"].get(step), size["articles"])]
        yield f"| {step} | {' | '.join(cells)} |"
    totals = [cell for size in sizes for cell in _cells(total(size["steps"]), size["articles"])]
    yield f"| all | {' | '.join(totals)} |"
    if len({size["articles"] for size in sizes}) > 1:
        grows = exponent([(size["articles"], size["seconds"]) for size in sizes])
        work = exponent(
            [(s["articles"], total(s["steps"])["python"] + total(s["steps"])["java"]) for s in sizes]
        )
        yield ""
        yield f"Time grows with the articles to the power of {grows:.2f}, processor time of {work:.2f}."


def total(steps: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Add up all steps."""
    return {name: sum(step[name] for step in steps.values()) for name in ("seconds", *MEASURES)}


def merged(steps: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the steps by name, with the rounds added up."""
    found: dict[str, dict[str, float]] = {}
    for step in steps:
        name = re.sub(r"\d+", "N", step["name"])
        kept = found.setdefault(name, dict.fromkeys(("seconds", *MEASURES), 0.0))
        for key in kept:
            kept[key] += step[key]
    return found


def _cells(step: Mapping[str, float] | None, articles: int) -> list[str]:
    if step is None:
        return [""] * (1 + len(MEASURES))
    milli = [f"{1000 * step[name] / articles:.3f}" for name in ("python", "java")]
    return [f"{step['seconds']:.1f}", *milli, *(f"{step[n] / articles:,.0f}" for n in ("stored", "shuffled"))]


def _run(size: int, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one size in a separate process, so that the processor time of other sizes is not counted."""
    words = [sys.executable, __file__, "--one", size, "--folder", folder, "--cores", options.cores]
    words += ["--memory", options.memory]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measured(size: int, folder: Path, used: int, memory: str) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    from dedup.extras.spark.reading import read_table
    from dedup.spark import deduplicate

    os.environ["PYSPARK_PYTHON"] = sys.executable
    (folder / "events").mkdir()
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(4 * used),
        "spark.local.dir": str(folder),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (folder / "events").as_uri(),
    }
    builder: Any = SparkSession.builder.master(f"local[{used}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    processors = Processors()
    spark = builder.getOrCreate()
    ended: list[tuple[str, float, float, float]] = []

    def told(name: str, _seconds: float, _rows: int) -> None:
        ended.append((name, time.time(), *processors.seconds()))
        _tell(f"    {name}")

    ended.append(("", time.time(), *processors.seconds()))
    df = read_table(spark, str(folder / "articles.parquet"))
    result = deduplicate(df, work=str(folder / "work"), told=told)
    report = result.report
    spark.stop()
    shuffles = _shuffles(folder / "events")
    steps = []
    for (_, begin, java, python), (name, end, java_after, python_after) in pairwise(ended):
        steps.append(
            {
                "name": name,
                "seconds": end - begin,
                "java": java_after - java,
                "python": python_after - python,
                "stored": report["steps"][name]["bytes"] or 0,
                "shuffled": sum(written for at, written in shuffles if begin < at <= end),
            }
        )
    return {
        "articles": size,
        "seconds": sum(step["seconds"] for step in steps),
        "steps": merged(steps),
        "rounds": report["rounds"],
        "counts": report["counts"],
        "spark": report["spark"],
    }


class Processors:
    """Processor seconds so far of Java, and of the Python processes that Java started.

    No system counter adds up the times of Python workers that end, so all processes are sampled all the time.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, float], tuple[bool, float]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._look, daemon=True).start()

    def seconds(self) -> tuple[float, float]:
        """Return the seconds of Java, and of Python."""
        self._update()
        with self._lock:
            java = sum(used for is_java, used in self._seen.values() if is_java)
            return java, sum(used for is_java, used in self._seen.values() if not is_java)

    def _look(self) -> None:
        while True:
            self._update()
            time.sleep(LOOK_SECONDS)

    def _update(self) -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                key, times = (process.pid, process.create_time()), process.cpu_times()
                is_java = "java" in process.name()
            except psutil.NoSuchProcess:
                continue
            with self._lock:
                self._seen[key] = (is_java, times.user + times.system)


def _shuffles(folder: Path) -> list[tuple[float, int]]:
    """Return for each stage the time of its end, in seconds, and the bytes that it shuffled."""
    found = []
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        for line in file.read_text("utf-8").splitlines():
            if '"SparkListenerStageCompleted"' not in line:
                continue
            about = json.loads(line)["Stage Info"]
            written = sum(
                int(value["Value"])
                for value in about["Accumulables"]
                if value["Name"] == "internal.metrics.shuffle.write.bytesWritten"
            )
            found.append((about["Completion Time"] / 1000, written))
    return found


def _write(articles: Iterator[Article], path: Path) -> None:
    """Write a Parquet file of articles, holding only one group of rows in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    zoned = pa.timestamp("us", "UTC")
    schema = pa.schema([(name, zoned if name.endswith("_at") else pa.string()) for name in ARTICLE_FIELDS])
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(islice(articles, GROUP_ROWS)):
            rows = {name: [getattr(article, name) for article in group] for name in ARTICLE_FIELDS}
            writer.write_table(pa.table(rows, schema))


def _articles(file: Path) -> Iterator[Article]:
    with read_articles(file) as reader:
        yield from (item for item in reader if isinstance(item, Article))


def _tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE, help=f"default: {FILE}")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="articles of the corpora")
    parser.add_argument("--cores", type=int, default=cores(), help="of Spark; default: all")
    parser.add_argument("--memory", default="8g", help="of Spark's Java")
    parser.add_argument("--folder", type=Path, help="where tables are written; default: the system's")
    parser.add_argument("--json", type=Path, metavar="RESULTS", help="written size by size")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.one and options.json is None:
        parser.error("name a file for the results with --json")
    return options


if __name__ == "__main__":
    sys.exit(main())
