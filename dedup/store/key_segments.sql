-- Index entries: numbers made of a key (sentence, bucket or content hash) and an article id (`dedup.entry`).

-- name: absent
-- Entries that should exist for the fingerprints in use, but are missing.
(
    SELECT f.canonical, dedup.entry(k.key, f.article_id) AS entry
    FROM dedup.fingerprint f
    CROSS JOIN LATERAL unnest(dedup.keys(f.sentence_hashes, f.buckets, f.content_hash)) AS k (key)
    EXCEPT (
        SELECT f.canonical, dedup.entry(k.key, r.article_id)
        FROM dedup.recent_key r JOIN dedup.fingerprint f USING (article_id) CROSS JOIN LATERAL unnest(r.keys) AS k (key)
        UNION ALL
        SELECT s.canonical, e.entry
        FROM dedup.key_segment s JOIN dedup.key_block b ON b.segment = s.id
        CROSS JOIN LATERAL unnest(b.entries) AS e (entry))
) AS absent

-- name: add_absent
-- Add the missing entries.
INSERT INTO dedup.recent_key (article_id, keys)
SELECT article_id, dedup.keys(sentence_hashes, buckets, content_hash) FROM dedup.fingerprint
WHERE article_id IN (SELECT entry & 4294967295 FROM ${absent})

-- name: blocks
-- Return, as one row, the blocks of these segments that may contain entries between two keys.
SELECT string_agg(array_send(b.entries), ''), array_agg(cardinality(b.entries)::bigint)
FROM dedup.key_segment s CROSS JOIN LATERAL (
    SELECT entries FROM dedup.key_block WHERE segment = s.id
       AND number BETWEEN dedup.block(%(first)s, s.blocks) AND dedup.block(%(last)s, s.blocks) OFFSET 0) AS b
WHERE s.id = ANY (%(segments)s)

-- name: count_absent
-- Count articles that lack an index entry.
SELECT count(DISTINCT entry & 4294967295) FROM ${absent}

-- name: delete_blocks
-- Delete the blocks of unused segments. For speed, the recursion jumps in the index from one segment id to the next.
WITH RECURSIVE stored (segment) AS (
    SELECT min(segment) FROM dedup.key_block
    UNION ALL
    SELECT (SELECT min(b.segment) FROM dedup.key_block b WHERE b.segment > s.segment) FROM stored s
    WHERE s.segment IS NOT NULL)
DELETE FROM dedup.key_block WHERE segment = ANY (ARRAY(
    SELECT segment FROM stored EXCEPT SELECT id FROM dedup.key_segment))

-- name: delete_segments
-- Delete segments.
DELETE FROM dedup.key_segment WHERE id = ANY (%(segments)s)

-- name: flagged
-- Return the originals among `articles` if `canonical` is true, else the duplicates.
SELECT coalesce(array_agg(f.article_id), '{}')
FROM unnest(%(articles)s::bigint[]) AS given (id) CROSS JOIN LATERAL (
    SELECT article_id FROM dedup.fingerprint
    WHERE article_id = given.id AND canonical = %(canonical)s OFFSET 0) AS f

-- name: keys
-- Return the keys of at most `articles` fingerprints whose article ids follow after `after`, as one row of arrays.
SELECT array_agg(f.article_id), array_agg(f.canonical::integer::bigint), array_agg(cardinality(f.keys)::bigint),
       string_agg(array_send(f.keys), '')
FROM (
    SELECT article_id, canonical, dedup.keys(sentence_hashes, buckets, content_hash) AS keys
    FROM dedup.${table} WHERE article_id > %(after)s ORDER BY article_id LIMIT %(articles)s) AS f

-- name: next_segment
-- Return an unused id for a new segment.
SELECT 1 + greatest((SELECT max(id) FROM dedup.key_segment), (SELECT max(segment) FROM dedup.key_block), 0)

-- name: read_all
-- Read all blocks of all segments.
SELECT count(entries) FROM dedup.key_block

-- name: recent
-- Return whether there are more than `entries` recent keys (keys that are in no segment yet). The size of the table is
-- tested first, so that the rows of a small table are not read.
SELECT pg_relation_size('dedup.recent_key') > 8 * %(entries)s::bigint
   AND (SELECT sum(cardinality(keys)) FROM dedup.recent_key) > %(entries)s

-- name: segments
-- Return the segments in use.
SELECT id, canonical, entries, blocks FROM dedup.key_segment ORDER BY entries, id

-- name: take_recent
-- Empty the table of recent keys. Return the entries of its articles in two lists: of originals, and of duplicates.
WITH taken AS (DELETE FROM dedup.recent_key RETURNING article_id)
SELECT coalesce(array_agg(dedup.entry(k.key, f.article_id)) FILTER (WHERE f.canonical), '{}'),
       coalesce(array_agg(dedup.entry(k.key, f.article_id)) FILTER (WHERE NOT f.canonical), '{}')
FROM (SELECT DISTINCT article_id FROM taken) AS t
CROSS JOIN LATERAL (SELECT * FROM dedup.fingerprint WHERE article_id = t.article_id OFFSET 0) AS f
CROSS JOIN LATERAL unnest(dedup.keys(f.sentence_hashes, f.buckets, f.content_hash)) AS k (key)

-- name: use
-- Put a segment in use.
INSERT INTO dedup.key_segment (id, canonical, entries, blocks) VALUES (%(id)s, %(canonical)s, %(entries)s, %(blocks)s)
