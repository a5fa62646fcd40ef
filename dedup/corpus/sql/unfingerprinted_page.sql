-- The next articles whose present text has no fingerprint, in the order of the index of unsettled ones, up to
-- a number of articles or characters of text, whichever is reached first, and at least one. Those that wait for
-- another attempt are left out. A text that is too long stays here, and comes as its length.
WITH page AS MATERIALIZED (
    SELECT a.id, coalesce(a.published_at, a.added_at) AS time, a.source_id
    FROM dedup.article a
    WHERE (a.status = 'pending' OR a.stale)
      AND (%(time)s::timestamptz IS NULL
           OR (coalesce(a.published_at, a.added_at), a.source_id) > (%(time)s, %(source_id)s))
      AND NOT EXISTS (SELECT FROM dedup.fingerprint f
                      WHERE f.article_id = a.id AND f.revision = a.revision)
      AND NOT EXISTS (SELECT FROM dedup.attempt t
                      WHERE t.article_id = a.id AND t.revision = a.revision)
    ORDER BY coalesce(a.published_at, a.added_at), a.source_id LIMIT %(limit)s
), sized AS (
    SELECT p.*, octet_length(a.text) > 4 * %(too_long)s::bigint AS too_long,
           sum(octet_length(a.text)) OVER (ORDER BY p.time, p.source_id) - octet_length(a.text) AS before
    FROM page p JOIN dedup.article a USING (id)
)
SELECT s.id, a.revision, a.language, a.title, CASE WHEN s.too_long THEN '' ELSE a.text END,
       CASE WHEN s.too_long THEN char_length(a.text) END, s.time, s.source_id
FROM sized s JOIN dedup.article a USING (id)
WHERE s.before <= %(max)s
ORDER BY s.time, s.source_id
