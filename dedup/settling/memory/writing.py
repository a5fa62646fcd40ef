"""Compare stored marks and pairs with the decided ones, and write the changes in chunks for `run.py`.

A component is a set of articles that are related, directly or through others. A chunk has whole components,
so that stored marks are consistent at any moment. If a component is too large for one transaction, all its
articles are first made stale, and then written in canonical order, since marks depend on earlier articles. An
article whose best match is a later article stays stale until that later article is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags, begins_run
from dedup.base.settings import Settings
from dedup.db.database import Cursor
from dedup.rules.decide import Decisions, Profiles, decide
from dedup.rules.keys import Bigints, Entries, Places, code
from dedup.rules.marks import Status
from dedup.rules.pair import Relation
from dedup.settling.memory.snapshot import Snapshot
from dedup.store import memory_engine, settling
from dedup.store.memory_engine import NO_RULE, STATUSES, StoredMarks
from dedup.store.settling import PairRows

# Approximate number of marks and pairs per transaction, which holds the settle lock for about 20 ms.
CHUNK_ROWS = 4_000

# A changed canonical flag counts as this number of rows: all keys of the fingerprint are then written again,
# which takes at least as long as writing so many rows.
FLAG_ROWS = 4

UNIQUE, SIMILAR, DUPLICATE = (
    STATUSES.index(status) for status in (Status.UNIQUE, Status.SIMILAR, Status.DUPLICATE)
)


def make_profiles(snapshot: Snapshot, common: Bigints, pins: dict[tuple[int, int], Relation]) -> Profiles:
    """Return the arrays that `rules.decide` needs. `common`: the common sentences, ascending. `pins`: pinned
    relations by the places of a pair, the later article first."""
    by_sentence, by_bucket, by_content = snapshot.shared
    dropped = np.isin(by_sentence[0], common)
    commons = np.bincount(by_sentence[1][dropped], minlength=len(snapshot))
    # A sentence with only one carrier is not in `by_sentence`, but may be pinned as common.
    watched, at = snapshot.watched
    alone = np.isin(watched, common) & ~np.isin(watched, by_sentence[0])
    commons += np.bincount(at[alone], minlength=len(snapshot))
    kept: Entries = (by_sentence[0][~dropped], by_sentence[1][~dropped])
    return Profiles(
        snapshot.content_hash,
        (snapshot.sentence_counts - commons).astype(np.int32),
        commons.astype(np.int32),
        snapshot.shingle_count.astype(np.int32),
        snapshot.signature,
        snapshot.published,
        (kept, by_bucket, by_content),
        pins,
    )


def decide_all(
    snapshot: Snapshot,
    common: Bigints,
    pinned: Iterable[tuple[int, int, Relation]],
    settings: Settings,
    progress: Callable[[int], object],
) -> Decisions:
    """Decide all articles of a snapshot. `common`: as in `make_profiles`. `pinned`: pinned pairs of ids."""
    pins = {}
    for one, other, relation in pinned:
        a, b = snapshot.find_places(np.array([one, other])).tolist()
        if a >= 0 and b >= 0:
            pins[max(a, b), min(a, b)] = relation
    return decide(make_profiles(snapshot, common, pins), settings, progress=progress)


@dataclass(slots=True)
class Chunk:
    """Rows that one transaction writes. Articles that people changed meanwhile are left out."""

    number: int
    places: Bigints  # articles whose mark or canonical flag is written, in canonical order
    closed: Bigints  # articles that an earlier chunk left stale and this chunk settles
    dropped: Bigints  # stored pairs to delete, as indexes into `Plan._old`
    loses: Bigints  # stored pairs whose later article is no longer the best match of the earlier one
    pairs: Bigints  # pairs to write, as indexes into `Decisions.pairs`


class Plan:
    """Changes that make stored marks and pairs equal to the decisions, divided into chunks.

    Attributes:
        writes: shape (n,), in canonical order: True for articles whose marks are written.
        divided: places of settled articles in components that are too large for one chunk.
        chunks: chunks in the order of writing.
    """

    def __init__(self, snapshot: Snapshot, decisions: Decisions, unsettled: Places) -> None:
        """Compare decisions with the snapshot. `unsettled`: places of articles that are pending or stale."""
        self.snapshot, self.decisions = snapshot, decisions
        marks, stored = make_marks(snapshot, decisions), snapshot.marks
        differs = (
            (marks.status != stored.status)
            | (marks.duplicate_of != stored.duplicate_of)
            | (marks.score != stored.score)
            | (marks.reason != stored.reason)
        )
        self._marks, self._differs = marks, differs
        self.writes = differs | ~stored.takes_part
        self.writes[unsettled] = True
        # Places of stored pairs, the later article first; -1 for an article without a fingerprint.
        self._old, dropped, self._not_best_match, new = _compare_pairs(snapshot, decisions)
        old, pairs, size = self._old, decisions.pairs, len(snapshot)
        loses = (dropped | self._not_best_match) & snapshot.pairs.best_match & (old[:, 1] >= 0)
        flags = (decisions.original < 0) != snapshot.canonical
        weight = self.writes + FLAG_ROWS * flags.astype(np.int64)
        for touched in (pairs.later[new], old[dropped, 0], old[loses, 1]):
            weight += np.bincount(touched, minlength=size)
        self._chunk, in_parts = _divide(decisions.component, weight)
        divided = np.flatnonzero(in_parts)
        self.divided = divided[~np.isin(divided, unsettled)]
        self.writes |= in_parts
        # For each article, `chunk` has the number of the chunk that writes its mark, and `settles` the number
        # of the chunk that settles it. The numbers differ if the best match of the article is a later article
        # in another chunk: that chunk writes the pair, and so settles the article.
        chunk = self._chunk
        settles = self._settles = chunk.copy()
        settles[pairs.earlier[decisions.best_match]] = chunk[pairs.later[decisions.best_match]]
        count = int(chunk.max()) + 1 if size else 0
        parts = zip(
            range(count),
            _group_by_chunk(self.writes | flags, chunk, count),
            _group_by_chunk(settles > chunk, settles, count),
            _group_by_chunk(dropped, chunk[old[:, 0]], count),
            _group_by_chunk(loses, chunk[old[:, 1]], count),
            _group_by_chunk(new, chunk[pairs.later], count),
            strict=True,
        )
        self.chunks = [Chunk(number, *work) for number, *work in parts if any(map(len, work))]

    def write(self, cursor: Cursor, chunk: Chunk, changed: Places) -> int:
        """Write a chunk without the articles related to `changed`; return the number of articles settled.
        `changed`: places of the articles that people changed."""
        ids, stored, pairs = self.snapshot.ids, self.snapshot.pairs, self.decisions.pairs
        component = self.decisions.component
        # A change may alter the marks of all related articles. So these are left out here, and settled
        # through the indexes later.
        blocked = np.unique(component[changed])

        def free(places: npt.NDArray[Any]) -> Flags:
            return (places >= 0) & ~np.isin(component[places], blocked)

        ready = free(chunk.places)
        go, wait = chunk.places[ready], chunk.places[~ready]
        canonical = self.decisions.original[go] < 0
        flags = canonical != self.snapshot.canonical[go]
        drop = chunk.dropped[free(self._old[chunk.dropped, 0])]
        loses = chunk.loses[free(self._old[chunk.loses, 1])]
        later = self._old[loses, 0]
        gone = free(later) & (self._chunk[later] <= chunk.number)
        loses = loses[self._not_best_match[loses] | ~gone]
        new = chunk.pairs[free(pairs.later[chunk.pairs])]
        memory_engine.drop_pairs(cursor, stored.article_id[drop], stored.other_id[drop])
        memory_engine.drop_pairs(cursor, stored.article_id[loses], stored.other_id[loses], not_best=True)
        settling.write_flags(cursor, ids[go[flags & canonical]], ids[go[flags & ~canonical]])
        settling.write_pairs(cursor, PairRows.of(ids, pairs[new], self.decisions.best_match[new]))
        closed = chunk.closed[free(chunk.closed)]
        # If the best match of an article is in a later chunk, the later chunk writes the pair of the two.
        # Until then the mark of the article stays stale.
        written, is_open = go[self.writes[go]], self._settles[go[self.writes[go]]] > chunk.number
        for some, stale in ((written[~is_open], False), (written[is_open], True)):
            differs = self._differs[some]
            memory_engine.write_marks(cursor, self._marks[some[differs]], stale=stale)
            kept = some[~differs] if stale else np.concatenate([some[~differs], closed])
            memory_engine.keep_marks(cursor, ids[kept], stale=stale)
        settling.make_stale(cursor, ids[wait[self._differs[wait]]].tolist())
        return int(np.count_nonzero(~is_open)) + len(closed)


def _divide(component: Places, weight: Bigints) -> tuple[Bigints, Flags]:
    """Return the chunk number of each article, and whether its component is divided among several chunks.

    `component`: number of the component (set of related articles) of each article. `weight`: rows to write.
    """
    order = np.argsort(component, kind="stable")
    heavy = (np.bincount(component, weight, len(weight)) > CHUNK_ROWS)[component]
    before = np.cumsum(weight[order]) - weight[order]
    first = np.maximum.accumulate(np.where(begins_run(component[order]), np.arange(len(order)), 0))
    chunk = np.empty(len(order), np.int64)
    chunk[order] = np.where(heavy[order], before, before[first]) // CHUNK_ROWS
    return chunk, heavy


def _group_by_chunk(wanted: Flags, chunk: Bigints, count: int) -> list[Bigints]:
    """Return, for each of `count` chunks, the places at which `wanted` is True."""
    found = np.flatnonzero(wanted)
    # One sort is enough, while a search per chunk would read all articles once for each chunk.
    found = found[np.argsort(chunk[found], kind="stable")]
    return np.split(found, np.searchsorted(chunk[found], np.arange(1, count + 1)))[:count]


def make_marks(snapshot: Snapshot, decisions: Decisions) -> StoredMarks:
    canonical, alone = decisions.original < 0, decisions.score < 0
    size = len(snapshot)
    return StoredMarks(
        snapshot.ids,
        np.ones(size, np.bool_),
        np.where(canonical, np.where(alone, UNIQUE, SIMILAR), DUPLICATE).astype(np.int8),
        np.where(canonical, 0, snapshot.ids[decisions.original]) if size else snapshot.ids,
        decisions.score,
        np.where(alone, NO_RULE, decisions.rule).astype(np.int8),
    )


def _compare_pairs(snapshot: Snapshot, decisions: Decisions) -> tuple[Bigints, Flags, Flags, Flags]:
    stored, found = snapshot.pairs, decisions.pairs
    later, earlier = snapshot.find_places(stored.article_id), snapshot.find_places(stored.other_id)
    old = np.stack([later, earlier], axis=1).astype(np.int64)
    # Compare pairs as integers. If a place is -1 (article without a fingerprint), the integer is negative, so
    # the stored pair equals no new pair.
    before, now = code(later, earlier), found.codes()
    order = np.argsort(before)
    at = np.minimum(np.searchsorted(before[order], now), max(len(before) - 1, 0))
    same = np.zeros(len(now), np.bool_)
    if len(before):
        at = order[at]
        same = before[at] == now
    new = ~same
    for name in ("duplicate", "rule", "score", "sentence_jaccard", "signature_jaccard", "containment"):
        new[same] |= getattr(stored, name)[at[same]] != getattr(found, name)[same]
    new[same] |= stored.best_match[at[same]] != decisions.best_match[same]
    stays = np.zeros(len(before), np.bool_)
    stays[at[same]] = True
    dropped = ~stays & (later >= 0)
    # If the later article of a pair has no fingerprint now, keep the pair until that article is settled.
    lost = np.zeros(len(before), np.bool_)
    lost[at[same]] = ~decisions.best_match[same]
    not_best_match = stored.best_match & (lost | (~stays & (later < 0)))
    return old, dropped, not_best_match, new
