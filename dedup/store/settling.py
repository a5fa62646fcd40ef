"""What settling reads and writes: articles to settle, what shares something with them, marks and pairs.

Every statement works on sets; none is called per article. It decides nothing; see `../rules/decide.py`.
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
from dedup.rules.marks import Mark, OrderKey
from dedup.rules.pair import Relation
from dedup.rules.pairs import RULES, Codes
from dedup.text.signature import Signature

_sql = Statements("store/settling")

Among = Literal["canonical", "duplicate", "waiting"]
"""Which articles to look among: canonical ones and duplicates that take part, or those that do not yet."""

PairPins = dict[frozenset[bytes], Relation]
"""The source_ids of two articles, as UTF-8, to what a person has said they are to each other."""


@dataclass(frozen=True, slots=True)
class FingerprintRow:
    """A fingerprinted article as settling reads it."""

    id: int
    order: OrderKey
    stored_canonical: bool  # its flag as it is stored
    canonical: bool | None  # the same where it counts; None in an article that takes no part yet
    settled: bool  # whether it has a mark that need not be settled again
    pinned: bool  # whether a pin of a pair names it
    content_hash: int
    sentence_hashes: Bigints
    signature: Signature
    buckets: Bigints
    shingle_count: int
    # score, reason: of its mark
    score: float | None = None
    reason: str | None = None


def next_unsettled(cursor: Cursor, settings: Settings, limit: int) -> list[FingerprintRow]:
    """The next articles to settle that have a fingerprint; the earliest, near enough (see the statement)."""
    return _rows(cursor, settings, "next_unsettled", limit=limit)


def unsettled_among(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[FingerprintRow]:
    return _rows(cursor, settings, "unsettled_among", ids=bigints(ids))


def named(cursor: Cursor, settings: Settings, names: Collection[bytes]) -> list[FingerprintRow]:
    if not names:
        return []
    return _rows(cursor, settings, "named", names=[name.decode() for name in names])


def sharing(
    cursor: Cursor,
    settings: Settings,
    among: Among,
    sentences: Bigints,
    buckets: Bigints,
    contents: Bigints,
    *,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[FingerprintRow]:
    """Fingerprinted articles that have one of these sentences, buckets or content hashes. `contents`: of
    short texts, which have no buckets; the others are found by theirs. `after`: only articles at or after
    this time in canonical order. `limit`: at most so many, any of them.
    """
    bounds = {"after": after, "limit": limit}
    keys = {"sentences": sentences, "buckets": buckets, "contents": contents}
    return _rows(cursor, settings, "sharing", among=among, **keys, **bounds)


def common_among(cursor: Cursor, sentences: Bigints) -> Bigints:
    return bigints(one_column(cursor, _sql("common_among"), {"sentences": sentences}))


def pair_pins(cursor: Cursor, rows: Sequence[FingerprintRow]) -> PairPins:
    names = [row.order[1].decode() for row in rows if row.pinned]
    if not names:
        return {}
    found = cursor.execute(_sql("pair_pins"), {"names": names}).fetchall()
    return {frozenset((row[0].encode(), row[1].encode())): Relation(row[2]) for row in found}


def reach(cursor: Cursor, settings: Settings, latest: datetime) -> datetime | None:
    """Note that articles up to this time are being settled. Returns a time that no article settled before is
    later than; None where nothing was settled.
    """
    before: datetime | None = one_row(cursor, _sql("reach"), {"time": latest})[0]
    if before is None:  # a new corpus; or marks that came by a restore of data alone
        (before,) = one_row(cursor, _sql("latest_taking_part"), order_parameters(settings))
        if before:
            cursor.execute(_sql("reach"), {"time": before})
    return before


def count_unsettled(cursor: Cursor, limit: int | None = None) -> int:
    """How many articles are pending or stale, with a fingerprint or without; counting stops at `limit`."""
    return int(one_row(cursor, _sql("count_unsettled"), {"limit": limit})[0])


def best_match_later(cursor: Cursor, settings: Settings, ids: Collection[int]) -> dict[int, OrderKey]:
    """Of these canonical articles those that are most like a later one: the id to the order of that one."""
    values = {**order_parameters(settings), "ids": bigints(ids)}
    rows = cursor.execute(_sql("best_match_later"), values).fetchall()
    return {row[0]: (row[1], row[2].encode()) for row in rows}


def kept_for_best_match(cursor: Cursor, ids: Collection[int]) -> list[tuple[int, int]]:
    """The pairs of these articles with earlier ones that are most like them: (article_id, other_id)."""
    return cursor.execute(_sql("kept_for_best_match"), {"ids": bigints(ids)}).fetchall()


def lowest_kept(cursor: Cursor, settings: Settings, ids: Collection[int]) -> dict[int, tuple[int, float]]:
    """Of canonical articles that are similar to earlier ones: the number of these pairs, and the score of the
    last of the best `similar_pairs` of them (0 where there are fewer)."""
    if not ids:
        return {}
    values = {"ids": bigints(ids), "pairs": settings.similar_pairs}
    rows = cursor.execute(_sql("lowest_kept"), values).fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def decided_by(cursor: Cursor, ids: Collection[int]) -> set[int]:
    """The later articles of the pairs of these: what was decided by their being canonical."""
    if not ids:
        return set()
    return set(one_column(cursor, _sql("decided_by"), {"ids": bigints(ids)}))


@dataclass(slots=True)
class PairRows(Columns):
    """Rows of `match`, each attribute of shape (m,); see `rules.marks.Pair`."""

    article_id: Bigints
    other_id: Bigints
    duplicate: Flags  # whether the relation is duplicate, or else similar
    rule: Codes  # as its place in `rules.pairs.RULES`
    score: Shares
    sentence_jaccard: Shares
    signature_jaccard: Shares
    containment: Shares
    best_match: Flags  # whether the later article is, of all, the one most like the earlier

    @classmethod
    def of(cls, ids: Bigints, pairs: PairArrays, best_match: Flags) -> PairRows:
        """The rows of pairs, given the ids of the articles by place."""
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
    """What one settle transaction decided, ready to be written."""

    # duplicates, canonical: the marks of the settled articles by id; and of other canonical articles that are
    # more like one of these than like any other
    duplicates: dict[int, Mark]
    canonical: dict[int, Mark]
    flags: dict[int, bool]  # new values of the stored canonical flag, where it changes
    pairs: PairRows  # all pairs in which a settled article is the later one, and new pairs of others
    settled: frozenset[int]  # the settled articles
    best_match: list[int]  # ids for which it is decided again which article is most like them
    unsettled: set[int]  # ids, settled before, that have to be settled again


def write(cursor: Cursor, settings: Settings, outcome: Outcome) -> set[int]:
    """Write an outcome. Returns the ids that became stale by it."""
    cursor.execute(_sql("delete_pairs"), {"ids": bigints(outcome.settled)})
    no_longer = cursor.execute(_sql("clear_best_match"), {"ids": bigints(outcome.best_match)}).fetchall()
    flagged = {flag: [id for id in outcome.flags if outcome.flags[id] is flag] for flag in (True, False)}
    write_flags(cursor, bigints(flagged[True]), bigints(flagged[False]))
    write_pairs(cursor, outcome.pairs)
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
    """Write rows of `match`; a pair that is there already is replaced."""
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
    """Drop those pairs that are neither among the best of the later article nor kept for the earlier one."""
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
    """Mark articles as duplicates. `stale`: the marks are provisional: to be settled again, and no reason to
    take part.
    """
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
    """Have articles settled again; returns those that were settled."""
    if not ids:
        return set()
    return set(one_column(cursor, _sql("make_stale"), {"ids": bigints(ids)}))


def order_parameters(settings: Settings) -> dict[str, Any]:
    return {
        "policy": settings.canonical_order,
        "earliest": datetime(settings.earliest_year, 1, 1, tzinfo=UTC),
    }


def _rows(cursor: Cursor, settings: Settings, name: str, **values: object) -> list[FingerprintRow]:
    rows = cursor.execute(_sql(name), {**order_parameters(settings), **values}).fetchall()
    return [
        FingerprintRow(
            id=row[0],
            order=(row[1], row[2].encode()),
            stored_canonical=row[3],
            canonical=row[3] if row[4] else None,
            settled=row[5],
            pinned=row[6],
            content_hash=row[7],
            sentence_hashes=row[8],
            signature=np.frombuffer(row[9], np.uint8),
            buckets=row[10],
            shingle_count=row[11],
            score=row[12],
            reason=row[13],
        )
        for row in rows
    ]
