-- Read rows of the views page by page.

-- name: page
-- Read a page of rows in the order of the key.
SELECT ${columns} FROM (${source}) AS page ORDER BY ${key}

-- name: since
-- Keep articles published at a time or later; without a publication time, stored at this time or later.
coalesce(published_at, added_at) >= %(since)s

-- name: in_scope
-- Keep rows whose article has a scope; of a pair the later article counts.
AND EXISTS (SELECT FROM dedup.mark AS scoped WHERE scoped.id = ${article} AND scoped.scope = %(scope)s)

-- name: marks
-- Read the next articles with their marks. Each story is looked up once, since it may have many articles.
WITH page AS MATERIALIZED (
    SELECT * FROM dedup.mark m WHERE id > %(id)s ${marks_since} ${in_scope} ORDER BY id LIMIT ${limit}
), shared AS MATERIALIZED (
    SELECT id, was_first FROM dedup.shared_article
    WHERE story_id = ANY (ARRAY(SELECT DISTINCT coalesce(duplicate_of, id) FROM page))
)
SELECT m.id, source_id, url, title, publication, published_at, added_at, language, status, stale, original_source_id,
       coalesce(original_source_id, source_id) AS story_source_id, score, reason, marked_at, archived, byline,
       CASE WHEN s.id IS NOT NULL THEN s.was_first WHEN status IN ('unique', 'similar') THEN true END AS was_first,
       ARRAY(SELECT agency FROM dedup.article_credit WHERE article_id = m.id AND kind = 'text'
             ORDER BY agency) AS credits, correction, kept::text AS kept,
       (SELECT d.times_known FROM dedup.duplicate d WHERE d.id = m.id) AS times_known
FROM page m LEFT JOIN shared s ON s.id = m.id

-- name: count_marks
-- Count the articles.
SELECT count(*) FROM dedup.mark WHERE true ${marks_since}

-- name: marks_since
-- Apply `since` to the article.
AND ${since}

-- name: duplicates
-- Read the next duplicates.
SELECT *, extract(epoch FROM delay)::double precision AS delay_seconds
FROM dedup.duplicate d WHERE id > %(id)s ${duplicates_since} ${in_scope} ORDER BY id LIMIT ${limit}

-- name: count_duplicates
-- Count the duplicates.
SELECT count(*) FROM dedup.duplicate d WHERE true ${duplicates_since}

-- name: duplicates_since
-- Apply `since` to the duplicate through dedup.mark, because dedup.duplicate has no added_at.
AND EXISTS (SELECT FROM dedup.mark WHERE mark.id = d.id AND ${since})

-- name: additions
-- Read the next compared copies.
SELECT * FROM dedup.addition d WHERE id > %(id)s ${additions_since} ${in_scope} ORDER BY id LIMIT ${limit}

-- name: count_additions
-- Count the compared copies.
SELECT count(*) FROM dedup.addition d WHERE true ${additions_since}

-- name: additions_since
-- Apply `since` to the copy through dedup.mark, because dedup.addition has no added_at.
AND EXISTS (SELECT FROM dedup.mark WHERE mark.id = d.id AND ${since})

-- name: matches
-- Read the next scored pairs.
SELECT * FROM dedup.scored_pair p
WHERE (article_id, other_id) > (%(article_id)s, %(other_id)s) ${matches_since} ${in_scope}
ORDER BY article_id, other_id LIMIT ${limit}

-- name: count_matches
-- Count the scored pairs.
SELECT count(*) FROM dedup.scored_pair p WHERE true ${matches_since}

-- name: matches_since
-- Apply `since` to the later article of a pair.
AND EXISTS (SELECT FROM dedup.mark WHERE mark.id = p.article_id AND ${since})

-- name: stories
-- Read the next stories with the columns of dedup.story; the view would count the copies of all stories for each
-- page.
SELECT c.id, c.source_id, c.status, c.archived, c.first_at, shown.source_id AS representative_source_id, shown.url,
       shown.title, shown.publication, shown.language, shown.byline, shown.correction, d.copies, 1 + d.copies AS articles,
       d.credits, d.copied_by, d.also_in, d.copy_source_ids,
       CASE WHEN coalesce(d.times_known, true) THEN greatest(c.first_at, d.last_at) END AS last_at,
       coalesce(d.times_known, c.first_at IS NOT NULL) AS times_known
FROM (SELECT c.*, ${first_at} AS first_at
      FROM (SELECT * FROM dedup.mark c WHERE status <> 'duplicate' AND id > %(id)s ${stories_since} ${in_scope}
            ORDER BY id LIMIT ${limit}) AS c) AS c
CROSS JOIN LATERAL ${shown} AS shown
CROSS JOIN LATERAL (
    SELECT ARRAY(SELECT DISTINCT agency
                 FROM (SELECT c.id UNION ALL SELECT id FROM dedup.article_mark WHERE duplicate_of = c.id) AS member
                 CROSS JOIN LATERAL (
                     SELECT agency FROM dedup.article_credit
                     WHERE article_id = member.id AND kind = 'text' OFFSET 0) AS credited
                 ORDER BY agency) AS credits,
           count(*) AS copies, max(at) AS last_at, bool_and(delay IS NOT NULL) AS times_known,
           coalesce(array_agg(DISTINCT publication ORDER BY publication)
                    FILTER (WHERE publication IS NOT NULL AND delay > interval '0'), '{}') AS copied_by,
           coalesce(array_agg(DISTINCT publication ORDER BY publication)
                    FILTER (WHERE publication IS NOT NULL AND (delay > interval '0') IS NOT TRUE), '{}') AS also_in,
           coalesce(array_agg(source_id ORDER BY at, source_id), '{}')
               AS copy_source_ids
    FROM (SELECT m.*, at, ${delay} AS delay
          FROM (SELECT id FROM dedup.article_mark WHERE duplicate_of = c.id OFFSET 0) AS copy
          CROSS JOIN LATERAL (SELECT * FROM dedup.mark WHERE id = copy.id OFFSET 0) AS m
          CROSS JOIN LATERAL (SELECT ${at} AS at) AS k) AS m) AS d

-- name: shown
-- Look up the article that represents the story `c`.
(SELECT * FROM dedup.mark WHERE id = ${representative} OFFSET 0)

-- name: count_stories
-- Count the stories.
SELECT count(*) FROM dedup.mark c WHERE status <> 'duplicate' ${stories_since}

-- name: stories_since
-- Apply `since` to any article of the story.
AND (${since} OR EXISTS (SELECT FROM dedup.article_mark d WHERE d.duplicate_of = c.id AND d.time >= %(since)s))

-- name: panel
-- Return the articles of each outlet by month; undated articles of an outlet are in a row without a month.
SELECT month::timestamp AT TIME ZONE 'UTC' AS month, outlet, family, articles, own, copied, agency, first_unknown,
       not_compared, diversity, times_known
FROM dedup.outlet_month WHERE true ${from_month} ORDER BY month, outlet

-- name: from_month
-- Keep months from the month of a time on; undated articles are in no month.
AND month >= date_trunc('month', %(since)s::timestamptz, 'UTC')::date

-- name: network
-- Return each pair of outlets that share stories, with the number of copies and the median delay.
SELECT original_outlet, outlet, copies, agency_copies, times_known,
       extract(epoch FROM median_delay)::double precision AS median_delay_seconds
FROM dedup.outlet_overlap ORDER BY original_outlet, outlet, times_known DESC
