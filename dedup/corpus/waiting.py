"""Whether anything waits to be settled: what a worker asks every second, so it must cost nothing.

Each source of work is one query that an index answers. A new source is a line in `SOURCES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.article import MAX_SOURCE_ID_BYTES
from dedup.corpus import drift
from dedup.corpus.database import Cursor, prefer_indexes

SOURCES = {
    "pending or stale articles": """
        SELECT FROM dedup.article a WHERE (a.status = 'pending' OR a.stale) AND NOT EXISTS (
            SELECT FROM dedup.attempt t, (VALUES (%(pauses)s::double precision[])) AS p (pauses)
            WHERE t.article_id = a.id AND t.revision = a.revision
              AND extract(epoch FROM clock_timestamp() - t.last_at)
                  < p.pauses[least(t.attempts, cardinality(p.pauses))])
    """,
    # Those of a table that a person must see to first wait for that person. By the key: looked up in order.
    "changes of attached tables": """
        SELECT FROM dedup.outbox WHERE id > 0 AND attachment_id NOT IN (
            SELECT id FROM dedup.attachment WHERE seen -> 'problems' IS NOT NULL)
    """,
    "rows that can be articles now": """
        SELECT FROM dedup.refused_row r WHERE octet_length(r.source_id) <= %(longest)s
            AND NOT EXISTS (SELECT FROM dedup.article a WHERE a.source_id = r.source_id)
    """,
    "marks of attached tables": """
        SELECT FROM dedup.mark_change WHERE failed IS NULL AND attachment_id NOT IN (
            SELECT id FROM dedup.attachment WHERE seen -> 'problems' IS NOT NULL)
    """,
    "versions put aside": "SELECT FROM dedup.arrival",
    "a bulk run that was left behind": "SELECT FROM dedup.corpus_state WHERE bulk_run IS NOT NULL",
    "fingerprints not yet in use": "SELECT FROM dedup.fingerprint_bulk",
    "a horizon that is to be moved, or was": (
        "SELECT FROM dedup.corpus_state WHERE horizon_wanted IS NOT NULL OR divided IS NULL"
    ),
    "changed settings": "SELECT FROM dedup.setting WHERE value IS DISTINCT FROM adopted",
    "new sentence parameters": "SELECT FROM dedup.sentence_model WHERE NOT adopted",
}
"""What may wait, to a query that finds a row where it does."""

COUNTING = "SELECT FROM dedup.corpus_state WHERE recount_all UNION ALL SELECT FROM dedup.sentence_change"
"""Finds a row where sentences are to be counted, which every article that a hook settles leaves behind."""

_QUERY = "SELECT " + ", ".join(
    f"EXISTS ({source})" for source in (" UNION ALL ".join(SOURCES.values()), COUNTING)
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What there is to do."""

    settling: bool  # articles wait, or changed settings. A changed program is noticed by the first round only
    counting: bool  # sentences are to be counted, after which articles may wait

    def __bool__(self) -> bool:
        return self.settling or self.counting


def look(cursor: Cursor, pauses: Sequence[float]) -> Waiting:
    """What there is to do now. `pauses`: as in `attempts.waiting`; an article that is not to be tried yet
    does not count.
    """
    prefer_indexes(cursor)
    row = cursor.execute(_QUERY.encode(), {"pauses": list(pauses), "longest": MAX_SOURCE_ID_BYTES}).fetchone()
    assert row is not None
    return Waiting(row[0] or drift.unseen(cursor), row[1])
