"""Reads articles to settle, and articles with sentences or buckets in common; writes marks and pairs.

Each statement handles many articles at once. `../rules/decide.py` decides the marks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from dedup.base.numbers import Columns, Flags, Shares
from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, one_column, one_row
from dedup.db.statements import Statements
from dedup.rules.decide import PairArrays
from dedup.rules.marks import Mark, OrderKey, published_second
from dedup.rules.pair import Relation
from dedup.rules.pairs import RULES, Codes
from dedup.text.signature import Signature

_sql = Statements("store/settling")

Among = Literal["canonical", "duplicate", "waiting"]
"""Articles to search: originals, duplicates, or (waiting) articles that are not part of comparisons yet."""

PairPins = dict[frozenset[bytes], Relation]
"""Pinned relations. The key is the set of the two articles' source_ids, encoded in UTF-8."""


@dataclass(frozen=True, slots=True)
class FingerprintRow:
    """A fingerprinted article with its mark."""

    id: int
    order: OrderKey
    stored_canonical: bool  # the canonical flag of the fingerprint: true for an original
    canonical: bool | None  # `stored_canonical`, or None if the article takes no part in comparisons yet
    settled: bool
    pinned: bool  # the article is in a pinned pair
    content_hash: int
    published: int  # seconds, from `marks.published_second`
    sentence_count: int
    sentence_hashes: Bigints
    signature: Signature
    buckets: Bigints
    shingle_count: int
    score: float | None = None
    reason: str | None = None


def next_unsettled(cursor: Cursor, settings: Settings, limit: int) -> list[FingerprintRow]:
    """Return the next unsettled articles that have a fingerprint, roughly in canonical order."""
    return _rows(cursor, settings, "next_unsettled", limit=limit)


def find_unsettled(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[FingerprintRow]:
    return _rows(cursor, settings, "unsettled_among", ids=bigints(ids))


def find_named(cursor: Cursor, settings: Settings, names: Collection[bytes]) -> list[FingerprintRow]:
    if not names:
        return []
    return _rows(cursor, settings, "named", names=[name.decode() for name in names])


def find_sharing(
    cursor: Cursor,
    settings: Settings,
    among: Among,
    keys: Bigints,
    *,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[FingerprintRow]:
    """Return articles that have one of these keys: sentences, buckets or content hashes of short texts.

    `after`: only articles at or after this time in canonical order. `limit`: maximum number; which articles
    are left out is arbitrary.
    """
    return _rows(cursor, settings, "sharing", among=among, keys=keys, after=after, limit=limit)


def find_common(cursor: Cursor, sentences: Bigints) -> Bigints:
    return bigints(one_column(cursor, _sql("common_among"), {"sentences": sentences}))


def load_pair_pins(cursor: Cursor, rows: Sequence[FingerprintRow]) -> PairPins:
    names = [row.order[1].decode() for row in rows if row.pinned]
    if not names:
        return {}
    found = cursor.execute(_sql("pair_pins"), {"names": names}).fetchall()
    return {frozenset((row[0].encode(), row[1].encode())): Relation(row[2]) for row in found}


def note_reached(cursor: Cursor, settings: Settings, latest: datetime) -> datetime | None:
    """Record that articles up to the time `latest` are being settled; return the previously recorded time."""
    before: datetime | None = one_row(cursor, _sql("reach"), {"time": latest})[0]
    # A new corpus has no recorded time; a corpus restored without its state row has none, too.
    if before is None:
        (before,) = one_row(cursor, _sql("latest_taking_part"), order_parameters(settings))
        if before:
            cursor.execute(_sql("reach"), {"time": before})
    return before


def count_unsettled(cursor: Cursor, limit: int | None = None) -> int:
    """Count articles that are pending or stale, with a fingerprint or without; stop at `limit`."""
    return int(one_row(cursor, _sql("count_unsettled"), {"limit": limit})[0])


def find_later_best_matches(cursor: Cursor, settings: Settings, ids: Collection[int]) -> dict[int, OrderKey]:
    """Find originals in `ids` whose best match is a later article; return the match's order key by id."""
    values = {**order_parameters(settings), "ids": bigints(ids)}
    rows = cursor.execute(_sql("best_match_later"), values).fetchall()
    return {row[0]: (row[1], row[2].encode()) for row in rows}


def find_best_match_pairs(cursor: Cursor, ids: Collection[int]) -> list[tuple[int, int]]:
    """Return pairs (article_id, other_id): article_id is in `ids` and is the best match of other_id."""
    return cursor.execute(_sql("kept_for_best_match"), {"ids": bigints(ids)}).fetchall()


def find_lowest(cursor: Cursor, settings: Settings, ids: Collection[int]) -> dict[int, tuple[int, float]]:
    """Return for each original the number of its similar pairs with earlier originals, and a minimum score:
    the score of pair number `settings.similar_pairs`, the best pair first, or 0 if there are fewer pairs."""
    if not ids:
        return {}
    values = {"ids": bigints(ids), "pairs": settings.similar_pairs}
    rows = cursor.execute(_sql("lowest_kept"), values).fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def find_dependent(cursor: Cursor, ids: Collection[int]) -> set[int]:
    """Return articles whose marks depend on `ids`: each forms a pair with an earlier article in `ids`."""
    if not ids:
        return set()
    return set(one_column(cursor, _sql("decided_by"), {"ids": bigints(ids)}))


@dataclass(slots=True)
class PairRows(Columns):
    """Rows of the table `match`, one array of shape (m,) per column; see `rules.marks.Pair`."""

    article_id: Bigints
    other_id: Bigints
    duplicate: Flags  # true for the relation duplicate; false for similar
    rule: Codes  # rule as index in `rules.pairs.RULES`
    score: Shares
    sentence_jaccard: Shares
    signature_jaccard: Shares
    containment: Shares
    best_match: Flags  # the later article is the best match of the earlier one

    @classmethod
    def of(cls, ids: Bigints, pairs: PairArrays, best_match: Flags) -> PairRows:
        """Make rows from `pairs`, which names articles by their index in `ids`."""
        return cls(
            ids[pairs.later],
            ids[pairs.earlier],
            pairs.duplicate,
            pairs.rule,
            pairs.score,
            pairs.sentence_jaccard,
            pairs.signature_jaccard,
            pairs.containment,
            best_match,
        )


@dataclass(slots=True)
class Outcome:
    """Decisions of one settle transaction."""

    duplicates: dict[int, Mark]  # marks of duplicates by id
    canonical: dict[int, Mark]  # marks by id: of settled originals, and of originals with a new best match
    flags: dict[int, bool]  # changed canonical flags by id
    pairs: PairRows  # all pairs whose later article was settled, and new pairs of other articles
    settled: frozenset[int]
    best_match: list[int]  # ids whose best match is decided again
    unsettled: set[int]  # ids of other, settled articles that must be settled again


def write(cursor: Cursor, settings: Settings, outcome: Outcome) -> set[int]:
    """Write an outcome; return the ids of articles that became stale."""
    cursor.execute(_sql("delete_pairs"), {"ids": bigints(outcome.settled)})
    no_longer = cursor.execute(_sql("clear_best_match"), {"ids": bigints(outcome.best_match)}).fetchall()
    flagged = {flag: [id for id in outcome.flags if outcome.flags[id] is flag] for flag in (True, False)}
    write_flags(cursor, bigints(flagged[True]), bigints(flagged[False]))
    write_pairs(cursor, outcome.pairs)
    # The pairs of `no_longer` are not needed for a best match any more. Drop them, except pairs that are
    # among the best pairs of their later article. New pairs count there, too, so write the new pairs first.
    _drop_pairs(cursor, settings, no_longer)
    write_duplicates(cursor, outcome.duplicates)
    if outcome.canonical:
        cursor.execute(_sql("write_canonical"), _columns(outcome.canonical))
    return make_stale(cursor, outcome.unsettled)


def write_flags(cursor: Cursor, canonical: Bigints, duplicates: Bigints) -> None:
    for ids, flag in ((duplicates, False), (canonical, True)):
        if len(ids):
            cursor.execute(_sql("write_flags"), {"canonical": flag, "ids": ids})


def write_pairs(cursor: Cursor, pairs: PairRows) -> None:
    """Insert pairs into the table `match`, or replace the stored rows of these pairs."""
    if not len(pairs.article_id):
        return
    cursor.execute(
        _sql("write_pairs"),
        {
            "articles": pairs.article_id,
            "others": pairs.other_id,
            "duplicates": pairs.duplicate.astype(np.int64),
            "rules": pairs.rule.astype(np.int64),
            "names": [rule.value for rule in RULES],
            "scores": pairs.score,
            "sentences": pairs.sentence_jaccard,
            "signatures": pairs.signature_jaccard,
            "containments": pairs.containment,
            "best_match": pairs.best_match.astype(np.int64),
        },
    )


def _drop_pairs(cursor: Cursor, settings: Settings, pairs: Sequence[tuple[int, int]]) -> None:
    """Drop similar pairs, except pinned pairs, best matches, and the best pairs of the later article."""
    if not pairs:
        return
    cursor.execute(
        _sql("drop_pairs"),
        {
            **order_parameters(settings),
            "articles": bigints([pair[0] for pair in pairs]),
            "others": bigints([pair[1] for pair in pairs]),
            "pairs": settings.similar_pairs,
        },
    )


def write_duplicates(cursor: Cursor, marks: dict[int, Mark], *, stale: bool = False) -> None:
    """Mark articles as duplicates. `stale`: only provisionally, until a backfill settles them again."""
    if marks:
        cursor.execute(_sql("write_duplicates"), {"stale": stale, **_columns(marks)})


def _columns(marks: dict[int, Mark]) -> dict[str, Any]:
    names = sorted({mark.reason for mark in marks.values() if mark.reason is not None})
    places = {name: place for place, name in enumerate(names, 1)}
    return {
        "ids": bigints(marks),
        "originals": bigints([mark.duplicate_of or 0 for mark in marks.values()]),
        "scores": np.array([mark.score or 0.0 for mark in marks.values()], np.float64),
        "reasons": bigints([places.get(mark.reason or "", 0) for mark in marks.values()]),
        "names": names,
    }


def make_stale(cursor: Cursor, ids: Collection[int]) -> set[int]:
    """Make the settled articles among `ids` stale; return the ids of these articles."""
    if not ids:
        return set()
    return set(one_column(cursor, _sql("make_stale"), {"ids": bigints(ids)}))


def order_parameters(settings: Settings) -> dict[str, Any]:
    return {
        "policy": settings.canonical_order,
        "earliest": datetime(settings.earliest_year, 1, 1, tzinfo=UTC),
    }


def _rows(cursor: Cursor, settings: Settings, name: str, **values: object) -> list[FingerprintRow]:
    rows = cursor.execute(_sql(name), {**order_parameters(settings), **values})
    return [make_row(settings, row) for row in rows]


def make_row(settings: Settings, row: tuple[Any, ...], sentences: int | None = None) -> FingerprintRow:
    """Return a fingerprint row from the columns that the SQL part `row` selects. `sentences`: number of all
    sentences, if the columns have only the uncommon ones."""
    return FingerprintRow(
        id=row[0],
        order=(row[1], row[2].encode()),
        stored_canonical=row[3],
        canonical=row[3] if row[4] else None,
        settled=row[5],
        pinned=row[6],
        content_hash=row[7],
        published=published_second(settings, row[1], row[14]),
        sentence_count=len(row[8]) if sentences is None else sentences,
        sentence_hashes=row[8],
        signature=np.frombuffer(row[9], np.uint8),
        buckets=row[10],
        shingle_count=row[11],
        score=row[12],
        reason=row[13],
    )
