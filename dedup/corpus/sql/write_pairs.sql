-- Rows of `match`; a pair that is there already is replaced.
INSERT INTO dedup.match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard,
                         containment, likest)
SELECT article_id, other_id, CASE WHEN duplicate <> 0 THEN 'duplicate' ELSE 'similar' END,
       (%(names)s::text[])[rule + 1], score, sentence_jaccard, signature_jaccard, containment, likest <> 0
FROM unnest(%(articles)s::bigint[], %(others)s::bigint[], %(duplicates)s::bigint[], %(rules)s::bigint[],
            %(scores)s::double precision[], %(sentences)s::double precision[],
            %(signatures)s::double precision[], %(containments)s::double precision[], %(likest)s::bigint[])
     AS n (article_id, other_id, duplicate, rule, score, sentence_jaccard, signature_jaccard, containment, likest)
ON CONFLICT (article_id, other_id) DO UPDATE
    SET relation = excluded.relation, rule = excluded.rule, score = excluded.score,
        sentence_jaccard = excluded.sentence_jaccard, signature_jaccard = excluded.signature_jaccard,
        containment = excluded.containment, likest = excluded.likest
