"""A whole corpus in memory, as of one moment: what is compared, and what is stored.

Of the keys only those are kept that several articles have. Where even reading them would take too much memory
they are read once per slice of the key space, and signatures are kept in a file.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags
from dedup.base.settings import Settings
from dedup.db.database import Cursor
from dedup.rules.keys import Bigints, Entries, Places
from dedup.settling.memory.keys import count, frequent, in_slices
from dedup.store import key_segments, memory_engine
from dedup.store.common_sentences import SentenceCount
from dedup.store.fingerprints import Stored
from dedup.store.memory_engine import FingerprintPage, StoredMarks
from dedup.store.settling import PairRows

ARTICLE_BYTES = 1_600
"""What an article takes while keys are sorted: 36 keys of 8 bytes with their places, in three copies, and a
signature. Measured on news of 2.8 kB."""

PRINT_ARTICLE_BYTES = 3_900  # Of one with a print: 48 more keys in three copies, and the print


def fitting(memory: int, settings: Settings) -> int:
    """How many articles can be read at once in so many bytes; one at least."""
    return max(1, memory // (ARTICLE_BYTES + PRINT_ARTICLE_BYTES * settings.prints))


class Kept:
    """Fingerprints that a load has just stored, kept so that none of them is read again. `limit`: above so
    many none are.

    They stand for what is stored only while they are exactly that. Where an article was edited or deleted
    meanwhile, or had a fingerprint before, all are read from the database.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0
        self._pages: list[FingerprintPage] = []
        self._revisions: list[Bigints] = []

    def add(self, stored: Stored) -> None:
        self._count += len(stored.ids)
        if self._count > self._limit:
            self._pages.clear()
            self._revisions.clear()
        elif len(stored.ids):
            made, chosen = stored.made, stored.chosen
            counts, banded = np.diff(made.sentence_starts), made.banded & chosen
            page = FingerprintPage(
                stored.ids,
                np.ones(len(stored.ids), np.bool_),
                made.content_hash[chosen],
                made.shingle_count[chosen].astype(np.int64),
                counts[chosen],
                made.sentence_hashes[np.repeat(chosen, counts)],
                made.signature[chosen],
                made.banded[chosen] * made.buckets.shape[1],
                made.buckets[banded].ravel(),
            )
            self._pages.append(page)
            self._revisions.append(stored.revisions)

    def pages(self, ids: Bigints, revisions: Bigints) -> list[FingerprintPage] | None:
        """The fingerprints of these articles, given with their revisions in ascending order of ids; None
        unless they are all that is kept."""
        if not self._pages or self._count != len(ids):
            return None
        found = np.concatenate([page.id for page in self._pages])
        order = np.argsort(found)
        same = (found[order] == ids) & (np.concatenate(self._revisions)[order] == revisions)
        return self._pages if same.all() else None


@dataclass(slots=True)
class Snapshot:
    """n articles in canonical order, each attribute of shape (n,) unless it says otherwise.

    Attributes:
        ids: of the articles.
        through: the time of the last one.
        sorted_ids, sorted_places: the ids in ascending order, and where each stands.
        sentence_counts: sentences of each, common ones included.
        canonical: flags of the stored fingerprints.
        signature: shape (n, k).
        shared: entries of sentences, buckets and contents of short texts that several articles have.
        watched: entries of the sentences that were common or are pinned, however few carry them.
        counts: of these, and of every sentence that more than `common_stories` articles carry.
        marks, pairs: what is stored; rows of `marks` stand in canonical order.
        kept: all fingerprints, as a load has just stored them; None where they were read.
    """

    ids: Bigints
    through: datetime | None
    sorted_ids: Bigints
    sorted_places: Places
    content_hash: Bigints
    shingle_count: Bigints
    sentence_counts: Bigints
    canonical: Flags
    signature: npt.NDArray[np.uint8]
    shared: tuple[Entries, Entries, Entries]
    watched: Entries
    counts: list[SentenceCount]
    marks: StoredMarks
    pairs: PairRows
    kept: list[FingerprintPage] | None

    def __len__(self) -> int:
        return len(self.ids)

    def held(self) -> Iterator[tuple[Bigints, Flags]] | None:
        """The entries of all keys, with the flags of their articles; None where they were not kept."""
        if self.kept is None:
            return None
        return (key_segments.of_page(page, self.canonical[self.places(page.id)]) for page in self.kept)

    def carriers(self, sentences: Collection[int]) -> dict[int, list[int]]:
        """The ids of the articles that carry some sentences and take part, by sentence."""
        found: dict[int, list[int]] = {}
        wanted = np.fromiter(sentences, np.int64, len(sentences))
        for keys, places in (self.shared[0], self.watched):
            chosen = np.isin(keys, wanted) & self.marks.takes_part[places]
            for key, id in zip(keys[chosen].tolist(), self.ids[places[chosen]].tolist(), strict=True):
                found.setdefault(key, []).append(id)
        return found

    def places(self, ids: Bigints) -> Places:
        """Where articles stand; -1 of those that are not here."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int32)
        at = np.minimum(np.searchsorted(self.sorted_ids, ids), len(self.ids) - 1)
        return np.where(self.sorted_ids[at] == ids, self.sorted_places[at], -1).astype(np.int32)


def read(
    cursor: Cursor,
    settings: Settings,
    memory: int,
    kept: Kept,
    start: Callable[[int], None],
    progress: Callable[[int], None],
) -> Snapshot:
    """Read a corpus in about `memory` bytes; the transaction should see one moment all through. Of `kept`
    fingerprints none is read, if they are all that there are.

    `start` is told how many fingerprints are to be read, `progress` how many more were.
    """
    ids, revisions, through = memory_engine.ids_in_order(cursor, settings)
    size = len(ids)
    slices = max(1, math.ceil(size / fitting(memory, settings)))
    start(size * (1 if slices == 1 else 1 + 2 * slices))
    reader = _Reader(cursor, settings, ids, revisions, kept, progress, slices)
    reader.read()
    by_sentence = in_slices(slices, reader.sentences)
    watched = reader.watched()
    counted = _counted(by_sentence, watched, settings.common_stories)
    reader.wanted[counted[1]] = True
    by_bucket = in_slices(slices, reader.buckets)
    by_content = in_slices(1, reader.contents)
    marks = memory_engine.marks(cursor, reader.sorted_ids)
    order = np.argsort(marks.id, kind="stable")
    marks = marks[order[np.searchsorted(marks.id[order], ids)]]  # those of these articles, in their order
    return Snapshot(
        ids,
        through,
        reader.sorted_ids,
        reader.sorted_places,
        reader.content_hash,
        reader.shingle_count,
        reader.sentence_counts,
        reader.canonical,
        reader.signature,
        (by_sentence, by_bucket, by_content),
        watched,
        count(counted, ids, *reader.gathered()),
        marks,
        memory_engine.pairs(cursor, reader.sorted_ids),
        reader.kept,
    )


class _Reader:
    """Reads fingerprints once, and again for every slice where they do not fit in memory."""

    def __init__(
        self,
        cursor: Cursor,
        settings: Settings,
        ids: Bigints,
        revisions: Bigints,
        kept: Kept,
        progress: Callable[[int], None],
        slices: int,
    ) -> None:
        self._cursor, self._progress, self._again = cursor, progress, slices > 1
        size = len(ids)
        order = np.argsort(ids, kind="stable")
        self.sorted_ids, self.sorted_places = ids[order], order.astype(np.int32)
        self.kept = kept.pages(self.sorted_ids, revisions[order])
        self.content_hash, self.shingle_count = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.sentence_counts, self._banded = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        self.canonical = np.zeros(size, np.bool_)
        shape = (size, settings.signature_bytes)
        self.signature: npt.NDArray[np.uint8]
        if self._again and size:
            with tempfile.TemporaryFile() as file:  # the mapping keeps it
                self.signature = np.memmap(file, np.uint8, "w+", shape=shape)
        else:
            self.signature = np.zeros(shape, np.uint8)
        self._bands = settings.buckets
        self.wanted = np.zeros(size, np.bool_)  # whose buckets are kept as they are read
        self._rows: list[npt.NDArray[np.int64]] = []
        self._rows_of: list[Places] = []
        self._watched_keys = memory_engine.sentences(cursor, "watched")
        self._watched: list[Entries] = []
        self._sentences: list[Entries] = []
        self._buckets: list[Entries] = []

    def read(self) -> None:
        """The first time: all but the keys is kept, and the keys too where they fit."""
        for page, places in self._pages():
            self.content_hash[places] = page.content_hash
            self.shingle_count[places] = page.shingle_count
            self.sentence_counts[places] = page.sentence_counts
            self._banded[places] = page.bucket_counts > 0
            self.canonical[places] = page.canonical
            if page.signature.shape[1]:
                self.signature[places] = page.signature
            sentences = page.sentence_hashes, np.repeat(places, page.sentence_counts)
            if len(self._watched_keys):
                chosen = np.isin(sentences[0], self._watched_keys)
                self._watched.append((sentences[0][chosen], sentences[1][chosen]))
            if not self._again:
                self._sentences.append(sentences)
                self._buckets.append((page.buckets, np.repeat(places, page.bucket_counts)))

    def sentences(self) -> Iterator[Entries]:
        """All sentences of all articles, in pieces."""
        if self._again:
            for page, places in self._pages():
                yield page.sentence_hashes, np.repeat(places, page.sentence_counts)
        while self._sentences:
            yield self._sentences.pop()

    def gathered(self) -> tuple[Places, npt.NDArray[np.int64]]:
        """The articles whose buckets were to be kept, ascending, and a row of keys for each."""
        places = np.concatenate([np.empty(0, np.int32), *self._rows_of])
        rows = np.concatenate([np.empty((0, self._bands), np.int64), *self._rows])
        order = np.argsort(places, kind="stable")
        return places[order], rows[order]

    def buckets(self) -> Iterator[Entries]:
        """All bucket keys of all articles, in pieces."""
        if self._again:
            for page, places in self._pages():
                yield self._kept((page.buckets, np.repeat(places, page.bucket_counts)))
        while self._buckets:
            yield self._kept(self._buckets.pop())
        self.wanted[:] = False

    def _kept(self, entries: Entries) -> Entries:
        keys, places = entries
        chosen = self.wanted[places]
        self._rows.append(keys[chosen].reshape(-1, self._bands))
        self._rows_of.append(places[chosen][:: self._bands])
        return entries

    def contents(self) -> Iterator[Entries]:
        """The content of those articles that have no buckets."""
        places = np.flatnonzero(~self._banded).astype(np.int32)
        yield self.content_hash[places], places

    def watched(self) -> Entries:
        """The sentences that were common or are pinned, sorted as shared ones are."""
        keys = np.concatenate([np.empty(0, np.int64), *(found[0] for found in self._watched)])
        places = np.concatenate([np.empty(0, np.int32), *(found[1] for found in self._watched)])
        order = np.lexsort((places, keys))
        return keys[order], places[order]

    def _pages(self) -> Iterator[tuple[FingerprintPage, Places]]:
        for page in self.kept or memory_engine.fingerprints(self._cursor, self.sorted_ids):
            at = np.minimum(np.searchsorted(self.sorted_ids, page.id), len(self.sorted_ids) - 1)
            assert (self.sorted_ids[at] == page.id).all(), "the transaction sees one moment"
            yield page, self.sorted_places[at]
            self._progress(len(page.id))


def _counted(shared: Entries, watched: Entries, limit: int) -> Entries:
    """The sentences to be counted: those that more than `limit` articles carry, and the watched ones."""
    keys, places = frequent(shared, limit)
    other = ~np.isin(watched[0], keys)
    keys, places = np.concatenate([keys, watched[0][other]]), np.concatenate([places, watched[1][other]])
    order = np.lexsort((places, keys))
    return keys[order], places[order]
