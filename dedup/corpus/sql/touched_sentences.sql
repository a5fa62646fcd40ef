-- The sentences of the changes: by how much the number of their carriers changed, an article that carries it
-- now, and the counts as they were, where they are kept.
CREATE TEMPORARY TABLE touched_sentence ON COMMIT DROP AS
SELECT sentence_hash, sum(sign)::integer AS change, max(carrier) AS carrier,
       min(c.carriers) AS carriers, min(c.pairs) AS pairs
FROM (
    SELECT s.sentence_hash, n.sign, CASE WHEN n.sign > 0 THEN n.article_id END AS carrier
    FROM pg_temp.net_change n CROSS JOIN unnest(n.sentence_hashes) AS s (sentence_hash)
    UNION ALL
    SELECT s.sentence_hash, 0, NULL
    FROM pg_temp.taken_change t JOIN dedup.sentence_change c USING (id)
    CROSS JOIN unnest(c.sentence_hashes) AS s (sentence_hash)
    WHERE c.article_id IS NULL
) AS touched LEFT JOIN dedup.sentence_count c USING (sentence_hash)
GROUP BY sentence_hash
