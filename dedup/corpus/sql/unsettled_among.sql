-- Of some articles those to be settled: pending or stale, with a fingerprint of their present text.
SELECT ${row}
FROM dedup.article a
JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision
WHERE a.id = ANY (%(ids)s) AND (a.status = 'pending' OR a.stale)
