-- A whole corpus as arrays, for the memory engine.

-- name: begin
-- Record that a run of the memory engine begins.
UPDATE dedup.corpus_state SET bulk_run = %(run)s, recount_all = recount_all OR %(loading)s

-- name: changed_since
-- Return the articles that were edited, deleted or pinned after the change with this id.
SELECT DISTINCT article_id FROM dedup.bulk_change WHERE id > %(change)s

-- name: common
-- Return the common sentences.
SELECT array_agg(sentence_hash) FROM dedup.common_sentence

-- name: compact
-- Rebuild an index.
SELECT dedup.compact_index(%(index)s)

-- name: delete_outdated
-- Delete waiting fingerprints that were made from an earlier revision of the text.
DELETE FROM dedup.fingerprint_bulk f
WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = f.article_id AND a.revision = f.revision)

-- name: drop_pairs
-- Delete pairs by the ids of their articles.
DELETE FROM dedup.match WHERE ${given}

-- name: end
-- Record that no memory engine runs.
UPDATE dedup.corpus_state SET bulk_run = NULL

-- name: forget_changes
-- Delete the notes of articles that changed during a run of the memory engine.
DELETE FROM dedup.bulk_change

-- name: fingerprints
-- Return the fingerprints of a range of articles as one row of arrays, because the overhead of a row per article would
-- be larger than its content.
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

-- name: given
-- True for the pairs that the arrays `articles` and `others` list; this uses index lookups.
ctid = ANY (ARRAY(
    SELECT m.ctid FROM unnest(%(articles)s::bigint[], %(others)s::bigint[]) AS given (article_id, other_id)
    CROSS JOIN LATERAL (
        SELECT ctid FROM dedup.match
        WHERE article_id = given.article_id AND other_id = given.other_id OFFSET 0) AS m))

-- name: flag_waiting
-- Correct the canonical flags of these articles in `fingerprint_bulk` by inverting them; return the ids found there.
UPDATE dedup.fingerprint_bulk SET canonical = NOT canonical WHERE article_id = ANY (%(ids)s) RETURNING article_id

-- name: keep_marks
-- Keep the marks of articles, set their flag `stale`, and let the articles take part in comparisons.
UPDATE dedup.article_mark SET stale = %(stale)s, takes_part = true, limit_fired = NULL
WHERE id = ANY (%(ids)s) AND (stale, takes_part) <> (%(stale)s, true)

-- name: last_change
-- Return the id of the last change of an article that triggers noted during the run.
SELECT coalesce(max(id), 0) FROM dedup.bulk_change

-- name: left_behind
-- Return whether a run of the memory engine has not recorded its end, or its fingerprints were not put in use.
SELECT bulk_run IS NOT NULL OR EXISTS (SELECT FROM dedup.fingerprint_bulk) FROM dedup.corpus_state

-- name: marks
-- Return the marks of a range of articles as one row of arrays.
SELECT array_agg(id), array_agg(takes_part::integer::bigint),
       array_agg((array_position(%(statuses)s::text[], status) - 1)::bigint),
       array_agg(coalesce(duplicate_of, 0)), array_agg(coalesce(score, -1)),
       array_agg(coalesce(array_position(%(names)s::text[], reason), 0)::bigint - 1)
FROM dedup.article_mark WHERE id BETWEEN %(first)s AND %(last)s

-- name: order
-- Return ids, revisions and seconds of publication (0 if unknown), in canonical order, of all articles that have a
-- fingerprint (in use or waiting) of their present text, and the time of the last article. Each row has the arrays of
-- `most` articles: Postgres makes no array of more than 67,108,863 numbers.
SELECT array_agg(id ORDER BY place), array_agg(revision::bigint ORDER BY place),
       array_agg(CASE WHEN time = published_at AND %(policy)s = 'published'
                      THEN floor(extract(epoch FROM time))::bigint ELSE 0 END ORDER BY place),
       max(time)
FROM (
    SELECT *, row_number() OVER (ORDER BY time, source_id) - 1 AS place
    FROM (
        SELECT a.id, a.revision, a.source_id, a.published_at,
               dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) AS time
        FROM dedup.article a
        JOIN (
            SELECT article_id, revision FROM dedup.fingerprint
            UNION
            SELECT article_id, revision FROM dedup.fingerprint_bulk
        ) AS f ON f.article_id = a.id AND f.revision = a.revision
        OFFSET 0
    ) AS fingerprinted
) AS ordered
GROUP BY place / %(most)s::bigint ORDER BY place / %(most)s::bigint

-- name: pairs
-- Return the pairs whose later article is in a range of ids, as one row of arrays.
SELECT array_agg(article_id), array_agg(other_id), array_agg((relation = 'duplicate')::integer::bigint),
       array_agg(array_position(%(names)s::text[], rule)::bigint - 1), array_agg(score),
       array_agg(sentence_jaccard), array_agg(signature_jaccard), array_agg(containment),
       array_agg(best_match::integer::bigint)
FROM dedup.match WHERE article_id BETWEEN %(first)s AND %(last)s

-- name: pinned_pairs
-- Return the pinned pairs of stored articles.
SELECT a.id, o.id, p.relation FROM dedup.pair_pin p
JOIN dedup.article a ON a.source_id = p.source_id
JOIN dedup.article o ON o.source_id = p.other_source_id

-- name: publish
-- Put the waiting fingerprints in use.
SELECT dedup.publish_bulk()

-- name: set_not_best_match
-- Clear the flag `best_match` of pairs.
UPDATE dedup.match SET best_match = false WHERE ${given}

-- name: settled_through
-- Record the time up to which articles are settled.
UPDATE dedup.corpus_state SET settled_through = greatest(settled_through, %(time)s)

-- name: unsettled
-- Return the articles that are pending or stale, in arrays of `most` articles.
SELECT array_agg(id)
FROM (SELECT id, row_number() OVER () AS place FROM dedup.article_mark WHERE status = 'pending' OR stale) AS waiting
GROUP BY place / %(most)s::bigint

-- name: waiting
-- Count waiting fingerprints.
SELECT count(*) FROM dedup.fingerprint_bulk

-- name: watched_sentences
-- Return the sentences that are common or pinned.
SELECT array_agg(sentence_hash)
FROM (SELECT sentence_hash FROM dedup.common_sentence UNION SELECT sentence_hash FROM dedup.sentence_pin) AS watched

-- name: write_marks
-- Write new marks. All arrays are in the order of `ids`. The ids are ascending, so that width_bucket finds the position
-- of an id by binary search. A join is avoided: soon after a load, statistics still say that the table is empty, so the
-- planner would choose to read the whole table.
UPDATE dedup.article_mark a
SET status = (%(status_names)s::text[])[(%(statuses)s::bigint[])[${place}]],
    duplicate_of = nullif((%(originals)s::bigint[])[${place}], 0),
    score = nullif((%(scores)s::double precision[])[${place}], -1),
    reason = (%(names)s::text[])[nullif((%(reasons)s::bigint[])[${place}], 0)],
    stale = %(stale)s, takes_part = true, limit_fired = NULL, marked_at = now()
WHERE a.id = ANY (%(ids)s::bigint[])
