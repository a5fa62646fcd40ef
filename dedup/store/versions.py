"""Reads versions (the articles of a story in order), and stores how each differs from the version before.

`../settling/versions.py` compares versions. The SQL views `story_version` and `alteration` show the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, cast

from dedup.db import arrays
from dedup.db.arrays import Bigints
from dedup.db.database import Cursor, Database
from dedup.db.statements import Statements
from dedup.store import exports

_sql = Statements("store/versions")

MAX_VERSIONS = 500  # Maximum number per call; comparing two texts takes 1 to 2 ms

NO_PAIRS = arrays.bigints(()), arrays.bigints(())


@dataclass(frozen=True, slots=True)
class VersionRow:
    """An article as a version of a story."""

    id: int
    source_id: str
    version: int  # 1 is the original
    # id and source_id of the version before; for an original: of the most similar earlier original
    before: tuple[int, str] | None
    title: str | None
    publication: str | None
    time: datetime  # of publication, or, if unknown, of storing
    published: bool  # `time` is a plausible time of publication
    correction: str | None  # phrase by which the version announces that it is a correction


class AlterationRow(TypedDict):
    """A sentence that a version added, removed or changed against the version before."""

    story: str  # source_id of the original
    id: str  # source_id of the version
    version: int
    before: str  # source_id of the version before this version
    publication: str | None
    appeared_at: datetime | None
    position: int
    kind: str  # added, removed or changed
    earlier: str | None  # the sentence in the version before; None if it was added
    later: str | None  # the sentence in the version; None if it was removed
    common: bool  # a common sentence, which scores ignore
    times_known: bool  # times tell which version was first


def load_versions(cursor: Cursor, source_id: str) -> list[VersionRow]:
    """Return the versions of an article's story, then originals whose best match is the story's original."""
    rows = cursor.execute(_sql("of_story"), {"source_id": source_id, "limit": MAX_VERSIONS}).fetchall()
    found = []
    for id, name, version, before_id, before_name, *rest in rows:
        before = None if before_id is None else (before_id, before_name)
        found.append(VersionRow(id, name, version, before, *rest))
    return found


def find_uncompared(cursor: Cursor) -> tuple[Bigints, Bigints]:
    """Return the ids of versions to compare, and the ids of the versions before them."""
    row = cursor.execute(_sql("to_compare")).fetchone()
    return NO_PAIRS if row is None or row[0] is None else (row[0], row[1])


@dataclass(frozen=True, slots=True)
class Difference:
    """Sentences that differ between two versions: item i of `earlier` became item i of `later`."""

    article_id: int
    before_id: int
    revision: int
    before_revision: int
    earlier: Sequence[tuple[int, str] | None]  # hash and words; None if the sentence was added
    later: Sequence[tuple[int, str] | None]  # hash and words; None if the sentence was removed


def keep(cursor: Cursor, found: Sequence[Difference]) -> None:
    """Store differences of versions."""
    values = []
    # The rows are sorted by article, so that two workers do not block each other.
    for one in sorted(found, key=lambda difference: difference.article_id):
        given: dict[str, Any] = {"article_id": one.article_id, "before_id": one.before_id}
        given |= {"revision": one.revision, "before_revision": one.before_revision}
        for name, side in (("earlier", one.earlier), ("later", one.later)):
            given |= {name: [one and one[1] for one in side]}
            given |= {f"{name}_hashes": [one and one[0] for one in side]}
        values.append(given)
    cursor.executemany(_sql("keep"), values)


def forget(cursor: Cursor) -> int:
    """Delete differences of versions that are gone or changed; return the number of these versions."""
    return cursor.execute(_sql("forget")).rowcount


def alterations(database: Database) -> Iterator[AlterationRow]:
    return cast("Iterator[AlterationRow]", exports.rows(database, _sql("alterations"), {}))
