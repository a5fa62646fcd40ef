-- Fingerprints, and the texts that wait for a fingerprint.

-- name: unfingerprinted
-- True if no stored fingerprint (in use or waiting) was made from the present text of `dedup.article a`.
NOT EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id AND f.revision = a.revision)
AND NOT EXISTS (SELECT FROM dedup.fingerprint_bulk w WHERE w.article_id = a.id AND w.revision = a.revision)

-- name: count
-- Return the planner's estimate of the number of fingerprints.
SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.fingerprint'::regclass

-- name: count_unfingerprinted
-- Count articles that wait for a fingerprint.
SELECT count(*)
FROM dedup.article_mark k JOIN dedup.article a ON a.id = k.id
WHERE (k.status = 'pending' OR k.stale) AND ${unfingerprinted}

-- name: count_unsettled
-- Count unsettled articles with a fingerprint of their present text.
SELECT count(*) FROM dedup.article_mark k
JOIN dedup.article a ON a.id = k.id
JOIN dedup.fingerprint f ON f.article_id = k.id AND f.revision = a.revision
WHERE k.status = 'pending' OR k.stale

-- name: delete
-- Delete the fingerprints of articles.
DELETE FROM dedup.${table} WHERE article_id = ANY (%(ids)s)

-- name: delete_outdated
-- Delete fingerprints that were made from an earlier revision of the text; return their articles.
DELETE FROM dedup.fingerprint f USING dedup.article a
WHERE f.article_id = ANY (%(ids)s) AND a.id = f.article_id AND f.revision <> a.revision
RETURNING a.id

-- name: delete_outdated_waiting
-- Delete waiting fingerprints that were made from an earlier revision of the text.
DELETE FROM dedup.fingerprint_bulk f USING dedup.article a
WHERE f.article_id = ANY (%(ids)s) AND a.id = f.article_id AND f.revision <> a.revision

-- name: fail
-- Mark articles as failed, unless they changed or no longer wait to be settled.
UPDATE dedup.article_mark k
SET status = 'failed', stale = false, takes_part = false, duplicate_of = NULL, score = NULL, reason = f.reason,
    limit_fired = NULL, marked_at = now()
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[], %(reasons)s::text[]) AS f (id, revision, reason)
CROSS JOIN LATERAL (SELECT FROM dedup.article a WHERE a.id = f.id AND a.revision = f.revision OFFSET 0) AS a
WHERE k.id = f.id AND (k.status = 'pending' OR k.stale)
RETURNING k.id

-- name: failed
-- Return failed articles whose reason begins with the words of `reason`.
SELECT id FROM dedup.article_mark WHERE status = 'failed' AND NOT archived AND starts_with(reason, %(reason)s)
ORDER BY id LIMIT %(limit)s

-- name: insert
-- Store a fingerprint, unless its article changed, is gone or no longer waits to be settled.
INSERT INTO dedup.fingerprint (article_id, revision, version, content_hash, sentence_hashes, signature, buckets,
                               word_count, shingle_count)
SELECT * FROM (
    SELECT %(article_id)s::bigint AS article_id, %(revision)s::integer AS revision, %(version)s::bigint AS version,
           %(content_hash)s::bigint AS content_hash, %(sentence_hashes)s::bigint[] AS sentence_hashes,
           %(signature)s::bytea AS signature, %(buckets)s::bigint[] AS buckets,
           %(word_count)s::integer AS word_count, %(shingle_count)s::integer AS shingle_count) AS n
WHERE EXISTS (SELECT FROM dedup.marked_article a
              WHERE a.id = n.article_id AND a.revision = n.revision AND (a.status = 'pending' OR a.stale))
ON CONFLICT (article_id) DO NOTHING

-- name: note_moved
-- Find waiting articles whose row in an attached table changed or is missing. Add the rows to `dedup.outbox`, the list
-- of rows that dedup will read again, because some attached tables have no triggers that add them.
INSERT INTO dedup.outbox (attachment_id, amount, source_ids)
SELECT a.attachment_id, count(*), array_agg(a.source_id)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) AS given (id, revision)
CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article WHERE id = given.id OFFSET 0) AS a
WHERE a.revision = given.revision AND (a.status = 'pending' OR a.stale)
  AND a.attachment_id IS NOT NULL AND a.id <> ALL (%(read)s)
GROUP BY a.attachment_id

-- name: note_unread
-- Record articles whose credits must be read.
INSERT INTO dedup.credit_unread SELECT unnest(%(ids)s::bigint[]) ON CONFLICT DO NOTHING

-- name: read_again
-- Make failed articles pending, unless they are archived.
UPDATE dedup.article_mark SET status = 'pending', reason = NULL, marked_at = NULL
WHERE id = ANY (%(ids)s) AND status = 'failed' AND NOT archived RETURNING id

-- name: storable
-- Return three lists. The first two contain positions in `ids`: of articles that changed, are gone or no longer wait to
-- be settled; and of articles that already have a fingerprint of the given revision. The third list contains the ids of
-- waiting articles that have a fingerprint of a different revision.
SELECT array_agg(given.place - 1) FILTER (WHERE a.waits IS NOT TRUE),
       array_agg(given.place - 1) FILTER (WHERE f.present),
       array_agg(given.id) FILTER (WHERE a.waits AND f.outdated)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) WITH ORDINALITY AS given (id, revision, place)
LEFT JOIN LATERAL (
    SELECT revision = given.revision AND (status = 'pending' OR stale) AS waits
    FROM dedup.marked_article WHERE id = given.id OFFSET 0) AS a ON true
LEFT JOIN LATERAL (
    SELECT bool_or(revision = given.revision) AS present, bool_or(revision <> given.revision) AS outdated
    FROM (SELECT revision FROM dedup.fingerprint WHERE article_id = given.id
          UNION ALL SELECT revision FROM dedup.fingerprint_bulk WHERE article_id = given.id) AS stored
    OFFSET 0) AS f ON true

-- name: waiting_page
-- Return the next articles whose present text has no fingerprint, without their texts, in the order of the index of
-- unsettled articles. The result is one row of arrays, which is fast to read.
WITH page AS MATERIALIZED (
    SELECT a.id, a.revision,
           coalesce(octet_length(a.text),
                    (SELECT octet_length(t.text) FROM dedup.article_text t WHERE t.article_id = a.id), 0) AS bytes,
           k.time
    FROM dedup.article_mark k CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = k.id OFFSET 0) AS a
    WHERE (k.status = 'pending' OR k.stale)
      AND (%(time)s::timestamptz IS NULL OR (k.time, k.id) > (%(time)s, %(id)s::bigint))
      AND ${unfingerprinted}
    ORDER BY k.time, k.id LIMIT %(limit)s
)
SELECT given.ids, given.revisions, given.bytes, last.time, last.id
FROM (SELECT array_agg(id) AS ids, array_agg(revision::bigint) AS revisions, array_agg(bytes::bigint) AS bytes
      FROM page) AS given
CROSS JOIN (SELECT time, id FROM page ORDER BY time DESC, id DESC LIMIT 1) AS last

-- name: waiting_texts
-- Return the texts of articles that are unchanged and still wait to be settled. If a text is too long, return only its
-- length; HTML may be longer. OFFSET 0 forces index lookups, even with outdated statistics.
SELECT a.id, a.revision, a.language, a.title, CASE WHEN size.too_long THEN '' ELSE body.text END,
       CASE WHEN size.too_long THEN char_length(body.text) END, a.byline, a.scope, body.html
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) AS given (id, revision)
CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article WHERE id = given.id OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)) AS text,
           ${html} AS html
    OFFSET 0) AS body
CROSS JOIN LATERAL (
    SELECT octet_length(body.text) > 4 * CASE WHEN body.html THEN %(html)s ELSE %(too_long)s END::bigint AS too_long
) AS size
WHERE a.revision = given.revision AND (a.status = 'pending' OR a.stale)
  AND (a.text_hash IS NULL OR a.text_hash = sha256(convert_to(body.text, 'UTF8')))
