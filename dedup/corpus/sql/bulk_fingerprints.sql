-- The fingerprints of a range of articles as one row of arrays: a row for each would cost more than its content.
SELECT array_agg(article_id), array_agg(canonical::integer::bigint), array_agg(content_hash),
       array_agg(shingle_count::bigint), array_agg(cardinality(sentence_hashes)::bigint),
       array_agg(cardinality(buckets)::bigint), string_agg(signature, ''),
       string_agg(array_send(sentence_hashes), ''), string_agg(array_send(buckets), '')
FROM (
    SELECT f.* FROM dedup.fingerprint f
    WHERE f.article_id BETWEEN %(first)s AND %(last)s
      AND NOT EXISTS (SELECT FROM dedup.fingerprint_bulk w
                      WHERE w.article_id = f.article_id AND w.revision = f.revision)
    UNION ALL
    SELECT w.* FROM dedup.fingerprint_bulk w WHERE w.article_id BETWEEN %(first)s AND %(last)s
) AS f JOIN dedup.article a ON a.id = f.article_id AND a.revision = f.revision
