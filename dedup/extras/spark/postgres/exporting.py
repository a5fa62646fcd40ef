"""`dedup export corpus`: what a cluster needs to know of a corpus, as one folder, whole or not there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dedup
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.progress import Progress, SilentProgress
from dedup.db.database import Cursor, Database
from dedup.extras.spark import exchange
from dedup.extras.spark.exchange import CORPUS_FILE, FINGERPRINT, FORMAT, PAIR_PIN, SENTENCE_PIN, TableWriter
from dedup.extras.spark.postgres import cluster
from dedup.extras.spark.postgres.cluster import ClusterWanted

LEFT_OUT_NAMED = 100  # Articles without a fingerprint that are named; the others are only counted


@dataclass(slots=True)
class CorpusExport(Answer):
    """What was exported.

    Attributes:
        folder: where it is.
        articles: of the corpus, archived ones not counted.
        fingerprints: articles whose fingerprint the cluster need not make; failed: that cannot have one.
        left_out: the others, which the cluster reads as new ones; left_out_ids: some of them, by source_id.
        pair_pins, sentence_pins: what people have said.
        keyed: hashes are made with a hash key; with_key: the folder holds it.
        stopped: it was asked to stop; there is no folder.
    """

    folder: str
    articles: int = 0
    fingerprints: int = 0
    failed: int = 0
    left_out: int = 0
    left_out_ids: list[str] = field(default_factory=list)
    pair_pins: int = 0
    sentence_pins: int = 0
    keyed: bool = False
    with_key: bool = False
    stopped: bool = False


def export(
    database: Database,
    folder: str | Path,
    *,
    hash_key: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> CorpusExport:
    """Write a folder with what a cluster needs to know, or none; see `Deduplicator.export_corpus`."""
    exchange.arrow()
    path = Path(folder)
    _refuse_used(path)
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))  # mode 0700
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        report = CorpusExport(str(path))
        with database.session() as session, session.transaction(snapshot=True) as cursor:
            found = cluster.wanted(cursor)
            report.keyed, report.with_key = bool(found.settings.hash_key), hash_key
            _export(cursor, found, made, report, progress or SilentProgress(), stop)
        if not report.stopped:
            _refuse_used(path)
            made.rename(path)  # takes the place of an empty folder
        return report
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _refuse_used(path: Path) -> None:
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} is not empty; name a folder that does not exist")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; name a folder that does not exist")


def _export(
    cursor: Cursor,
    found: ClusterWanted,
    folder: Path,
    report: CorpusExport,
    progress: Progress,
    stop: Callable[[], bool],
) -> None:
    progress.start("exporting", cluster.count_inside(cursor))
    with TableWriter(folder / "fingerprint", FINGERPRINT) as writer:
        for page in cluster.fingerprints(cursor, found):
            if stop():
                report.stopped = True
                return
            _note(page, report)
            known = [row for row in page if row["known"]]
            if known:
                writer.write(_columns(known))
            progress.advance(len(page))
    report.pair_pins, report.sentence_pins = len(found.pairs), len(found.sentences)
    with TableWriter(folder / "pair_pin.parquet", PAIR_PIN) as writer:
        one, other = zip(*found.pairs, strict=True) if found.pairs else ((), ())
        relations = [relation.value for relation in found.pairs.values()]
        writer.write({"source_id": one, "other_source_id": other, "relation": relations})
    with TableWriter(folder / "sentence_pin.parquet", SENTENCE_PIN) as writer:
        writer.write({"sentence_hash": list(found.sentences), "common": list(found.sentences.values())})
    (folder / "models").mkdir()
    for language, model in found.models.items():
        about = {"language": language, "checksum": model.checksum, **model.to_files()}
        exchange.write_json(folder / "models" / f"{language}.json", about)
    exchange.write_json(folder / CORPUS_FILE, _about(found, report))


def _note(page: Sequence[Mapping[str, Any]], report: CorpusExport) -> None:
    report.articles += len(page)
    for row in page:
        if not row["known"]:
            report.left_out += 1
            if len(report.left_out_ids) < LEFT_OUT_NAMED:
                report.left_out_ids.append(row["source_id"])
        elif row["reason"] is not None:
            report.failed += 1
        else:
            report.fingerprints += 1


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Some articles as columns; a failed one has zeros."""
    found: dict[str, Any] = {name: [row[name] for row in rows] for name in FINGERPRINT}
    for name in ("content_hash", "word_count", "shingle_count"):
        found[name] = [value or 0 for value in found[name]]
    found["signature"] = [value or b"" for value in found["signature"]]
    for name in ("sentence_hashes", "buckets"):
        found[name] = _lists(found[name])
    return found


def _lists(values: Sequence[Any]) -> Any:
    """Arrays of numbers, or None for an empty one, as one array of Arrow."""
    pa = exchange.arrow()
    arrays = [np.empty(0, np.int64) if value is None else value for value in values]
    ends = np.cumsum([0, *map(len, arrays)])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.concatenate(arrays)))


def _about(found: ClusterWanted, report: CorpusExport) -> dict[str, Any]:
    about: dict[str, Any] = {"format": FORMAT, "dedup": dedup.__version__, **found.basis.as_dict()}
    if report.with_key:
        about["hash_key"] = found.settings.hash_key
    names = ("articles", "fingerprints", "failed", "left_out", "pair_pins", "sentence_pins")
    about["counts"] = {name: getattr(report, name) for name in names}
    about["left_out"] = report.left_out_ids
    return about
