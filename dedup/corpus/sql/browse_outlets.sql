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
