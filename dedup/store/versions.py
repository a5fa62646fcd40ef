"""Versions of stories, and what is kept of how each differs from the one before.

The views `story_version` and `alteration` say the same to whoever asks in SQL. What differs is found in
`../settling/versions.py`.
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

MAX_VERSIONS = 500
"""Versions of a story that are set beside each other at once: two texts a millisecond or two."""

NO_PAIRS = arrays.bigints(()), arrays.bigints(())


@dataclass(frozen=True, slots=True)
class VersionRow:
    """An article as a version of a story.

    Attributes:
        version: its number in its story; 1 is the original.
        before: id and source_id of the version before; of an original, of the earlier original that it is
            most like. None where there is none.
        time: when it was published, or stored where that is unknown.
        published: whether it is the time of publication, and not implausible.
    """

    id: int
    source_id: str
    version: int
    before: tuple[int, str] | None
    title: str | None
    publication: str | None
    time: datetime
    published: bool


class AlterationRow(TypedDict):
    """A sentence that a version has added, removed or changed against the version before.

    `story`, `id`, `before`: source_ids of the original, of the version and of the one before. `kind`: added,
    removed or changed. `earlier`, `later`: the sentence in the version before and in the version; None where
    it was added, or removed. `common`: it is a common sentence, which counts for nothing.
    """

    story: str
    id: str
    version: int
    before: str
    publication: str | None
    appeared_at: datetime | None
    position: int
    kind: str
    earlier: str | None
    later: str | None
    common: bool


def of_story(cursor: Cursor, source_id: str) -> list[VersionRow]:
    """The versions of the story of an article, the original first; then originals of which it is the one that
    they are most like. Empty: the article is not stored.
    """
    rows = cursor.execute(_sql("of_story"), {"source_id": source_id, "limit": MAX_VERSIONS}).fetchall()
    found = []
    for id, name, version, before_id, before_name, *rest in rows:
        before = None if before_id is None else (before_id, before_name)
        found.append(VersionRow(id, name, version, before, *rest))
    return found


def to_compare(cursor: Cursor) -> tuple[Bigints, Bigints]:
    """The ids of the versions that are to be compared, and of those before them; story by story."""
    row = cursor.execute(_sql("to_compare")).fetchone()
    return NO_PAIRS if row is None or row[0] is None else (row[0], row[1])


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two versions: sentences with their hashes, None on the side that lacks one."""

    article_id: int
    before_id: int
    revision: int
    before_revision: int
    earlier: Sequence[tuple[int, str] | None]
    later: Sequence[tuple[int, str] | None]


def keep(cursor: Cursor, found: Sequence[Difference]) -> None:
    """Keep what differs, in the order of the articles: two at work do not lock each other out."""
    values = []
    for one in sorted(found, key=lambda difference: difference.article_id):
        given: dict[str, Any] = {"article_id": one.article_id, "before_id": one.before_id}
        given |= {"revision": one.revision, "before_revision": one.before_revision}
        for name, side in (("earlier", one.earlier), ("later", one.later)):
            given |= {name: [told and told[1] for told in side]}
            given |= {f"{name}_hashes": [told and told[0] for told in side]}
        values.append(given)
    cursor.executemany(_sql("keep"), values)


def forget(cursor: Cursor) -> int:
    """Forget what fits no version any more; returns how many versions."""
    return cursor.execute(_sql("forget")).rowcount


def alterations(database: Database) -> Iterator[AlterationRow]:
    return cast("Iterator[AlterationRow]", exports.rows(database, _sql("alterations"), {}))
