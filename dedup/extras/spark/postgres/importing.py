"""`dedup import`: the result of a cluster becomes the marks of this corpus, all marks or none.

    read the folder -> compare it with the corpus -> put new fingerprints in use -> write everything at once

No mark changes before the last step, a single transaction. Changes that people make between comparing and
writing are noted, and the next backfill settles them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from dedup.attach.marking import write_marks
from dedup.base.errors import BusyError, InputError
from dedup.base.progress import Both, Progress, SilentProgress, timed
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.db.connection import Connection, Session
from dedup.db.database import Cursor, Database, retry, translate_errors
from dedup.extras.spark import exchange
from dedup.extras.spark.exchange import RESULT, RUN_FILE, Basis, TableFiles
from dedup.extras.spark.postgres import ImportReport, cluster_import
from dedup.extras.spark.postgres.cluster_import import Checked
from dedup.extras.spark.postgres.exporting import wanted
from dedup.runs.heartbeat import Heartbeat
from dedup.runs.runs import RunCounts
from dedup.settling import choice, segments
from dedup.settling.adopt import adopt
from dedup.settling.fingerprinting import analyze
from dedup.settling.memory.run import COMPACT_SHARE, MemoryRun, compact, vacuum
from dedup.settling.refresh import find_examples
from dedup.store import memory_engine, rulebooks
from dedup.store.memory_engine import LOOSE_INDEXES
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.text.fingerprints import Fingerprints

_FIRST, _LAST = (microseconds(time.replace(tzinfo=UTC)) for time in (datetime.min, datetime.max))

DIGEST_BYTES = 32  # length of a SHA-256

_STAGED = {"mark": "import_mark", "match": "import_match", "common_sentence": "import_common"}


def run(
    database: Database,
    folder: str | Path,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> ImportReport:
    """Import a result; see `Deduplicator.import_corpus`. `stop` has no effect once the writing has begun."""
    path, shown = Path(folder), progress or SilentProgress()
    basis = Basis.read(exchange.read_json(path / RUN_FILE), str(path / RUN_FILE))
    tables = {name: TableFiles(path, name, table) for name, table in RESULT.items()}
    with closing(database.connect(patient=True)) as connection:
        if connection.pooled:
            raise InputError(
                f"{database.location} is behind a pooler that lends connections for one transaction only;"
                " an import needs a connection of its own: connect directly to the server"
            )
        work = _Work(database, connection, path, basis, tables, stop)
        if dry_run:
            if work.agrees() and work.stage(shown):
                work.check(shown)
            return work.report
        with closing(Heartbeat(database, "import")) as heartbeat:
            if not heartbeat.claim():
                assert heartbeat.other
                raise BusyError(f"{heartbeat.other.kind} is running, {heartbeat.other}: wait until it ends")
            try:
                work.all(heartbeat.run, Both(heartbeat, shown))
            except BaseException as error:
                # If the database failed, `end` may fail, too. The next run sees that the heartbeat stopped.
                with suppress(Exception):
                    heartbeat.end("failed", type(error).__name__)
                if isinstance(error, StaleRulesError):
                    raise BusyError(
                        f"{database.location}: the settings changed meanwhile, or a backfill took over;"
                        " no mark was changed: run the import again"
                    ) from None
                raise
            report = work.report
            # The marks are written, so the import must not fail if its counts cannot be recorded.
            with suppress(Exception):
                heartbeat.add_counts(RunCounts(report.fingerprints, report.marks, 0, report.seconds))
            heartbeat.end("stopped" if report.stopped else "done")
    return report


@dataclass
class _Work:
    """A running import. Its connection holds the temporary tables."""

    database: Database
    connection: Connection
    folder: Path
    basis: Basis
    tables: dict[str, TableFiles]
    stop: Callable[[], bool]

    def __post_init__(self) -> None:
        self.report = ImportReport(str(self.folder))
        self._timed = partial(timed, self.report.seconds)

    def all(self, run: int, progress: Progress) -> None:
        if not self.agrees():
            raise self._refused()
        if not self.stage(progress):
            return
        self.report.adopted = adopt(self.database)
        with self.database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        memory = choice.choose_memory()
        with MemoryRun(self.database, rulebook, run, memory, progress, self._timed, self.stop, loading=False):
            checked = self.check(progress)
            if self.report.problems:
                raise self._refused()
            entering = [change for change in checked.changes if change.enters]
            words = find_examples(self.database, rulebook.fingerprinter, entering)
            if self.report.fingerprints:
                self._put_in_use(rulebook, run, progress)
            if self._ended():
                return

            def write() -> None:
                with self._transaction(settling=True) as cursor:
                    memory_engine.check(cursor, rulebook, run)
                    cluster_import.write(
                        cursor, rulebook.settings, checked, words, self.report, progress.advance
                    )
                    memory_engine.end(cursor, run)

            progress.start("writing marks", None)
            with self._timed("writing"):
                retry(write, self.database.timeouts.lock)
        self._tidy_up()

    def _ended(self) -> bool:
        self.report.stopped = self.report.stopped or self.stop()
        return self.report.stopped

    def agrees(self) -> bool:
        """Return True if the result has the settings, pins, models, horizon and program of the corpus."""
        with self.database.transaction() as cursor:
            self.report.problems = cluster_import.differences(cursor, self.basis)
        return not self.report.problems

    def _refused(self) -> InputError:
        first, *others = self.report.problems
        more = f" (and more: `dedup import {self.report.folder} --dry-run` lists all)" if others else ""
        return InputError(f"{self.report.folder} does not fit this corpus: {first}{more}")

    def stage(self, progress: Progress) -> bool:
        """Copy the result into temporary tables. Return False if asked to stop before the end.

        Raises InputError: a file is cut off, or holds values that no cluster writes.
        """
        # The import does not read the table `refused`, because refused rows have no marks.
        rows = sum(files.rows for name, files in self.tables.items() if name != "refused")
        progress.start("reading the result", rows)
        with self._timed("reading"), self._transaction() as cursor:
            settings, place = wanted(cursor).corpus.settings, 0
            cluster_import.create(cursor)
            for name in (*_STAGED, "fingerprint"):
                for batch in self.tables[name].batches():
                    if self._ended():
                        return False
                    if name == "fingerprint":
                        made = self._fingerprints(batch, settings)
                        cluster_import.add(cursor, "import_article", self._articles(batch, place))
                        cluster_import.add_fingerprints(cursor, place, made)
                        place += batch.num_rows
                    else:
                        columns = (column.to_pylist() for column in batch.columns)
                        cluster_import.add(cursor, _STAGED[name], zip(*columns, strict=True))
                    progress.advance(batch.num_rows)
        return True

    def _articles(self, batch: pa.RecordBatch, first: int) -> Iterator[tuple[Any, ...]]:
        """Return rows for `import_article`. Places count up from `first`. Raises InputError: bad values."""
        for name in ("published_at", "added_at"):
            bounds = pa.compute.min_max(batch.column(name)).as_py()
            if bounds["min"] is not None and not _FIRST <= bounds["min"] <= bounds["max"] <= _LAST:
                raise self._damaged(f"times of {name} are outside the years 1 to 9999")
        if (pa.compute.binary_length(batch.column("text_digest")).to_numpy() != DIGEST_BYTES).any():
            raise self._damaged(f"digests of texts do not have {DIGEST_BYTES} bytes")
        names = ("source_id", "published_at", "added_at", "reason", "text_digest")
        places = range(first, first + batch.num_rows)
        return zip(places, *(batch.column(name).to_pylist() for name in names), strict=True)

    def _fingerprints(self, batch: pa.RecordBatch, settings: Settings) -> Fingerprints:
        """Return the fingerprints of a batch. Raises InputError: a fingerprint does not fit the settings."""
        count = batch.num_rows
        lengths = pa.compute.list_value_length(batch.column("sentence_hashes")).to_numpy()
        bands = pa.compute.list_value_length(batch.column("buckets")).to_numpy()
        sizes = pa.compute.binary_length(batch.column("signature")).to_numpy()
        words, shingles = (batch.column(name).to_numpy() for name in ("word_count", "shingle_count"))
        signed = sizes > 0
        if (
            not np.isin(bands, (0, settings.buckets)).all()
            or not np.isin(sizes, (0, settings.signature_bytes)).all()
            or (signed != (shingles > 0)).any()
            or (words < 0).any()
            or (shingles < 0).any()
        ):
            raise self._damaged("fingerprints do not have the sizes that the settings give them")
        buckets = np.zeros((count, settings.buckets), np.int64)
        buckets[bands > 0] = batch.column("buckets").flatten().to_numpy().reshape(-1, settings.buckets)
        signature = np.zeros((count, settings.signature_bytes), np.uint8)
        signatures = b"".join(batch.column("signature").to_pylist())
        signature[signed] = np.frombuffer(signatures, np.uint8).reshape(-1, settings.signature_bytes)
        return Fingerprints(
            batch.column("version").to_numpy(),
            batch.column("content_hash").to_numpy(),
            batch.column("sentence_hashes").flatten().to_numpy(),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            signature,
            buckets,
            bands > 0,
            words,
            shingles,
            tuple(batch.column("reason").to_pylist()),
        )

    def _damaged(self, words: str) -> InputError:
        return InputError(f"{self.folder / 'fingerprint'}: {words}; {exchange.AGAIN}")

    def check(self, progress: Progress) -> Checked:
        """Compare the result with the corpus in a snapshot; differences go to the report."""
        progress.start("comparing with the corpus", None)
        with self._timed("comparing"), self._transaction(snapshot=True) as cursor:
            return cluster_import.check(cursor, self.basis, self.report, progress.advance)

    def _put_in_use(self, rulebook: Rulebook, run: int, progress: Progress) -> None:
        """Store and index the new fingerprints, and put them in use. No mark changes."""
        progress.start("storing fingerprints", self.report.fingerprints)
        with self._timed("storing"), self._transaction() as cursor:
            memory_engine.check(cursor, rulebook, run)
            cluster_import.store_fingerprints(cursor)
        with self._timed("indexing"):
            made = segments.build(self.database, "fingerprint_bulk", self.stop)
            if not self._ended():
                segments.publish(self.database, rulebook, run, made)

    def _tidy_up(self) -> None:
        """Refresh statistics, write marks to attached tables, and clean up after a large import."""
        report = self.report
        analyze(self.database, report.marks, "article", "article_mark", "fingerprint")
        write_marks(self.database, SilentProgress(), self.stop)
        if report.marks >= COMPACT_SHARE * report.articles and report.marks:
            with suppress(BusyError):
                vacuum(self.database)
            compact(self.database, *LOOSE_INDEXES)

    @contextmanager
    def _transaction(self, *, settling: bool = False, snapshot: bool = False) -> Iterator[Cursor]:
        session = Session(self.connection, self.database.timeouts)
        with (
            translate_errors(self.database.location),
            session.transaction(settling=settling, snapshot=snapshot) as cursor,
        ):
            yield cursor
