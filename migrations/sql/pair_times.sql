-- A scored pair tells whether times of publication order its articles, for readers who may not read the table `match`.

CREATE OR REPLACE VIEW dedup.scored_pair AS
SELECT m.article_id, a.source_id, m.other_id, o.source_id AS other_source_id, m.relation, m.rule, m.score,
       m.sentence_jaccard, m.signature_jaccard, m.containment,
       CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') AND o.known_at <> date_trunc('day', o.known_at, 'UTC')
            THEN a.known_at <> o.known_at
            ELSE coalesce(date_trunc('day', a.known_at, 'UTC') <> date_trunc('day', o.known_at, 'UTC'), false)
            END AS times_known
FROM dedup.match m
JOIN dedup.marked_article a ON a.id = m.article_id
JOIN dedup.marked_article o ON o.id = m.other_id;
COMMENT ON COLUMN dedup.scored_pair.times_known IS 'Whether times tell which of the two was first. If not, canonical order alone calls one the later.';
