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
