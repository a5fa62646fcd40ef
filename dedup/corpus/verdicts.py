"""The mark of one article and the pairs behind it, by source_id. Read-only.

Read next: `../engine/explain.py`.
"""

from __future__ import annotations

from dedup.corpus.database import Cursor
from dedup.verdict import Match, Verdict


def verdict(cursor: Cursor, article_id: int) -> Verdict:
    """The verdict on a stored article, by its internal id."""
    row = cursor.execute(
        """
        SELECT a.source_id, a.status, o.source_id, a.score, a.reason
        FROM dedup.article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of WHERE a.id = %s
        """,
        [article_id],
    ).fetchone()
    assert row is not None
    found = matches(cursor, article_id) if row[1] in ("duplicate", "similar") else ()
    return Verdict(row[0], row[1], row[2], row[3], row[4], found)


def matches(cursor: Cursor, article_id: int) -> tuple[Match, ...]:
    """The pairs of a stored article, the best first; ties by the other's source_id.

    For a duplicate its originals; for a canonical article what is similar to it.
    """
    rows = cursor.execute(
        """
        SELECT o.source_id, m.relation, m.sentence_jaccard, m.signature_jaccard, m.containment
        FROM (
            SELECT other_id AS id, relation, sentence_jaccard, signature_jaccard, containment
            FROM dedup.match WHERE article_id = %(id)s
            UNION ALL
            SELECT article_id, relation, sentence_jaccard, signature_jaccard, containment
            FROM dedup.match WHERE other_id = %(id)s AND relation = 'similar'
        ) m JOIN dedup.article o ON o.id = m.id
        ORDER BY greatest(m.sentence_jaccard, m.signature_jaccard) DESC, o.source_id
        """,
        {"id": article_id},
    ).fetchall()
    return tuple(Match(*row) for row in rows)
