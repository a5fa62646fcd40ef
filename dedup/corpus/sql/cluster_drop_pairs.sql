-- The stored pairs of articles inside that a result has not, or has with other values.
DELETE FROM dedup.match m USING dedup.article a
WHERE a.id = m.article_id AND NOT a.archived AND NOT EXISTS (
    SELECT FROM pg_temp.import_pair p
    WHERE p.article_id = m.article_id AND p.other_id = m.other_id
      AND (p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard, p.containment, p.likest)
          = (m.relation, m.rule, m.score, m.sentence_jaccard, m.signature_jaccard, m.containment, m.likest))
