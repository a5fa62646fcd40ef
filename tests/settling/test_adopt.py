"""Changed settings are adopted in short steps, beside hooks and other work."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from dedup.db.database import Cursor, Database
from dedup.settling import adopt as adopt_module
from dedup.settling.adopt import adopt
from dedup.settling.backfill import backfill
from dedup.store import rulebooks
from dedup.store.rulebooks import AdoptionPlan, StaleRulesError
from tests.corpora import (
    article,
    assert_counted,
    assert_right,
    change_settings,
    code,
    deduplicator,
    load,
    make_function,
    window,
)

CHANGES = [{"duplicate_sentence_jaccard": 0.4}, {"text_min_words": 60}, {"bands": 15, "common_stories": 2}]


def fill(database: Database, count: int = 30) -> None:
    rng = random.Random(3)
    load(
        database, *(article(f"a{i}", [*window(rng.randrange(30), 6, 30), code(99)], i) for i in range(count))
    )
    load(database, article("empty", [], 5))
    backfill(database, workers=0, factory=make_function)


def settle(database: Database) -> None:
    backfill(database, workers=0, factory=make_function)
    assert_right(database)
    assert_counted(database)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adopt_module, "ARTICLES_PER_TRANSACTION", 4)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("values", CHANGES, ids=str)
def test_one_step_holds_few_articles(
    database: Database, values: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database)
    change_settings(database, **values)
    sizes: list[int] = []
    withdraw = rulebooks.withdraw_for

    def measured(cursor: Cursor, plan: AdoptionPlan, ids: Sequence[int]) -> None:
        sizes.append(len(ids))
        withdraw(cursor, plan, ids)

    monkeypatch.setattr(rulebooks, "withdraw_for", measured)
    assert adopt(database)
    # The last step looks at all articles again, because they have just been marked.
    assert max(sizes[:-1]) == 4
    assert sum(sizes[:-1]) == 31
    assert not adopt(database)
    settle(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("values", CHANGES, ids=str)
@pytest.mark.parametrize("after", [1, 3, 7])
@pytest.mark.parametrize("then", ["go on", "change back", "change again"])
def test_whatever_comes_between(
    database: Database,
    values: dict[str, float],
    after: int,
    then: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(database)
    change_settings(database, **values)

    def between() -> None:
        corpus = deduplicator(database)
        corpus.submit(article("early", window(3, 6, 30), -5))
        corpus.submit(article("a1", window(7, 6, 30), 3))
        corpus.delete("a3")
        if then == "change back":
            change_settings(database, **dict.fromkeys(values))
        elif then == "change again":
            change_settings(database, similar_sentence_jaccard=0.2)

    monkeypatch.setattr(
        adopt_module, "_withdraw_page", interrupted(adopt_module._withdraw_page, after, between)
    )
    if then == "go on":
        assert adopt(database)
    else:
        with pytest.raises(StaleRulesError):
            adopt(database)
    settle(database)


def interrupted(
    step: Callable[..., int | None], after: int, act: Callable[[], None]
) -> Callable[..., int | None]:
    """Return a wrapper of `step` that calls `act` before its call number `after`."""
    calls: list[None] = []

    def wrapped(*given: object) -> int | None:
        calls.append(None)
        if len(calls) == after:
            act()
        return step(*given)

    return wrapped


def test_one_that_broke_off_is_begun_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(database)
    change_settings(database, duplicate_sentence_jaccard=0.4)

    def stop() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(adopt_module, "_withdraw_page", interrupted(adopt_module._withdraw_page, 3, stop))
        with pytest.raises(KeyboardInterrupt):
            adopt(database)
    verdict = deduplicator(database).submit(article("new", window(3, 6, 30), 99))
    assert verdict.provisional
    settle(database)
