-- The window, and archived articles.

-- name: archive_articles
-- Archive articles, and keep their marks. But duplicates of an original inside the window become failed, because that
-- original may still change. Pending articles become failed, too. Both get the reason in the parameter `never`.
UPDATE dedup.article_mark a
SET archived = true, stale = false, takes_part = false, limit_fired = NULL,
    status = CASE WHEN kept.mark THEN a.status ELSE 'failed' END,
    duplicate_of = CASE WHEN kept.mark THEN a.duplicate_of END,
    score = CASE WHEN kept.mark THEN a.score END,
    reason = CASE WHEN kept.mark THEN a.reason ELSE %(never)s END,
    marked_at = CASE WHEN kept.mark THEN a.marked_at ELSE now() END
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = given.id OFFSET 0) AS present
LEFT JOIN LATERAL (SELECT * FROM dedup.article WHERE id = present.duplicate_of OFFSET 0) AS original ON true
CROSS JOIN LATERAL (
    SELECT present.status IN ('unique', 'similar', 'failed')
        OR present.status = 'duplicate'
           AND (dedup.canonical_time(original.published_at, original.added_at, %(policy)s, %(earliest)s)
                < (SELECT horizon FROM dedup.corpus_state)) IS TRUE
) AS kept (mark)
WHERE a.id = given.id AND NOT a.archived

-- name: archive_pairs
-- Remove the pairs of articles before the horizon with articles inside the window. Return the articles inside that lose
-- a pair or whose original is archived. OFFSET 0 forces index lookups, even with outdated statistics.
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
CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article WHERE duplicate_of = given.id OFFSET 0) AS copy
WHERE (dedup.canonical_time(copy.published_at, copy.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE

-- name: time
-- The time of `dedup.article a` in canonical order.
dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)

-- name: before
-- True if `dedup.article a` is before the horizon; null without a horizon.
${time} < (SELECT horizon FROM dedup.corpus_state)

-- name: archived_inside
-- Return archived articles that are not before the horizon.
SELECT a.id FROM dedup.marked_article a WHERE a.archived AND (${before}) IS NOT TRUE ORDER BY a.id

-- name: bring_back
-- Take articles out of the archive. Make failed articles pending, and all others stale.
UPDATE dedup.article_mark
SET archived = false, stale = status <> 'failed',
    reason = CASE WHEN status <> 'failed' THEN reason END,
    status = CASE WHEN status = 'failed' THEN 'pending' ELSE status END
WHERE id = ANY (%(ids)s) AND archived RETURNING id

-- name: count_leaving
-- Return four numbers of articles: articles that the horizon would archive, all articles, archived articles, and
-- duplicates inside the window whose original the horizon would archive.
SELECT count(*) FILTER (WHERE NOT a.archived AND ${time} < %(horizon)s), count(*),
       count(*) FILTER (WHERE a.archived),
       count(*) FILTER (WHERE NOT a.archived AND ${time} >= %(horizon)s
                        AND dedup.canonical_time(o.published_at, o.added_at, %(policy)s, %(earliest)s) < %(horizon)s)
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of

-- name: load
-- Return the horizon, the wanted horizon, and the horizon and settings at the last check of all articles.
SELECT horizon, horizon_wanted, divided FROM dedup.corpus_state

-- name: move
-- Move the horizon forward.
UPDATE dedup.corpus_state SET horizon = %(horizon)s WHERE horizon IS NULL OR horizon < %(horizon)s

-- name: newest
-- Return the time of the newest settled article, at most the present time; and whether no article is settled.
SELECT least(now(), coalesce(settled_through, (
           SELECT max(dedup.canonical_time(published_at, added_at, %(policy)s, %(earliest)s))
           FROM dedup.marked_article WHERE takes_part))),
       settled_through IS NULL AND NOT EXISTS (SELECT FROM dedup.article_mark WHERE takes_part)
FROM dedup.corpus_state

-- name: newest_of_all
-- Return the time of the newest article that has not failed, at most the present time; null if all have failed.
SELECT CASE WHEN newest.at IS NOT NULL THEN least(now(), newest.at) END FROM (
    SELECT greatest((SELECT settled_through FROM dedup.corpus_state), max(${time})) AS at
    FROM dedup.marked_article a WHERE a.status <> 'failed'
) AS newest

-- name: not_archived_outside
-- Return articles before the horizon that are not archived.
SELECT a.id FROM dedup.marked_article a WHERE NOT a.archived AND ${before} ORDER BY a.id

-- name: note_divided
-- Record the horizon and the settings with which all articles were checked for archiving.
UPDATE dedup.corpus_state SET divided = %(divided)s

-- name: outside_among
-- Return the articles of `ids` that are before the horizon.
SELECT a.id FROM dedup.article a WHERE a.id = ANY (%(ids)s) AND ${before} ORDER BY a.id

-- name: unsettled_outside
-- Return articles before the horizon that are pending or stale.
SELECT a.id FROM dedup.marked_article a WHERE (a.status = 'pending' OR a.stale) AND ${before} ORDER BY a.id

-- name: want
-- Make the next backfill move the horizon to this time or later.
UPDATE dedup.corpus_state SET horizon_wanted = greatest(horizon_wanted, %(horizon)s)
WHERE horizon IS NULL OR horizon < %(horizon)s

-- name: want_no_more
-- Clear the wanted horizon if the new horizon reaches it.
UPDATE dedup.corpus_state SET horizon_wanted = NULL WHERE horizon_wanted <= %(horizon)s

-- name: wrong_side
-- Count settled articles that are archived but not before the horizon, or before the horizon but not archived.
SELECT count(*) FROM dedup.marked_article a
WHERE NOT (a.status = 'pending' OR a.stale) AND a.archived <> ((${before}) IS TRUE)
  AND (a.archived OR a.status <> 'failed')
