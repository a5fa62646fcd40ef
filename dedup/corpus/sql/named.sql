-- Fingerprinted articles by their source_ids.
SELECT ${row}
FROM dedup.article a
JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision
WHERE a.source_id = ANY (%(names)s)
