-- Exports of every mark and every pair, row by row.

-- name: marks
-- Return the marks that fulfil the conditions, in the order of source_id. `kept`: SQL for an additional column, or ''.
SELECT a.source_id AS id, a.status, a.original_source_id AS duplicate_of, a.score, a.reason, a.stale${kept}
FROM dedup.mark a
WHERE ${conditions} ORDER BY a.source_id LIMIT %(limit)s

-- name: matches
-- Return every pair, in the order of source_id. `delay`: SQL for the delay between the known times of `a` and `b`.
SELECT p.source_id AS a, p.other_source_id AS b, p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
       p.containment, ${delay} IS NOT NULL AS times_known
FROM dedup.scored_pair p JOIN dedup.mark a ON a.id = p.article_id JOIN dedup.mark b ON b.id = p.other_id
ORDER BY p.source_id, p.other_source_id
