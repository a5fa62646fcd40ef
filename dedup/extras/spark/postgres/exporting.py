"""`dedup export corpus`: write fingerprints, digests of texts, pins, settings and horizon to a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import dedup
from dedup.attach import attachments
from dedup.base.errors import InputError
from dedup.base.progress import Progress, SilentProgress
from dedup.base.times import microseconds
from dedup.db.database import Cursor, Database, one_row
from dedup.db.statements import Statements
from dedup.extras.spark import exchange
from dedup.extras.spark.exchange import CORPUS_FILE, FINGERPRINT, FORMAT, PAIR_PIN, SENTENCE_PIN
from dedup.extras.spark.options import CorpusState, Pins
from dedup.extras.spark.postgres import CorpusExport
from dedup.rules.relation import Relation
from dedup.store import articles, rulebooks, setting_rows, snapshots, window
from dedup.store.settling import order_parameters
from dedup.text.fingerprint import Fingerprinter

_sql = Statements("extras/spark/postgres/cluster")

LEFT_OUT_NAMED = 100  # maximum number of left-out articles that the report names; it counts all of them
PAGE = 2_000  # maximum number of rows fetched from the server at once: about 2 MB


@dataclass(frozen=True, slots=True)
class ClusterWanted:
    """The settings, pins and models that the next backfill, or a cluster, has to use."""

    corpus: CorpusState
    fingerprinter: Fingerprinter
    horizon: datetime | None  # articles before this time are outside the corpus
    failures: bool  # whether failed articles stay failed; if not, the next backfill reads their texts again

    @property
    def values(self) -> dict[str, Any]:
        """Return parameters for statements that compare times with the horizon."""
        return {**order_parameters(self.corpus.settings), "horizon": self.horizon}


def wanted(cursor: Cursor) -> ClusterWanted:
    """Return the state that a cluster has to use. Raises InputError: a table is attached with --html."""
    for attachment in attachments.list_active(cursor):
        if attachment.html:
            raise InputError(
                f"{attachment.name} is attached with --html, and a cluster cannot read articles from HTML:"
                " settle this corpus with `dedup backfill`"
            )
    settings, models = setting_rows.load_wanted(cursor), rulebooks.load_models(cursor, wanted=True)
    rows = cursor.execute(_sql("pair_pins")).fetchall()
    pins = Pins({(row[0], row[1]): Relation(row[2]) for row in rows}, snapshots.sentence_pins(cursor))
    horizon = window.load(cursor).horizon
    corpus = CorpusState(settings, pins, models, horizon=microseconds(horizon))
    failures = not rulebooks.find_adoption(cursor).fingerprints
    return ClusterWanted(corpus, Fingerprinter(settings, models), horizon, failures)


def versions(cursor: Cursor, fingerprinter: Fingerprinter) -> dict[str, Any]:
    """Return the fingerprint version of every language in the corpus, as parameters of a statement."""
    rows = cursor.execute(_sql("languages")).fetchall()
    languages = [row[0] for row in rows]
    return {"languages": languages, "versions": [fingerprinter.version(name) for name in languages]}


def export(
    database: Database,
    folder: str | Path,
    *,
    hash_key: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> CorpusExport:
    """Write the folder completely, or not at all; see `Deduplicator.export_corpus`."""
    path, shown = Path(folder), progress or SilentProgress()
    _refuse_used(path)
    report = CorpusExport(str(path), with_key=hash_key)
    try:
        # A temporary folder has the mode 0700, which protects the hash key. The final rename is atomic.
        with tempfile.TemporaryDirectory(
            prefix=f".{path.name}.", dir=path.absolute().parent, ignore_cleanup_errors=True
        ) as temporary:
            made = Path(temporary)
            with database.session() as session, session.transaction(snapshot=True) as cursor:
                found = wanted(cursor)
                report.keyed = bool(found.corpus.settings.hash_key)
                shown.start("exporting", one_row(cursor, _sql("count_inside"))[0])
                known = _known(cursor, found, report, shown, stop)
                exchange.write_files(made / "fingerprint", FINGERPRINT, known)
            if not report.stopped:
                _write_others(made, found, report)
                _refuse_used(path)
                made.rename(path)  # replaces an empty folder
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    return report


def _refuse_used(path: Path) -> None:
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} is not empty; name a folder that does not exist")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; name a folder that does not exist")


def _known(
    cursor: Cursor,
    found: ClusterWanted,
    report: CorpusExport,
    progress: Progress,
    stop: Callable[[], bool],
) -> Iterator[pa.RecordBatch]:
    """Yield the known fingerprints of articles inside the window, in any order. Fill in the report."""
    query = _sql("fingerprints", text=articles.body_sql("a"))
    values = found.values | versions(cursor, found.fingerprinter) | {"failures": found.failures}
    cursor.execute(b"DECLARE known NO SCROLL CURSOR FOR " + query, values)
    while page := cursor.execute(f"FETCH {PAGE} FROM known".encode()).fetchall():
        if stop():
            report.stopped = True
            return
        known = [dict(zip(FINGERPRINT.names, row, strict=False)) for row in page if row[-1]]
        failed = sum(row["reason"] is not None for row in known)
        left_out = [row[0] for row in page if not row[-1]]
        report.articles += len(page)
        report.failed += failed
        report.fingerprints += len(known) - failed
        report.left_out += len(left_out)
        report.left_out_ids += left_out[: LEFT_OUT_NAMED - len(report.left_out_ids)]
        if known:
            yield pa.RecordBatch.from_pylist(known, FINGERPRINT)
        progress.advance(len(page))


def _write_others(folder: Path, found: ClusterWanted, report: CorpusExport) -> None:
    """Write pins and sentence parameters, and `corpus.json` last."""
    corpus, pins = found.corpus, found.corpus.pins
    report.pair_pins, report.sentence_pins = len(pins.pairs), len(pins.sentences)
    pairs = [(*pair, relation.value) for pair, relation in pins.pairs.items()]
    for table, name, rows in (
        (PAIR_PIN, "pair_pin", pairs),
        (SENTENCE_PIN, "sentence_pin", list(pins.sentences.items())),
    ):
        named = [dict(zip(table.names, row, strict=True)) for row in rows]
        pa.parquet.write_table(pa.Table.from_pylist(named, table), folder / f"{name}.parquet")
    (folder / "models").mkdir()
    for language, model in corpus.models.items():
        parameters = {"language": language, "checksum": model.checksum, **model.to_files()}
        exchange.write_json(folder / "models" / f"{language}.json", parameters)
    about: dict[str, Any] = {"format": FORMAT, "dedup": dedup.__version__, **corpus.basis().as_dict()}
    if report.with_key:
        about["hash_key"] = corpus.settings.hash_key
    names = ("articles", "fingerprints", "failed", "left_out", "pair_pins", "sentence_pins")
    about["counts"] = {name: getattr(report, name) for name in names}
    about["left_out"] = report.left_out_ids
    exchange.write_json(folder / CORPUS_FILE, about)
