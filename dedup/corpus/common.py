"""Counting the stories of sentences, and changing which are common (SEMANTICS section 2).

It knows which statements, not when: see `../engine/refresh.py`, which is to be read next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.corpus import arrays
from dedup.corpus.database import Cursor


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence whose place in the table of common sentences changes.

    Attributes:
        stories: different sketches among its carriers.
        carrier: the id of an article that carries it, for the example; None where there is none.
        enters, leaves: whether it becomes common, or stops being common; neither: the count changed.
    """

    sentence_hash: int
    stories: int
    carrier: int | None
    enters: bool
    leaves: bool


def change_counts(cursor: Cursor) -> tuple[bool, int, int]:
    """Whether everything must be counted, how many changes wait, and how many fingerprints there are."""
    row = cursor.execute("""
        SELECT s.recount_all, (SELECT count(*) FROM dedup.sentence_change),
               (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.fingerprint'::regclass)
        FROM dedup.corpus_state s
    """).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def take_changes(cursor: Cursor) -> None:
    """Note the changes now known in a temporary table; `forget_changes` removes just these."""
    cursor.execute("DROP TABLE IF EXISTS pg_temp.taken_change")
    cursor.execute("CREATE TEMPORARY TABLE taken_change AS SELECT id FROM dedup.sentence_change")


def forget_changes(cursor: Cursor) -> None:
    """The noted changes are done."""
    cursor.execute("DELETE FROM dedup.sentence_change c USING pg_temp.taken_change t WHERE t.id = c.id")
    cursor.execute("DROP TABLE pg_temp.taken_change")


_DECIDE = """
    SELECT coalesce(k.sentence_hash, c.sentence_hash), coalesce(k.stories, 0), k.carrier,
           c.sentence_hash IS NULL, NOT coalesce(k.wanted, false)
    FROM (
        SELECT n.sentence_hash, n.stories, n.carrier, coalesce(p.common, n.stories > %(limit)s) AS wanted
        FROM ({counted}) n LEFT JOIN dedup.sentence_pin p USING (sentence_hash)
        UNION ALL
        SELECT p.sentence_hash, 0, NULL, true FROM {pins} p
        WHERE p.common AND NOT EXISTS (SELECT FROM ({counted}) n WHERE n.sentence_hash = p.sentence_hash)
    ) k
    FULL JOIN {present} c USING (sentence_hash)
    WHERE (k.wanted AND (c.sentence_hash IS NULL OR c.stories <> k.stories))
       OR (c.sentence_hash IS NOT NULL AND NOT coalesce(k.wanted, false))
    ORDER BY 1
"""


def count_all(cursor: Cursor, limit: int) -> list[Change]:
    """Count the stories of every sentence of the corpus; one pass over all fingerprints."""
    cursor.execute("DROP TABLE IF EXISTS pg_temp.counted")
    cursor.execute(
        """
        CREATE TEMPORARY TABLE counted ON COMMIT DROP AS
        SELECT s.sentence_hash, count(DISTINCT f.sketch)::integer AS stories, min(f.article_id) AS carrier
        FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
        GROUP BY s.sentence_hash
        HAVING (count(*) > %(limit)s AND count(DISTINCT f.sketch) > %(limit)s)
            OR s.sentence_hash IN (SELECT sentence_hash FROM dedup.sentence_pin WHERE common)
        """,
        {"limit": limit},
    )
    return _decide(cursor, limit, "SELECT * FROM {}")


def count_changed(cursor: Cursor, limit: int) -> list[Change]:
    """Count again the stories of the sentences of the noted changes, through the indexes."""
    for statement in (
        "DROP TABLE IF EXISTS pg_temp.counted, pg_temp.dirty",
        """
        CREATE TEMPORARY TABLE dirty ON COMMIT DROP AS
        SELECT DISTINCT s.sentence_hash
        FROM pg_temp.taken_change t
        JOIN dedup.sentence_change c USING (id)
        CROSS JOIN unnest(coalesce(c.sentence_hashes, (
            SELECT f.sentence_hashes FROM dedup.fingerprint f WHERE f.article_id = c.article_id
        ))) AS s (sentence_hash)
        """,
        "ANALYZE pg_temp.dirty",
        """
        CREATE TEMPORARY TABLE unsettled ON COMMIT DROP AS
        SELECT s.sentence_hash, f.sketch, f.article_id
        FROM dedup.article a JOIN dedup.fingerprint f ON f.article_id = a.id
        CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
        WHERE a.status = 'pending' AND f.canonical IS NULL
          AND s.sentence_hash IN (SELECT sentence_hash FROM pg_temp.dirty)
        """,
    ):
        cursor.execute(statement)
    cursor.execute("""
        CREATE TEMPORARY TABLE counted ON COMMIT DROP AS
        SELECT sentence_hash, count(DISTINCT sketch)::integer AS stories, min(article_id) AS carrier
        FROM (
            SELECT sentence_hash, sketch, article_id
            FROM dedup.carrier((SELECT array_agg(sentence_hash) FROM pg_temp.dirty))
            UNION ALL
            SELECT sentence_hash, sketch, article_id FROM pg_temp.unsettled
        ) carrier GROUP BY sentence_hash
    """)
    # OFFSET 0: each sentence is looked up on its own, whatever the planner thinks of reading them all.
    part = """
        SELECT t.* FROM pg_temp.dirty d
        CROSS JOIN LATERAL (SELECT * FROM {} t WHERE t.sentence_hash = d.sentence_hash OFFSET 0) t
    """
    return _decide(cursor, limit, part)


def _decide(cursor: Cursor, limit: int, counted_part: str) -> list[Change]:
    """What to change; `counted_part` selects the rows of a table whose sentences were counted."""
    query = _DECIDE.format(
        counted="SELECT * FROM pg_temp.counted",
        present=f"({counted_part.format('dedup.common_sentence')})",
        pins=f"({counted_part.format('dedup.sentence_pin')})",
    )
    rows = cursor.execute(query.encode(), {"limit": limit}).fetchall()
    return [Change(*row) for row in rows]


def carriers(cursor: Cursor, hashes: Sequence[int]) -> list[int]:
    """The settled articles that carry one of these sentences."""
    rows = cursor.execute("SELECT DISTINCT article_id FROM dedup.carrier(%s)", [arrays.hashes(hashes)])
    return [row[0] for row in rows.fetchall()]


def apply(cursor: Cursor, changes: Sequence[Change], examples: dict[int, str]) -> int:
    """Change the table of common sentences and make every carrier pending. Needs the settle lock.

    Returns:
        How many settled articles became pending as carriers.
    """
    moved = [c.sentence_hash for c in changes if c.enters or c.leaves]
    withdrawn = carriers(cursor, moved) if moved else []
    if withdrawn:
        cursor.execute("SELECT dedup.withdraw(%s::bigint[])", [arrays.hashes(withdrawn)])
        cursor.execute("SELECT count(*) FROM dedup.make_pending(%s)", [arrays.hashes(withdrawn)])
    cursor.execute(
        "DELETE FROM dedup.common_sentence WHERE sentence_hash = ANY (%s::bigint[])",
        [arrays.hashes([c.sentence_hash for c in changes if c.leaves])],
    )
    kept = [c for c in changes if not c.leaves]
    cursor.execute(
        """
        INSERT INTO dedup.common_sentence (sentence_hash, stories, example)
        SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::text[])
        ON CONFLICT (sentence_hash) DO UPDATE SET stories = excluded.stories
        """,
        [
            arrays.hashes([c.sentence_hash for c in kept]),
            [c.stories for c in kept],
            [examples.get(c.sentence_hash) for c in kept],
        ],
    )
    return len(withdrawn)


def all_counted(cursor: Cursor) -> None:
    """Note that every sentence has been counted."""
    cursor.execute("UPDATE dedup.corpus_state SET recount_all = false WHERE recount_all")


def texts(cursor: Cursor, ids: Sequence[int]) -> list[tuple[int, str | None, str]]:
    """Id, language and text of some articles."""
    rows = cursor.execute(
        "SELECT id, language, text FROM dedup.article WHERE id = ANY (%s)", [arrays.hashes(ids)]
    )
    return [(row[0], row[1], row[2]) for row in rows.fetchall()]
