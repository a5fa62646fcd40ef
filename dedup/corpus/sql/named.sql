-- Fingerprinted articles by their source_ids.
SELECT ${row}
FROM dedup.article a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE a.source_id = ANY (%(names)s)
