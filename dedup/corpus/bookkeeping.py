"""What later marks rest on, checked over whole tables and healed (docs/reliability.md, promise 16).

`../engine/verify.py` recomputes marks, pairs and fingerprints; here is what holds them together: revisions,
flags, places in time, counts, triggers. Cheap enough to be checked in full where the rest is sampled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from dedup.corpus import articles, fingerprints, outbox, window
from dedup.corpus.arrays import bigints
from dedup.corpus.database import Cursor
from dedup.corpus.settling import order_parameters
from dedup.settings import Settings


class Repair(Enum):
    """How a difference is healed; the next backfill does the rest."""

    SETTLE = auto()
    """The article is settled again."""

    FINGERPRINT = auto()
    """The article is fingerprinted and settled again."""

    COUNT = auto()
    """Every sentence is counted again."""

    PLACE = auto()
    """Up to when articles are settled is looked up again."""

    ADOPT = auto()
    """The settings in force are adopted again, and everything is settled again."""

    DIVIDE = auto()
    """All articles are divided by the horizon again."""

    TABLES = auto()
    """Attached tables are compared with their articles."""

    SCHEMA = auto()
    """Triggers are switched on, and rows that belong to no article are removed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be."""

    words: str
    repair: Repair
    article_id: int | None = None  # of the article it is about; None where it is about none


_SETTLED = "a.status IN ('unique', 'similar', 'duplicate') AND NOT a.stale AND NOT a.archived"

_OF_ARTICLES: tuple[tuple[str, Repair, str], ...] = (
    (
        "the fingerprint is of another revision of its text",
        Repair.FINGERPRINT,
        f"JOIN dedup.fingerprint f ON f.article_id = a.id WHERE {_SETTLED} AND f.revision <> a.revision",
    ),
    (
        "it is settled and has no fingerprint",
        Repair.SETTLE,
        f"WHERE {_SETTLED} AND NOT EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id)",
    ),
    ("it is settled and takes no part", Repair.SETTLE, f"WHERE {_SETTLED} AND NOT a.takes_part"),
    (
        "it takes part and was never settled",
        Repair.SETTLE,
        "WHERE a.takes_part AND a.status IN ('pending', 'failed')",
    ),
    (
        "its mark and its canonical flag disagree",
        Repair.SETTLE,
        "JOIN dedup.fingerprint f ON f.article_id = a.id"
        f" WHERE {_SETTLED} AND f.canonical = (a.status = 'duplicate')",
    ),
    (
        "it failed and has a fingerprint or pairs",
        Repair.FINGERPRINT,
        "WHERE a.status = 'failed' AND NOT a.archived"
        " AND (EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id)"
        " OR EXISTS (SELECT FROM dedup.match m WHERE m.article_id = a.id)"
        " OR EXISTS (SELECT FROM dedup.match m WHERE m.other_id = a.id))",
    ),
    (
        "it is archived and has a fingerprint",
        Repair.FINGERPRINT,
        "WHERE a.archived AND EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id)",
    ),
    (
        "it is not archived, and its original is",
        Repair.SETTLE,
        f"JOIN dedup.article o ON o.id = a.duplicate_of WHERE {_SETTLED} AND o.archived",
    ),
    (
        "its mark and its pairs disagree",
        Repair.SETTLE,
        f"""
        LEFT JOIN LATERAL (
            SELECT m.relation, m.other_id, m.score, m.rule FROM dedup.match m
            WHERE m.article_id = a.id AND (a.duplicate_of IS NULL OR m.other_id = a.duplicate_of)
            UNION ALL
            SELECT m.relation, m.article_id, m.score, m.rule FROM dedup.match m
            WHERE m.other_id = a.id AND m.relation = 'similar'
            ORDER BY score DESC, rule LIMIT 1
        ) AS best ON true
        WHERE {_SETTLED} AND (coalesce(best.relation, 'unique'), best.score, best.rule)
            IS DISTINCT FROM (a.status, a.score, a.reason)
        """,
    ),
)
"""What is wrong with an article, how it is healed, and how it is found."""

_LOST_FINGERPRINTS = (
    "dedup.fingerprint f WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = f.article_id)"
)
_LOST_PAIRS = (
    "dedup.match m WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = m.article_id)"
    " OR NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = m.other_id)"
)

_CROSSING = (
    "dedup.match m JOIN dedup.article a ON a.id = m.article_id JOIN dedup.article o ON o.id = m.other_id"
    " WHERE a.archived <> o.archived AND NOT a.stale AND NOT o.stale"
)

_COUNTED: tuple[tuple[str, Repair, str], ...] = (
    ("fingerprints belong to no article", Repair.SCHEMA, _LOST_FINGERPRINTS),
    ("pairs belong to no article", Repair.SCHEMA, _LOST_PAIRS),
    ("pairs of an archived article with one that is not", Repair.SCHEMA, _CROSSING),
    (
        "triggers do not fire always, so that changes go unseen",
        Repair.SCHEMA,
        "pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = 'dedup'::regnamespace"
        " AND NOT t.tgisinternal AND t.tgenabled <> 'A'",
    ),
    (
        "rows fewer than one in dedup.settle_turn",
        Repair.SCHEMA,
        "(SELECT WHERE NOT EXISTS (SELECT FROM dedup.settle_turn)) AS missing",
    ),
)
"""What is wrong in so many places, how it is healed, and how it is counted."""


def findings(cursor: Cursor, settings: Settings) -> Iterator[Finding]:
    """Everything that is not as it should be; reads whole tables."""
    for words, repair, where in _OF_ARTICLES:
        rows = cursor.execute(f"SELECT a.id, a.source_id FROM dedup.article a {where} ORDER BY a.id".encode())
        for article_id, source_id in rows.fetchall():
            yield Finding(f"{source_id}: {words}", repair, article_id)
    for words, repair, where in _COUNTED:
        row = cursor.execute(f"SELECT count(*) FROM {where}".encode()).fetchone()
        if row and row[0]:
            yield Finding(f"{row[0]:,} {words}", repair)
    if wrong := window.wrong_side(cursor, settings):
        yield Finding(f"{wrong:,} articles are on the wrong side of the horizon", Repair.DIVIDE)
    row = cursor.execute(
        """
        SELECT max(dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s))
               > (SELECT settled_through FROM dedup.corpus_state)
        FROM dedup.article a WHERE a.takes_part
        """,
        order_parameters(settings),
    ).fetchone()
    if row and row[0]:
        yield Finding("articles are settled that are later than dedup.corpus_state says", Repair.PLACE)


@dataclass(slots=True)
class Repairs:
    """What is to be healed."""

    # settle, fingerprint: ids of articles to be settled, or fingerprinted and settled, again
    settle: set[int] = field(default_factory=set)
    fingerprint: set[int] = field(default_factory=set)
    others: set[Repair] = field(default_factory=set)

    def add(self, repair: Repair, ids: Collection[int] = ()) -> None:
        if repair is Repair.SETTLE:
            self.settle.update(ids)
        elif repair is Repair.FINGERPRINT:
            self.fingerprint.update(ids)
        else:
            self.others.add(repair)


def settle_again(cursor: Cursor, ids: Collection[int], *, fingerprint: bool = False) -> None:
    """Have articles settled again, whatever they are marked. Needs the settle lock. `fingerprint`: drop their
    fingerprints too, and let failed ones be tried again.
    """
    cursor.execute(  # a mark cannot point to an article that is gone
        "UPDATE dedup.article a SET status = 'pending', stale = false, duplicate_of = NULL, score = NULL,"
        " reason = NULL, marked_at = NULL"
        " WHERE a.id = ANY (%s) AND a.duplicate_of IS NOT NULL AND NOT a.archived"
        " AND NOT EXISTS (SELECT FROM dedup.article o WHERE o.id = a.duplicate_of)",
        [bigints(ids)],
    )
    if fingerprint:
        fingerprints.drop(cursor, ids)
        articles.remove_pairs(cursor, fingerprints.read_again(cursor, ids))
    else:
        articles.withdraw(cursor, ids)


def repair_lock(cursor: Cursor) -> None:
    """Give the settle lock its row, without which nobody can hold it."""
    cursor.execute("INSERT INTO dedup.settle_turn DEFAULT VALUES ON CONFLICT DO NOTHING")


def repair_others(cursor: Cursor, repairs: Collection[Repair]) -> None:
    """Heal what is about no single article. Needs the settle lock."""
    if Repair.SCHEMA in repairs:
        for lost in (_LOST_PAIRS, _LOST_FINGERPRINTS):
            cursor.execute(f"DELETE FROM {lost}".encode())
        cursor.execute(f"DELETE FROM dedup.match WHERE ctid IN (SELECT m.ctid FROM {_CROSSING})".encode())
        cursor.execute("SELECT dedup.fire_always()")
    if Repair.TABLES in repairs:
        outbox.note_whole(cursor)
    if Repair.PLACE in repairs:
        cursor.execute("UPDATE dedup.corpus_state SET settled_through = NULL")
    if Repair.ADOPT in repairs:
        cursor.execute("UPDATE dedup.corpus_state SET rule_digest = NULL, fingerprint_digest = NULL")
    if Repair.DIVIDE in repairs:
        window.note_divided(cursor, None)
    if Repair.COUNT in repairs:
        cursor.execute("UPDATE dedup.corpus_state SET recount_all = true")
