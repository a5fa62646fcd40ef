"""Measure the recall and precision of the marks, compared with an exact join.

    scripts/recall.py [SET ...] [--data FOLDER] [--settings NAME=VALUE]... [--pairs FILE] [--json]

Each set of real news with silver truth (an exact join over the 5-shingles of normalised words) is loaded into
a fresh corpus on an embedded server, and settled. Then the script counts:

- near: pairs with a Jaccard of at least 0.8. In one story: both articles have the same original, or two
  similar originals that were published more than `reprint_days` apart. Apart: neither is the case, and both
  are originals, so that a reader of `canonical_article` sees the text twice.
- duplicates: articles with this mark. Confirmed: duplicates with a Jaccard or containment of at least 0.5
  with their original.
- contained: pairs with a containment of at least 0.7 and a Jaccard below 0.5. Related: contained pairs in one
  story, or in two similar stories. With --json also `of_duplicates`: contained pairs that are not related and
  of which at least one article is a duplicate. (dedup compares duplicates only with originals.)
- by containment: pairs that only the containment rule relates. Confirmed: these pairs with an exact
  containment of at least 0.5.
- pages: whole web pages, with menus and advertisements, of articles that a person has also extracted.
  Related: pages in one story with the extracted article, or in a similar story.

Exits with code 3 if a bound of `Bounds` is missed. Takes about 5 minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sandbox import DATA, fresh_corpus, read_settings, silver_sets, store, throwaway_server

from dedup.base.article import Article
from dedup.base.errors import DedupError
from dedup.db.database import Database
from dedup.files.readers import Reject, read_articles
from dedup.settling.backfill import backfill
from dedup.store import exports, rulebooks, setting_rows
from dedup.store.exports import MarkRow, MatchRow
from dedup.text.normalize import words

NEAR_JACCARD = 0.8
CONFIRMING = 0.5
CONTAINED = 0.7
"""Bounds of Jaccard and containment over word 5-shingles for the counts described above."""

VERSION_CHAINS = "wiki_versions"
"""Set with a lower bound of recall, because its long chains of versions fall into several stories."""

PAGES = "extracted_pages_a"
WHOLE_OR_BODY = ("-html-text", "-inscriptis", "-gold")
"""Endings of the ids that are measured in `PAGES`.

Two extractors returned the text of the whole page; people marked the text of the article.
"""

NOTHING = "-"
"""Sign for a share that cannot be computed, because the whole is 0."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds in per cent for all sets together: `apart` is a maximum, all other bounds are minimums.

    Attributes:
        least_*: bounds for each single set; chains: bound for the recall of the set `VERSION_CHAINS`.
    """

    recall: float = 99.8
    least_recall: float = 99.5
    chains: float = 96.5
    apart: float = 0.1
    precision: float = 99.9
    least_precision: float = 99.0
    contained: float = 93.0
    containment_precision: float = 96.0
    pages: float = 99.0


BOUNDS = Bounds()


@dataclass(slots=True)
class Score:
    """Counts of one set, or sums over several sets; the top of this file describes each count."""

    name: str
    articles: int = 0
    failed: int = 0
    refused: int = 0
    near: int = 0
    together: int = 0
    apart: int = 0
    duplicates: int = 0
    confirmed: int = 0
    contained: int = 0
    related: int = 0
    of_duplicates: int = 0
    by_containment: int = 0
    containment_confirmed: int = 0
    pages: int = 0
    pages_related: int = 0
    compared: int = 0
    seconds: float = 0.0
    misses: list[dict[str, Any]] = field(default_factory=list)

    def share(self, part: str, whole: str) -> float | None:
        """Return the count `part` in per cent of the count `whole`; None if `whole` is 0."""
        count: int = getattr(self, whole)
        return 100 * getattr(self, part) / count if count else None

    def shares(self) -> dict[str, float | None]:
        """Return the shares in per cent that have bounds, by name."""
        return {name: self.share(*of) for name, of in SHARES.items()}

    def as_json(self) -> dict[str, Any]:
        """Return the counts, and the shares in per cent."""
        counts = {name: value for name, value in asdict(self).items() if name != "misses"}
        return {**counts, **self.shares()}


SHARES = {
    "recall": ("together", "near"),
    "apart": ("apart", "near"),
    "precision": ("confirmed", "duplicates"),
    "contained": ("related", "contained"),
    "containment_precision": ("containment_confirmed", "by_containment"),
    "pages": ("pages_related", "pages"),
}
"""Names of two counts, the part and the whole, by the name of the share."""


def missed(scores: Iterable[Score]) -> list[str]:
    """Return a sentence for each missed bound."""
    every = list(scores)
    news = total("news", (s for s in every if s.name != VERSION_CHAINS))
    whole = total("total", every)
    checks: list[tuple[str, str, float | None, float]] = [
        ("news together", "recall", news.shares()["recall"], BOUNDS.recall),
        ("together", "precision", whole.shares()["precision"], BOUNDS.precision),
        ("together", "contained", whole.shares()["contained"], BOUNDS.contained),
        ("together", "containment_precision", whole.shares()["containment_precision"],
         BOUNDS.containment_precision),
        ("together", "pages", whole.shares()["pages"], BOUNDS.pages),
    ]  # fmt: skip
    for score in every:
        bound = BOUNDS.chains if score.name == VERSION_CHAINS else BOUNDS.least_recall
        checks.append((score.name, "recall", score.shares()["recall"], bound))
        checks.append((score.name, "precision", score.shares()["precision"], BOUNDS.least_precision))
    found = [
        f"{where}: {name} {share:.2f} % is under {bound:g} %"
        for where, name, share, bound in checks
        if share is not None and share < bound
    ]
    apart = whole.shares()["apart"]
    if apart is not None and apart > BOUNDS.apart:
        found.append(f"together: apart {apart:.2f} % is over {BOUNDS.apart:g} %")
    return found


def main() -> int:
    options = _options()
    try:
        sets = _sets(options.data, options.sets)
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
    whole, lacks = total("total", scores), missed(scores)
    if options.pairs:
        misses = [json.dumps({"set": s.name, **miss}) + "\n" for s in scores for miss in s.misses]
        options.pairs.write_text("".join(misses), encoding="utf-8")
    if options.json:
        report = {"sets": [s.as_json() for s in scores], "total": whole.as_json(), "missed": lacks}
        print(json.dumps(report, indent=2))
    else:
        print(_row(whole))
        print("\n".join(f"MISSED: {line}" for line in lacks) or "every bound is met")
    return 3 if lacks else 0


def _sets(data: Path, names: Sequence[str]) -> dict[str, tuple[Path, Path]]:
    """Return the files of articles and of truth by set: the sets with silver truth, and the set `PAGES`."""
    silver = [name for name in names if name != PAGES]
    found = silver_sets(data, silver) if silver or not names else {}
    pages = data / f"{PAGES}.jsonl.gz"
    if pages.exists() and (not names or PAGES in names):
        found[PAGES] = (pages, data / f"{PAGES}.truth.jsonl.gz")
    return found


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
    texts: dict[str, Article] = {}
    store(database, _accepted(news, score, texts))
    score.compared = backfill(database, workers=workers).compared
    marks = {row["id"]: row for row in exports.marks(database)}
    matches = list(exports.matches(database))
    score.seconds = round(time.perf_counter() - started, 1)
    with database.transaction() as cursor:
        days = setting_rows.load_settings(cursor).reprint_days
    compare(score, marks, matches, list(_lines(truth)), texts, timedelta(days=days))
    return score


def compare(
    score: Score,
    marks: Mapping[str, MarkRow],
    matches: Iterable[MatchRow],
    truth: Iterable[dict[str, Any]],
    articles: Mapping[str, Article],
    near: timedelta,
) -> None:
    """Compare the marks with the silver pairs, and add the counts to `score`.

    Args:
        marks: rows of `exports.marks` by id; matches: rows of `exports.matches`.
        truth: rows of a silver file (`a`, `b`, `jaccard5`, `containment5`), or of the set of pages, whose
            rows have `extractor`, too.
        articles: articles by id; silver files leave out articles with fewer than 20 shingles.
        near: the setting `reprint_days`.
    """
    texts = {id: article.text for id, article in articles.items()}
    story = {id: mark["duplicate_of"] or id for id, mark in marks.items() if mark["status"] != "failed"}
    score.articles = len(marks)
    score.failed = len(marks) - len(story)
    rows = list(matches)
    similar = {frozenset((row["a"], row["b"])) for row in rows}
    for row in {frozenset((row["a"], row["b"])): row for row in truth}.values():
        a, b = row["a"], row["b"]
        if a not in story or b not in story:
            continue
        same = story[a] == story[b]
        if "extractor" in row:
            score.pages += 1
            score.pages_related += same or frozenset((story[a], story[b])) in similar
        elif row["jaccard5"] >= NEAR_JACCARD:
            times = articles[story[a]].published_at, articles[story[b]].published_at
            if times[0] and times[1] and abs(times[0] - times[1]) > near:
                same |= frozenset((story[a], story[b])) in similar
            apart = story[a] == a and story[b] == b and not same
            score.near += 1
            score.together += same
            score.apart += apart
            if not same:
                score.misses.append(
                    {"miss": "recall", "a": a, "b": b, "jaccard5": row["jaccard5"], "apart": apart}
                )
        elif row["containment5"] >= CONTAINED and row["jaccard5"] < CONFIRMING:
            related = same or frozenset((story[a], story[b])) in similar
            score.contained += 1
            score.related += related
            score.of_duplicates += not related and (story[a] != a or story[b] != b)
            if not related:
                score.misses.append(
                    {"miss": "contained", "a": a, "b": b, "containment5": row["containment5"]}
                )
    for id, mark in marks.items():
        if mark["status"] == "duplicate":
            score.duplicates += 1
            original = mark["duplicate_of"]
            assert original is not None
            jaccard, containment = overlap(texts[id], texts[original])
            if max(jaccard, containment) >= CONFIRMING:
                score.confirmed += 1
            else:
                known = {"score": mark["score"], "rule": mark["reason"], "jaccard5": jaccard}
                score.misses.append({"miss": "precision", "a": id, "b": original, **known})
    for match in rows:
        if match["rule"] == "containment":
            score.by_containment += 1
            _, containment = overlap(texts[match["a"]], texts[match["b"]])
            score.containment_confirmed += containment >= CONFIRMING
            if containment < CONFIRMING:
                known = {"claimed": match["containment"], "containment5": containment}
                score.misses.append({"miss": "containment", "a": match["a"], "b": match["b"], **known})


def overlap(a: str, b: str) -> tuple[float, float]:
    """Return Jaccard and containment of the word 5-shingles of two texts; a shorter text is one shingle."""
    one, other = _shingles(a), _shingles(b)
    both, fewer = len(one & other), min(len(one), len(other))
    return both / max(len(one | other), 1), both / max(fewer, 1)


def _shingles(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + 5]) for i in range(max(1, len(found) - 4))}


def total(name: str, scores: Iterable[Score]) -> Score:
    """Add up the scores of several sets."""
    whole = Score(name)
    for score in scores:
        for count in COUNTS:
            setattr(whole, count, getattr(whole, count) + getattr(score, count))
    return whole


def _accepted(news: Path, score: Score, articles: dict[str, Article]) -> Iterator[Article]:
    with read_articles(news) as reader:
        for found in reader:
            if isinstance(found, Article):
                if score.name == PAGES and not found.source_id.endswith(WHOLE_OR_BODY):
                    continue
                articles[found.source_id] = found
                yield found
            else:
                score.refused += isinstance(found, Reject)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


COUNTS = tuple(name for name in Score.__slots__ if name not in ("name", "misses"))

_COLUMNS = ("articles", "failed", "near", "in one story", "apart", "duplicates", "confirmed", "contained",
            "related", "by containm.", "confirmed", "pages", "related", "compared", "seconds")  # fmt: skip


def _head() -> str:
    return f"{'set':24}" + "".join(f"{column:>13}" for column in _COLUMNS) + "\n"


def _row(score: Score) -> str:
    shares = {n: NOTHING if s is None else f"{s:.2f} %" for n, s in score.shares().items()}
    cells = [score.articles, score.failed, score.near, shares["recall"], shares["apart"], score.duplicates]
    cells += [shares["precision"], score.contained, shares["contained"], score.by_containment]
    cells += [
        shares["containment_precision"],
        score.pages,
        shares["pages"],
        f"{score.compared / max(score.articles, 1):.2f}",
    ]
    return f"{score.name:24}" + "".join(f"{cell:>13}" for cell in [*cells, f"{score.seconds:.0f}"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help="default: every set with silver truth, and the pages"
    )
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    parser.add_argument(
        "--settings", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    parser.add_argument("--workers", type=int, help="processes that read texts; default: one per core")
    parser.add_argument("--home", type=Path, help="a new folder for the server, which is kept")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="write the missed pairs, as JSONL of ids")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
