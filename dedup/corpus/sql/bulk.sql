-- The memory engine: a whole corpus as arrays.

-- name: fingerprints
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

-- name: marks
-- The marks of a range of articles as one row of arrays.
SELECT array_agg(id), array_agg(takes_part::integer::bigint),
       array_agg((array_position(%(statuses)s::text[], status) - 1)::bigint),
       array_agg(coalesce(duplicate_of, 0)), array_agg(coalesce(score, -1)),
       array_agg(coalesce(array_position(%(names)s::text[], reason), 0)::bigint - 1)
FROM dedup.article WHERE id BETWEEN %(first)s AND %(last)s

-- name: order
-- The articles that have a fingerprint of their present text, in use or waiting, in canonical order; and the time of the last.
SELECT coalesce(array_agg(a.id ORDER BY
           dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id), '{}'),
       max(dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s))
FROM dedup.article a
JOIN (
    SELECT article_id, revision FROM dedup.fingerprint
    UNION
    SELECT article_id, revision FROM dedup.fingerprint_bulk
) AS f ON f.article_id = a.id AND f.revision = a.revision

-- name: pairs
-- The pairs of a range of later articles as one row of arrays.
SELECT array_agg(article_id), array_agg(other_id), array_agg((relation = 'duplicate')::integer::bigint),
       array_agg(array_position(%(names)s::text[], rule)::bigint - 1), array_agg(score),
       array_agg(sentence_jaccard), array_agg(signature_jaccard), array_agg(containment),
       array_agg(likest::integer::bigint)
FROM dedup.match WHERE article_id BETWEEN %(first)s AND %(last)s

-- name: write_marks
-- New marks. Values are taken from arrays by the place of the id, which are ascending: width_bucket searches them
-- by halves. In a join the planner would choose where to begin: with the whole table, if its statistics say that
-- it is empty.
UPDATE dedup.article a
SET status = (%(status_names)s::text[])[(%(statuses)s::bigint[])[${place}]],
    duplicate_of = nullif((%(originals)s::bigint[])[${place}], 0),
    score = nullif((%(scores)s::double precision[])[${place}], -1),
    reason = (%(names)s::text[])[nullif((%(reasons)s::bigint[])[${place}], 0)],
    stale = %(stale)s, takes_part = true, limit_fired = NULL, marked_at = now()
WHERE a.id = ANY (%(ids)s::bigint[])
