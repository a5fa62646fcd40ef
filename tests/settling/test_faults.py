"""The N-th thread, allocation or file operation fails, for N = 1, 2, ... until a run meets no fault.

After each fault: no run hangs, a run that leaves work raises an error, and a clean run ends in the marks of
an undisturbed run. `test_crash.py` fails writes to the database. By default some N are tried; `-m torture`
tries all. The seed of the corpus determines everything.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from dedup.runs import heartbeat, runs
from dedup.settling import backfill as backfill_module
from dedup.settling import fingerprinting
from dedup.settling.backfill import backfill
from dedup.store import common_sentences, fingerprints, rulebooks, settling
from tests import corpora
from tests.conftest import Told, empty
from tests.corpora import Answer, answer, assert_equal, assert_right, change_settings, load
from tests.settling import faults
from tests.settling.faults import Faults, everywhere, failing, failing_files, sampled, watched
from tests.settling.test_crash import news

pytestmark = pytest.mark.timeout(300)

SEED, ARTICLES = 5, 16

Places = list[tuple[Any, str]]
ALLOCATIONS: Places = [
    (fingerprints, "waiting_page"),
    (fingerprints, "waiting_texts"),
    (fingerprints, "copy_rows"),
    (fingerprints.Batch, "store"),
    (fingerprints, "_fail"),
    (rulebooks, "load_rulebook"),
    (rulebooks, "find_adoption"),
    (runs, "find_current"),
    (runs, "claim"),
    (runs, "beat"),
    (runs, "end"),
    (common_sentences, "take_changes"),
    (common_sentences, "apply"),
    (common_sentences, "finish"),
    (settling, "write"),
    (settling, "next_unsettled"),
    (backfill_module, "refresh"),
    (backfill_module, "settle"),
    (fingerprinting, "FingerprintPool"),
    (fingerprinting, "analyze"),
    (heartbeat.Heartbeat, "advance"),
]


@dataclass(frozen=True)
class Kind:
    """A kind of fault: the functions that fail, and their error.

    Attributes:
        lasting: whether all calls from the N-th on fail, or the N-th only.
        workers: number of threads besides the thread that waits for them.
    """

    places: Places
    error: Callable[[], BaseException]
    lasting: bool = False
    workers: int = 0


KINDS = {
    "thread": Kind(
        [(ThreadPoolExecutor, "submit")], lambda: RuntimeError("can't start new thread"), workers=2
    ),
    "allocation": Kind(ALLOCATIONS, MemoryError),
    "allocation, lasting": Kind(ALLOCATIONS, MemoryError, lasting=True),
    "allocation in threads": Kind(ALLOCATIONS, MemoryError, workers=2),
}


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages and chunks small, so that there are more places to fail."""
    monkeypatch.setattr(fingerprinting, "PAGE_ARTICLES", 8)
    monkeypatch.setattr(fingerprinting, "CHUNK_ARTICLES", 4)


def fill(database: Database, given: list[Article]) -> None:
    empty(database)
    change_settings(database, common_stories=2)
    load(database, *given)


def undisturbed(database: Database, given: list[Article]) -> Answer:
    fill(database, given)
    backfill(database, workers=0, factory=corpora.make_function)
    clean = assert_right(database)
    assert clean.pairs
    assert clean.common
    return clean


def disturbed(
    database: Database, clean: Answer, given: list[Article], workers: int, fault: AbstractContextManager[Any]
) -> BaseException | None:
    """Run a backfill with a fault, then one without; return the error of the first."""
    fill(database, given)
    with fault:
        raised = watched(lambda: backfill(database, batch=5, workers=workers, factory=corpora.make_function))
    if raised is None:
        assert_equal(answer(database), clean)  # without an error no work is left
    raised_again = watched(lambda: backfill(database, batch=5, workers=0, factory=corpora.make_function))
    assert raised_again is None
    assert_equal(answer(database), clean)
    return raised


def sweep(numbers: Iterator[int], one: Callable[[int], tuple[bool, BaseException | None]], name: str) -> str:
    """Fail call N for each of `numbers` until a run meets no fault; return the numbers of runs and errors."""
    started, runs_done, errors = time.monotonic(), 0, 0
    for number in numbers:
        hit, raised = one(number)
        if not hit:
            assert raised is None
            break
        runs_done += 1
        errors += raised is not None
        assert runs_done < 500, "500 runs met a fault"
    assert runs_done, "no run met a fault"
    seconds = time.monotonic() - started
    print(f"{name}: seed {SEED}, {runs_done} runs, {errors} of them ended with an error, {seconds:.1f} s")
    return f"{name}: {runs_done}, of which {errors} ended the run with an error"


def sweep_kind(database: Database, name: str, numbers: Iterator[int]) -> str:
    kind = KINDS[name]
    given = news(ARTICLES, SEED)
    clean = undisturbed(database, given)

    def one(number: int) -> tuple[bool, BaseException | None]:
        injected = Faults(number, kind.error, lasting=kind.lasting)
        raised = disturbed(database, clean, given, kind.workers, failing(injected, kind.places))
        return bool(injected.hits), raised

    return sweep(numbers, one, name)


TRIALS = f"seed {SEED}, {ARTICLES} articles, each place in turn"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", KINDS)
def test_a_fault_here_and_there(database: Database, name: str) -> None:
    sweep_kind(database, name, sampled())


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KINDS)
def test_a_fault_everywhere(database: Database, name: str, told: Told) -> None:
    told("1, 14", TRIALS, sweep_kind(database, name, everywhere()))


def sweep_load(
    database: Database, corpus_url: str, numbers: Iterator[int], patch: pytest.MonkeyPatch, folder: Path
) -> str:
    given = news(ARTICLES, SEED)
    clean = undisturbed(database, given)
    news_file = folder / "news.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": a.source_id, "text": a.text, "published_at": str(a.published_at)} for a in given
    ]
    broken = ["{broken", '{"id": 1}', "[]"]
    news_file.write_text("\n".join([broken[0], *map(json.dumps, rows), *broken[1:]]))
    patch.setenv(URL_VARIABLE, corpus_url)
    patch.chdir(folder)
    patch.setattr("dedup.store.load.BATCH_ARTICLES", 5)

    def one(number: int) -> tuple[bool, BaseException | None]:
        fill(database, [])
        (folder / "news.jsonl.rejects.jsonl").unlink(missing_ok=True)
        injected = Faults(number, lambda: OSError(5, "Input/output error"))
        with failing_files(injected, folder):
            code = main.run(["load", str(news_file)])
        with database.transaction() as cursor:
            stored = cursor.execute("SELECT count(*) FROM dedup.article").fetchone()
        refused = (folder / "news.jsonl.rejects.jsonl").read_text() if not code else ""
        assert code or (stored == (ARTICLES,) and len(refused.splitlines()) == len(broken))
        assert main.run(["load", str(news_file)]) == 0
        backfill(database, batch=5, workers=0, factory=corpora.make_function)
        assert_equal(answer(database), clean)
        return bool(injected.hits), RuntimeError() if code else None

    return sweep(numbers, one, "file operation")


@pytest.mark.long("dedup", "migrations")
def test_a_fault_of_a_file_here_and_there(
    database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweep_load(database, corpus_url, sampled(), monkeypatch, tmp_path)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_fault_of_a_file_everywhere(
    database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Told
) -> None:
    told("1, 18", TRIALS, sweep_load(database, corpus_url, everywhere(), monkeypatch, tmp_path))


@pytest.mark.long("dedup", "migrations")
def test_a_hang_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "WATCHDOG_SECONDS", 0.1)
    with pytest.raises(faults.Hang):
        watched(lambda: time.sleep(1))
