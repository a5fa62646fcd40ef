"""The Spark engine gives the oracle's marks, pairs and common sentences for the corpora of all engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup.base.settings import Settings
from tests.conformance.corpora import CORPORA
from tests.conformance.test_engines import reference
from tests.corpora import assert_equal, sentence_hash
from tests.extras.spark.conftest import spark as spark
from tests.extras.spark.corpora import Abstract, answer, best_match_of, entries, said, settle

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.parametrize("name", CORPORA)
def test_spark_gives_the_oracles_answer(spark: Any, tmp_path: Path, name: str) -> None:
    given = CORPORA[name]()
    settings = Settings().with_values(given.settings)
    pins = {sentence_hash(code): common for code, common in given.sentences.items()}
    corpus = Abstract(entries(given.articles, settings), dict(said(given.pairs)), pins)
    # Half of the corpora are settled with a small head: a round compares few nodes per key. These corpora
    # need several rounds, but not dozens.
    window = max(2, len(corpus.entries) // 8)
    small = {} if sum(map(ord, name)) % 2 else {"head_minimum": window, "budget": 0}
    found = answer(settle(spark, tmp_path / "work", corpus, settings, **small))
    assert_equal(found.answer, reference(name))
    assert found.best_match == best_match_of(found.answer, corpus.entries, settings)
