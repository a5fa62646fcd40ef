"""Show how a story was altered along the way: the sentences that each version added, removed or changed.

The versions of a story are its original, then its duplicates by time; each is compared with the version
before it. An original that is similar to earlier originals is compared with the most similar of these, since
it may be an update with too much new text for a duplicate. A sentence that only moved is not an alteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from dedup.base.answer import Answer
from dedup.base.errors import NotFoundError
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, prefer_indexes
from dedup.store import articles, settling, versions
from dedup.store.rulebooks import Rulebook
from dedup.store.versions import VersionRow
from dedup.text.alignment import Kind, Segment, twins
from dedup.text.differences import Segments, differences
from dedup.text.fingerprint import Fingerprinter, TextTask

Against = Literal["before", "original"]
"""Texts with which a version can be compared: the version before, or the original of the story."""

Sentences = Mapping[int, str]
"""Sentences of a text that count, each once, in the order of the text: hash -> words."""

Hashed = tuple[int, str]
"""A sentence with its hash."""


@dataclass(frozen=True, slots=True)
class Alteration(Answer):
    """A sentence that a version has added, removed or changed.

    Attributes:
        earlier: the earlier sentence; None if it was added.
        later: the later sentence; None if it was removed.
        common: true for a common sentence, which the scores ignore.
    """

    kind: Kind
    earlier: tuple[Segment, ...] | None = field(repr=False)
    later: tuple[Segment, ...] | None = field(repr=False)
    common: bool


@dataclass(frozen=True, slots=True)
class Version(Answer):
    """An article as a version of a story.

    Attributes:
        id: source_id of the article.
        version: number in the story; 1 is the original.
        before: source_id of the version with which this one is compared.
        time: time of publication, or of storage if the former is unknown; in UTC.
        published: true if `time` is a plausible time of publication.
        sentences: number of sentences that count.
        alterations: differences from `before`.
        correction: phrase by which the version announces that it is a correction.
    """

    id: str
    version: int
    before: str | None
    title: str | None
    publication: str | None
    time: datetime
    published: bool
    sentences: int
    alterations: tuple[Alteration, ...] = field(repr=False)
    correction: str | None = None

    def count(self, kind: str) -> int:
        return sum(one.kind.value == kind for one in self.alterations)


@dataclass(frozen=True, slots=True)
class StoryVersions(Answer):
    """Versions of a story, and its updates, which are originals of other stories.

    Attributes:
        story: source_id of the original.
        versions: the original, then its duplicates by time; at most `MAX_VERSIONS`.
        updates: originals of other stories whose best earlier match is this original.
    """

    story: str
    versions: tuple[Version, ...]
    updates: tuple[Version, ...]


def load_versions(
    cursor: Cursor, rulebook: Rulebook, source_id: str, against: Against = "before"
) -> StoryVersions:
    """Return the versions of the story of an article. Raises NotFoundError: the article is not stored."""
    prefer_indexes(cursor)
    rows = versions.load_versions(cursor, source_id)
    if not rows:
        raise NotFoundError.of(source_id)
    original = rows[0]
    before = {row.id: row.before for row in rows}
    if against == "original":
        first = (original.id, original.source_id)
        before = {row.id: first if row.version > 1 else row.before for row in rows}
    ids = {row.id for row in rows} | {one[0] for one in before.values() if one}
    cut = {
        task.id: split_sentences(rulebook.fingerprinter, task)
        for task in articles.load_texts(cursor, sorted(ids))
    }
    pairs = {
        row.id: find_alterations(cut.get(one[0], {}), cut.get(row.id, {})) if (one := before[row.id]) else []
        for row in rows
    }
    keys = {one[0] for found in pairs.values() for pair in found for one in pair if one}
    common = set(settling.find_common(cursor, bigints(keys)).tolist())

    def version(row: VersionRow) -> Version:
        one = before[row.id]
        return Version(
            row.source_id,
            row.version,
            one[1] if one else None,
            row.title,
            row.publication,
            row.time,
            row.published,
            len(cut.get(row.id, {})),
            tuple(_make_alteration(*pair, common) for pair in pairs[row.id]),
            row.correction,
        )

    return StoryVersions(
        original.source_id,
        tuple(version(row) for row in rows if row is original or row.version > 1),
        tuple(version(row) for row in rows if row is not original and row.version == 1),
    )


def split_sentences(fingerprinter: Fingerprinter, task: TextTask) -> Sentences:
    return index_sentences(fingerprinter.sentences_of(task))


def index_sentences(sentences: Iterable[tuple[str, int | None]]) -> Sentences:
    """Return the sentences that count, each once, by hash. A sentence without a hash does not count."""
    found: dict[int, str] = {}
    for sentence, key in sentences:
        if key is not None:
            found.setdefault(key, sentence)
    return found


def find_alterations(earlier: Sentences, later: Sentences) -> list[tuple[Hashed | None, Hashed | None]]:
    """Return the sentences that only one of two texts has, each beside its altered form in the other, if any.

    >>> find_alterations({1: "Rain fell on Monday.", 2: "It froze."}, {2: "It froze.", 3: "Rain fell again."})
    [((1, 'Rain fell on Monday.'), (3, 'Rain fell again.'))]
    """
    alone = [
        [one for one in side.items() if one[0] not in other]
        for side, other in ((earlier, later), (later, earlier))
    ]
    words = [[sentence for _, sentence in side] for side in alone]
    return [
        (None if i is None else alone[0][i], None if j is None else alone[1][j]) for i, j in twins(*words)
    ]


def compare(earlier: Hashed | None, later: Hashed | None) -> tuple[Segments | None, Segments | None]:
    """Return two forms of a sentence (or one form, and None), cut into segments that show differing words."""
    if earlier and later:
        return differences(earlier[1], later[1])
    return (
        (Segment(earlier[1], Kind.REMOVED),) if earlier else None,
        (Segment(later[1], Kind.ADDED),) if later else None,
    )


def _make_alteration(earlier: Hashed | None, later: Hashed | None, common: set[int]) -> Alteration:
    kind = Kind.CHANGED if earlier and later else Kind.REMOVED if earlier else Kind.ADDED
    return Alteration(kind, *compare(earlier, later), any(t and t[0] in common for t in (earlier, later)))
