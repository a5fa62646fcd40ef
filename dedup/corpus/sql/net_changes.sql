-- What the noted changes come to, article by article: the fingerprint that was counted before them, if any,
-- with the sign -1, and the present one, if any, with +1. The changes of an article alternate: one came, one
-- went; so the first and the last tell all.
CREATE TEMPORARY TABLE net_change ON COMMIT DROP AS
WITH edge AS (
    SELECT c.article_id, min(c.id) AS first, max(c.id) AS last
    FROM pg_temp.taken_change t JOIN dedup.sentence_change c USING (id)
    WHERE c.article_id IS NOT NULL GROUP BY c.article_id
)
SELECT e.article_id, -1 AS sign, c.sentence_hashes, c.buckets
FROM edge e JOIN dedup.sentence_change c ON c.id = e.first AND c.sentence_hashes IS NOT NULL
UNION ALL
SELECT e.article_id, 1, f.sentence_hashes, f.buckets
FROM edge e JOIN dedup.sentence_change c ON c.id = e.last AND c.sentence_hashes IS NULL
JOIN dedup.fingerprint f ON f.article_id = e.article_id
