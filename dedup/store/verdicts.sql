-- The mark of one article and the pairs that decided it.

-- name: article
-- Return a stored article, the time of its mark, and its correction.
SELECT k.marked_at, (SELECT c.phrase FROM dedup.correction c WHERE c.article_id = a.id), ${fields}
FROM dedup.article a CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
WHERE a.source_id = %(source_id)s

-- name: best_pairs
-- Return the pairs of an article with the best scores, of one relation or of any relation.
SELECT m.id, o.source_id, m.relation, m.rule, m.score, m.sentence_jaccard, m.signature_jaccard,
       m.containment
FROM (
    -- Read only the best pairs, because an article may have thousands. WITH TIES: ties are decided below.
    (SELECT other_id AS id, m.* FROM dedup.match m
     WHERE article_id = %(id)s AND (%(relation)s::text IS NULL OR relation = %(relation)s)
     ORDER BY score DESC FETCH FIRST %(limit)s ROWS WITH TIES)
    UNION ALL
    (SELECT article_id, m.* FROM dedup.match m WHERE other_id = %(id)s AND relation = 'similar'
     ORDER BY score DESC FETCH FIRST %(limit)s ROWS WITH TIES)
    OFFSET 0
) AS m CROSS JOIN LATERAL (SELECT source_id FROM dedup.article WHERE id = m.id OFFSET 0) AS o
ORDER BY m.score DESC, o.source_id LIMIT %(limit)s

-- name: copies
-- Return the copies of an article with the best scores, and the number of copies, at most `count`.
SELECT source_id, reason, score, count(*) OVER () FROM (
    -- ORDER BY: the order of the index of copies, so that the planner uses this index.
    SELECT a.source_id, k.reason, k.score
    FROM (SELECT * FROM dedup.article_mark
          WHERE duplicate_of = %(id)s AND NOT (%(settled)s AND stale) ORDER BY time, id LIMIT %(count)s) AS k
    CROSS JOIN LATERAL (SELECT source_id FROM dedup.article WHERE id = k.id OFFSET 0) AS a
) AS copy
ORDER BY score DESC, source_id LIMIT %(limit)s

-- name: stored_mark
-- Return the mark of an article, and the number of other unsettled articles.
SELECT a.id, k.status, k.stale, o.source_id, k.score, coalesce(k.limit_fired, k.reason),
       -- ORDER BY: the order of the index of unsettled articles, so that the planner uses this index.
       (SELECT count(*) FROM (SELECT FROM dedup.article_mark u WHERE (u.status = 'pending' OR u.stale)
                              AND u.id <> a.id
                              ORDER BY u.time, u.id
                              LIMIT %(limit)s) AS unsettled), k.archived
-- OFFSET 0 forces index lookups, even with outdated statistics.
FROM (SELECT id FROM dedup.article WHERE source_id = %(source_id)s OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
LEFT JOIN LATERAL (
    SELECT source_id FROM dedup.article WHERE id = k.duplicate_of OFFSET 0) AS o ON true
