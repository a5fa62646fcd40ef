-- Exchange with a cluster.

-- name: drop_pairs
-- The stored pairs of articles inside that a result has not, or has with other values.
DELETE FROM dedup.match m USING dedup.article a
WHERE a.id = m.article_id AND NOT a.archived AND NOT EXISTS (
    SELECT FROM pg_temp.import_pair p
    WHERE p.article_id = m.article_id AND p.other_id = m.other_id
      AND (p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard, p.containment, p.likest)
          = (m.relation, m.rule, m.score, m.sentence_jaccard, m.signature_jaccard, m.containment, m.likest))

-- name: fingerprints
-- What a cluster is told of each article inside: its times, the digest of its text, and its fingerprint if that is of
-- the version wanted for its language. One that failed has its reason; `known` says whether there is either.
SELECT a.source_id, ${published_at}, ${added_at}, b.digest, v.version, f.content_hash, f.sentence_hashes,
       f.signature, f.buckets, f.word_count, f.shingle_count, k.reason, k.known AND b.same AS known
FROM dedup.article a
JOIN unnest(%(languages)s::text[], %(versions)s::bigint[]) AS v (language, version)
    ON v.language = coalesce(a.language, '')
LEFT JOIN dedup.fingerprint f
    ON f.article_id = a.id AND f.revision = a.revision AND f.version = v.version AND a.status <> 'failed'
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.status = 'failed' AND %(failures)s THEN a.reason END AS reason,
           f.article_id IS NOT NULL OR a.status = 'failed' AND %(failures)s AS known) AS k
-- Of an attached table the row may have changed, and the article not yet.
LEFT JOIN LATERAL (
    SELECT ${digest} AS digest,
           a.text_hash IS NULL OR a.text_hash = sha256(convert_to(t.text, 'UTF8')) AS same
    FROM (SELECT ${text} AS text OFFSET 0) AS t) AS b ON k.known
WHERE NOT a.archived AND (%(horizon)s::timestamptz IS NULL OR
    dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(horizon)s)

-- name: marks_disagree
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

-- name: rows
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

-- name: write_marks
-- The marks of a result, but for those of articles that people have changed meanwhile (`left`). A mark that stays is
-- not written anew.
UPDATE dedup.article a
SET status = r.status, duplicate_of = r.original, score = r.score, reason = r.reason,
    stale = false, takes_part = r.status <> 'failed', limit_fired = NULL,
    marked_at = CASE WHEN (a.status, a.duplicate_of, a.score, a.reason)
                          IS DISTINCT FROM (r.status, r.original, r.score, r.reason)
                     THEN now() ELSE a.marked_at END
FROM pg_temp.import_known r
WHERE a.id = r.id AND a.revision = r.revision AND a.id <> ALL (%(left)s::bigint[])
  AND ((a.status, a.duplicate_of, a.score, a.reason, a.stale, a.takes_part)
       IS DISTINCT FROM (r.status, r.original, r.score, r.reason, false, r.status <> 'failed'))

-- name: write_pairs
-- The pairs of a result that are not stored yet, but for those of articles that were deleted meanwhile (`gone`). No
-- join with the stored ones: of a table that was empty a moment ago the planner would read it once per pair.
INSERT INTO dedup.match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard,
                         containment, likest)
SELECT p.article_id, p.other_id, p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
       p.containment, p.likest
FROM pg_temp.import_pair p
WHERE p.article_id <> ALL (%(gone)s::bigint[]) AND p.other_id <> ALL (%(gone)s::bigint[])
ON CONFLICT (article_id, other_id) DO NOTHING
