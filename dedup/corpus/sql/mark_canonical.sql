-- Mark canonical articles unique or similar by their similar pairs: the set-wise twin of `decide` in
-- dedup/rules/marks.py. `settled` are marked whatever they were; `touched` only where they are settled and
-- canonical. Rows whose mark stays are not written.
WITH chosen AS (
    SELECT id FROM unnest(%(settled)s::bigint[]) AS s (id)
    UNION ALL
    SELECT a.id FROM dedup.article a
    WHERE a.id = ANY (%(touched)s) AND a.status IN ('unique', 'similar') AND NOT a.stale
), best AS (
    SELECT DISTINCT ON (c.id) c.id, m.score, m.rule
    FROM chosen c CROSS JOIN LATERAL (
        SELECT score, rule FROM dedup.match WHERE article_id = c.id AND relation = 'similar'
        UNION ALL
        SELECT score, rule FROM dedup.match WHERE other_id = c.id AND relation = 'similar'
    ) m
    ORDER BY c.id, m.score DESC, m.rule
)
UPDATE dedup.article a
SET status = CASE WHEN b.id IS NULL THEN 'unique' ELSE 'similar' END, stale = false, takes_part = true,
    duplicate_of = NULL, score = b.score, reason = b.rule, limit_fired = NULL, marked_at = now()
FROM chosen c LEFT JOIN best b ON b.id = c.id
WHERE a.id = c.id
  AND (a.stale OR NOT a.takes_part OR (a.status, a.score, a.reason)
       IS DISTINCT FROM (CASE WHEN b.id IS NULL THEN 'unique' ELSE 'similar' END, b.score, b.rule))
