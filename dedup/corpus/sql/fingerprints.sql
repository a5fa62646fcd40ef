-- Fingerprints, and the texts that wait for one.

-- name: note_moved
-- Of some articles that still wait, those whose text in an attached table is another one by now, or gone: noted, so
-- that the row is looked at again. Triggers have noted them before, unless there are none.
INSERT INTO dedup.outbox (attachment_id, amount, source_ids)
SELECT a.attachment_id, count(*), array_agg(a.source_id)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) AS given (id, revision)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = given.id OFFSET 0) AS a
WHERE a.revision = given.revision AND (a.status = 'pending' OR a.stale)
  AND a.attachment_id IS NOT NULL AND a.id <> ALL (%(read)s)
GROUP BY a.attachment_id

-- name: storable
-- Of some articles and revisions, as places in the given order: which have changed, are gone or no longer wait;
-- which have a fingerprint of that revision already, in use or not yet; and the ids of those that have one of
-- another revision. And whether anything waits for another attempt.
SELECT array_agg(given.place - 1) FILTER (WHERE a.waits IS NOT TRUE),
       array_agg(given.place - 1) FILTER (WHERE f.present),
       array_agg(given.id) FILTER (WHERE a.waits AND f.outdated),
       EXISTS (SELECT FROM dedup.attempt)
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) WITH ORDINALITY AS given (id, revision, place)
LEFT JOIN LATERAL (
    SELECT revision = given.revision AND (status = 'pending' OR stale) AS waits
    FROM dedup.article WHERE id = given.id OFFSET 0) AS a ON true
LEFT JOIN LATERAL (
    SELECT bool_or(revision = given.revision) AS present, bool_or(revision <> given.revision) AS outdated
    FROM (SELECT revision FROM dedup.fingerprint WHERE article_id = given.id
          UNION ALL SELECT revision FROM dedup.fingerprint_bulk WHERE article_id = given.id) AS stored
    OFFSET 0) AS f ON true

-- name: waiting_page
-- The next articles whose present text has no fingerprint, in the order of the index of unsettled ones, without
-- their texts: as arrays, which cost their reader nothing. Those that wait for another attempt are left out.
WITH page AS MATERIALIZED (
    SELECT a.id, a.revision, 
           coalesce(octet_length(a.text),
                    (SELECT octet_length(t.text) FROM dedup.article_text t WHERE t.article_id = a.id), 0) AS bytes,
           coalesce(a.published_at, a.added_at) AS time, a.source_id
    FROM dedup.article a
    WHERE (a.status = 'pending' OR a.stale)
      AND (%(time)s::timestamptz IS NULL
           OR (coalesce(a.published_at, a.added_at), a.source_id) > (%(time)s, %(source_id)s))
      AND ${unfingerprinted}
      AND NOT EXISTS (SELECT FROM dedup.attempt t
                      WHERE t.article_id = a.id AND t.revision = a.revision)
    ORDER BY coalesce(a.published_at, a.added_at), a.source_id LIMIT %(limit)s
)
SELECT given.ids, given.revisions, given.bytes, last.time, last.source_id
FROM (SELECT array_agg(id) AS ids, array_agg(revision::bigint) AS revisions, array_agg(bytes::bigint) AS bytes
      FROM page) AS given
CROSS JOIN (SELECT time, source_id FROM page ORDER BY time DESC, source_id DESC LIMIT 1) AS last

-- name: waiting_texts
-- Of some articles the texts to be fingerprinted: of those that have not changed and still wait, wherever their
-- texts are. A text that is too long stays here, and comes as its length. OFFSET 0: looked up one by one, whatever
-- the statistics say.
SELECT a.id, a.revision, a.language, a.title, CASE WHEN size.too_long THEN '' ELSE body.text END,
       CASE WHEN size.too_long THEN char_length(body.text) END
FROM unnest(%(ids)s::bigint[], %(revisions)s::bigint[]) AS given (id, revision)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = given.id OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)) AS text
    OFFSET 0) AS body
CROSS JOIN LATERAL (SELECT octet_length(body.text) > 4 * %(too_long)s::bigint AS too_long) AS size
WHERE a.revision = given.revision AND (a.status = 'pending' OR a.stale)
  AND (a.text_hash IS NULL OR a.text_hash = sha256(convert_to(body.text, 'UTF8')))
