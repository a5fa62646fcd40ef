-- Texts that could not be read, to be tried again.

-- name: waiting_attempts
-- Attempts `t` at the present texts of articles `a` that wait.
dedup.attempt t
JOIN dedup.article a ON a.id = t.article_id AND a.revision = t.revision
WHERE (a.status = 'pending' OR a.stale)

-- name: seconds_left
-- Until `dedup.attempt t` is followed by another one.
(%(pauses)s::double precision[])[least(t.attempts, cardinality(%(pauses)s::double precision[]))]
    - extract(epoch FROM clock_timestamp() - t.last_at)

-- name: due
-- Some articles that can be tried again now.
SELECT a.id, a.revision
FROM ${waiting_attempts}
  AND ${seconds_left} <= 0 AND a.id <> ALL (%(without)s::bigint[])
ORDER BY t.last_at, a.id LIMIT %(limit)s

-- name: failed
-- Some articles that failed for a reason that begins so.
SELECT id FROM dedup.article WHERE status = 'failed' AND NOT archived AND starts_with(reason, %(reason)s)
ORDER BY id LIMIT %(limit)s

-- name: note
-- Count attempts, except of texts that changed or went meanwhile.
INSERT INTO dedup.attempt AS t (article_id, revision, reason)
SELECT l.id, l.revision, l.reason
FROM unnest(%(ids)s::bigint[], %(revisions)s::integer[], %(reasons)s::text[]) AS l (id, revision, reason)
JOIN dedup.article a ON a.id = l.id AND a.revision = l.revision
WHERE a.status = 'pending' OR a.stale
ON CONFLICT (article_id) DO UPDATE
SET attempts = CASE WHEN t.revision = excluded.revision THEN t.attempts + 1 ELSE 1 END,
    first_at = CASE WHEN t.revision = excluded.revision THEN t.first_at ELSE excluded.first_at END,
    last_at = excluded.last_at, reason = excluded.reason, revision = excluded.revision
RETURNING article_id, revision, attempts, reason

-- name: suspects
-- Some of the articles that wait for another attempt, those of most attempts first.
SELECT a.source_id, t.attempts, t.first_at, t.last_at, t.reason
FROM ${waiting_attempts}
ORDER BY t.attempts DESC, a.source_id LIMIT %(limit)s

-- name: waiting
-- How many articles wait for another attempt, how many can be tried now, and when the next one can be.
SELECT count(*), count(*) FILTER (WHERE ${seconds_left} <= 0), min(${seconds_left})
FROM ${waiting_attempts}
