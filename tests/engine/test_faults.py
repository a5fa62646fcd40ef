"""The N-th spawn, pipe write or read, allocation or file operation fails, for N = 1, 2, ... until none does.

After each: no hang, no orphan, an error where work is left, and a clean run ends in the marks of an
undisturbed one. Writes to the database are failed in `test_crash.py`. By default N is sampled; `-m torture`
takes every one. Everything is determined by the seed of the corpus.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dedup.article import Article
from dedup.cli import main
from dedup.corpus import (
    attempts,
    common_sentences,
    fingerprints,
    rulebooks,
    runs,
    settling,
)
from dedup.corpus.database import URL_VARIABLE, Database
from dedup.engine import backfill as backfill_module
from dedup.engine import fingerprinting, heartbeat, supervisor
from dedup.engine.backfill import backfill
from dedup.engine.pool import Factory, Limits, make_function
from tests import corpora
from tests.conftest import Told, empty
from tests.corpora import Answer, answer, assert_equal, assert_right, change_settings, load, wait_until
from tests.engine import faults
from tests.engine.faults import Faults, everywhere, failing, failing_files, sampled, watched
from tests.engine.test_crash import news
from tests.engine.test_pool import processes

pytestmark = pytest.mark.timeout(300)

SEED, ARTICLES = 5, 16
LIMITS = Limits(start_again=(0.02, 0.05, 0.1), stop=1)
PAUSES = (0.02, 0.05, 0.1)

Places = list[tuple[Any, str]]
ALLOCATIONS: Places = [
    (fingerprints, "waiting_page"),
    (fingerprints, "waiting_texts"),
    (fingerprints, "copy_rows"),
    (fingerprints.Batch, "store"),
    (fingerprints, "_fail"),
    (attempts, "waiting"),
    (attempts, "due"),
    (attempts, "note"),
    (rulebooks, "load_rulebook"),
    (rulebooks, "waiting_adoption"),
    (runs, "current"),
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
WORKER_ALLOCATIONS: Places = [
    (supervisor, "encode_chunk"),
    (supervisor, "decode_answer"),
    (supervisor, "_Worker"),
    (supervisor.Supervisor, "_wait"),
    (supervisor.Supervisor, "give"),
    (supervisor.Supervisor, "take"),
    (supervisor.Supervisor, "stop"),
]


@dataclass(frozen=True)
class Kind:
    """What fails, and how.

    Attributes:
        lasting: every call from the N-th on.
        workers: 0 where no worker process is needed to meet the fault.
    """

    places: Places
    error: Callable[[], BaseException]
    lasting: bool = False
    workers: int = 1


KINDS = {
    "spawn": Kind(
        [(subprocess, "Popen")], lambda: OSError(11, "Resource temporarily unavailable"), workers=2
    ),
    "spawn, lasting": Kind([(subprocess, "Popen")], lambda: OSError(24, "Too many open files"), lasting=True),
    "pipe": Kind([(os, "pipe")], lambda: OSError(24, "Too many open files")),
    "write": Kind([(supervisor._Worker, "send")], lambda: OSError(5, "Input/output error")),
    "write, lasting": Kind([(supervisor._Worker, "send")], lambda: OSError(5, "I/O error"), lasting=True),
    "read": Kind([(supervisor._Worker, "receive")], lambda: OSError(5, "Input/output error")),
    "read, lasting": Kind([(supervisor._Worker, "receive")], EOFError, lasting=True),
    "allocation": Kind(ALLOCATIONS, MemoryError, workers=0),
    "allocation, lasting": Kind(ALLOCATIONS, MemoryError, lasting=True, workers=0),
    "allocation beside workers": Kind(WORKER_ALLOCATIONS, MemoryError),
    "allocation beside workers, lasting": Kind(WORKER_ALLOCATIONS, MemoryError, lasting=True),
}


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """More places to fail at."""
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
    database: Database, clean: Answer, given: list[Article], workers: int, fault: AbstractContextManager[Any],
    factory: Factory,
) -> BaseException | None:  # fmt: skip
    """A backfill with a fault, and the next one without; returns the error of the first."""
    fill(database, given)
    with fault:
        raised = watched(
            lambda: backfill(
                database, batch=5, workers=workers, factory=factory, limits=LIMITS, retry_seconds=PAUSES
            )
        )
    wait_until(lambda: not processes(), 10)
    if raised is None:
        assert_equal(answer(database), clean)  # nothing is left to do
    raised_again = watched(lambda: backfill(database, batch=5, workers=0, factory=corpora.make_function))
    assert raised_again is None
    assert_equal(answer(database), clean)
    with database.transaction() as cursor:
        left = cursor.execute("SELECT count(*) FROM dedup.attempt").fetchone()
    assert left == (0,)
    return raised


def sweep(numbers: Iterator[int], one: Callable[[int], tuple[bool, BaseException | None]], name: str) -> str:
    """Go through the numbers until a run is untouched, and tell how it went; returns the faults, in words."""
    started, runs_done, errors = time.monotonic(), 0, 0
    for number in numbers:
        hit, raised = one(number)
        if not hit:
            assert raised is None
            break
        runs_done += 1
        errors += raised is not None
        assert runs_done < 500, "the run did not end"
    assert runs_done, "the fault was never met"
    seconds = time.monotonic() - started
    print(f"{name}: seed {SEED}, {runs_done} runs, {errors} of them ended with an error, {seconds:.1f} s")
    return f"{name}: {runs_done}, of which {errors} ended the run with an error"


def sweep_kind(database: Database, name: str, numbers: Iterator[int]) -> str:
    kind = KINDS[name]
    given = news(ARTICLES, SEED)
    clean = undisturbed(database, given)

    def one(number: int) -> tuple[bool, BaseException | None]:
        injected = Faults(number, kind.error, lasting=kind.lasting)
        factory = make_function if kind.workers else corpora.make_function
        raised = disturbed(database, clean, given, kind.workers, failing(injected, kind.places), factory)
        return bool(injected.hits), raised

    return sweep(numbers, one, name)


TRIALS = f"seed {SEED}, {ARTICLES} articles, each place in turn"

SLOW = ("write, lasting", "read, lasting")
"""Half a minute of waiting; `spawn, lasting` has the same end."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [name for name in KINDS if name not in SLOW])
def test_a_fault_here_and_there(database: Database, name: str) -> None:
    sweep_kind(database, name, sampled())


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KINDS)
def test_a_fault_everywhere(database: Database, name: str, told: Told) -> None:
    told("1, 14", TRIALS, sweep_kind(database, name, everywhere()))


def sweep_worker(
    database: Database, what: str, numbers: Iterator[int], patch: pytest.MonkeyPatch, folder: Path
) -> str:
    given = news(ARTICLES, SEED)
    clean = undisturbed(database, given)

    def one(number: int) -> tuple[bool, BaseException | None]:
        count = folder / f"count {number}"
        patch.setenv(faults.WORKER_FAULT, f"{what} {number} {count}")
        raised = disturbed(database, clean, given, 1, nullcontext(), faults.make_function)
        assert raised is None, "one worker lost is no reason to end"
        return count.stat().st_size >= number, raised

    return sweep(numbers, one, f"worker, {what}")


@pytest.mark.parametrize("what", ["memory", "exit"])
@pytest.mark.torture
def test_a_fault_in_a_worker_here_and_there(
    database: Database, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweep_worker(database, what, sampled(), monkeypatch, tmp_path)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("what", ["memory", "exit"])
def test_a_fault_in_a_worker_everywhere(
    database: Database, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Told
) -> None:
    told("1, 14", TRIALS, sweep_worker(database, what, everywhere(), monkeypatch, tmp_path))


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
    patch.setattr("dedup.engine.load.BATCH_ARTICLES", 5)

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


def test_a_hang_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "WATCHDOG_SECONDS", 0.1)
    with pytest.raises(faults.Hang):
        watched(lambda: time.sleep(1))
