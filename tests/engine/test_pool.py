"""No text can stop the others: one that raises, one that hangs, one that ends the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from dedup.corpus.database import Database
from dedup.engine import pool
from dedup.engine.backfill import backfill
from dedup.engine.pool import FingerprintFunction, FingerprintPool
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, Fingerprinter
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Fingerprinted, TextTask, fingerprint_task
from tests.corpora import article, load, window


def poisoned(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """Fingerprints like the real one, except for the texts that say otherwise."""
    real = pool.make_function(settings, models)

    def function(task: TextTask) -> Fingerprinted:
        if task.text.startswith("HANG"):
            threading.Event().wait()
        if task.text.startswith("DIE"):
            os._exit(9)
        return real(task)

    return function


def _tasks(count: int, poison: Mapping[int, str]) -> list[TextTask]:
    body = article("a", window(0, 6)).text
    return [TextTask(i, 0, None, None, f"{poison.get(i, '')} {body}".strip()) for i in range(count)]


def test_poison_stops_nothing() -> None:
    articles = _tasks(500, {120: "HANG", 333: "DIE"})
    chunks = [articles[start : start + 50] for start in range(0, 500, 50)]
    with FingerprintPool(Settings(), {}, 2, poisoned, chunk_seconds=5, article_seconds=3) as workers:
        results = {r.article_id: r for part in workers.run(chunks) for r in part}
    assert len(results) == 500
    failed = {i: r.reason for i, r in results.items() if r.fingerprint is None}
    assert failed == {
        120: "unreadable: fingerprinting it took longer than 3 s",
        333: "unreadable: fingerprinting it ended the worker process",
    }


class _Raising(Fingerprinter):
    def fingerprint(self, text: str, *more: object) -> Fingerprint:  # type: ignore[override]
        raise ValueError(text)


def test_a_text_that_raises_is_failed_without_its_words() -> None:
    result = fingerprint_task(_Raising(Settings()), TextTask(1, 0, None, None, "a secret text"))
    assert result == Fingerprinted(1, 0, None, "unreadable: ValueError")


def test_what_was_poison_is_fingerprinted_after_a_fix(database: Database) -> None:
    load(database, article("good", window(0, 6), 0))
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text) SELECT 'bad', 'DIE ' || text FROM dedup.article"
        )
    report = backfill(database, workers=1, factory=poisoned)
    assert (report.fingerprinted, report.failed) == (1, 1)
    load(database, article("bad", window(7, 6), 0))
    assert backfill(database, workers=0).fingerprinted == 1


def test_workers_end_with_the_pool() -> None:
    with FingerprintPool(Settings(), {}, 1) as workers:
        feeder = workers._feeders[0]
        assert next(iter(workers.run([_tasks(3, {})])))
        process = feeder._process
    feeder.join(10)
    assert process is not None
    assert not feeder.is_alive()
    assert process.exitcode is not None
