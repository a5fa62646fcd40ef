"""Counting the stories of sentences, and changing which are common (SEMANTICS section 2).

It knows which statements, not when: see `../engine/refresh.py`, which is to be read next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.corpus import arrays
from dedup.corpus.database import Cursor
from dedup.settings import Settings


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
        SELECT n.sentence_hash, n.stories, n.carrier,
               coalesce(p.common, n.stories > %(limit)s AND NOT n.of_few) AS wanted
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


def count_all(cursor: Cursor, rule: Settings) -> list[Change]:
    """Count the stories of every sentence: one pass over all fingerprints, and one for sentences in doubt."""
    everywhere = """
        SELECT s.sentence_hash, f.sketch, f.article_id
        FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
    """
    matter = (
        "stories > %(limit)s OR sentence_hash IN (SELECT sentence_hash FROM dedup.sentence_pin WHERE common)"
    )
    _count(cursor, rule, everywhere, matter)
    _doubt(
        cursor, rule, f"{everywhere} WHERE s.sentence_hash IN (SELECT sentence_hash FROM pg_temp.doubtful)"
    )
    return _decide(cursor, rule, "SELECT * FROM {}")


def count_changed(cursor: Cursor, rule: Settings) -> list[Change]:
    """Count again the stories of the sentences of the noted changes, through the indexes."""
    for statement in (
        "DROP TABLE IF EXISTS pg_temp.dirty, pg_temp.unsettled",
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
    through_indexes = """
        SELECT sentence_hash, sketch, article_id
        FROM dedup.carrier((SELECT array_agg(sentence_hash) FROM pg_temp.{0}))
        UNION ALL
        SELECT sentence_hash, sketch, article_id FROM pg_temp.unsettled
        WHERE sentence_hash IN (SELECT sentence_hash FROM pg_temp.{0})
    """
    _count(cursor, rule, through_indexes.format("dirty"), "true")
    _doubt(cursor, rule, through_indexes.format("doubtful"))
    # OFFSET 0: each sentence is looked up on its own, whatever the planner thinks of reading them all.
    part = """
        SELECT t.* FROM pg_temp.dirty d
        CROSS JOIN LATERAL (SELECT * FROM {} t WHERE t.sentence_hash = d.sentence_hash OFFSET 0) t
    """
    return _decide(cursor, rule, part)


def _count(cursor: Cursor, rule: Settings, carriers: str, matter: str) -> None:
    """Count stories in the temporary table `counted`.

    Args:
        carriers: a query for `sentence_hash`, `sketch` and `article_id` of every carrier.
        matter: the condition on which a counted sentence is kept.
    """
    cursor.execute("DROP TABLE IF EXISTS pg_temp.counted, pg_temp.doubtful")
    cursor.execute(
        f"""
        CREATE TEMPORARY TABLE counted ON COMMIT DROP AS
        SELECT * FROM (
            SELECT sentence_hash, count(*)::integer AS stories, sum(copies)::float8 AS carriers,
                   sum(copies * (copies - 1))::float8 AS same_sketch, false AS of_few, min(carrier) AS carrier
            FROM (
                SELECT sentence_hash, count(*) AS copies, min(article_id) AS carrier
                FROM ({carriers}) c GROUP BY sentence_hash, sketch
            ) story GROUP BY sentence_hash
        ) sentence WHERE {matter}
        """.encode(),
        {"limit": rule.common_stories},
    )


def _doubt(cursor: Cursor, rule: Settings, carriers: str) -> None:
    """Note in `counted` which sentences of many sketches have carriers that are copies of few stories.

    Few sentences are in doubt: who shares no sketch is no copy. Only their carriers' buckets are read.

    Args:
        carriers: a query as for `_count`, for the sentences of the temporary table `doubtful`.
    """
    values = {
        "limit": rule.common_stories,
        "concentration": rule.common_concentration,
        "bands": rule.bands,
    }
    cursor.execute(
        """
        CREATE TEMPORARY TABLE doubtful ON COMMIT DROP AS
        SELECT sentence_hash, carriers * (carriers - 1) AS every FROM pg_temp.counted
        WHERE stories > %(limit)s
          AND %(bands)s * same_sketch >= %(concentration)s::float8 * (%(bands)s * (carriers * (carriers - 1)))
        """,
        values,
    )
    cursor.execute(
        f"""
        UPDATE pg_temp.counted SET of_few = true
        FROM (
            SELECT sentence_hash, sum(copies * (copies - 1))::float8 AS pairs
            FROM (
                SELECT c.sentence_hash, count(*) AS copies
                FROM ({carriers}) c JOIN dedup.fingerprint f USING (article_id)
                CROSS JOIN generate_series(1, %(bands)s) AS b (band)
                GROUP BY c.sentence_hash, c.sketch, b.band, coalesce(f.buckets[b.band], 0)
            ) copy GROUP BY sentence_hash
        ) found JOIN pg_temp.doubtful d USING (sentence_hash)
        WHERE counted.sentence_hash = d.sentence_hash
          AND found.pairs >= %(concentration)s::float8 * (%(bands)s * d.every)
        """.encode(),
        values,
    )


def _decide(cursor: Cursor, rule: Settings, counted_part: str) -> list[Change]:
    """What to change; `counted_part` selects the rows of a table whose sentences were counted."""
    query = _DECIDE.format(
        counted="SELECT * FROM pg_temp.counted",
        present=f"({counted_part.format('dedup.common_sentence')})",
        pins=f"({counted_part.format('dedup.sentence_pin')})",
    )
    rows = cursor.execute(query.encode(), {"limit": rule.common_stories}).fetchall()
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
