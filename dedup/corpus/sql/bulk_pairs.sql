-- The pairs of a range of later articles as one row of arrays.
SELECT array_agg(article_id), array_agg(other_id), array_agg((relation = 'duplicate')::integer::bigint),
       array_agg(array_position(%(names)s::text[], rule)::bigint - 1), array_agg(score),
       array_agg(sentence_jaccard), array_agg(signature_jaccard), array_agg(containment),
       array_agg(likest::integer::bigint)
FROM dedup.match WHERE article_id BETWEEN %(first)s AND %(last)s
