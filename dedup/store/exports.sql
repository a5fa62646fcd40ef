-- Every mark and every pair, row by row.

-- name: marks
-- The marks of articles by source_id, those for which the conditions hold. `kept`: a column more.
SELECT a.source_id AS id, a.status, a.original_source_id AS duplicate_of, a.score, a.reason, a.stale${kept}
FROM dedup.mark a
WHERE ${conditions} ORDER BY a.source_id LIMIT %(limit)s

-- name: matches
-- Every pair by source_id.
SELECT source_id AS a, other_source_id AS b, relation, rule, score, sentence_jaccard, signature_jaccard, containment
FROM dedup.scored_pair ORDER BY source_id, other_source_id
