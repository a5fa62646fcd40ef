"""How much of what an exact join finds do the marks find, and how much of what they say does it confirm?

    scripts/recall.py [SET ...] [--data FOLDER] [--settings NAME=VALUE]... [--pairs FILE] [--json]

For each set of real news with silver truth: a fresh corpus on an embedded server of its own, load,
backfill, count. Recall: of the pairs whose word-5-shingle Jaccard is at least 0.8, how many are in one
story (a canonical article with its duplicates). Precision: of the `duplicate` marks, how many have their
pair (article, duplicate_of) in the silver file, which holds Jaccard or containment >= 0.5. Pairs with a
`failed` or refused article do not count. Exit code 3 if a bound below is missed. About 6 minutes.
Read next: `dedup/settings.py`, whose defaults were settled with this.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sandbox import DATA, fresh_corpus, read_settings, silver_sets, store, throwaway_server

from dedup.article import Article
from dedup.corpus import articles, rulebooks
from dedup.corpus.database import Database
from dedup.engine.backfill import backfill
from dedup.errors import DedupError
from dedup.files.readers import Reject, read_articles

NEAR_JACCARD = 0.8
"""Pairs of at least this word-5-shingle Jaccard must be in one story."""

TOTAL_RECALL, TOTAL_PRECISION, SET_LEAST = 99.0, 98.0, 97.0
"""Per cent: bounds of all sets together, and the least that any one set may have in either."""

NOTHING = "-"
"""Shown where there is nothing to divide by."""


@dataclass(slots=True)
class Score:
    """The counts of one set, or of all together.

    Attributes:
        near: pairs of Jaccard >= 0.8 of two articles that were read; together: those in one story.
        marks: articles marked `duplicate`; confirmed: those whose pair the silver file holds.
    """

    name: str
    articles: int = 0
    failed: int = 0
    refused: int = 0
    near: int = 0
    together: int = 0
    marks: int = 0
    confirmed: int = 0
    seconds: float = 0.0
    misses: list[dict[str, Any]] = field(default_factory=list)

    @property
    def recall(self) -> float | None:
        """Per cent; None without a pair."""
        return 100 * self.together / self.near if self.near else None

    @property
    def precision(self) -> float | None:
        """Per cent; None without a mark."""
        return 100 * self.confirmed / self.marks if self.marks else None

    def meets(self, recall: float, precision: float) -> bool:
        """Whether both bounds are met; what cannot be divided meets them."""
        return (self.recall is None or self.recall >= recall) and (
            self.precision is None or self.precision >= precision
        )

    def as_json(self) -> dict[str, Any]:
        """The counts, and both shares in per cent."""
        counts = {name: value for name, value in asdict(self).items() if name != "misses"}
        return {**counts, "recall": self.recall, "precision": self.precision}


def main() -> int:
    options = _options()
    try:
        sets = silver_sets(options.data, options.sets)
        settings = read_settings(options.settings)
        scores = []
        with throwaway_server(options.home) as url:
            database = Database(url)
            try:
                for name, (news, truth) in sets.items():
                    scores.append(measure(database, name, news, truth, settings, options.workers))
                    if not options.json:
                        print(_row(scores[-1]) if len(scores) > 1 else _head() + _row(scores[-1]), flush=True)
            finally:
                database.close()
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    whole = total(scores)
    met = whole.meets(TOTAL_RECALL, TOTAL_PRECISION) and all(s.meets(SET_LEAST, SET_LEAST) for s in scores)
    if options.pairs:
        misses = [json.dumps({"set": s.name, **miss}) + "\n" for s in scores for miss in s.misses]
        options.pairs.write_text("".join(misses), encoding="utf-8")
    if options.json:
        report = {"sets": [s.as_json() for s in scores], "total": whole.as_json(), "met": met}
        print(json.dumps(report, indent=2))
    else:
        print(_row(whole))
        bounds = f"{TOTAL_RECALL:g} % and {TOTAL_PRECISION:g} % in total, {SET_LEAST:g} % in every set"
        print(f"{'met' if met else 'MISSED'}: recall and precision of at least {bounds}")
    return 0 if met else 3


def measure(
    database: Database,
    name: str,
    news: Path,
    truth: Path,
    settings: Mapping[str, str],
    workers: int | None = None,
) -> Score:
    """Load and mark one set in a fresh corpus, and compare the marks with the silver truth."""
    score = Score(name)
    started = time.perf_counter()
    fresh_corpus(database)
    with database.transaction(settling=True) as cursor:
        rulebooks.change_settings(cursor, settings)
    store(database, _accepted(news, score))
    backfill(database, workers=workers)
    marks = {row["id"]: row for row in articles.export(database, articles.MARKS)}
    score.seconds = round(time.perf_counter() - started, 1)
    compare(score, marks, list(_lines(truth)))
    return score


def compare(score: Score, marks: Mapping[str, dict[str, Any]], truth: Iterable[dict[str, Any]]) -> None:
    """Count into `score` what the marks and the silver pairs say of each other.

    Args:
        marks: rows of `articles.MARKS` by id.
        truth: rows of a silver file: `a`, `b`, `jaccard5`, `containment5`.
    """
    story = {id: mark["duplicate_of"] or id for id, mark in marks.items() if mark["status"] != "failed"}
    score.articles = len(marks)
    score.failed = len(marks) - len(story)
    silver = {frozenset((row["a"], row["b"])): row for row in truth}
    for row in silver.values():
        a, b = row["a"], row["b"]
        if row["jaccard5"] < NEAR_JACCARD or a not in story or b not in story:
            continue
        score.near += 1
        if story[a] == story[b]:
            score.together += 1
        else:
            score.misses.append({"miss": "recall", "a": a, "b": b, "jaccard5": row["jaccard5"]})
    for id, mark in marks.items():
        if mark["status"] != "duplicate":
            continue
        score.marks += 1
        if frozenset((id, mark["duplicate_of"])) in silver:
            score.confirmed += 1
        else:
            known = {"score": mark["score"], "rule": mark["reason"]}
            score.misses.append({"miss": "precision", "a": id, "b": mark["duplicate_of"], **known})


def total(scores: Iterable[Score]) -> Score:
    """All sets together."""
    whole = Score("total")
    for score in scores:
        for count in (*_COUNTS, "seconds"):
            setattr(whole, count, getattr(whole, count) + getattr(score, count))
    return whole


def _accepted(news: Path, score: Score) -> Iterator[Article]:
    with read_articles(news) as reader:
        for found in reader:
            if isinstance(found, Reject):
                score.refused += 1
            else:
                yield found


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


_COUNTS = ("articles", "failed", "refused", "near", "together", "marks", "confirmed")
_COLUMNS = (*_COUNTS[:5], "recall %", *_COUNTS[5:], "precision %", "seconds")


def _head() -> str:
    return f"{'set':24}" + "".join(f"{column:>12}" for column in _COLUMNS) + "\n"


def _row(score: Score) -> str:
    shares = [NOTHING if share is None else f"{share:.2f}" for share in (score.recall, score.precision)]
    cells = [score.articles, score.failed, score.refused, score.near, score.together, shares[0]]
    cells += [score.marks, score.confirmed, shares[1], f"{score.seconds:.0f}"]
    return f"{score.name:24}" + "".join(f"{cell:>12}" for cell in cells)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: every set with silver truth")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    parser.add_argument(
        "--settings", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    parser.add_argument("--workers", type=int, help="processes that read texts; default: one per core")
    parser.add_argument("--home", type=Path, help="a new folder for the server, which is kept")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="write what was missed, as JSONL of ids")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
