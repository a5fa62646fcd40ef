"""Find the articles to compare with given articles, and prepare the data that the rules compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from dedup.base.numbers import distinct
from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor
from dedup.rules.decide import Profiles
from dedup.rules.keys import Entries, shared
from dedup.rules.marks import Partner
from dedup.rules.pair import Profile, Relation, relate
from dedup.store import settling
from dedup.store.settling import Among, FingerprintRow, PairPins


def find_sharing(
    cursor: Cursor,
    settings: Settings,
    rows: Sequence[FingerprintRow],
    sentences: Sequence[Bigints],
    among: Among,
    *,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[FingerprintRow]:
    """Find articles that share a bucket, a content hash or one of `sentences` with an article of `rows`.
    `sentences`: for each row, the hashes of its sentences except common sentences."""
    contents = bigints([row.content_hash for row in rows if not len(row.buckets)])
    return settling.find_sharing(
        cursor,
        settings,
        among,
        # Only short texts, which have no buckets, are looked up by content hash. Longer texts that are equal
        # have equal buckets.
        distinct(np.concatenate([*sentences, *(row.buckets for row in rows), contents])),
        after=after,
        limit=limit,
    )


def drop_common(cursor: Cursor, rows: Sequence[FingerprintRow]) -> list[Bigints]:
    """Return, for each row, the sentences that are not common (S' in docs/semantics.md, section 2)."""
    if not rows:
        return []
    everything = np.concatenate([row.sentence_hashes for row in rows])
    common = settling.find_common(cursor, distinct(everything))
    if not len(common):
        return [row.sentence_hashes for row in rows]
    kept = ~np.isin(everything, common)
    found, start = [], 0
    for row in rows:
        stop = start + len(row.sentence_hashes)
        found.append(row.sentence_hashes[kept[start:stop]])
        start = stop
    return found


def make_profiles(rows: Sequence[FingerprintRow], sentences: Sequence[Bigints], pins: PairPins) -> Profiles:
    """Return the arrays that `rules.decide` needs. `rows`: fingerprints in canonical order. `sentences`: for
    each row, the hashes of its sentences except common sentences."""
    size = max((len(row.signature) for row in rows), default=0)
    signature = np.zeros((len(rows), size), np.uint8)
    for place, row in enumerate(rows):
        signature[place, : len(row.signature)] = row.signature
    places = {row.order[1]: place for place, row in enumerate(rows)} if pins else {}
    hashes = bigints([row.content_hash for row in rows])
    short = np.flatnonzero([not len(row.buckets) for row in rows])
    said = ((sorted((places[n] for n in pair if n in places), reverse=True), r) for pair, r in pins.items())
    return Profiles(
        hashes,
        np.array([len(own) for own in sentences], np.int32),
        np.array([row.sentence_count - len(own) for row, own in zip(rows, sentences, strict=True)], np.int32),
        np.array([row.shingle_count for row in rows], np.int32),
        signature,
        np.array([row.published for row in rows], np.int64),
        (
            _make_entries(sentences),
            _make_entries([row.buckets for row in rows]),
            shared(hashes[short], short.astype(np.int32)),
        ),
        {(found[0], found[1]): relation for found, relation in said if len(found) == 2},
    )


def _make_entries(keys: Sequence[Bigints]) -> Entries:
    places = np.repeat(np.arange(len(keys), dtype=np.int32), [len(own) for own in keys])
    return shared(np.concatenate(keys), places)


def relate_all(
    own: Profile,
    rows: Sequence[FingerprintRow],
    sentences: Sequence[Bigints],
    settings: Settings,
    pins: Mapping[bytes, Relation],
) -> list[Partner]:
    """Return the articles of `rows` that are related to the article `own`, each with the relation.
    `sentences`: as in `find_sharing`. `pins`: source_id -> the relation to `own` that an editor pinned."""
    found: list[Partner] = []
    for row, kept in zip(rows, sentences, strict=True):
        relation = relate(own, make_profile(row, kept), settings, pins.get(row.order[1]))
        if relation:
            found.append((row.order, row.id, relation))
    return found


def make_profile(row: FingerprintRow, sentences: Bigints) -> Profile:
    """Return an article in the form that `rules.pair` needs. `sentences`: hashes of uncommon sentences."""
    return Profile(
        row.content_hash,
        frozenset(sentences.tolist()),
        row.signature,
        frozenset(row.buckets.tolist()),
        row.shingle_count,
        row.sentence_count - len(sentences),
        row.published,
    )
