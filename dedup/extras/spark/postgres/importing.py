"""`dedup import`: the result of a cluster becomes the marks of this corpus, all of them or none.

    read the folder -> compare it with the corpus -> put new fingerprints in use -> write everything at once

Until the last step, a single transaction, no mark changes, whatever ends the work; the next import or
backfill goes on. What people change between comparing and writing is noted, and left to the next backfill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dedup.attach.marking import write_marks
from dedup.base.answer import Answer
from dedup.base.errors import BusyError, InputError
from dedup.base.progress import Both, Progress, SilentProgress, timed
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.db.arrays import Bigints
from dedup.db.connection import Connection, Session
from dedup.db.database import Cursor, Database, retried, translated
from dedup.extras.spark import exchange
from dedup.extras.spark.exchange import RESULT, RUN_FILE, Basis, TableFiles
from dedup.extras.spark.postgres import cluster, cluster_import
from dedup.extras.spark.postgres.cluster_import import Checked, ImportedRows, MarkDisagreement
from dedup.runs.heartbeat import Heartbeat
from dedup.runs.runs import Did
from dedup.settling import choice, segments
from dedup.settling.adopt import adopt
from dedup.settling.fingerprinting import analyze
from dedup.settling.memory.run import COMPACT_SHARE, MemoryRun, compact, vacuum
from dedup.settling.refresh import examples_of
from dedup.store import common_sentences, memory_engine, rulebooks
from dedup.store.memory_engine import LOOSE_INDEXES
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.text.fingerprints import Fingerprints

_FIRST, _LAST = (microseconds(time.replace(tzinfo=UTC)) for time in (datetime.min, datetime.max))

DIGEST_BYTES = 32  # Of SHA-256

_ROWS = {"mark": "import_mark", "match": "import_match", "common_sentence": "import_common"}


@dataclass(slots=True)
class ImportReport(Answer):
    """What an import did, or would do.

    Attributes:
        folder: the result.
        problems: in what the result and the corpus do not agree; where there is one nothing was changed.
        articles: of the result.
        fingerprints: that were new to the corpus.
        marks, pairs: that were new, or of articles that were not settled.
        common_entered, common_left: sentences that became common, or stopped.
        left: articles that people changed meanwhile: the next backfill settles them.
        adopted: changed settings or a changed program were put in force.
        stopped: it was asked to stop; no mark was changed.
        seconds: stage to how long it took.
    """

    folder: str
    problems: list[MarkDisagreement] = field(default_factory=list)
    articles: int = 0
    fingerprints: int = 0
    marks: int = 0
    pairs: int = 0
    common_entered: int = 0
    common_left: int = 0
    left: int = 0
    adopted: bool = False
    stopped: bool = False
    seconds: dict[str, float] = field(default_factory=dict)


def run(
    database: Database,
    folder: str | Path,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> ImportReport:
    """Take up a result; see `Deduplicator.import_corpus`. `stop` counts until the writing."""
    path = Path(folder)
    about = exchange.read_json(path / RUN_FILE)
    basis = Basis.read(about, str(path / RUN_FILE))
    result = ResultFolder(path, about)
    report = ImportReport(str(path))
    shown = progress or SilentProgress()
    with _Work(database, result, basis, report, stop) as work:
        if dry_run:
            work.compare(shown)
            return report
        heartbeat = Heartbeat(database, "import")
        try:
            if not heartbeat.claim():
                assert heartbeat.other
                raise BusyError(f"{heartbeat.other.kind} is running, {heartbeat.other}: wait until it ends")
            _guarded(work, heartbeat, Both(heartbeat, shown))
        finally:
            heartbeat.close()
    return report


def _guarded(work: _Work, heartbeat: Heartbeat, progress: Progress) -> None:
    """Do the work, and end the row of the run however it ends."""
    report = work.report
    try:
        work.all(heartbeat.run, progress)
    except BaseException as error:
        with suppress(Exception):  # the database may be the error; the next run sees that this is gone
            heartbeat.end("failed", type(error).__name__)
        if isinstance(error, StaleRulesError):
            raise BusyError(
                f"{work.database.location}: the settings changed meanwhile, or a backfill took over;"
                " no mark was changed: run it again"
            ) from None
        raise
    with suppress(Exception):  # the counts are for people
        heartbeat.add(Did(report.fingerprints, report.marks, 0, report.seconds))
    heartbeat.end("stopped" if report.stopped else "done")


class ResultFolder:
    """The folder of a result, opened: its tables are there and of the right shape, or InputError is
    raised."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder, self.about = folder, about
        self._tables = {name: TableFiles(folder, name, table) for name, table in RESULT.items()}
        # Of the tables that are staged. What a cluster refused is no article for it, and none of the result.
        self.rows = sum(files.rows for name, files in self._tables.items() if name != "refused")

    def stage(self, cursor: Cursor, settings: Settings, progress: Progress, stop: Callable[[], bool]) -> bool:
        """Copy the tables into temporary ones; False if told to stop before the end.

        Raises InputError: a file breaks off, or holds what no cluster writes.
        """
        cluster_import.create(cursor)
        for name, staged in _ROWS.items():
            for batch in self._tables[name].batches():
                if stop():
                    return False
                columns = (column.to_pylist() for column in batch.columns)
                cluster_import.add(cursor, staged, zip(*columns, strict=True))
                progress.advance(batch.num_rows)
        place = 0
        for batch in self._tables["fingerprint"].batches():
            if stop():
                return False
            made = self._fingerprints(batch, settings)
            cluster_import.add_articles(cursor, self._articles(batch), place, made)
            place += batch.num_rows
            progress.advance(batch.num_rows)
        cluster_import.finish(cursor)
        return True

    def _articles(self, batch: Any) -> Iterator[tuple[Any, ...]]:
        compute = exchange.arrow().compute
        for name in ("published_at", "added_at"):
            bounds = compute.min_max(batch.column(name)).as_py()
            if bounds["min"] is not None and not _FIRST <= bounds["min"] <= bounds["max"] <= _LAST:
                raise self._damaged(f"times of {name} are outside the years 1 to 9999")
        if (compute.binary_length(batch.column("text_digest")).to_numpy() != DIGEST_BYTES).any():
            raise self._damaged(f"digests of texts have not {DIGEST_BYTES} bytes")
        names = ("source_id", "published_at", "added_at", "reason", "text_digest")
        return zip(*(batch.column(name).to_pylist() for name in names), strict=True)

    def _fingerprints(self, batch: Any, settings: Settings) -> Fingerprints:
        """The fingerprints of some rows. Raises InputError: these settings make no such."""
        compute, count = exchange.arrow().compute, batch.num_rows
        lengths = compute.list_value_length(batch.column("sentence_hashes")).to_numpy()
        bands = compute.list_value_length(batch.column("buckets")).to_numpy()
        sizes = compute.binary_length(batch.column("signature")).to_numpy()
        words, shingles = (batch.column(name).to_numpy() for name in ("word_count", "shingle_count"))
        signed = sizes > 0
        if (
            not np.isin(bands, (0, settings.buckets)).all()
            or not np.isin(sizes, (0, settings.signature_bytes)).all()
            or (signed != (shingles > 0)).any()
            or (words < 0).any()
            or (shingles < 0).any()
        ):
            raise self._damaged("fingerprints are not of the shape that the settings give them")
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


class _Work:
    """One import at work, with a session of its own that has the staged tables."""

    def __init__(
        self,
        database: Database,
        result: ResultFolder,
        basis: Basis,
        report: ImportReport,
        stop: Callable[[], bool],
    ) -> None:
        self.database, self.report = database, report
        self._result, self._basis, self._stop = result, basis, stop
        self._connection: Connection = database.connect(patient=True)
        self._session = Session(self._connection, database.timeouts)
        self._timed = partial(timed, report.seconds)

    def __enter__(self) -> _Work:
        if self._connection.pooled:
            self._connection.close()
            raise InputError(
                f"{self.database.location} is behind a pooler that lends connections for a transaction only;"
                " an import needs one for itself: connect to the server"
            )
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self._connection.close()

    def compare(self, progress: Progress) -> None:
        """Compare the result with the corpus; what differs is in the report."""
        if self._basis_agrees() and self._stage(progress):
            checked, _, _ = self._check(progress)
            self.report.problems = checked.problems
            self._note(checked)

    def all(self, run: int, progress: Progress) -> None:
        """Compare, and write everything."""
        if not self._basis_agrees():
            raise self._refused()
        if not self._stage(progress):
            return
        self.report.adopted = adopt(self.database)
        with self.database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        memory = choice.usual_memory()
        with MemoryRun(
            self.database, rulebook, run, memory, progress, self._timed, self._stop, loading=False
        ):
            checked, since, taken = self._check(progress)
            self.report.problems = checked.problems
            if checked.problems:
                raise self._refused()
            self._note(checked)
            entering = [change for change in checked.changes if change.enters]
            words = examples_of(self.database, rulebook.fingerprinter, entering)
            if checked.missing and not self._put_in_use(rulebook, run, checked, progress):
                return
            if self._ended():
                return
            progress.start("writing marks", None)
            with self._timed("writing"):
                attempt = partial(self._write, rulebook, run, checked, words, since, taken, progress.advance)
                written = retried(attempt, self.database.timeouts.lock)
        self.report.marks, self.report.pairs, self.report.left = written.marks, written.pairs, written.left
        self._tidy_up()

    def _ended(self) -> bool:
        self.report.stopped = self.report.stopped or self._stop()
        return self.report.stopped

    def _basis_agrees(self) -> bool:
        """Whether settings, pins, models, horizon and program are those of the corpus."""
        with self.database.transaction() as cursor:
            self.report.problems = cluster_import.differences(cursor, self._basis)
        return not self.report.problems

    def _refused(self) -> InputError:
        first, *others = self.report.problems
        more = f" (and more: `dedup import {self.report.folder} --dry-run` tells all)" if others else ""
        return InputError(f"{self.report.folder} does not fit this corpus: {first}{more}")

    def _stage(self, progress: Progress) -> bool:
        """Copy the result into the session; False if told to stop."""
        progress.start("reading the result", self._result.rows)
        with self._timed("reading"), self._transaction() as cursor:
            found = cluster.wanted(cursor)
            whole = self._result.stage(cursor, found.settings, progress, self._stop)
        self.report.stopped = not whole
        return whole

    def _check(self, progress: Progress) -> tuple[Checked, int, Bigints]:
        """Compare with the corpus at one moment.

        Returns what was found; the last change that people had made; and the changes of sentences that were
        known.
        """
        progress.start("comparing with the corpus", None)
        with self._timed("comparing"), self._transaction(snapshot=True) as cursor:
            cluster_import.whole_tables(cursor)
            since = memory_engine.last_change(cursor)
            _, taken, _ = common_sentences.take_changes(cursor)
            # Once more, at the moment that counts: since the first look somebody may have pinned something.
            if problems := cluster_import.differences(cursor, self._basis):
                return Checked(problems), since, taken
            checked = cluster_import.check(cursor, cluster.wanted(cursor), progress.advance)
            return checked, since, taken

    def _note(self, checked: Checked) -> None:
        report = self.report
        report.articles, report.fingerprints = checked.articles, checked.missing
        report.common_entered = sum(change.enters for change in checked.changes)
        report.common_left = sum(change.leaves for change in checked.changes)

    def _put_in_use(self, rulebook: Rulebook, run: int, checked: Checked, progress: Progress) -> bool:
        """Have the new fingerprints take their place among those in use; False if told to stop before.

        The marks do not change by that: an article with a fingerprint may still be pending.
        """
        progress.start("storing fingerprints", checked.missing)
        with self._timed("storing"), self._transaction() as cursor:
            memory_engine.check(cursor, rulebook, run)
            cluster_import.whole_tables(cursor)
            cluster_import.store_fingerprints(cursor)
        with self._timed("indexing"):
            made = segments.build(self.database, "fingerprint_bulk", self._stop)
            if self._ended():
                return False
            segments.publish(self.database, rulebook, run, made)
        return True

    def _write(
        self,
        rulebook: Rulebook,
        run: int,
        checked: Checked,
        words: dict[int, str],
        since: int,
        taken: Bigints,
        tell: Callable[[int], object],
    ) -> ImportedRows:
        with self._transaction(settling=True) as cursor:
            memory_engine.check(cursor, rulebook, run)
            written = cluster_import.write(cursor, rulebook.settings, checked, words, since, taken, tell)
            memory_engine.end(cursor, run)
        return written

    def _tidy_up(self) -> None:
        """What a large load leaves behind in tables and indexes; and marks for attached tables."""
        report = self.report
        analyze(self.database, report.marks, "article", "article_mark", "fingerprint")
        write_marks(self.database, SilentProgress(), self._stop)
        if report.marks >= COMPACT_SHARE * report.articles and report.marks:
            with suppress(BusyError):
                vacuum(self.database)
            compact(self.database, *LOOSE_INDEXES)

    @contextmanager
    def _transaction(self, *, settling: bool = False, snapshot: bool = False) -> Iterator[Cursor]:
        """A transaction of the session that has the staged tables."""
        with (
            translated(self.database.location),
            self._session.transaction(settling=settling, snapshot=snapshot) as cursor,
        ):
            yield cursor
