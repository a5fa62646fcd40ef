"""Store the pairs that were picked for people, and the judgements of these pairs.

A judgement is stored with the source_ids of both articles and a hash of both texts. So a judgement survives
deletions and new loads, but no longer counts when a text is edited.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Literal, get_args

from psycopg.types.json import Jsonb

from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.store.articles import body_sql, extract_text, html_sql
from dedup.store.pins import Key, key

_sql = Statements("extras/judging/storing")
_BODIES = {"body": body_sql("a"), "other_body": body_sql("o")}

Label = Literal["duplicate", "similar", "different", "unsure"]
"""A judgement of a pair of articles."""

LABELS: tuple[Label, ...] = get_args(Label)
LONGEST_JUDGE = 100  # Maximum number of characters of a judge's name; the schema has the same limit


@dataclass(frozen=True, slots=True)
class Pick:
    """A pair to be judged, drawn from a stratum.

    Attributes:
        stratum_size: number of pairs in the stratum.
        stratum_picked: number of pairs drawn from the stratum.
        scores: score by method; None or NaN if the method did not find the pair.
    """

    id: str
    other_id: str
    stratum: str
    stratum_size: int
    stratum_picked: int
    scores: Mapping[str, float | None]


def pick(cursor: Cursor, picks: Iterable[Pick]) -> int:
    """Replace the selection of pairs by `picks`; return how many of its pairs name a missing article.

    `picks` has every pair once; the pairs of a stratum are in the order drawn. Judgements are kept: if a pair
    is picked again, its earlier judgements count.
    """
    # Spread the pairs of each stratum evenly, so that a judge who stops early has judged pairs of all strata.
    drawn: Counter[str] = Counter()
    placed: list[tuple[float, Pick]] = []
    for item in picks:
        placed.append((drawn[item.stratum] / item.stratum_picked, item))
        drawn[item.stratum] += 1
    rows = []
    for place, (_, item) in enumerate(sorted(placed, key=itemgetter(0)), start=1):
        a, b = key(item.id, item.other_id)
        # JSON can hold neither NaN nor numbers of NumPy's types.
        scores = {
            n: None if s is None or math.isnan(s) else round(float(s), 6) for n, s in item.scores.items()
        }
        drawn_from = {"stratum": item.stratum, "size": item.stratum_size, "picked": item.stratum_picked}
        rows.append({"a": a, "b": b, "place": place, **drawn_from, "scores": Jsonb(scores)})
    cursor.execute(_sql("delete_picks"))
    cursor.executemany(_sql("write_pick"), rows)
    return int(one_row(cursor, _sql("count_missing"))[0])


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """The progress of a judge with the picked pairs; all fields are numbers of pairs.

    Attributes:
        picked: pairs in the selection.
        judged: pairs that this judge has judged.
        edited: pairs judged before a text was edited, which must be judged again.
        missing: pairs with an article that is not stored, which nobody can judge now.
    """

    picked: int
    judged: int
    edited: int
    missing: int

    @property
    def left(self) -> int:
        return self.picked - self.judged - self.missing


def progress(cursor: Cursor, judge: str) -> ReviewProgress:
    """Count the pairs that a judge has judged, and the pairs that wait."""
    return ReviewProgress(*one_row(cursor, _sql("progress", **_BODIES), {"judge": judge}))


def waiting(cursor: Cursor, judge: str) -> list[Key]:
    """Return the picked pairs that a judge has not judged, in the order of the selection."""
    return cursor.execute(_sql("waiting", **_BODIES), {"judge": judge}).fetchall()


def judged(cursor: Cursor, judge: str) -> list[Key]:
    """Return the picked pairs that a judge has judged, the oldest judgement first."""
    return cursor.execute(_sql("judged", **_BODIES), {"judge": judge}).fetchall()


@dataclass(frozen=True, slots=True)
class ReviewArticle:
    """An article of a pair, in the form that a judge reads.

    Attributes:
        time: time of publication or, if unknown, of storing.
        text_hash: hash of the text, to be passed to `record`.
    """

    id: str
    title: str | None
    publication: str | None
    time: datetime
    text: str
    text_hash: bytes


@dataclass(frozen=True, slots=True)
class ReviewPair:
    """A pair that a judge reads.

    Attributes:
        scores: scores by method, at the time of the pick.
        label: this judge's label for the present texts.
    """

    a: ReviewArticle
    b: ReviewArticle
    stratum: str
    scores: dict[str, float | None]
    label: Label | None
    note: str | None


def read(cursor: Cursor, pair: Key, judge: str) -> ReviewPair:
    """Return both articles of a pair, and the judge's label; raise NotFoundError for a missing article."""
    values = {"judge": judge, "a": pair[0], "b": pair[1]}
    query = _sql("read", **_BODIES, html=html_sql("a"), other_html=html_sql("o"))
    row = cursor.execute(query, values).fetchone()
    if row is None:
        raise NotFoundError(f"the pair {pair[0]!r}, {pair[1]!r} is gone: run `dedup judge review` again")
    a, b = (
        ReviewArticle(id_, title, publication, time, extract_text(text, markup), text_hash)
        for id_, title, publication, time, text, text_hash, markup in (row[:7], row[7:14])
    )
    return ReviewPair(a, b, *row[14:])


def record(
    cursor: Cursor,
    pair: Key,
    judge: str,
    label: str,
    note: str | None = None,
    hashes: tuple[bytes | None, bytes | None] = (None, None),
) -> None:
    """Store a judgement; an earlier judgement of the pair by the same judge is replaced.

    `hashes`: hashes of the two texts that the judge read; None for the stored texts. Raises InputError for
    an unknown label or ids that are not in ascending order, NotFoundError for an article that is not stored.
    """
    if label not in LABELS:
        raise InputError(f"a label is one of {', '.join(LABELS)}, not {label!r}")
    if not 1 <= len(judge) <= LONGEST_JUDGE or "\0" in judge:
        raise InputError(f"a judge's name must have 1 to {LONGEST_JUDGE} characters: give a name with --as")
    if pair != key(*pair) or pair[0] == pair[1]:
        raise InputError("a pair has two different ids, the smaller id first")
    values = {"a": pair[0], "b": pair[1], "judge": judge, "label": label, "note": note}
    cursor.execute(_sql("record", **_BODIES), {**values, "one": hashes[0], "other": hashes[1]})
    if not cursor.rowcount:
        raise NotFoundError(f"no article {pair[0]!r} or no article {pair[1]!r}")


def take_back(cursor: Cursor, pair: Key, judge: str) -> bool:
    """Delete a judge's judgement of a pair; return whether a judgement was deleted."""
    cursor.execute(_sql("take_back"), {"a": pair[0], "b": pair[1], "judge": judge})
    return cursor.rowcount > 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair of the selection with the label that most judges gave."""

    pair: Key
    label: Label  # most frequent label for the present texts; "unsure" in a tie
    stratum: str  # determines the weight of the pair


def stories_of(cursor: Cursor, source_ids: Iterable[str]) -> dict[str, str]:
    """Return the original of each article that is not pending; an original is its own original."""
    return dict(cursor.execute(_sql("stories_of"), {"source_ids": list(source_ids)}).fetchall())


def listed(cursor: Cursor) -> list[Judged]:
    """Return the picked pairs whose present texts were judged, in the order of the selection."""
    # Pairs of earlier selections are left out: the chance of drawing them is unknown, so they have no weight.
    said: dict[tuple[Key, str], list[Label]] = defaultdict(list)
    for one, other, stratum, label in cursor.execute(_sql("listed")):
        said[(one, other), stratum].append(label)
    return [Judged(pair, _majority(labels), stratum) for (pair, stratum), labels in said.items()]


def strata(cursor: Cursor) -> dict[str, int]:
    """Return the strata of the selection, and the number of all pairs in each stratum."""
    return dict(cursor.execute(_sql("strata")).fetchall())


def _majority(votes: list[Label]) -> Label:
    most = Counter(vote for vote in votes if vote != "unsure").most_common(2)
    if not most or (len(most) == 2 and most[0][1] == most[1][1]):
        return "unsure"
    return most[0][0]
