-- Archive articles. A mark stays, unless it points to an article inside: that one lives on, and may change. An article
-- without a mark says so from now on.
UPDATE dedup.article a
SET archived = true, stale = false, takes_part = false, limit_fired = NULL,
    status = CASE WHEN kept.mark THEN a.status ELSE 'failed' END,
    duplicate_of = CASE WHEN kept.mark THEN a.duplicate_of END,
    score = CASE WHEN kept.mark THEN a.score END,
    reason = CASE WHEN kept.mark THEN a.reason ELSE %(never)s END,
    marked_at = CASE WHEN kept.mark THEN a.marked_at ELSE now() END
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = given.id OFFSET 0) AS present
LEFT JOIN LATERAL (SELECT * FROM dedup.article WHERE id = present.duplicate_of OFFSET 0) AS original ON true
CROSS JOIN LATERAL (
    SELECT present.status IN ('unique', 'similar', 'failed')
        OR present.status = 'duplicate'
           AND (dedup.canonical_time(original.published_at, original.added_at, %(policy)s, %(earliest)s)
                < (SELECT horizon FROM dedup.corpus_state)) IS TRUE
) AS kept (mark)
WHERE a.id = given.id AND NOT a.archived
