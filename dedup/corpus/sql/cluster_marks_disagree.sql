-- Articles of a staged result whose marks do not follow from its pairs: as `bookkeeping.py` has it of stored ones.
SELECT r.source_id
FROM pg_temp.import_known r
LEFT JOIN LATERAL (
    SELECT p.relation, p.score, p.rule FROM pg_temp.import_pair p
    WHERE p.article_id = r.id AND (r.original IS NULL OR p.other_id = r.original)
    UNION ALL
    SELECT p.relation, p.score, p.rule FROM pg_temp.import_pair p
    WHERE p.other_id = r.id AND p.relation = 'similar'
    ORDER BY score DESC, rule LIMIT 1
) AS best ON true
WHERE r.status <> 'failed'
  AND (coalesce(best.relation, 'unique'), best.score, best.rule) IS DISTINCT FROM (r.status, r.score, r.reason)
