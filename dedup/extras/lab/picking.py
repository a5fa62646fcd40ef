"""Pairs to be judged, drawn from the pairs that methods find among the newest articles of the corpus."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import InputError
from dedup.base.numbers import pair_keys, pairs_of
from dedup.base.progress import Progress, SilentProgress
from dedup.base.settings import Settings
from dedup.extras.judging.judgements import Pick
from dedup.extras.judging.sampling import draw, permanent_numbers, stratify
from dedup.extras.lab.documents import Document, DocumentSet
from dedup.extras.lab.evaluation.compare import LIMIT_SECONDS, Source, compare, measure
from dedup.extras.lab.evaluation.results import MethodResult, opinions
from dedup.extras.lab.method import Method
from dedup.extras.lab.methods.product import Product


def read(dd: Deduplicator, count: int) -> DocumentSet:
    # The newest articles are taken, because a random sample would tear stories apart.
    found = dd.newest(count)
    if not found:
        raise InputError("the corpus is empty: `dedup load FILE` first")
    return DocumentSet([Document.of(article) for article in found])


def find_pairs(
    dd: Deduplicator,
    corpus: DocumentSet,
    methods: Sequence[Method],
    *,
    limit_seconds: float = LIMIT_SECONDS,
    progress: Progress | None = None,
) -> list[MethodResult]:
    """Run the product's own rule with the settings of the database, then other methods; return all results.

    The result of a method that fails or is too slow has `done` false. `progress` counts methods.
    """
    bar = progress or SilentProgress()
    bar.start("comparing", 1 + len(methods))
    settings = dd.settings.in_force()
    models = dd.settings.sentence_models()
    product = Product(settings.duplicate_signature_jaccard, settings=settings, models=models)
    own = measure(product, corpus)
    bar.advance(1)
    with tempfile.TemporaryDirectory(prefix="dedup-lab-") as folder:
        file = Path(folder) / "articles.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for document in corpus:
                lines.write(json.dumps(_row(document)) + "\n")
        others = compare(
            Source(file),
            methods,
            Path(folder) / "results",
            limit_seconds=limit_seconds,
            ended=lambda _: bar.advance(1),
        )
    return [own, *others]


def _row(document: Document) -> dict[str, str | None]:
    time = document.published_at.isoformat() if document.published_at else None
    return {"id": document.id, "text": document.text, "language": document.language, "published_at": time}


def picks(
    corpus: DocumentSet, results: Sequence[MethodResult], settings: Settings, total: int, seed: int
) -> list[Pick]:
    """Draw a stratified sample of the pairs that any method found.

    `results`: the result of the product's own rule, then the results of other methods.
    """
    keys = np.unique(np.concatenate([pair_keys(result.pairs, len(corpus)) for result in results]))
    if not len(keys):
        raise InputError("no method finds a pair in this corpus: there is nothing to judge")
    pairs = pairs_of(keys, len(corpus))
    scores, accepted = opinions(results, keys, len(corpus))
    strata = stratify(scores[0], accepted.T, settings)
    ids = [document.id for document in corpus]
    drawn = draw(strata, total, permanent_numbers(ids, pairs, seed))
    return [
        Pick(
            ids[pairs[row, 0]],
            ids[pairs[row, 1]],
            name,
            int(size),
            len(rows),
            {r.label: round(float(scores[i, row]), 4) for i, r in enumerate(results)},
        )
        for name, size, rows in zip(strata.names, strata.sizes, drawn, strict=True)
        for row in rows
    ]
