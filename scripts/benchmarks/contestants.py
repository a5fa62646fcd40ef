"""Programs that `compare.py` compares, each a function that takes a `Bench` and yields rows of the table.

The timed part is always a whole process, including start-up.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import in_postgres
import meter
import numpy as np
import numpy.typing as npt
import ours
from meter import Cost
from servers import MissingError, Server, database_mb, trigram_server

from dedup import Article
from dedup.extras.judging.truth import DUPLICATE, Tally, Truth, score_groups
from dedup.extras.lab.evaluation.measures import tally
from dedup.files.readers import read_articles
from dedup.text.normalize import words

ROOT = Path(__file__).resolve().parents[2]
RIVALS = ROOT / ".rivals"
RIVALS_PYTHON = RIVALS / "bin" / "python"
PINNED = ROOT / "requirements" / "rivals.txt"
HERE = Path(__file__).parent

NIGHT, HELD = 2_000, 500
"""Articles of the nightly run, and articles submitted one by one; each at most a tenth of the corpus."""

CHANGED = ("duplicate_sentence_jaccard", "0.72")
"""A setting and its new value (the default is 0.7). After this change all marks are settled again."""

ASKED = 50
"""Number of trigram searches: each looks for the copies of an article that has copies."""

TRUTH_SHINGLES = 20
"""Articles with fewer distinct word 5-shingles are not in the silver truth."""

Found = npt.NDArray[np.int32]
"""Result of a program: the group of each article, shape (n,), or pairs of article numbers, shape (m, 2)."""


@dataclass(slots=True)
class Row:
    """A row of the table, in seconds, megabytes (10^6 bytes) and shares; None if a figure does not apply.

    Attributes:
        disk_mb: size on disk without the texts.
        note: remarks for the last column; failure: the reason why there are no figures.
        details: all figures behind the row, for `--json`.
    """

    name: str
    wall: float | None = None
    cpu: float | None = None
    peak_mb: float | None = None
    disk_mb: float | None = None
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    note: str = ""
    failure: str | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, cost: Cost, note: str = "") -> Row:
        if cost.failure:
            return cls(name, failure=cost.failure)
        return cls(name, cost.wall, cost.cpu, cost.peak_mb, note=note, details=asdict(cost))

    def judged(self, found: Tally) -> Row:
        self.f1, self.precision, self.recall = found.f1, found.precision, found.recall
        return self


@dataclass
class Bench:
    """Inputs and tools that all contestants share."""

    server: Server
    articles: Sequence[Article]
    numbers: dict[str, int]
    truth: Truth
    work: Path
    repeats: int = 2

    @cached_property
    def texts(self) -> Path:
        """Write the texts for `rivals.py`, into one file and also into a file per core; return the folder."""
        folder = self.work / "texts"
        folder.mkdir()
        parts = meter.cores()
        lines = [json.dumps({"id": str(i), "text": a.text}) + "\n" for i, a in enumerate(self.articles)]
        with (folder / "all.jsonl").open("w") as file:
            file.writelines(lines)
        for part in range(parts):
            with (folder / f"part-{part}.jsonl").open("w") as file:
                file.writelines(islice(lines, part, None, parts))
        return folder

    @cached_property
    def _installed(self) -> str | None:
        """Install the other programs if they are missing; return None, or the reason why this failed."""
        mark, wanted = RIVALS / "installed", PINNED.read_text()
        if mark.exists() and mark.read_text() == wanted:
            return None
        print(f"    installing the other programs into {RIVALS} (once; 0.9 GB)", file=sys.stderr)
        make: list[str | Path] = [sys.executable, "-m", "venv", RIVALS]
        install: list[str | Path] = [RIVALS_PYTHON, "-m", "pip", "install", "--quiet", "--no-deps"]
        for command in (make, [*install, "--require-hashes", "-r", PINNED]):
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                last = (done.stderr.strip() or "no reason given").splitlines()[-1]
                return f"the other programs cannot be installed: {last[:200]}"
        mark.write_text(wanted)
        return None

    def rivals(self) -> Path:
        """Return the path of `python` in the environment of the other programs.

        Raises:
            MissingError: the other programs cannot be installed.
        """
        if self._installed:
            raise MissingError(self._installed)
        return RIVALS_PYTHON

    @cached_property
    def short(self) -> npt.NDArray[np.bool_]:
        """Return a flag for each article: True if it is too short to be in the truth."""
        return np.array([len(_shingles(article.text)) < TRUTH_SHINGLES for article in self.articles])

    def judge(self, found: Found) -> Tally:
        """Count right, wrong and missed pairs; any two articles of a group are a pair.

        Pairs with an article that is not in the truth are not counted.
        """
        if found.ndim == 1:
            alone = int(found.max(initial=0)) + 1 + np.arange(len(found), dtype=np.int32)
            return score_groups(np.where(self.short, alone, found), self.truth).pairs
        found = found[~self.short[found].any(axis=1)]
        return tally(np.ones(len(found), np.bool_), self.truth.grade(found), self.truth.duplicates)

    @contextmanager
    def filled(self, server: Server, name: str) -> Iterator[str]:
        """Yield a database with the texts in the table `doc`."""
        with server.database(name) as url:
            in_postgres.fill(url, (article.text for article in self.articles))
            server.settle()
            yield url


def _shingles(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + 5]) for i in range(len(found) - 4)}


def read(file: Path, limit: int | None) -> list[Article]:
    """Return the first articles of a file; if an id is repeated, the last article with this id counts."""
    with read_articles(file) as reader:
        found = (item for item in reader if isinstance(item, Article))
        return list({article.source_id: article for article in islice(found, limit)}.values())


def run(name: str, bench: Bench) -> Iterator[Row]:
    """Yield the rows of a contestant; after an error, yield a row with the reason."""
    try:
        yield from CONTESTANTS[name](bench)
    except MissingError as error:
        yield Row(name, failure=str(error))
    except Exception as error:  # the message could hold the text of an article
        yield Row(name, failure=f"unexpected {type(error).__name__}")


def cold(bench: Bench) -> Iterator[Row]:
    """Measure `bench.repeats` backfills of all articles, and a backfill after a threshold has changed."""
    costs: list[Cost] = []
    for repeat in range(bench.repeats):
        with bench.server.database("ours_cold") as url:
            ours.load(url, bench.articles)
            before = database_mb(url)
            costs.append(ours.backfill(bench.server, url))
            if repeat + 1 < bench.repeats:
                continue
            if failed := next((cost for cost in costs if cost.failure), None):
                yield Row.of("dedup, cold backfill", failed)
                return
            row = Row.of("dedup, cold backfill", _median(costs), _ranges(costs))
            row.disk_mb = database_mb(url) - before
            row.details["runs"] = [asdict(cost) for cost in costs]
            yield row.judged(bench.judge(ours.groups(url, bench.numbers)))
            ours.change(url, *CHANGED)
            note = f"{CHANGED[0]} {CHANGED[1]} in place of 0.7; no text is read again"
            again = Row.of("dedup, settled again", ours.backfill(bench.server, url), note)
            if not again.failure:
                again.judged(bench.judge(ours.groups(url, bench.numbers)))
            yield again


def daily(bench: Bench) -> Iterator[Row]:
    """Measure our nightly run and single submissions; the rest of the bench's articles is settled before."""
    share = len(bench.articles) // 10
    night, held = min(NIGHT, share), min(HELD, share)
    base = len(bench.articles) - night - held
    with bench.server.database("ours_daily") as url:
        ours.load(url, bench.articles[:base])
        if (first := ours.backfill(bench.server, url)).failure:
            yield Row.of("dedup, nightly", first)
            return
        before = database_mb(url)
        ours.load(url, bench.articles[base : base + night])
        stored = database_mb(url)
        row = Row.of(
            "dedup, nightly", ours.backfill(bench.server, url), f"{night:,} new articles on {base:,}"
        )
        row.disk_mb = database_mb(url) - stored if stored > before else None
        yield row
        cost, found = ours.hook(bench.server, url, bench.articles[base + night :], bench.work)
        if found is None:
            yield Row.of("dedup, hook", cost)
            return
        note = (
            f"{found.articles} articles one by one: median {found.submit_median:.2f} ms, "
            f"99th percentile {found.submit_p99:.2f} ms; bare INSERT {found.insert_median:.2f} and "
            f"{found.insert_p99:.2f} ms; {found.ratio_median:.1f} and {found.ratio_p99:.1f} times as long"
        )
        yield Row("dedup, hook", peak_mb=cost.peak_mb, note=note, details=found.as_json())


def floor(bench: Bench) -> Iterator[Row]:
    """Measure the least work that every program must do if its texts are in Postgres: read, hash, write."""
    with bench.filled(bench.server, "floor") as url:
        row = _postgres_row(bench, "floor: out, one hash, back", "floor", url)
        yield (
            row
            if row.failure
            else row.judged(bench.judge(in_postgres.floor_groups(url, len(bench.articles))))
        )


def self_join(bench: Bench) -> Iterator[Row]:
    """Measure a self-join of sentences in SQL."""
    with bench.filled(bench.server, "self_join") as url:
        row = _postgres_row(bench, "SQL self-join on sentences", "self-join", url)
        yield row if row.failure else row.judged(bench.judge(in_postgres.self_join_pairs(url)))


def _postgres_row(bench: Bench, name: str, command: str, url: str) -> Row:
    before = database_mb(url)
    words: list[str | Path] = [sys.executable, HERE / "in_postgres.py", command, url]
    row = Row.of(name, meter.measure(words, postmaster=bench.server.postmaster))
    row.disk_mb = database_mb(url) - before
    return row


def trigrams(bench: Bench) -> Iterator[Row]:
    """Measure pg_trgm: first building the index of all texts, then searches for single articles."""
    wanted = bench.truth.pairs[bench.truth.grades == DUPLICATE]
    partnered = np.unique(wanted)
    asked = partnered[np.linspace(0, len(partnered) - 1, min(ASKED, len(partnered))).astype(int)]
    with trigram_server() as server, bench.filled(server, "trigrams") as url:
        before = database_mb(url)
        make: list[str | Path] = [sys.executable, HERE / "in_postgres.py", "trigram-index", url]
        row = Row.of("pg_trgm, its index", meter.measure(make, postmaster=server.postmaster))
        row.disk_mb = database_mb(url) - before
        yield row
        if row.failure:
            return
        answer = bench.work / "trigrams.json"
        search: list[str | Path] = [sys.executable, HERE / "in_postgres.py", "trigrams", url, answer]
        cost = meter.measure([*search, *map(str, asked)], postmaster=server.postmaster)
        if cost.failure:
            yield Row.of("pg_trgm, one article", cost)
            return
        found = json.loads(answer.read_text())
        took = found["milliseconds"]
        note = (
            f"median {statistics.median(took):,.0f} ms, longest {max(took):,.0f} ms of {len(asked)} searches"
        )
        if found["given_up"]:
            note += f"; {found['given_up']} given up after {in_postgres.LONGEST_MS / 1000:.0f} s"
        pairs = np.array(found["pairs"], np.int32).reshape(-1, 2)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        of_asked = int(np.isin(wanted, asked).any(axis=1).sum())
        pairs = pairs[~bench.short[pairs].any(axis=1)]
        judged = tally(np.ones(len(pairs), np.bool_), bench.truth.grade(pairs), of_asked)
        row = Row("pg_trgm, one article", peak_mb=cost.peak_mb, note=note, details={"milliseconds": took})
        yield row.judged(judged)


def rival(name: str, label: str, bench: Bench) -> Iterator[Row]:
    """Measure a program of `rivals.py`."""
    work, found = bench.work / name, bench.work / f"{name}.npy"
    command: list[str | Path] = [bench.rivals(), HERE / "rivals.py", name, bench.texts, work, found]
    row = Row.of(label, meter.measure(command))
    row.disk_mb = sum(path.stat().st_size for path in work.rglob("*") if path.is_file()) / 1e6
    yield row if row.failure else row.judged(bench.judge(np.load(found)))


def _median(costs: Sequence[Cost]) -> Cost:
    """Return a cost with the median of each figure."""
    figures = (
        "wall",
        "cpu",
        "cpu_postgres",
        "peak_mb",
        "peak_program_mb",
        "peak_postgres_mb",
        "shared_buffers_mb",
    )
    return Cost(**{name: statistics.median(getattr(cost, name) for cost in costs) for name in figures})


def _ranges(costs: Sequence[Cost]) -> str:
    walls = sorted(cost.wall for cost in costs)
    most = max(costs, key=lambda cost: cost.peak_mb)
    return (
        f"runs: {len(costs)}, of {walls[0]:.1f} to {walls[-1]:.1f} s; of the CPU, Postgres "
        f"{statistics.median(cost.cpu_postgres for cost in costs):.1f} s; memory: program "
        f"{most.peak_program_mb:.0f}, Postgres {most.peak_postgres_mb:.0f} MB, and shared buffers "
        f"{most.shared_buffers_mb:.0f} MB"
    )


CONTESTANTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "cold": cold,
    "daily": daily,
    "floor": floor,
    "datasketch-128": partial(rival, "datasketch-128", "datasketch, 128 values"),
    "datasketch-64": partial(rival, "datasketch-64", "datasketch, 64 values"),
    "rensa": partial(rival, "rensa", "rensa, 128 values"),
    "text-dedup": partial(rival, "text-dedup", "text-dedup, MinHash"),
    "datatrove": partial(rival, "datatrove", "datatrove, MinHash"),
    "self-join": self_join,
    "trigrams": trigrams,
}
"""Contestants by the names that `--only` takes."""
