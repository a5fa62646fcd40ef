"""Results of methods on one corpus, evaluated by a truth: the content of the table and the report."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dedup.extras.judging.truth import Truth
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.evaluation.disagreements import Disagreement, disagreements
from dedup.extras.lab.evaluation.measures import Evaluation, evaluate
from dedup.extras.lab.evaluation.results import MethodResult


@dataclass(frozen=True, slots=True)
class Comparison:
    corpus: str  # name of the file
    documents: int
    characters: int
    refused: int  # number of lines that are not articles
    repeated: int  # number of articles that a later line replaced
    truth: str | None  # name of the truth's file
    duplicates: int  # number of duplicate pairs in the truth
    unclear: int  # number of unclear pairs in the truth
    results: tuple[MethodResult, ...]  # one result per method, in the order of the methods
    evaluations: dict[str, Evaluation]  # label -> evaluation, for finished methods; empty without a truth
    disagreements: tuple[Disagreement, ...]
    made_at: str
    machine: str


def assemble(
    name: str,
    corpus: DocumentSet,
    results: Sequence[MethodResult],
    truth: Truth | None = None,
    truth_name: str | None = None,
) -> Comparison:
    ended = [result for result in results if result.done]
    return Comparison(
        corpus=name,
        documents=len(corpus),
        characters=sum(len(document.text) for document in corpus),
        refused=corpus.refused,
        repeated=corpus.repeated,
        truth=Path(truth_name).name if truth_name else None,
        duplicates=truth.duplicates if truth else 0,
        unclear=truth.unclear if truth else 0,
        results=tuple(results),
        evaluations={r.label: evaluate(r, truth) for r in ended} if truth else {},
        disagreements=tuple(disagreements(corpus, ended, truth)),
        made_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        machine=f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
    )
