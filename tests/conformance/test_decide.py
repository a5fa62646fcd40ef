"""The memory engine's decisions without a database, on the corpora with which all engines are tested.

These tests are cheap, so they decide each corpus in steps of several sizes, as it is and with many more pins.
`tests/rules/test_decide.py` does the same with corpora that Hypothesis makes.
"""

from __future__ import annotations

import pytest

from dedup.base.settings import Settings
from dedup.rules.decide import COMPARED_AT_ONCE
from dedup.rules.marks import order_key, published_second
from dedup.rules.oracle import Subject
from tests.conformance.corpora import CORPORA, Corpus, many_pins
from tests.corpora import fingerprint
from tests.rules.test_decide import check

STEPS = (1, 7, COMPARED_AT_ONCE)


def subjects(corpus: Corpus, settings: Settings) -> dict[str, Subject]:
    """Return the articles that have a fingerprint, by source_id."""
    found: dict[str, Subject] = {}
    for article in corpus.articles:
        assert article.added_at is not None
        made = fingerprint(settings, article.text, article.language, article.title)
        if not isinstance(made, str):
            order = order_key(settings, article.published_at, article.added_at, article.source_id)
            published = published_second(settings, order[0], article.published_at)
            found[article.source_id] = Subject(len(found), order, made, published)
    return found


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", CORPORA)
def test_decisions_are_those_of_the_oracle_whatever_a_step_holds(name: str, seed: int | None) -> None:
    corpus = CORPORA[name]() if seed is None else many_pins(CORPORA[name](), seed)
    settings = Settings().with_values(corpus.settings)
    found = subjects(corpus, settings)
    pins = {
        frozenset((found[a].id, found[b].id)): relation
        for a, b, relation in corpus.pairs
        if {a, b} <= found.keys()
    }
    for at_once in STEPS:
        check(list(found.values()), settings, pins, at_once)
