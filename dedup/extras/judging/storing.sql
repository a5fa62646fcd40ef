-- Read and write the pairs picked for people, and judgements.

-- name: own
-- Join the selection with the judgements of one judge. `judged`: true if there is a judgement of the present texts.
FROM dedup.review_pair p
LEFT JOIN dedup.article a ON a.source_id = p.source_id
LEFT JOIN dedup.article o ON o.source_id = p.other_source_id
LEFT JOIN dedup.judgement j ON (j.source_id, j.other_source_id) = (p.source_id, p.other_source_id)
    AND j.judged_by = %(judge)s
CROSS JOIN LATERAL (SELECT
    a.id IS NOT NULL AND o.id IS NOT NULL AS stored,
    j.label IS NOT NULL AND dedup.text_hash(${body}) = j.text_hash
        AND dedup.text_hash(${other_body}) = j.other_text_hash AS judged) AS s

-- name: count_missing
-- Count the pairs of the selection with an article that is not stored.
SELECT count(*) FROM dedup.review_pair p
WHERE NOT EXISTS (SELECT FROM dedup.article WHERE source_id = p.source_id)
   OR NOT EXISTS (SELECT FROM dedup.article WHERE source_id = p.other_source_id)

-- name: delete_picks
-- Delete the selection.
DELETE FROM dedup.review_pair

-- name: judged
-- List the pairs that a judge has judged, the oldest judgement first.
SELECT p.source_id, p.other_source_id ${own} WHERE stored AND judged ORDER BY j.judged_at, p.place

-- name: listed
-- List the judgements of picked pairs whose texts have not changed since, pair by pair.
SELECT p.source_id, p.other_source_id, p.stratum, j.label
FROM dedup.review_pair p JOIN dedup.judged_pair j USING (source_id, other_source_id) WHERE NOT j.stale
ORDER BY p.place, j.judged_by

-- name: progress
-- Count the picked pairs: all, judged, judged before a text was edited, and with an article that is not stored.
SELECT count(*), count(*) FILTER (WHERE stored AND judged),
       count(*) FILTER (WHERE stored AND NOT judged AND j.label IS NOT NULL), count(*) FILTER (WHERE NOT stored)
${own}

-- name: read
-- Read a pair with both texts and the judgement of a judge.
SELECT a.source_id, a.title, a.publication, coalesce(a.published_at, a.added_at), ${body}, dedup.text_hash(${body}), ${html},
       o.source_id, o.title, o.publication, coalesce(o.published_at, o.added_at), ${other_body},
       dedup.text_hash(${other_body}), ${other_html},
       p.stratum, p.scores, CASE WHEN judged THEN j.label END, CASE WHEN judged THEN j.note END
${own}
WHERE stored AND p.source_id = %(a)s AND p.other_source_id = %(b)s

-- name: record
-- Store or replace the judgement of a judge; store nothing if an article is missing.
INSERT INTO dedup.judgement (source_id, other_source_id, judged_by, label, note, text_hash, other_text_hash)
SELECT %(a)s, %(b)s, %(judge)s, %(label)s, %(note)s, h.one, h.other
FROM (SELECT
    coalesce(%(one)s, (SELECT dedup.text_hash(${body}) FROM dedup.article a WHERE a.source_id = %(a)s)),
    coalesce(%(other)s, (SELECT dedup.text_hash(${other_body}) FROM dedup.article o WHERE o.source_id = %(b)s))
) AS h (one, other)
WHERE h.one IS NOT NULL AND h.other IS NOT NULL
ON CONFLICT (source_id, other_source_id, judged_by) DO UPDATE SET
    label = excluded.label, note = excluded.note, judged_at = clock_timestamp(),
    text_hash = excluded.text_hash, other_text_hash = excluded.other_text_hash

-- name: stories_of
-- Read the originals of settled articles. OFFSET 0 forces index lookups, even if statistics are out of date.
SELECT m.source_id, coalesce(m.original_source_id, m.source_id) FROM unnest(%(source_ids)s::text[]) AS given (source_id)
CROSS JOIN LATERAL (SELECT * FROM dedup.mark WHERE source_id = given.source_id OFFSET 0) AS m
WHERE m.status <> 'pending'

-- name: strata
-- List the strata of the selection, and the number of pairs in each stratum.
SELECT stratum, max(stratum_size) FROM dedup.review_pair GROUP BY stratum ORDER BY min(place)

-- name: take_back
-- Delete a judge's judgement of a pair.
DELETE FROM dedup.judgement WHERE (source_id, other_source_id, judged_by) = (%(a)s, %(b)s, %(judge)s)

-- name: waiting
-- List the pairs that a judge can still judge, in the order of the selection.
SELECT p.source_id, p.other_source_id ${own} WHERE stored AND NOT judged ORDER BY p.place

-- name: write_pick
-- Add a pair to the selection.
INSERT INTO dedup.review_pair (source_id, other_source_id, place, stratum, stratum_size, stratum_picked, scores)
VALUES (%(a)s, %(b)s, %(place)s, %(stratum)s, %(size)s, %(picked)s, %(scores)s)
