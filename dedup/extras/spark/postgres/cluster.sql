-- Statements of the export for a cluster, and of the import of the cluster's result.

-- name: digest
-- Compute `exchange.text_digest` of an article `a` with the text `t.text`; null if the text is null.
sha256(convert_to(coalesce(a.language, ''), 'UTF8') || '\x00'::bytea
       || convert_to(coalesce(a.title, ''), 'UTF8') || '\x00'::bytea || convert_to(t.text, 'UTF8')
       || coalesce('\x00'::bytea || convert_to(a.scope, 'UTF8'), ''))

-- name: languages
-- Select the languages of articles.
SELECT DISTINCT coalesce(language, '') FROM dedup.article

-- name: pair_pins
-- Select the pins of pairs.
SELECT source_id, other_source_id, relation FROM dedup.pair_pin

-- name: count_inside
-- Count the articles that are not archived.
SELECT count(*) FROM dedup.article_mark WHERE NOT archived

-- name: fingerprints
-- Select times, text digest, and fingerprint or failure reason of the articles inside the window. `known` is true if
-- the text is unchanged, and there is a failure reason, or a fingerprint of the version wanted for the language.
SELECT a.source_id, (extract(epoch FROM a.published_at) * 1000000)::bigint,
       (extract(epoch FROM a.added_at) * 1000000)::bigint, b.digest, v.version, coalesce(f.content_hash, 0),
       coalesce(f.sentence_hashes, '{}'), coalesce(f.signature, ''), coalesce(f.buckets, '{}'),
       coalesce(f.word_count, 0), coalesce(f.shingle_count, 0), k.reason, k.known AND b.same AS known
FROM dedup.marked_article a
JOIN unnest(%(languages)s::text[], %(versions)s::bigint[]) AS v (language, version)
    ON v.language = coalesce(a.language, '')
LEFT JOIN dedup.fingerprint f
    ON f.article_id = a.id AND f.revision = a.revision AND f.version = v.version AND a.status <> 'failed'
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.status = 'failed' AND %(failures)s THEN a.reason END AS reason,
           f.article_id IS NOT NULL OR a.status = 'failed' AND %(failures)s AS known) AS k
-- The text in an attached table may have changed, while `text_hash` is still the hash of the old text.
LEFT JOIN LATERAL (
    SELECT ${digest} AS digest,
           a.text_hash IS NULL OR a.text_hash = sha256(convert_to(t.text, 'UTF8')) AS same
    FROM (SELECT ${text} AS text OFFSET 0) AS t) AS b ON k.known
WHERE NOT a.archived AND (%(horizon)s::timestamptz IS NULL OR
    dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(horizon)s)

-- name: stage_marks
-- Make a temporary table for the result's marks.
CREATE TEMPORARY TABLE import_mark (
    source_id text COLLATE "C", status text COLLATE "C", duplicate_of text COLLATE "C", score double precision,
    reason text COLLATE "C")

-- name: stage_pairs
-- Make a temporary table for the result's pairs, the later article first.
CREATE TEMPORARY TABLE import_match (
    source_id text COLLATE "C", other_source_id text COLLATE "C", relation text COLLATE "C", rule text COLLATE "C",
    score double precision, sentence_jaccard double precision, signature_jaccard double precision,
    containment double precision, best_match boolean)

-- name: stage_common
-- Make a temporary table for the result's common sentences.
CREATE TEMPORARY TABLE import_common (sentence_hash bigint, carriers bigint, effective_stories double precision)

-- name: stage_articles
-- Make a temporary table for the result's articles; `place`: row number in the result's table `fingerprint`.
CREATE TEMPORARY TABLE import_article (
    place bigint, source_id text COLLATE "C", published_at bigint, added_at bigint, reason text COLLATE "C",
    text_digest bytea)

-- name: types
-- Select the types of the columns of a temporary table, in order, for a binary COPY.
SELECT atttypid FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attnum > 0 ORDER BY attnum

-- name: stage_fingerprints
-- Make a temporary table for the result's fingerprints; `article_id` is the `place` in import_article, not an id.
CREATE TEMPORARY TABLE import_fingerprint (LIKE dedup.fingerprint INCLUDING DEFAULTS, PRIMARY KEY (article_id))

-- name: analyze_staged
-- Autovacuum never analyzes temporary tables.
ANALYZE pg_temp.import_mark, pg_temp.import_match, pg_temp.import_common, pg_temp.import_article,
        pg_temp.import_fingerprint

-- name: marked_twice
-- Find articles with two marks.
SELECT source_id FROM pg_temp.import_mark GROUP BY source_id HAVING count(*) > 1

-- name: fingerprinted_twice
-- Find articles with two fingerprints.
SELECT source_id FROM pg_temp.import_article GROUP BY source_id HAVING count(*) > 1

-- name: rows
-- Join the articles of the result with the articles of the corpus; columns of a missing side are null.
CREATE TEMPORARY TABLE import_row AS
SELECT m.source_id, m.status, m.duplicate_of, m.score, m.reason,
       n.place, n.text_digest, n.reason AS failure, f.version,
       dedup.canonical_time(n.published_at, n.added_at, %(policy)s, %(earliest)s) AS time,
       a.id, a.revision, a.archived, v.version AS wanted_version, s.version AS stored_version,
       dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) AS own_time
FROM pg_temp.import_mark m
LEFT JOIN (
    -- Integers and intervals are exact, while to_timestamp takes a double, which rounds microseconds.
    SELECT place, source_id, text_digest, reason,
           timestamptz 'epoch' + published_at / 86400000000 * interval '1 day'
               + mod(published_at, 86400000000) * interval '1 microsecond' AS published_at,
           timestamptz 'epoch' + added_at / 86400000000 * interval '1 day'
               + mod(added_at, 86400000000) * interval '1 microsecond' AS added_at
    FROM pg_temp.import_article
) AS n USING (source_id)
LEFT JOIN pg_temp.import_fingerprint f ON f.article_id = n.place
LEFT JOIN dedup.marked_article a USING (source_id)
LEFT JOIN unnest(%(languages)s::text[], %(versions)s::bigint[]) AS v (language, version)
    ON v.language = coalesce(a.language, '')
LEFT JOIN dedup.fingerprint s ON s.article_id = a.id AND s.revision = a.revision

-- name: index_rows
-- Index the rows by article.
CREATE INDEX ON pg_temp.import_row (id)

-- name: analyze_rows
-- Autovacuum never analyzes temporary tables.
ANALYZE pg_temp.import_row

-- name: found
-- Count the articles that a check finds, and return some source_ids. `check` is one of the statements below.
SELECT count(*), (array_agg(source_id ORDER BY source_id))[:%(named)s] FROM (${check}) AS f (source_id)

-- name: not_here
-- Find articles of the result that are not in this corpus.
SELECT source_id FROM pg_temp.import_row WHERE id IS NULL

-- name: not_there
-- Find articles of this corpus that are not in the result.
SELECT a.source_id FROM dedup.marked_article a
WHERE NOT a.archived
  AND (%(horizon)s::timestamptz IS NULL
       OR dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(horizon)s)
  AND NOT EXISTS (SELECT FROM pg_temp.import_row r WHERE r.id = a.id)

-- name: before_horizon
-- Find articles of the result before the horizon of this corpus.
SELECT source_id FROM pg_temp.import_row WHERE archived OR own_time < %(horizon)s::timestamptz

-- name: other_text
-- Find articles whose text, title, language or scope differs between the result and the corpus.
SELECT a.source_id
FROM pg_temp.import_row r JOIN dedup.article a USING (id) CROSS JOIN LATERAL (SELECT ${text} AS text OFFSET 0) AS t
WHERE r.text_digest IS DISTINCT FROM ${digest}

-- name: other_time
-- Find articles whose canonical time differs between the result and the corpus.
SELECT source_id FROM pg_temp.import_row WHERE own_time <> time

-- name: other_version
-- Find articles of the result whose fingerprint is not of the version that this corpus wants.
SELECT source_id FROM pg_temp.import_row
WHERE id IS NOT NULL AND failure IS NULL AND version IS DISTINCT FROM wanted_version

-- name: readable
-- Find articles that failed in the cluster, but have a fingerprint in this corpus.
SELECT source_id FROM pg_temp.import_row WHERE status = 'failed' AND stored_version = wanted_version

-- name: other_fingerprint
-- Find articles whose fingerprint differs between the result and the corpus, though both have the same version.
SELECT r.source_id FROM pg_temp.import_row r
JOIN dedup.fingerprint s ON s.article_id = r.id AND s.revision = r.revision AND s.version = r.version
JOIN pg_temp.import_fingerprint f ON f.article_id = r.place
WHERE (s.content_hash, s.sentence_hashes, s.signature, s.buckets, s.word_count, s.shingle_count)
    IS DISTINCT FROM (f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.word_count, f.shingle_count)

-- name: unmatched
-- Find articles of the result with a mark and no fingerprint, or with a fingerprint and no mark.
SELECT source_id FROM pg_temp.import_row WHERE place IS NULL
UNION ALL
SELECT n.source_id FROM pg_temp.import_article n
WHERE NOT EXISTS (SELECT FROM pg_temp.import_mark m WHERE m.source_id = n.source_id)

-- name: contradicting_marks
-- Find articles whose mark contradicts itself, the article's fingerprint, or the mark of the original.
SELECT r.source_id
FROM pg_temp.import_row r LEFT JOIN pg_temp.import_mark o ON o.source_id = r.duplicate_of
WHERE r.status NOT IN ('unique', 'similar', 'duplicate', 'failed')
   OR (r.status = 'duplicate') <> (r.duplicate_of IS NOT NULL)
   OR r.status = 'duplicate' AND (o.status IN ('unique', 'similar')) IS NOT TRUE
   OR (r.status = 'failed') <> (r.failure IS NOT NULL)
   OR r.status = 'failed' AND (r.reason, r.score) IS DISTINCT FROM (r.failure, NULL)

-- name: known
-- Make the table of articles and their originals by id. `place` is null unless the article's fingerprint is new.
CREATE TEMPORARY TABLE import_known AS
SELECT r.id, r.revision, r.source_id, r.time, r.status, o.id AS original, r.score, r.reason,
       CASE WHEN r.failure IS NULL AND r.stored_version IS DISTINCT FROM r.wanted_version THEN r.place END AS place
FROM pg_temp.import_row r LEFT JOIN pg_temp.import_row o ON o.source_id = r.duplicate_of

-- name: index_known
-- Index the articles by id.
CREATE UNIQUE INDEX ON pg_temp.import_known (id)

-- name: pairs
-- Make the table of pairs with the ids of their articles instead of source_ids.
CREATE TEMPORARY TABLE import_pair AS
SELECT a.id AS article_id, o.id AS other_id, m.relation, m.rule, m.score, m.sentence_jaccard,
       m.signature_jaccard, m.containment, m.best_match
FROM pg_temp.import_match m
JOIN pg_temp.import_row a ON a.source_id = m.source_id
JOIN pg_temp.import_row o ON o.source_id = m.other_source_id

-- name: index_pairs
-- Index the pairs by the later article.
CREATE INDEX ON pg_temp.import_pair (article_id, other_id)

-- name: index_others
-- Index the pairs by the earlier article.
CREATE INDEX ON pg_temp.import_pair (other_id)

-- name: analyze_known
-- Autovacuum never analyzes temporary tables.
ANALYZE pg_temp.import_known, pg_temp.import_pair

-- name: count_unknown_pairs
-- Count the pairs that name articles without a mark.
SELECT (SELECT count(*) FROM pg_temp.import_match) - (SELECT count(*) FROM pg_temp.import_pair)

-- name: contradicting_pairs
-- Find the later articles of pairs that contradict the marks.
SELECT a.source_id FROM pg_temp.import_pair p
JOIN pg_temp.import_known a ON a.id = p.article_id
JOIN pg_temp.import_known o ON o.id = p.other_id
WHERE o.status NOT IN ('unique', 'similar') OR a.status = 'failed'
   OR p.relation NOT IN ('duplicate', 'similar')
   OR (p.relation = 'duplicate') <> (a.status = 'duplicate')
   OR p.rule NOT IN ('pinned', 'content', 'sentences', 'signature', 'damaged', 'containment')
   OR NOT (p.score BETWEEN 0 AND 1 AND p.sentence_jaccard BETWEEN 0 AND 1
           AND p.signature_jaccard BETWEEN 0 AND 1 AND p.containment BETWEEN 0 AND 1)
   OR (a.time, a.source_id) <= (o.time, o.source_id)

-- name: paired_twice
-- Find the later articles of pairs that the result has more than once.
SELECT min(a.source_id) FROM pg_temp.import_pair p JOIN pg_temp.import_known a ON a.id = p.article_id
GROUP BY p.article_id, p.other_id HAVING count(*) > 1

-- name: two_best_match
-- Find articles with two best matches.
SELECT min(o.source_id) FROM pg_temp.import_pair p JOIN pg_temp.import_known o ON o.id = p.other_id
WHERE p.best_match GROUP BY p.other_id HAVING count(*) > 1

-- name: marks_disagree
-- Find articles whose mark does not follow from the pairs. `bookkeeping.py` checks stored marks in the same way.
SELECT r.source_id FROM pg_temp.import_known r
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

-- name: count_known
-- Count the articles of the result, and the articles whose fingerprint is not stored yet.
SELECT count(*), count(place) FROM pg_temp.import_known

-- name: common
-- Select the common sentences of the result.
SELECT sentence_hash, carriers, effective_stories FROM pg_temp.import_common

-- name: ids_of_places
-- Select the ids of the articles with the given places.
SELECT place, id FROM pg_temp.import_row WHERE place = ANY (%(places)s::bigint[])

-- name: recount_all
-- Make the next backfill count all sentences again.
UPDATE dedup.corpus_state SET recount_all = true WHERE NOT recount_all

-- name: forget_waiting
-- Delete the fingerprints that are stored but not in use yet.
DELETE FROM dedup.fingerprint_bulk

-- name: note_unread
-- Make the next backfill read the credits of all articles, because a cluster reads no credits.
INSERT INTO dedup.credit_unread SELECT id FROM dedup.article ON CONFLICT DO NOTHING

-- name: store_fingerprints
-- Store the new fingerprints of the result. A later step puts them in use.
INSERT INTO dedup.fingerprint_bulk (article_id, revision, canonical, version, content_hash, sentence_hashes, signature,
                                    buckets, word_count, shingle_count)
SELECT r.id, r.revision, r.status <> 'duplicate', f.version, f.content_hash, f.sentence_hashes, f.signature,
       f.buckets, f.word_count, f.shingle_count
FROM pg_temp.import_known r JOIN pg_temp.import_fingerprint f ON f.article_id = r.place

-- name: orphans
-- Select the duplicates of the articles `ids`.
SELECT id FROM pg_temp.import_known WHERE original = ANY (%(ids)s::bigint[])

-- name: gone
-- Select the deleted articles among `ids`.
SELECT id FROM pg_temp.import_known r
WHERE id = ANY (%(ids)s::bigint[]) AND NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = r.id)

-- name: rewritten
-- Select the articles among `ids` whose text or title has changed by now.
SELECT r.id FROM pg_temp.import_known r JOIN dedup.article a USING (id)
WHERE r.id = ANY (%(ids)s::bigint[]) AND a.revision <> r.revision

-- name: write_marks
-- Write the marks that differ, except for articles that people have changed meanwhile (`left`).
UPDATE dedup.article_mark a
SET status = r.status, duplicate_of = r.original, score = r.score, reason = r.reason,
    stale = false, takes_part = r.status <> 'failed', limit_fired = NULL,
    marked_at = CASE WHEN (a.status, a.duplicate_of, a.score, a.reason)
                          IS DISTINCT FROM (r.status, r.original, r.score, r.reason)
                     THEN now() ELSE a.marked_at END
FROM pg_temp.import_known r JOIN dedup.article present USING (id, revision)
WHERE a.id = r.id AND a.id <> ALL (%(left)s::bigint[])
  AND ((a.status, a.duplicate_of, a.score, a.reason, a.stale, a.takes_part)
       IS DISTINCT FROM (r.status, r.original, r.score, r.reason, false, r.status <> 'failed'))

-- name: drop_pairs
-- Delete each stored pair inside the window, unless the result has the same pair with the same values.
DELETE FROM dedup.match m USING dedup.article_mark a
WHERE a.id = m.article_id AND NOT a.archived AND NOT EXISTS (
    SELECT FROM pg_temp.import_pair p
    WHERE p.article_id = m.article_id AND p.other_id = m.other_id
      AND (p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard, p.containment, p.best_match)
          = (m.relation, m.rule, m.score, m.sentence_jaccard, m.signature_jaccard, m.containment, m.best_match))

-- name: write_pairs
-- Write the pairs that are not stored yet, except for articles that were deleted meanwhile (`gone`). The planner
-- believes that `match` is empty, so a join would read the whole table once per pair. ON CONFLICT uses the index.
INSERT INTO dedup.match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard,
                         containment, best_match)
SELECT p.article_id, p.other_id, p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
       p.containment, p.best_match
FROM pg_temp.import_pair p WHERE p.article_id <> ALL (%(gone)s::bigint[]) AND p.other_id <> ALL (%(gone)s::bigint[])
ON CONFLICT (article_id, other_id) DO NOTHING

-- name: write_flags
-- Correct the flag `canonical` of stored fingerprints where it contradicts the mark.
UPDATE dedup.fingerprint f SET canonical = NOT f.canonical FROM pg_temp.import_known r
WHERE f.article_id = r.id AND r.status <> 'failed' AND f.canonical = (r.status = 'duplicate')

-- name: last_settled
-- Select the latest canonical time of the articles in the result.
SELECT max(time) FROM pg_temp.import_known WHERE status <> 'failed'

-- name: partners
-- Select the articles that have a pair with one of the articles `ids`.
SELECT article_id FROM pg_temp.import_pair WHERE other_id = ANY (%(ids)s::bigint[])
UNION
SELECT other_id FROM pg_temp.import_pair WHERE article_id = ANY (%(ids)s::bigint[])

-- name: newly_fingerprinted
-- Select the articles among `ids` whose fingerprint was not stored before.
SELECT id FROM pg_temp.import_known WHERE id = ANY (%(ids)s::bigint[]) AND place IS NOT NULL
