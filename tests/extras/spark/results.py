"""Helpers for the tests of export and import: corpora, and results as a cluster returns them.

The oracle makes a result, which is written as the documented folder. So these tests need no Spark.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.db.database import Database
from dedup.extras.spark.exchange import FORMAT, RESULT, Basis, pins_digest, text_digest
from dedup.rules import oracle
from dedup.rules.marks import OrderKey, Pair, order_key, published_second
from dedup.rules.pair import Relation
from tests.conftest import empty
from tests.corpora import article, at, change_settings, code, fingerprint, load, window

Row = dict[str, Any]

SETTINGS = Settings(common_stories=4)
"""Settings of the corpora that `fill` makes."""


@dataclass
class ClusterResult:
    """The tables of a result as rows, and the content of `run.json`."""

    about: dict[str, Any]
    tables: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in RESULT})

    def write(self, folder: Path, files: int = 1) -> Path:
        """Write the result into a folder, each table in this number of files."""
        folder.mkdir()
        for name, rows in self.tables.items():
            (folder / name).mkdir()
            (folder / name / "_SUCCESS").touch()
            for part in range(files):
                write_table(folder / name / f"part-{part}.parquet", RESULT[name], rows[part::files])
        (folder / "run.json").write_text(json.dumps(self.about))
        return folder


def write_table(path: Path, table: pa.Schema, rows: Sequence[Row]) -> None:
    """Write a Parquet file like Spark: every column may hold nulls."""
    schema = pa.schema([(column.name, column.type) for column in table])
    pa.parquet.write_table(pa.Table.from_pylist(list(rows), schema), path)


def result_of(
    articles: Sequence[Article],
    settings: Settings | None = None,
    *,
    pairs: Mapping[tuple[str, str], Relation] | None = None,
    sentences: Mapping[int, bool] | None = None,
    horizon: datetime | None = None,
    models: Mapping[str, str] | None = None,
) -> ClusterResult:
    """Return the result that a cluster would compute for the articles, which must have `added_at`."""
    settings, pairs, sentences = settings or Settings(), pairs or {}, sentences or {}
    basis = Basis.of(settings, models or {}, pins_digest(pairs, sentences), microseconds(horizon))
    result = ClusterResult({"format": FORMAT, **basis.as_dict()})
    orders: dict[int, OrderKey] = {}
    names: dict[int, str] = {}
    subjects = []
    for number, given in enumerate(articles):
        made = fingerprint(settings, given.text, given.language, given.title, given.scope)
        assert given.added_at is not None
        order = order_key(settings, given.published_at, given.added_at, given.source_id)
        names[number], orders[number] = given.source_id, order
        failed = isinstance(made, str)
        result.tables["fingerprint"].append(
            {
                "source_id": given.source_id,
                "published_at": microseconds(given.published_at),
                "added_at": microseconds(given.added_at),
                "text_digest": text_digest(given.language, given.title, given.text, given.scope),
                "version": 0 if isinstance(made, str) else made.version,
                "content_hash": 0 if isinstance(made, str) else made.content_hash,
                "sentence_hashes": [] if isinstance(made, str) else list(made.sentence_hashes),
                "signature": b"" if isinstance(made, str) else made.signature.tobytes(),
                "buckets": [] if isinstance(made, str) else list(made.buckets),
                "word_count": 0 if isinstance(made, str) else made.word_count,
                "shingle_count": 0 if isinstance(made, str) else made.shingle_count,
                "reason": made if failed else None,
            }
        )
        if isinstance(made, str):
            _mark(result, given.source_id, "failed", None, None, made)
        else:
            published = published_second(settings, order[0], given.published_at)
            subjects.append(oracle.Subject(number, order, made, published))
    made_all = [subject.fingerprint for subject in subjects]
    common = oracle.common_sentences(made_all, settings, sentences)
    for sentence, stories in common.items():
        carriers = sum(sentence in one.sentence_hashes for one in made_all)
        result.tables["common_sentence"].append(
            {"sentence_hash": sentence, "carriers": carriers, "effective_stories": stories}
        )
    ids = {name: number for number, name in names.items()}
    said = {frozenset((ids[a], ids[b])): r for (a, b), r in pairs.items() if a in ids and b in ids}
    marks, kept = oracle.marks(subjects, set(common), settings, said)
    for number, mark in marks.items():
        original = None if mark.duplicate_of is None else names[mark.duplicate_of]
        _mark(result, names[number], mark.status.value, original, mark.score, mark.reason)
    best_match = _best_match(kept, orders)
    for pair in kept:
        result.tables["match"].append(
            {
                "source_id": names[pair.article_id],
                "other_source_id": names[pair.other_id],
                "relation": pair.relation,
                "rule": pair.rule,
                "score": pair.score,
                "sentence_jaccard": pair.sentence_jaccard,
                "signature_jaccard": pair.signature_jaccard,
                "containment": pair.containment,
                "best_match": best_match.get(pair.other_id) == pair.article_id,
            }
        )
    return result


def _mark(
    result: ClusterResult,
    name: str,
    status: str,
    original: str | None,
    score: float | None,
    reason: str | None,
) -> None:
    row = {"source_id": name, "status": status, "duplicate_of": original, "score": score, "reason": reason}
    result.tables["mark"].append(row)


def _best_match(kept: set[Pair], orders: Mapping[int, OrderKey]) -> dict[int, int]:
    """Return the best match of each article that is similar to others, chosen among the kept pairs."""
    found: dict[int, tuple[Any, ...]] = {}
    for pair in kept:
        if pair.relation == "similar":
            for one, other in ((pair.article_id, pair.other_id), (pair.other_id, pair.article_id)):
                rank = (-pair.score, pair.rule, orders[other], other)
                found[one] = min(found.get(one, rank), rank)
    return {one: rank[3] for one, rank in found.items()}


def news(count: int, seed: int = 1, start: int = 0) -> list[Article]:
    """Return random articles: copies, edits, similar articles, common sentences, short and empty texts."""
    rng = random.Random(seed)
    found = []
    for i in range(start, start + count):
        story = rng.randrange(max(1, count // 4))
        codes = [c + rng.choice((0, 0, 0, 1)) for c in window(story * 3, rng.choice((5, 6, 7)), ring=300)]
        if rng.random() < 0.3:
            codes.append(code(10_000 + rng.randrange(5)))
        if rng.random() < 0.05:
            codes = codes[:2]
        if rng.random() < 0.03:
            codes = []
        minute = None if rng.random() < 0.1 else rng.randrange(count)
        title = rng.choice((None, "Storm", "Harbour"))
        found.append(article(f"article {i}", codes, minute, title=title, added_at=at(rng.randrange(count))))
    return found


def fill(database: Database, given: Sequence[Article]) -> None:
    empty(database)
    change_settings(database, common_stories=SETTINGS.common_stories)
    load(database, *given)
