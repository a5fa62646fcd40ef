-- The window: articles that are archived.

-- name: archive_articles
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

-- name: archive_pairs
-- Remove the pairs of some articles before the horizon with articles that are not before it. What is returned is
-- inside and has lost something: a pair, or its original. OFFSET 0: looked up one by one, whatever the statistics say.
WITH crossing AS (
    SELECT pair.place, pair.inside
    FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT * FROM (SELECT e.ctid, e.other_id FROM dedup.match e WHERE e.article_id = given.id OFFSET 0) AS earlier
        UNION ALL
        SELECT * FROM (SELECT l.ctid, l.article_id FROM dedup.match l WHERE l.other_id = given.id OFFSET 0) AS later
    ) AS pair (place, inside)
    CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = pair.inside OFFSET 0) AS a
    WHERE (dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)
           < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
), gone AS (
    DELETE FROM dedup.match WHERE ctid = ANY (ARRAY(SELECT place FROM crossing))
)
SELECT inside FROM crossing
UNION
SELECT copy.id
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE duplicate_of = given.id OFFSET 0) AS copy
WHERE (dedup.canonical_time(copy.published_at, copy.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
