"""The Spark engine gives the oracle's answer, however the work is divided."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dedup.base.errors import InputError, WorkError
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.extras.spark.exchange import RESULT
from dedup.rules.marks import order_key
from dedup.rules.pair import Relation
from tests.conformance.corpora import CORPORA as CONFORMANCE
from tests.conformance.test_engines import reference
from tests.corpora import assert_equal, sentence_hash
from tests.extras.spark.corpora import (
    Abstract,
    FingerprintMaker,
    answer,
    best_match_of,
    expected,
    joined,
    joined_answers,
    said,
    settle,
    story,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_800)]

CORPORA, ARTICLES = 150, 12

DIVISIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as it comes": ({}, {}),
    "one at a time": ({"similar_pairs": 1}, {"head_minimum": 1, "budget": 0, "partitions": 1}),
    "all tasks peel": (
        {"similar_pairs": 2, "common_stories": 3},
        {"head_minimum": 3, "budget": 0, "edges_in_one_task": 0, "partitions": 7},
    ),
    "copies apart": ({"common_stories": 2}, {"head_minimum": 2, "budget": 0, "collapse": False}),
    "all at once": ({"similar_pairs": 3}, {"budget": 10**12, "edges_in_one_task": 0, "collapse": False}),
}
"""Settings, and options that must not change the result."""


def rounds(result: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = result.report["rounds"]
    return found


@pytest.mark.parametrize("division", DIVISIONS)
def test_hundreds_of_small_corpora_have_the_oracles_answer(spark: Any, tmp_path: Path, division: str) -> None:
    """Corpora without common keys are joined. One run settles each corpus as if it were alone."""
    values, options = DIVISIONS[division]
    settings = Settings().with_values(values)
    start = 1_000 * list(DIVISIONS).index(division)
    corpora = [FingerprintMaker(start + i, settings).corpus(ARTICLES, f"{i}-") for i in range(CORPORA)]
    whole = joined(corpora)
    result = settle(spark, tmp_path / "work", whole, settings, **options)
    found = answer(result)
    assert_equal(found.answer, joined_answers(expected(corpus, settings) for corpus in corpora))
    assert found.best_match == best_match_of(found.answer, whole.entries, settings)
    statuses = Counter(mark[0] for mark in found.answer.marks.values())
    assert set(statuses) == {"unique", "similar", "duplicate", "failed"}
    assert {pair[1] for pair in found.answer.pairs.values()} == {
        *("pinned", "content", "sentences", "signature", "containment")
    }
    assert found.answer.common
    assert len(rounds(result)) > 2 or options.get("budget", 10) > 0
    assert any(done.get("star_edges") for done in rounds(result)) or options.get("budget", 10) > 0


def test_the_answer_does_not_depend_on_how_the_work_is_divided(spark: Any, tmp_path: Path) -> None:
    settings = Settings()
    whole = joined(FingerprintMaker(9_000 + i, settings).corpus(20, f"{i}-") for i in range(12))
    wanted = None
    options: list[dict[str, Any]] = [
        {"head_minimum": 16, "budget": 10**9, "partitions": 1},
        {"head_minimum": 1, "budget": 0, "partitions": 2},
        {"head_minimum": 3, "budget": 300, "collapse": False, "edges_in_one_task": 0},
        {"head_minimum": 16, "budget": 0, "partitions": 7, "edges_in_one_task": 5},
    ]
    for number, given in enumerate(options):
        found = answer(settle(spark, tmp_path / str(number), whole, settings, **given))
        wanted = wanted or found
        assert_equal(found.answer, wanted.answer)
        assert found.best_match == wanted.best_match


def pairs_scored(result: Any) -> int:
    return sum(done.get("head_pairs", 0) + done.get("star_pairs", 0) for done in rounds(result))


def test_a_story_of_edited_copies_costs_pairs_in_proportion(spark: Any, tmp_path: Path) -> None:
    """Scored pairs are counted for 2,500 and 10,000 copies, which have 3 and 50 million pairs in total."""
    counts = {}
    for size in (2_500, 10_000):
        result = settle(spark, tmp_path / str(size), story(size, Settings()))
        counts[size] = pairs_scored(result)
        assert len(rounds(result)) < 8
    assert counts[10_000] < 5 * counts[2_500]
    assert counts[10_000] < 300 * 10_000


def test_the_marks_of_a_story_of_three_hundred_copies(spark: Any, tmp_path: Path) -> None:
    corpus = story(300, Settings(), seed=5, edits=(0.02, 0.1, 0.3))
    result = settle(spark, tmp_path / "work", corpus, head_minimum=4, budget=0)
    assert_equal(answer(result).answer, expected(corpus))
    assert not answer(result).answer.common


def test_a_long_chain_ends(spark: Any, tmp_path: Path) -> None:
    """Texts form a chain: each is a duplicate of the next text. The head has one place per key."""
    maker = FingerprintMaker(77, Settings())
    corpus = joined([maker.corpus(0, "")])
    texts = [maker.fingerprint([i + j for j in range(6)]) for i in range(24)]
    entries = maker.corpus(len(texts), "link ").entries
    corpus.entries = [
        type(e)(f"link {i:02}", e.added_at, e.added_at, made)
        for i, (e, made) in enumerate(zip(sorted(entries, key=lambda e: e.added_at), texts, strict=True))
    ]
    result = settle(spark, tmp_path / "work", corpus, head_minimum=1, budget=0)
    assert_equal(answer(result).answer, expected(corpus))
    assert len(rounds(result)) > 3


def test_an_empty_corpus_has_empty_tables(spark: Any, tmp_path: Path) -> None:
    result = settle(spark, tmp_path / "work", Abstract([]))
    assert_equal(answer(result).answer, expected(Abstract([])))
    result.write(str(tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*RESULT, "run.json"}
    for name in RESULT:
        assert list((tmp_path / "out" / name).glob("*.parquet"))


def test_a_result_is_written_as_it_is(spark: Any, tmp_path: Path) -> None:
    corpus = FingerprintMaker(3, Settings()).corpus(30, "a")
    result = settle(spark, tmp_path / "work", corpus)
    out = tmp_path / "out"
    for _ in range(2):  # the second result replaces the first
        result.write(str(out))
    for name, table in RESULT.items():
        assert spark.read.parquet(str(out / name)).columns == table.names
    assert spark.read.parquet(str(out / "mark")).count() == len(corpus.entries)
    report = json.loads((out / "run.json").read_text("utf-8"))
    assert report["counts"]["mark"] == len(corpus.entries)
    assert report["rounds"]
    assert all(step["bytes"] > 0 for step in report["steps"].values())


def test_articles_of_a_table_get_their_marks(spark: Any, tmp_path: Path) -> None:
    """Run from texts: in a new folder, in the same folder again, with other input, with known fingerprints,
    and with a horizon."""
    from dedup.extras.spark.estimate import estimate
    from dedup.extras.spark.options import CorpusState
    from dedup.extras.spark.schema import FINGERPRINT
    from dedup.spark import Options, Pins, deduplicate

    given = CONFORMANCE["mix_2"]()
    settings = Settings().with_values(given.settings)
    pins = Pins(said(given.pairs), {sentence_hash(code): flag for code, flag in given.sentences.items()})
    columns = ("source_id", "text", "title", "language", "published_at", "added_at")
    rows = [tuple(getattr(a, name) for name in columns) for a in given.articles]
    types = "source_id string, text string, title string, language string"
    types += ", published_at timestamp, added_at timestamp"
    for name, chosen in (("input", rows), ("half", rows[::2])):
        spark.createDataFrame(chosen, types).write.parquet(str(tmp_path / name))
    table, half = (spark.read.parquet(str(tmp_path / name)) for name in ("input", "half"))
    told: list[str] = []
    run = partial(deduplicate, settings=settings, pins=pins, told=lambda name, *_: told.append(name))
    result = run(table, work=str(tmp_path / "work"))
    wanted = reference("mix_2")
    assert_equal(answer(result).answer, wanted)
    assert result.fingerprints.count() == len(given.articles)
    assert result.refused.count() == 0
    assert {"read", "order", "groups", "matches"} <= set(told)
    again = run(table, work=str(tmp_path / "work"), options=Options(allow_pairs=10**9))
    assert not any(step["made"] for step in again.report["steps"].values())
    with pytest.raises(WorkError, match="steps of another run"):
        run(half, work=str(tmp_path / "work"))
    # Read half of the articles; the fingerprints of all articles are known.
    known = spark.createDataFrame(result.fingerprints.collect(), FINGERPRINT)
    assert_equal(answer(run(half, work=str(tmp_path / "known"), known=known)).answer, wanted)
    # Read all articles with a horizon, which refuses the earlier half.
    times = {
        a.source_id: order_key(settings, a.published_at, a.added_at, a.source_id)[0]
        for a in given.articles
        if a.added_at
    }
    horizon = sorted(times.values())[len(times) // 2]
    late = run(
        table,
        work=str(tmp_path / "late"),
        horizon=microseconds(horizon),
        options=Options(partitions=3),
    )
    assert_equal(answer(late).answer, reference("mix_2", horizon))
    assert {row.source_id for row in late.refused.collect()} == {n for n, t in times.items() if t < horizon}
    corpus = CorpusState(settings, pins, horizon=microseconds(horizon))
    guessed = estimate(table, work=str(tmp_path / "estimate"), corpus=corpus)
    assert guessed.articles == late.report["steps"]["order"]["rows"]
    assert guessed.texts == late.report["counts"]["node"]
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_a_run_over_the_limit_of_pairs_is_refused_before_its_rounds(spark: Any, tmp_path: Path) -> None:
    corpus = story(40, Settings())
    with pytest.raises(
        WorkError, match=r"up to [0-9,]+ pairs, and 50 are allowed.*(sentence|bucket) -?[0-9]+: "
    ):
        settle(spark, tmp_path / "work", corpus, allow_pairs=50)
    assert not [p.name for p in (tmp_path / "work").iterdir() if p.name.startswith("round")]
    # The same folder may be used with a higher limit, which does not change the result.
    assert_equal(answer(settle(spark, tmp_path / "work", corpus, allow_pairs=10**6)).answer, expected(corpus))


def dying_once(batches: Iterable[Any], settings: Settings, flag: str) -> Iterable[Any]:
    """Score pairs, but kill the process that gets the first batch."""
    from dedup.extras.spark.scoring import related

    for batch in batches:
        if not Path(flag).exists():
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from related([batch], settings)


def test_a_worker_process_that_is_killed_costs_its_task(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "died"
    monkeypatch.setattr("dedup.extras.spark.rounds.related", partial(dying_once, flag=str(flag)))
    corpus = FingerprintMaker(4, Settings()).corpus(30, "a")
    found = answer(settle(spark, tmp_path / "work", corpus))
    assert flag.exists()
    assert_equal(found.answer, expected(corpus))


def test_pins_are_of_two_articles_and_say_one_thing() -> None:
    pytest.importorskip("pyspark")
    from dedup.extras.spark.options import CorpusState
    from dedup.spark import Options, Pins

    with pytest.raises(InputError, match="itself"):
        Pins({("a", "a"): Relation.DUPLICATE})
    with pytest.raises(InputError, match="two ways"):
        Pins({("a", "b"): Relation.DUPLICATE, ("b", "a"): Relation.SIMILAR})
    same = [Pins({pair: Relation.DUPLICATE}) for pair in (("a", "b"), ("b", "a"))]
    digests = [CorpusState(pins=pins).basis().pins_digest for pins in (*same, Pins())]
    assert digests[0] == digests[1] != digests[2]
    with pytest.raises(InputError, match="head_minimum must be at least 1, not 0"):
        Options(head_minimum=0)
