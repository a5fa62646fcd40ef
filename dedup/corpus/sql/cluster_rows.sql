-- The articles of a staged result beside those of the corpus: what is missing on either side is null.
CREATE TEMPORARY TABLE import_row AS
SELECT m.source_id, m.status, m.duplicate_of, m.score, m.reason,
       n.place, n.text_digest, n.reason AS failure, f.version,
       dedup.canonical_time(n.published_at, n.added_at, %(policy)s, %(earliest)s) AS time,
       a.id, a.revision, a.archived, v.version AS wanted_version, s.version AS stored_version,
       dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) AS own_time
FROM pg_temp.import_mark m
LEFT JOIN (
    SELECT place, source_id, text_digest, reason, ${published_at} AS published_at, ${added_at} AS added_at
    FROM pg_temp.import_article
) AS n USING (source_id)
LEFT JOIN pg_temp.import_fingerprint f ON f.article_id = n.place
LEFT JOIN dedup.article a USING (source_id)
LEFT JOIN unnest(%(languages)s::text[], %(versions)s::bigint[]) AS v (language, version)
    ON v.language = coalesce(a.language, '')
LEFT JOIN dedup.fingerprint s ON s.article_id = a.id AND s.revision = a.revision
