-- Index entries: each is a key (sentence, bucket or content hash) and an article's id in one number (`dedup.entry`).

-- name: absent
-- Missing entries of fingerprints in use.
(
    SELECT f.canonical, dedup.entry(k.key, f.article_id) AS entry
    FROM dedup.fingerprint f
    CROSS JOIN LATERAL unnest(dedup.keys(f.sentence_hashes, f.buckets, f.content_hash)) AS k (key)
    EXCEPT (
        SELECT canonical, entry FROM dedup.recent_key
        UNION ALL
        SELECT s.canonical, e.entry
        FROM dedup.key_segment s JOIN dedup.key_block b ON b.segment = s.id
        CROSS JOIN LATERAL unnest(b.entries) AS e (entry))
) AS absent

-- name: add_absent
-- Add the missing entries.
INSERT INTO dedup.recent_key (canonical, entry) SELECT canonical, entry FROM ${absent}

-- name: blocks
-- Return the blocks of segments that may contain entries of a range of keys, as one row.
SELECT string_agg(array_send(b.entries), ''), array_agg(cardinality(b.entries)::bigint)
FROM dedup.key_segment s CROSS JOIN LATERAL (
    SELECT entries FROM dedup.key_block WHERE segment = s.id
       AND number BETWEEN dedup.block(%(first)s, s.blocks) AND dedup.block(%(last)s, s.blocks) OFFSET 0) AS b
WHERE s.id = ANY (%(segments)s)

-- name: count_absent
-- Count articles with a key that has no entry.
SELECT count(DISTINCT entry & 4294967295) FROM ${absent}

-- name: delete_blocks
-- Delete the blocks of segments that are not in use.
DELETE FROM dedup.key_block b WHERE NOT EXISTS (SELECT FROM dedup.key_segment s WHERE s.id = b.segment)

-- name: delete_segments
-- Delete segments.
DELETE FROM dedup.key_segment WHERE id = ANY (%(segments)s)

-- name: fingerprinted
-- Return the articles of a table of fingerprints.
SELECT coalesce(array_agg(article_id ORDER BY article_id), '{}') FROM dedup.${table}

-- name: having_flag
-- Return the ids of articles whose fingerprint has this canonical flag.
SELECT coalesce(array_agg(article_id ORDER BY article_id), '{}') FROM dedup.fingerprint WHERE canonical = %(canonical)s

-- name: keys
-- Return the keys of a range of fingerprints as one row of arrays.
SELECT array_agg(f.article_id), array_agg(f.canonical::integer::bigint), array_agg(cardinality(f.keys)::bigint),
       string_agg(array_send(f.keys), '')
FROM (
    SELECT article_id, canonical, dedup.keys(sentence_hashes, buckets, content_hash) AS keys
    FROM dedup.${table} WHERE article_id BETWEEN %(first)s AND %(last)s OFFSET 0) AS f

-- name: next_segment
-- Return an unused id for a new segment.
SELECT 1 + greatest((SELECT max(id) FROM dedup.key_segment), (SELECT max(segment) FROM dedup.key_block), 0)

-- name: recent
-- Return whether more than `entries` entries are in no segment yet (recent entries). The size of the table is tested
-- first, so that the rows of a small table are not counted.
SELECT pg_relation_size('dedup.recent_key') > 32 * %(entries)s::bigint
   AND (SELECT count(*) FROM (SELECT FROM dedup.recent_key LIMIT %(entries)s + 1) AS found) > %(entries)s

-- name: segments
-- Return the segments in use.
SELECT id, canonical, entries, blocks FROM dedup.key_segment ORDER BY entries, id

-- name: take_recent
-- Delete all recent entries; return the entries of originals, and the entries of duplicates.
WITH taken AS (DELETE FROM dedup.recent_key RETURNING canonical, entry)
SELECT coalesce(array_agg(entry) FILTER (WHERE canonical), '{}'),
       coalesce(array_agg(entry) FILTER (WHERE NOT canonical), '{}')
FROM taken

-- name: use
-- Put a segment in use.
INSERT INTO dedup.key_segment (id, canonical, entries, blocks) VALUES (%(id)s, %(canonical)s, %(entries)s, %(blocks)s)
