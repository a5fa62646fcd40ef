-- Exports of every mark and every pair, row by row.

-- name: marks
-- Return the marks that fulfil the conditions, in the order of source_id. `kept`: SQL for an additional column, or ''.
SELECT a.source_id AS id, a.status, a.original_source_id AS duplicate_of, a.score, a.reason, a.stale${kept}
FROM dedup.mark a
WHERE ${conditions} ORDER BY a.source_id LIMIT %(limit)s

-- name: matches
-- Return every pair, in the order of source_id.
SELECT source_id AS a, other_source_id AS b, relation, rule, score, sentence_jaccard, signature_jaccard, containment,
       times_known
FROM dedup.scored_pair ORDER BY source_id, other_source_id
