-- Of some articles those to be settled: pending or stale, with a fingerprint of their present text.
SELECT ${row}
FROM dedup.article a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE a.id = ANY (%(ids)s) AND (a.status = 'pending' OR a.stale)
