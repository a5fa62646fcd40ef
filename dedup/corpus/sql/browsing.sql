-- What the pages show.

-- name: day
-- Figures of a range of days, of its newest articles: one row. Times are microseconds since 1970.
WITH counted AS MATERIALIZED (
    SELECT id, coalesce(published_at, added_at) AS at, ${known} AS known_at, publication, status, stale, duplicate_of,
           -- Who names no outlet counts as one of his own; no outlet is called so.
           coalesce(publication, chr(1) || id) AS outlet,
           CASE WHEN status = 'failed' THEN split_part(reason, ':', 1)
                WHEN status = 'pending' OR stale THEN limit_fired END AS why
    FROM dedup.article a
    WHERE coalesce(published_at, added_at) >= %(since)s AND coalesce(published_at, added_at) < %(until)s
    ORDER BY coalesce(published_at, added_at) DESC, id DESC LIMIT %(limit)s
), tally AS MATERIALIZED (  -- what days and outlets are summed up from: few rows
    SELECT (at AT TIME ZONE 'UTC')::date - %(first)s::date AS day, publication, status, stale, count(*) AS articles
    FROM counted GROUP BY 1, 2, 3, 4
), earliest AS (
    SELECT at, id FROM counted ORDER BY at, id LIMIT 1
), story AS (
    SELECT duplicate_of AS id, count(*) AS copies, count(DISTINCT outlet) AS outlets, CASE WHEN bool_and(known_at IS NOT NULL) THEN max(known_at) END AS last_at
    FROM counted WHERE duplicate_of IS NOT NULL GROUP BY duplicate_of
), print AS (  -- the first one of each other outlet
    SELECT o.id, o.known_at AS began, c.outlet, min(c.known_at) AS at
    FROM counted c JOIN counted o ON o.id = c.duplicate_of
    WHERE c.outlet <> o.outlet AND c.known_at >= o.known_at AND ${delay} IS NOT NULL
    GROUP BY o.id, o.known_at, c.outlet
), reached AS (
    SELECT id, at - began AS reached
    FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY at, outlet) AS place FROM print) AS p
    WHERE place = %(spread)s
), told AS MATERIALIZED (
    SELECT s.id, s.copies, s.outlets, (extract(epoch FROM s.last_at) * 1000000)::bigint AS last_at,
           (extract(epoch FROM r.reached) * 1000000)::bigint AS reached
    FROM story s LEFT JOIN reached r ON r.id = s.id
)
SELECT (SELECT count(*) FROM counted),
    (SELECT jsonb_build_array((extract(epoch FROM at) * 1000000)::bigint, id) FROM earliest),
    (SELECT jsonb_agg(jsonb_build_array(hour, articles)) FROM (
        SELECT extract(hour FROM at AT TIME ZONE 'UTC')::integer AS hour, count(*) AS articles
        FROM counted GROUP BY 1) AS h),
    (SELECT jsonb_agg(jsonb_build_array(day) || to_jsonb(counts) ORDER BY day) FROM (
        SELECT day, ARRAY[${counts}] AS counts FROM tally GROUP BY day) AS d),
    (SELECT jsonb_agg(jsonb_build_array(name, outlets) || to_jsonb(counts) ORDER BY counts[1] DESC, place) FROM (
        SELECT ${publication} AS name, count(*) OVER () AS outlets, ARRAY[${counts}] AS counts,
               row_number() OVER (ORDER BY sum(articles) DESC, publication COLLATE "C") AS place
        FROM tally GROUP BY publication ORDER BY place LIMIT %(outlets)s) AS o),
    (SELECT jsonb_agg(jsonb_build_array(id, copies, outlets, last_at, reached)
                      ORDER BY copies DESC, outlets DESC, id) FROM (
        SELECT * FROM told ORDER BY copies DESC, outlets DESC, id LIMIT %(listed)s) AS b),
    (SELECT jsonb_agg(jsonb_build_array(id, copies, outlets, last_at, reached)
                      ORDER BY reached, copies DESC, id) FROM (
        SELECT * FROM told WHERE reached IS NOT NULL ORDER BY reached, copies DESC, id
        LIMIT %(listed)s) AS f),
    (SELECT jsonb_agg(jsonb_build_array(kind, why, articles, examples) ORDER BY kind, articles DESC, why) FROM (
        SELECT CASE WHEN stale THEN 'stale' ELSE status END AS kind, why, count(*) AS articles,
               (array_agg(id ORDER BY at DESC, id DESC))[1:%(examples)s::integer] AS examples
        FROM counted WHERE status IN ('pending', 'failed') OR stale GROUP BY 1, 2
        ORDER BY articles DESC LIMIT %(troubles)s) AS t)

-- name: outlets
-- Who copied whom in a range of days, of its newest articles: cells of the outlets of most copies, and what is left.
WITH counted AS MATERIALIZED (
    SELECT id, coalesce(published_at, added_at) AS at, ${known} AS known_at, publication, duplicate_of
    FROM dedup.article a
    WHERE coalesce(published_at, added_at) >= %(since)s AND coalesce(published_at, added_at) < %(until)s
    ORDER BY coalesce(published_at, added_at) DESC, id DESC LIMIT %(limit)s
), copy AS MATERIALIZED (
    SELECT c.publication AS copier, o.publication AS original, ${delay} AS delay
    FROM (SELECT * FROM counted WHERE duplicate_of IS NOT NULL) AS c
    -- OFFSET 0: each looked up by its key, whatever the statistics say.
    CROSS JOIN LATERAL (
        SELECT publication, ${known} AS known_at FROM dedup.article a
        WHERE a.id = c.duplicate_of OFFSET 0) AS o
), cell AS MATERIALIZED (
    SELECT copier, original, count(*) AS copies,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM delay)::double precision) AS median_delay
    FROM copy WHERE copier IS NOT NULL AND original IS NOT NULL AND delay IS NOT NULL GROUP BY copier, original
), outlet AS MATERIALIZED (
    SELECT name, sum(copies) AS copies FROM (
        SELECT copier AS name, copies FROM cell
        UNION ALL SELECT original, copies FROM cell WHERE original <> copier) AS side
    GROUP BY name ORDER BY sum(copies) DESC, name COLLATE "C" LIMIT %(outlets)s
), shown AS MATERIALIZED (
    SELECT copier, original, copies, median_delay FROM cell
    WHERE copier = ANY (ARRAY(SELECT name FROM outlet)) AND original = ANY (ARRAY(SELECT name FROM outlet))
)
SELECT (SELECT count(*) FROM counted),
    (SELECT jsonb_build_array((extract(epoch FROM at) * 1000000)::bigint, id)
     FROM (SELECT at, id FROM counted ORDER BY at, id LIMIT 1) AS earliest),
    (SELECT count(*) FROM copy),
    (SELECT count(*) FROM copy WHERE copier IS NULL OR original IS NULL),
    (SELECT count(*) FROM copy WHERE copier IS NOT NULL AND original IS NOT NULL AND delay IS NULL),
    ARRAY(SELECT name FROM outlet ORDER BY copies DESC, name COLLATE "C"),
    (SELECT jsonb_agg(jsonb_build_array(copier, original, copies, median_delay)
                      ORDER BY copies DESC, copier COLLATE "C", original COLLATE "C") FROM shown)
