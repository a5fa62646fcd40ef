"""No text can stop the others: one that raises, one that hangs, one that ends the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from dedup.corpus.database import Database
from dedup.corpus.fingerprints import Reading, Unread
from dedup.engine import pool
from dedup.engine.backfill import backfill
from dedup.engine.pool import Reader, ReaderPool, read_text
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprinter
from dedup.text.punkt import PunktModel
from tests.corpora import article, load, window


def poisoned_reader(settings: Settings, models: Mapping[str, PunktModel]) -> Reader:
    """Reads like the real one, except for the texts that say otherwise."""
    read = pool.make_reader(settings, models)

    def reader(unread: Unread) -> Reading:
        if unread.text.startswith("HANG"):
            threading.Event().wait()
        if unread.text.startswith("DIE"):
            os._exit(9)
        return read(unread)

    return reader


def _unread(count: int, poison: Mapping[int, str]) -> list[Unread]:
    body = article("a", window(0, 6)).text
    place = (article("a", window(0, 6)).published_at, "a")
    return [Unread(i, 0, None, f"{poison.get(i, '')} {body}".strip(), place) for i in range(count)]  # type: ignore[arg-type]


def test_poison_stops_nothing() -> None:
    articles = _unread(500, {120: "HANG", 333: "DIE"})
    chunks = [articles[start : start + 50] for start in range(0, 500, 50)]
    with ReaderPool(Settings(), {}, 2, poisoned_reader, chunk_seconds=5, article_seconds=3) as readers:
        readings = {r.article_id: r for part in readers.read(chunks) for r in part}
    assert len(readings) == 500
    failed = {i: r.reason for i, r in readings.items() if r.fingerprint is None}
    assert failed == {
        120: "unreadable: reading it took longer than 3 s",
        333: "unreadable: reading it ended the worker process",
    }


class _Raising(Fingerprinter):
    def fingerprint(self, text: str, language: str | None = None) -> object:  # type: ignore[override]
        raise ValueError(text)


def test_a_text_that_raises_is_failed_without_its_words() -> None:
    reading = read_text(_Raising(Settings()), "a secret text", None)
    assert (reading.fingerprint, reading.reason) == (None, "unreadable: ValueError")


def test_what_was_poison_is_read_again_after_a_fix(database: Database) -> None:
    load(database, article("good", window(0, 6), 0))
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text) SELECT 'bad', 'DIE ' || text FROM dedup.article"
        )
    report = backfill(database, workers=1, factory=poisoned_reader)
    assert (report.read, report.failed) == (1, 1)
    load(database, article("bad", window(7, 6), 0))
    assert backfill(database, workers=0).read == 1


def test_workers_end_with_the_pool() -> None:
    with ReaderPool(Settings(), {}, 1) as readers:
        feeder = readers._feeders[0]
        assert next(iter(readers.read([_unread(3, {})])))
        process = feeder._process
    feeder.join(10)
    assert process is not None
    assert not feeder.is_alive()
    assert process.exitcode is not None
