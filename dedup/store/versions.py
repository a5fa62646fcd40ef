"""Reads versions (the articles of a story in order), and stores how each differs from another text.

Alterations are differences from the version before, additions differences of a copy from its original.
`../settling/versions.py` and `../text/additions.py` compare texts. The SQL views `story_version`,
`alteration` and `addition` show the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from dedup.base.answer import Rows
from dedup.db.database import Cursor, Database, one_row
from dedup.db.statements import Statements
from dedup.store import exports

if TYPE_CHECKING:
    from dedup.text.additions import Addition

_sql = Statements("store/versions")

MAX_VERSIONS = 500  # Maximum number of versions per call; comparing two texts takes 1 to 2 ms


@dataclass(frozen=True, slots=True)
class VersionRow:
    """An article as a version of a story."""

    id: int
    source_id: str
    version: int  # number in the story; 1 is the original
    # id and source_id of the version before, or, for an original, of the most similar earlier original
    before: tuple[int, str] | None
    title: str | None
    publication: str | None
    time: datetime  # time of publication, or, if unknown, of storing
    published: bool  # `time` is a plausible time of publication
    correction: str | None  # phrase by which the version announces that it is a correction


class AlterationRow(TypedDict):
    """A sentence that a version added, removed or changed against the version before.

    Attributes:
        story: source_id of the original.
        id: source_id of the version.
        before: source_id of the version before this version.
        kind: added, removed or changed.
        earlier: the sentence in the version before; None if it was added.
        later: the sentence in the version; None if it was removed.
        common: true for a common sentence, which scores ignore.
        times_known: true if times tell the first version.
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
    times_known: bool


class RemovableRow(TypedDict):
    """A copy, and its original.

    Attributes:
        id: source_id of the copy.
        original: source_id of its original.
        words: number of words of the copy.
        times_known: true if times tell which of the two came first.
    """

    id: str
    original: str
    publication: str | None
    original_publication: str | None
    words: int
    times_known: bool


class AdditionRow(RemovableRow):
    """A copy, and what it adds to its original.

    Attributes:
        words_added: words in no gram (three consecutive words) of the original.
        share_in_original: share of the copy's different grams that the original has, from 0 to 1.
        adds_nothing: true if the original has every gram.
        sentences: the added sentences.
        numbers: the added numbers, in digits.
    """

    words_added: int
    sentences_added: int
    numbers_added: int
    share_in_original: float
    adds_nothing: bool
    sentences: list[str]
    numbers: list[str]


def load_versions(cursor: Cursor, source_id: str) -> list[VersionRow]:
    """Return the versions of an article's story, then originals whose best match is the story's original."""
    rows = cursor.execute(_sql("of_story"), {"source_id": source_id, "limit": MAX_VERSIONS}).fetchall()
    found = []
    for id, name, version, before_id, before_name, *rest in rows:
        before = None if before_id is None else (before_id, before_name)
        found.append(VersionRow(id, name, version, before, *rest))
    return found


class UncomparedPair(NamedTuple):
    """Two articles to compare."""

    id: int
    other_id: int
    altered: bool  # find alterations: the other article is the version before
    added: bool  # find additions: the article is a copy of the other article


@dataclass(frozen=True, slots=True)
class UncomparedPairs:
    """Pairs to compare, in arrays of equal length, since there may be millions; see `UncomparedPair`."""

    ids: Sequence[int] = ()
    other_ids: Sequence[int] = ()
    altered: Sequence[bool] = ()
    added: Sequence[bool] = ()

    def page(self, start: int, count: int) -> list[UncomparedPair]:
        page = slice(start, start + count)
        columns = (self.ids[page], self.other_ids[page], self.altered[page], self.added[page])
        return [
            UncomparedPair(int(id), int(other), *kinds) for id, other, *kinds in zip(*columns, strict=True)
        ]


def find_uncompared(cursor: Cursor) -> UncomparedPairs:
    """Return the pairs to compare, sorted by `other_id`."""
    arrays = one_row(cursor, _sql("to_compare"))
    return UncomparedPairs() if arrays[0] is None else UncomparedPairs(*arrays)


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
    """Store the differences of versions from the version before."""
    values = []
    # Sort the rows by article: two workers that write in different orders could deadlock.
    for one in sorted(found, key=lambda difference: difference.article_id):
        given: dict[str, Any] = {"article_id": one.article_id, "before_id": one.before_id}
        given |= {"revision": one.revision, "before_revision": one.before_revision}
        for name, side in (("earlier", one.earlier), ("later", one.later)):
            given |= {name: [one and one[1] for one in side]}
            given |= {f"{name}_hashes": [one and one[0] for one in side]}
        values.append(given)
    cursor.executemany(_sql("keep"), values)


@dataclass(frozen=True, slots=True)
class ComparedCopy:
    """A copy compared with its original, at given revisions of both."""

    article_id: int
    original_id: int
    revision: int
    original_revision: int
    addition: Addition


def keep_additions(cursor: Cursor, found: Sequence[ComparedCopy]) -> None:
    """Store what copies add to their originals."""
    values = []
    for one in sorted(found, key=lambda copy: copy.article_id):  # else two workers may deadlock
        given = one.addition.as_dict()
        given |= {"article_id": one.article_id, "original_id": one.original_id}
        values.append(given | {"revision": one.revision, "original_revision": one.original_revision})
    cursor.executemany(_sql("keep_copies"), values)


def forget(cursor: Cursor) -> None:
    """Delete outdated results: one of the two articles has changed or is gone, or the article must now be
    compared with another article."""
    cursor.execute(_sql("forget"))
    cursor.execute(_sql("forget_copies"))


def alterations(database: Database) -> Rows[AlterationRow]:
    return exports.lazily(database, _sql("alterations"))


def additions(database: Database) -> Rows[AdditionRow]:
    return exports.lazily(database, _sql("additions"))


def removable(database: Database) -> Rows[RemovableRow]:
    """Return the settled copies that add nothing to their originals, in the order of source_id."""
    return exports.lazily(database, _sql("removable"))


def count_uncompared_copies(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("count_uncompared_copies"))[0])
