-- The pairs of a result that are not stored yet, but for those of articles that were deleted meanwhile (`gone`). No
-- join with the stored ones: of a table that was empty a moment ago the planner would read it once per pair.
INSERT INTO dedup.match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard,
                         containment, likest)
SELECT p.article_id, p.other_id, p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
       p.containment, p.likest
FROM pg_temp.import_pair p
WHERE p.article_id <> ALL (%(gone)s::bigint[]) AND p.other_id <> ALL (%(gone)s::bigint[])
ON CONFLICT (article_id, other_id) DO NOTHING
