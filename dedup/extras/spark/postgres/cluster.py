"""A corpus as a cluster is told of it: fingerprints with the digests of their texts, pins, settings, horizon.

Read-only. The folders are described in `../exchange.py`; what comes back is taken up by
`cluster_import.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dedup.attach import attachments
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.spark.exchange import Basis, pins_digest
from dedup.rules.relation import Relation
from dedup.store import articles, rulebooks, snapshots, window
from dedup.store.settling import order_parameters
from dedup.text.fingerprint import Fingerprinter
from dedup.text.punkt import PunktModel

_sql = Statements("extras/spark/postgres/cluster")

PAGE = 2_000
"""Rows fetched from the server at a time: about 2 MB."""

ROW = (
    *("source_id", "published_at", "added_at", "text_digest", "version", "content_hash", "sentence_hashes"),
    *("signature", "buckets", "word_count", "shingle_count", "reason", "known"),
)
"""The columns of `fingerprints`: those of the exchanged table, and whether there is anything to tell."""


@dataclass(frozen=True, slots=True)
class ClusterWanted:
    """What the next backfill would settle by, and so what a cluster has to."""

    basis: Basis  # what a result must agree on
    fingerprinter: Fingerprinter  # holds the settings and models
    models: dict[str, PunktModel]  # trained sentence parameters by language
    # pairs, sentences: the pins
    pairs: dict[tuple[str, str], Relation]
    sentences: dict[int, bool]
    horizon: datetime | None  # articles before it do not belong to the corpus
    failures: bool  # failed articles stay failed: neither texts nor fingerprints are about to be read again

    @property
    def settings(self) -> Settings:
        return self.fingerprinter.settings


def wanted(cursor: Cursor) -> ClusterWanted:
    """Raises InputError: a cluster would read other texts than this corpus does."""
    for attachment in attachments.present(cursor):
        if attachment.html:
            raise InputError(
                f"{attachment.name} is attached with --html, and a cluster takes no article out of HTML:"
                " settle this corpus with `dedup backfill`"
            )
    settings, models = rulebooks.load_wanted(cursor), rulebooks.load_models(cursor, wanted=True)
    rows = cursor.execute(_sql("pair_pins")).fetchall()
    pairs = {(row[0], row[1]): Relation(row[2]) for row in rows}
    sentences = snapshots.sentence_pins(cursor)
    horizon = window.load(cursor).horizon
    checksums = {language: model.checksum for language, model in models.items()}
    basis = Basis.of(settings, checksums, pins_digest(pairs, sentences), microseconds(horizon))
    failures = not rulebooks.waiting_adoption(cursor).fingerprints
    return ClusterWanted(basis, Fingerprinter(settings, models), models, pairs, sentences, horizon, failures)


def versions(cursor: Cursor, fingerprinter: Fingerprinter) -> dict[str, Any]:
    """The fingerprint version for every language that articles name, as parameters of a statement."""
    rows = cursor.execute(_sql("languages")).fetchall()
    languages = [row[0] for row in rows]
    return {"languages": languages, "versions": [fingerprinter.version(name) for name in languages]}


def count_inside(cursor: Cursor) -> int:
    """About how many articles there are that are not archived."""
    row = cursor.execute(_sql("count_inside")).fetchone()
    return int(row[0]) if row else 0


def fingerprints(cursor: Cursor, found: ClusterWanted) -> Iterator[list[Mapping[str, Any]]]:
    """What is told of every article inside, page by page, in no order; the keys are those of `ROW`."""
    query = _sql("fingerprints", text=articles.body("a"))
    values = {
        **order_parameters(found.settings),
        **versions(cursor, found.fingerprinter),
        "horizon": found.horizon,
        "failures": found.failures,
    }
    cursor.execute(b"DECLARE told NO SCROLL CURSOR FOR " + query, values)
    while rows := cursor.execute(f"FETCH {PAGE} FROM told".encode()).fetchall():
        yield [dict(zip(ROW, row, strict=True)) for row in rows]
