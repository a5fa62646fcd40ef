-- Stories: originals with their duplicates.

-- name: largest
-- Return the stories with the most copies.
WITH most AS MATERIALIZED (  -- all ties are included: the statement below sorts them by source_id
    SELECT duplicate_of AS id, count(*) AS copies FROM dedup.article_mark WHERE duplicate_of IS NOT NULL
    ${within} ${recent} GROUP BY duplicate_of ORDER BY count(*) DESC FETCH FIRST %(limit)s ROWS WITH TIES
), top AS MATERIALIZED (  -- so that only copies of these stories are read
    SELECT most.id, c.source_id, most.copies, c.first_at
    -- OFFSET 0 forces index lookups, even with outdated statistics.
    FROM most CROSS JOIN LATERAL (
        SELECT source_id, ${known} AS first_at
        FROM dedup.mark m WHERE id = most.id OFFSET 0) AS c
    ORDER BY most.copies DESC, c.source_id LIMIT %(limit)s)
SELECT top.source_id, shown.source_id, shown.title, shown.publication, top.copies, d.copied_by, top.first_at,
       CASE WHEN d.times_known THEN greatest(top.first_at, d.last_at) END, d.also_in, d.times_known
FROM top CROSS JOIN LATERAL (
    SELECT source_id, title, publication FROM dedup.mark WHERE id = ${representative} OFFSET 0) AS shown
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(DISTINCT publication ORDER BY publication)
                    FILTER (WHERE publication IS NOT NULL AND delay > interval '0'), '{}') AS copied_by,
           coalesce(array_agg(DISTINCT publication ORDER BY publication)
                    FILTER (WHERE publication IS NOT NULL AND (delay > interval '0') IS NOT TRUE), '{}') AS also_in,
           bool_and(delay IS NOT NULL) AS times_known, max(at) AS last_at
    FROM (SELECT m.*, at, ${delay} AS delay
          FROM (SELECT id FROM dedup.article_mark WHERE duplicate_of = top.id OFFSET 0) AS copy
          CROSS JOIN LATERAL (SELECT * FROM dedup.mark WHERE id = copy.id OFFSET 0) AS m
          CROSS JOIN LATERAL (SELECT ${known} AS at) AS k) AS m) AS d
ORDER BY top.copies DESC, top.source_id

-- name: within
-- Part of the statement `largest`: only stories whose original has a scope.
AND duplicate_of IN (SELECT id FROM dedup.mark WHERE scope = %(scope)s)

-- name: recent
-- A part of the statement above: only stories with an article of this time or later.
AND duplicate_of IN (SELECT coalesce(duplicate_of, id) FROM dedup.article_mark WHERE time >= %(since)s)

-- name: reprints
-- Count duplicates and their stories.
SELECT count(*), count(DISTINCT duplicate_of) FROM dedup.article_mark WHERE duplicate_of IS NOT NULL

-- name: story
-- Return the articles of a story, the original first. OFFSET 0 forces index lookups, even with outdated statistics.
WITH original AS (
    SELECT coalesce(k.duplicate_of, k.id) AS id
    FROM (SELECT id FROM dedup.mark WHERE source_id = %(source_id)s OFFSET 0) AS asked
    CROSS JOIN LATERAL (SELECT id, duplicate_of FROM dedup.article_mark WHERE id = asked.id OFFSET 0) AS k
), about AS MATERIALIZED (  -- read once for the story, not for every article
    SELECT o.kind, o.name, (SELECT source_id FROM dedup.mark WHERE id = r.latest_id) AS latest,
           (SELECT source_id FROM dedup.mark WHERE id = r.fullest_id) AS fullest
    FROM original
    CROSS JOIN LATERAL (SELECT kind, name FROM dedup.story_origin WHERE story_id = original.id OFFSET 0) AS o
    CROSS JOIN LATERAL (SELECT * FROM dedup.story_representative WHERE story_id = original.id OFFSET 0) AS r
), told AS (
    SELECT id FROM original
    UNION ALL
    SELECT copy.id FROM original
    CROSS JOIN LATERAL (SELECT id FROM dedup.article_mark WHERE duplicate_of = original.id OFFSET 0) AS copy
)
SELECT m.source_id, m.title, m.publication, ${known}, m.status, m.stale, m.score, m.reason,
       c.agencies, c.places, c.kinds, m.correction, p.outlet, about.latest, about.fullest, about.kind, about.name
FROM told CROSS JOIN about CROSS JOIN LATERAL (SELECT * FROM dedup.mark WHERE id = told.id OFFSET 0) AS m
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(agency ORDER BY agency), '{}') AS agencies,
           coalesce(array_agg(place ORDER BY agency), '{}') AS places,
           coalesce(array_agg(kind ORDER BY agency), '{}') AS kinds
    FROM (SELECT agency, place, kind FROM dedup.article_credit WHERE article_id = told.id OFFSET 0) AS found) AS c
CROSS JOIN LATERAL (SELECT outlet FROM dedup.outlet_article WHERE id = told.id OFFSET 0) AS p
ORDER BY m.duplicate_of IS NOT NULL, ${known}, m.source_id

-- name: origins
-- Return who stands behind the text of each story (if `settled`: of settled stories). OFFSET 0 forces index lookups,
-- even with outdated statistics.
SELECT given.id, o.kind, o.name FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT kind, name FROM dedup.story_origin WHERE story_id = given.id OFFSET 0) AS o
WHERE NOT %(settled)s OR EXISTS (
    SELECT FROM dedup.article_mark k WHERE k.id = given.id AND k.status IN ('unique', 'similar'))

-- name: beginnings
-- Return the beginnings of texts. OFFSET 0 forces index lookups, even with outdated statistics.
SELECT given.source_id, left(t.text, %(characters)s), t.html
FROM unnest(%(source_ids)s::text[]) AS given (source_id)
CROSS JOIN LATERAL (SELECT id FROM dedup.mark WHERE source_id = given.source_id OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT text, html FROM dedup.article_text WHERE article_id = a.id OFFSET 0) AS t
