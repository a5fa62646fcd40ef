"""Read a whole corpus into memory, as of one moment: fingerprints, marks and pairs.

Only keys that several articles have are kept. If reading all keys at once would take too much memory, all
keys are read once per slice of the key space, and signatures are kept in a file. Sentences are counted, too,
to find the common sentences (docs/semantics.md, section 2).
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Collection, Iterator

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags, runs
from dedup.base.settings import Settings
from dedup.db.database import Cursor
from dedup.rules.keys import Bigints, Entries, Places, shared
from dedup.store import key_segments, memory_engine
from dedup.store.common_sentences import SentenceCount
from dedup.store.fingerprints import StoredBatch
from dedup.store.memory_engine import FingerprintPage

# Bytes of memory per article, measured on news articles of 2.8 kB. An article has a signature, and about 36
# keys (sentences and buckets). A key takes 12 bytes with the number of its article; sorting copies it twice.
ARTICLE_BYTES = 1_600

# Additional bytes per article with a damaged-print signature: the signature, and three copies of 85 keys.
PRINT_ARTICLE_BYTES = 5_200

NO_IDS: Bigints = np.empty(0, np.int64)


def count_fitting(memory: int, settings: Settings) -> int:
    """Return the number of articles that can be read at once with `memory` bytes; at least one."""
    return max(1, memory // (ARTICLE_BYTES + PRINT_ARTICLE_BYTES * settings.prints))


class Cache:
    """Cache of the fingerprints that a load stored; with more than `limit` fingerprints it is emptied."""

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0
        self._pages: list[FingerprintPage] = []
        self._revisions: list[Bigints] = []

    def add(self, stored: StoredBatch) -> None:
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
        """Return the cached fingerprints if they belong to exactly these articles and revisions; otherwise
        return None. `ids`: all articles with a fingerprint, ascending. `revisions`: one for each id."""
        if not self._pages or self._count != len(ids):
            return None
        found = np.concatenate([page.id for page in self._pages])
        order = np.argsort(found)
        same = (found[order] == ids) & (np.concatenate(self._revisions)[order] == revisions)
        return self._pages if same.all() else None


class Snapshot:
    """Data of n articles in canonical order; attributes have the shape (n,) unless another shape is given. An
    entry is a key (sentence, bucket or content hash), and the place of an article that has this key.

    Attributes:
        through: canonical time of the last article.
        sorted_ids, sorted_places: the ids in ascending order, and the place of each id.
        published: see `marks.published_second`.
        sentence_counts: number of sentences per article, including common sentences.
        canonical: canonical flags of the stored fingerprints.
        signature: signatures of the stored fingerprints, shape (n, k).
        shared: three sets of entries whose key several articles have: sentences, buckets, contents.
        watched: entries of sentences that were common or are pinned, even if only one article has them.
        counts: counts of watched sentences, and of sentences in more than `common_stories` articles.
        marks, pairs: stored marks in canonical order, and stored pairs.
        kept: all fingerprints from the cache of a load; None if they were read from the database.
    """

    def __init__(
        self,
        cursor: Cursor,
        settings: Settings,
        memory: int,
        kept: Cache,
        start: Callable[[int], None],
        progress: Callable[[int], None],
        without: Bigints = NO_IDS,
    ) -> None:
        """Read a corpus in a snapshot transaction, with about `memory` bytes of memory. If `kept` has all
        fingerprints, take them from there. `start`: called with the number of fingerprints to read.
        `progress`: called for each page with the number of its fingerprints. `without`: ids to leave out."""
        self.ids, revisions, self.published, self.through = memory_engine.read_order(cursor, settings)
        if len(without):
            there = ~np.isin(self.ids, without)
            self.ids, revisions, self.published = self.ids[there], revisions[there], self.published[there]
        size = len(self.ids)
        order = np.argsort(self.ids, kind="stable")
        self.sorted_ids, self.sorted_places = self.ids[order], order.astype(np.int32)
        self.kept = kept.pages(self.sorted_ids, revisions[order])
        self.content_hash, self.shingle_count, self.sentence_counts = np.zeros((3, size), np.int64)
        self.canonical = np.zeros(size, np.bool_)
        slices = max(1, math.ceil(size / count_fitting(memory, settings)))
        start(size * (1 if slices == 1 else 1 + 2 * slices))
        shape = (size, settings.signature_bytes)
        self.signature: npt.NDArray[np.uint8]
        if slices > 1:
            # The temporary file has no name; the mapping keeps its data after the file is closed.
            with tempfile.TemporaryFile() as file:
                self.signature = np.memmap(file, np.uint8, "w+", shape=shape)
        else:
            self.signature = np.zeros(shape, np.uint8)
        reader = _Reader(self, cursor, settings, progress, again=slices > 1)
        by_sentence = in_slices(slices, reader.read_sentences)
        self.watched = reader.sort_watched()
        counted = _choose_counted(by_sentence, self.watched, settings.common_stories)
        reader.wanted[counted[1]] = True
        by_bucket = in_slices(slices, reader.read_buckets)
        self.shared = by_sentence, by_bucket, in_slices(1, reader.read_contents)
        self.counts = count(counted, self.ids, *reader.gather_buckets())
        marks = memory_engine.read_marks(cursor, self.sorted_ids)
        order = np.argsort(marks.id, kind="stable")
        # Marks are read by ranges of ids, so marks of articles without a fingerprint must be left out.
        self.marks = marks[order[np.searchsorted(marks.id[order], self.ids)]]
        self.pairs = memory_engine.read_pairs(cursor, self.sorted_ids)

    def __len__(self) -> int:
        return len(self.ids)

    def read_entries(self) -> Iterator[tuple[Bigints, Flags]] | None:
        """Return an iterator over all entries, with canonical flags; None if the cache was not used."""
        if self.kept is None:
            return None
        return (
            key_segments.make_entries(page, self.canonical[self.find_places(page.id)]) for page in self.kept
        )

    def find_carriers(self, sentences: Collection[int]) -> dict[int, list[int]]:
        """Return, by sentence, the ids of articles that contain the sentence and take part in comparisons."""
        found: dict[int, list[int]] = {}
        wanted = np.fromiter(sentences, np.int64, len(sentences))
        for keys, places in (self.shared[0], self.watched):
            chosen = np.isin(keys, wanted) & self.marks.takes_part[places]
            for key, id in zip(keys[chosen].tolist(), self.ids[places[chosen]].tolist(), strict=True):
                found.setdefault(key, []).append(id)
        return found

    def find_places(self, ids: Bigints) -> Places:
        """Return the places of articles; -1 for articles that are not in the snapshot."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int32)
        at = np.minimum(np.searchsorted(self.sorted_ids, ids), len(self.ids) - 1)
        return np.where(self.sorted_ids[at] == ids, self.sorted_places[at], -1).astype(np.int32)


class _Reader:
    """Reader of all fingerprints. If the keys do not fit in memory, it reads them again for each slice."""

    def __init__(
        self,
        snapshot: Snapshot,
        cursor: Cursor,
        settings: Settings,
        progress: Callable[[int], None],
        *,
        again: bool,
    ) -> None:
        """Read fingerprints into the snapshot, without their keys. Keep the keys here or, if `again`, read
        them again when they are needed."""
        self._snapshot, self._cursor, self._progress, self._again = snapshot, cursor, progress, again
        self._banded, self.wanted = np.zeros((2, len(snapshot)), np.bool_)
        self._bands = settings.buckets
        self._rows: list[npt.NDArray[np.int64]] = []
        self._rows_of: list[Places] = []
        self._watched: list[Entries] = []
        self._sentences: list[Entries] = []
        self._buckets: list[Entries] = []
        watched = memory_engine.read_sentences(cursor, "watched")
        for page, places in self._read_pages():
            snapshot.content_hash[places] = page.content_hash
            snapshot.shingle_count[places] = page.shingle_count
            snapshot.sentence_counts[places] = page.sentence_counts
            snapshot.canonical[places] = page.canonical
            self._banded[places] = page.bucket_counts > 0
            if page.signature.shape[1]:
                snapshot.signature[places] = page.signature
            sentences = page.sentence_hashes, np.repeat(places, page.sentence_counts)
            if len(watched):
                chosen = np.isin(sentences[0], watched)
                self._watched.append((sentences[0][chosen], sentences[1][chosen]))
            if not again:
                self._sentences.append(sentences)
                self._buckets.append((page.buckets, np.repeat(places, page.bucket_counts)))

    def read_sentences(self) -> Iterator[Entries]:
        if self._again:
            for page, places in self._read_pages():
                yield page.sentence_hashes, np.repeat(places, page.sentence_counts)
        while self._sentences:
            yield self._sentences.pop()

    def gather_buckets(self) -> tuple[Places, npt.NDArray[np.int64]]:
        """Return the places of articles whose buckets were kept, ascending, and a row of buckets for each."""
        places = np.concatenate([np.empty(0, np.int32), *self._rows_of])
        rows = np.concatenate([np.empty((0, self._bands), np.int64), *self._rows])
        order = np.argsort(places, kind="stable")
        return places[order], rows[order]

    def read_buckets(self) -> Iterator[Entries]:
        if self._again:
            for page, places in self._read_pages():
                yield self._keep_buckets((page.buckets, np.repeat(places, page.bucket_counts)))
        while self._buckets:
            yield self._keep_buckets(self._buckets.pop())
        # Each slice reads all buckets. Keep the buckets of wanted articles only from the first slice.
        self.wanted[:] = False

    def _keep_buckets(self, entries: Entries) -> Entries:
        keys, places = entries
        chosen = self.wanted[places]
        self._rows.append(keys[chosen].reshape(-1, self._bands))
        self._rows_of.append(places[chosen][:: self._bands])
        return entries

    def read_contents(self) -> Iterator[Entries]:
        places = np.flatnonzero(~self._banded).astype(np.int32)
        yield self._snapshot.content_hash[places], places

    def sort_watched(self) -> Entries:
        """Return the entries of sentences that were common or are pinned, sorted by sentence and place."""
        keys = np.concatenate([np.empty(0, np.int64), *(found[0] for found in self._watched)])
        places = np.concatenate([np.empty(0, np.int32), *(found[1] for found in self._watched)])
        order = np.lexsort((places, keys))
        return keys[order], places[order]

    def _read_pages(self) -> Iterator[tuple[FingerprintPage, Places]]:
        ids, placed = self._snapshot.sorted_ids, self._snapshot.sorted_places
        for page in self._snapshot.kept or memory_engine.read_fingerprints(self._cursor, ids):
            at = np.minimum(np.searchsorted(ids, page.id), len(ids) - 1)
            assert (ids[at] == page.id).all(), "fingerprints changed within the snapshot transaction"
            yield page, placed[at]
            self._progress(len(page.id))


def _choose_counted(by_sentence: Entries, watched: Entries, limit: int) -> Entries:
    """Return the entries of sentences to count: watched ones, and sentences in more than `limit` articles."""
    keys, places = by_sentence
    _, sizes = runs(keys)
    many = np.repeat(sizes > limit, sizes)
    keys, places = keys[many], places[many]
    other = ~np.isin(watched[0], keys)
    keys, places = np.concatenate([keys, watched[0][other]]), np.concatenate([places, watched[1][other]])
    order = np.lexsort((places, keys))
    return keys[order], places[order]


def in_slices(count: int, read: Callable[[], Iterator[Entries]]) -> Entries:
    """Return the entries whose key several articles share, found slice by slice to save memory. `count`:
    number of slices of the key space. `read`: yields all entries; called once for each slice."""
    found = []
    for number in range(count):
        keys, places = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for some, at in read():
            chosen = slice(None) if count == 1 else some.view(np.uint64) % count == number
            keys.append(some[chosen])
            places.append(at[chosen])
        found.append(shared(np.concatenate(keys), np.concatenate(places)))
    return np.concatenate([keys for keys, _ in found]), np.concatenate([places for _, places in found])


def count(
    entries: Entries, ids: Bigints, places: Places, buckets: npt.NDArray[np.int64]
) -> list[SentenceCount]:
    """Return the counts that decide whether sentences are common.

    `entries`: sentence hashes and places of articles, sorted by sentence. `places`: the places of all these
    articles, ascending. `buckets`: for each of `places`, a row with the bucket keys of the article.
    """
    sentences, carriers = entries
    first, sizes = runs(sentences)
    group = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.searchsorted(places, carriers)
    agreeing = np.zeros(len(sizes), np.int64)
    for band in range(buckets.shape[1] if len(sizes) else 0):
        keys = buckets[rows, band]
        order = np.lexsort((keys, group))
        keys, owner = keys[order], group[order]
        starts, copies = runs(keys, owner)
        np.add.at(agreeing, owner[starts], copies * (copies - 1))
    names, examples = sentences[first], ids[carriers[first]]
    return [
        SentenceCount(*row)
        for row in zip(names.tolist(), sizes.tolist(), agreeing.tolist(), examples.tolist(), strict=True)
    ]
