"""The tables of a result as rows and arrays that can be staged; what no program of ours writes is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dedup.base.errors import InputError
from dedup.base.progress import Progress
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.db.database import Cursor
from dedup.files import exchange
from dedup.files.exchange import RESULT, TableFiles
from dedup.store import cluster_import
from dedup.text.fingerprints import Fingerprints

_FIRST, _LAST = (microseconds(time.replace(tzinfo=UTC)) for time in (datetime.min, datetime.max))

DIGEST_BYTES = 32  # Of SHA-256

_ROWS = {"mark": "import_mark", "match": "import_match", "common_sentence": "import_common"}


class ResultFolder:
    """The folder of a result, opened: its tables are there and of the right shape, or InputError is
    raised."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder, self.about = folder, about
        self._tables = {name: TableFiles(folder, name, table) for name, table in RESULT.items()}

    @property
    def rows(self) -> int:
        """Rows of the tables that are staged."""
        return sum(files.rows for name, files in self._tables.items() if name != "refused")

    @property
    def refused(self) -> int:
        """Articles that the cluster refused: no articles for it, and none of the result."""
        return self._tables["refused"].rows

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
            not np.isin(bands, (0, settings.bands)).all()
            or not np.isin(sizes, (0, settings.signature_size)).all()
            or (signed != (shingles > 0)).any()
            or (words < 0).any()
            or (shingles < 0).any()
        ):
            raise self._damaged("fingerprints are not of the shape that the settings give them")
        buckets = np.zeros((count, settings.bands), np.int64)
        buckets[bands > 0] = batch.column("buckets").flatten().to_numpy().reshape(-1, settings.bands)
        signature = np.zeros((count, settings.signature_size), np.uint8)
        signatures = b"".join(batch.column("signature").to_pylist())
        signature[signed] = np.frombuffer(signatures, np.uint8).reshape(-1, settings.signature_size)
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
