-- Settling of articles by index lookups.

-- name: chosen_reason
-- The new reason of `dedup.article_mark a`, or null.
(%(names)s::text[])[(%(reasons)s::bigint[])[${place}]]

-- name: chosen_score
-- The new score of `dedup.article_mark a`.
(%(scores)s::double precision[])[${place}]

-- name: clear_best_match
-- Clear the flag `best_match` of all pairs whose earlier article is in `ids`, and return these pairs.
SELECT * FROM dedup.clear_best_match(%(ids)s)

-- name: common_among
-- Return the common sentences among `sentences`.
SELECT sentence_hash FROM dedup.common_sentence WHERE sentence_hash = ANY (%(sentences)s)

-- name: count_unsettled
-- Count articles that are pending or stale; stop at the limit.
SELECT count(*) FROM (SELECT FROM dedup.article_mark WHERE status = 'pending' OR stale LIMIT %(limit)s) AS found

-- name: decided_by
-- Return the later articles of all pairs whose earlier article is in `ids`.
SELECT m.article_id
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT article_id FROM dedup.match WHERE other_id = given.id OFFSET 0) AS m

-- name: delete_pairs
-- Delete the pairs whose later article is in `ids`.
DELETE FROM dedup.match WHERE article_id = ANY (%(ids)s)

-- name: drop_pairs
-- Drop similar pairs, except pinned pairs, best matches, and the later article's best pairs (at most `pairs`).
SELECT dedup.drop_pairs(%(articles)s, %(others)s, %(pairs)s, %(policy)s, %(earliest)s)

-- name: kept_for_best_match
-- Return the pairs whose later article is in `ids` and is the best match of the earlier article.
SELECT article_id, other_id FROM dedup.match WHERE article_id = ANY (%(ids)s) AND best_match

-- name: latest_taking_part
-- Return the latest time, in canonical order, of an article that takes part in comparisons.
SELECT max(dedup.canonical_time(published_at, added_at, %(policy)s, %(earliest)s))
FROM dedup.marked_article WHERE takes_part

-- name: row
-- Columns that settling needs, from an article `a`, its mark `k` and its fingerprint `f`.
a.id, dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id,
f.canonical, k.takes_part, k.status <> 'pending' AND NOT k.stale AS settled,
EXISTS (SELECT FROM dedup.pair_pin p WHERE p.source_id = a.source_id)
    OR EXISTS (SELECT FROM dedup.pair_pin p WHERE p.other_source_id = a.source_id) AS pinned,
f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.shingle_count, k.score, k.reason,
a.published_at

-- name: best_match_later
-- Return the originals of `ids` whose best match is a later article, with the later article's time and source_id.
SELECT m.other_id, dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (
    SELECT article_id, other_id FROM dedup.match WHERE other_id = given.id AND best_match OFFSET 0) AS m
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = m.article_id OFFSET 0) AS a

-- name: lowest_kept
-- Return per article the number of similar pairs with earlier articles, and the score of pair number `pairs`, or 0.
SELECT given.id, kept.pairs, kept.lowest
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (
    SELECT count(*), coalesce((array_agg(m.score ORDER BY m.score DESC))[%(pairs)s], 0)
    FROM (SELECT score FROM dedup.match WHERE article_id = given.id AND relation = 'similar' OFFSET 0) AS m
) AS kept (pairs, lowest)

-- name: make_stale
-- Make the settled articles among `ids` stale, and return these articles.
SELECT * FROM dedup.make_stale(%(ids)s)

-- name: named
-- Return fingerprinted articles by source_id.
SELECT ${row} FROM dedup.article a
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE a.source_id = ANY (%(names)s)

-- name: next_unsettled
-- Return the next pending or stale articles whose present text has a fingerprint. The index returns articles
-- almost in canonical order. Articles before the horizon are left out, because they are archived, not settled.
SELECT ${row} FROM dedup.article_mark k
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = k.id OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE (k.status = 'pending' OR k.stale)
  AND (dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
ORDER BY k.time, k.id LIMIT %(limit)s

-- name: pair_pins
-- Return the pinned pairs that contain one of these articles.
SELECT source_id, other_source_id, relation FROM dedup.pair_pin
WHERE source_id = ANY (%(names)s)
UNION
SELECT source_id, other_source_id, relation FROM dedup.pair_pin
WHERE other_source_id = ANY (%(names)s)

-- name: place
-- The position of `dedup.article_mark a` in the arrays of new marks. A join is avoided: soon after a load, statistics
-- still say that the table is empty, so the planner would choose to read the whole table.
array_position(%(ids)s::bigint[], a.id)

-- name: reach
-- Record the time up to which articles are being settled, and return the previously recorded time.
WITH before AS (SELECT settled_through FROM dedup.corpus_state)
UPDATE dedup.corpus_state s SET settled_through = greatest(s.settled_through, %(time)s)
FROM before RETURNING before.settled_through

-- name: sharing
-- Return fingerprinted articles that have one of these keys. `among`: only originals, only duplicates, or only articles
-- that do not take part in comparisons yet.
SELECT ${row}
FROM dedup.sharing(
    CASE %(among)s WHEN 'canonical' THEN '{true}' WHEN 'duplicate' THEN '{false}' ELSE '{true,false}' END::boolean[],
    %(keys)s) AS hit
-- OFFSET 0: look up each article by id. With outdated statistics the planner would begin with all articles that take
-- part in comparisons. No `*`: a database role that may only submit articles (a scraper) may not read texts.
CROSS JOIN LATERAL (
    SELECT id, source_id, published_at, added_at FROM dedup.article WHERE id = hit.article_id OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = hit.article_id OFFSET 0) AS k
CROSS JOIN LATERAL (SELECT * FROM dedup.fingerprint WHERE article_id = hit.article_id OFFSET 0) AS f
WHERE k.takes_part = (%(among)s <> 'waiting')
  AND (%(after)s::timestamptz IS NULL
       OR dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(after)s)
LIMIT %(limit)s

-- name: unsettled_among
-- Return the articles of `ids` that are pending or stale, have a fingerprint of their present text, and are not before
-- the horizon.
SELECT ${row} FROM dedup.article_mark k
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = k.id OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE k.id = ANY (%(ids)s) AND (k.status = 'pending' OR k.stale)
  AND (dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE

-- name: write_canonical
-- Write the marks of originals.
UPDATE dedup.article_mark a
SET status = CASE WHEN ${chosen_reason} IS NULL THEN 'unique' ELSE 'similar' END, stale = false,
    takes_part = true, duplicate_of = NULL, reason = ${chosen_reason},
    score = CASE WHEN ${chosen_reason} IS NOT NULL THEN ${chosen_score} END, limit_fired = NULL, marked_at = now()
WHERE a.id = ANY (%(ids)s)

-- name: write_duplicates
-- Write the marks of duplicates. With a stale mark, a new article takes no part in comparisons yet.
UPDATE dedup.article_mark a
SET status = 'duplicate', stale = %(stale)s, takes_part = a.takes_part OR NOT %(stale)s,
    duplicate_of = (%(originals)s::bigint[])[${place}], score = ${chosen_score},
    reason = ${chosen_reason}, limit_fired = NULL, marked_at = now()
WHERE a.id = ANY (%(ids)s)

-- name: write_flags
-- Write the canonical flags of fingerprints.
UPDATE dedup.fingerprint SET canonical = %(canonical)s WHERE article_id = ANY (%(ids)s)

-- name: write_pairs
-- Insert pairs into `match`, or replace the stored rows of these pairs.
INSERT INTO dedup.match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard,
                         containment, best_match)
SELECT article_id, other_id, CASE WHEN duplicate <> 0 THEN 'duplicate' ELSE 'similar' END,
       (%(names)s::text[])[rule + 1], score, sentence_jaccard, signature_jaccard, containment, best_match <> 0
FROM unnest(%(articles)s::bigint[], %(others)s::bigint[], %(duplicates)s::bigint[], %(rules)s::bigint[],
            %(scores)s::double precision[], %(sentences)s::double precision[],
            %(signatures)s::double precision[], %(containments)s::double precision[], %(best_match)s::bigint[])
     AS n (article_id, other_id, duplicate, rule, score, sentence_jaccard, signature_jaccard, containment, best_match)
ON CONFLICT (article_id, other_id) DO UPDATE
    SET relation = excluded.relation, rule = excluded.rule, score = excluded.score,
        sentence_jaccard = excluded.sentence_jaccard, signature_jaccard = excluded.signature_jaccard,
        containment = excluded.containment, best_match = excluded.best_match
