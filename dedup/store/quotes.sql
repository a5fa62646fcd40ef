-- Quotes: sentences that several outlets share.

-- name: schedule
-- Schedule workers to store quotes and alterations (changed sentences).
INSERT INTO dedup.sentence_schedule (minutes, outlets) VALUES (%(minutes)s, %(outlets)s)

-- name: unschedule
-- Delete the schedule.
DELETE FROM dedup.sentence_schedule

-- name: due
-- If a count is due, record that it begins, and return the minimum number of outlets of a quote.
UPDATE dedup.sentence_schedule SET begun_at = now()
WHERE begun_at < now() - make_interval(mins => minutes) RETURNING outlets

-- name: count
-- Return the sentences that at least `outlets` outlets share, the most outlets first, each with its earliest article
-- (or an article that may be the earliest).
-- The first pass over all fingerprints finds sentences of enough articles; the second pass reads these articles.
WITH frequent AS MATERIALIZED (
    SELECT sentence_hash FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
    GROUP BY sentence_hash HAVING count(*) >= %(outlets)s
), carrying AS (  -- `later`: true if another article with the sentence is known to be earlier
    SELECT s.sentence_hash, a.id, a.publication, coalesce(a.duplicate_of, a.id) AS story, a.source_id,
           (a.known_at > min(a.latest) OVER (PARTITION BY s.sentence_hash)) IS TRUE AS later
    FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
    JOIN frequent USING (sentence_hash)
    JOIN (SELECT *, CASE WHEN known_at <> date_trunc('day', known_at, 'UTC') THEN known_at
                         ELSE known_at + interval '24 hours' - interval '1 microsecond' END AS latest
          FROM dedup.marked_article) AS a
      ON a.id = f.article_id AND a.revision = f.revision
)
SELECT sentence_hash, count(DISTINCT publication)::integer, count(DISTINCT story)::integer, count(*)::integer,
       (array_agg(id ORDER BY later, source_id))[1], count(*) FILTER (WHERE NOT later) = 1
FROM carrying GROUP BY sentence_hash HAVING count(DISTINCT publication) >= %(outlets)s
ORDER BY 2 DESC, 3 DESC, 1 LIMIT %(limit)s

-- name: forget_all
-- Delete all quotes.
DELETE FROM dedup.quoted_sentence

-- name: keep
-- Store quotes.
INSERT INTO dedup.quoted_sentence (sentence_hash, outlets, stories, articles, article_id, first_known, revision, words)
SELECT * FROM unnest(%(sentences)s::bigint[], %(outlets)s::integer[], %(stories)s::integer[], %(articles)s::integer[],
                     %(carriers)s::bigint[], %(firsts)s::boolean[], %(revisions)s::integer[], %(words)s::text[])

-- name: forget_edited
-- Delete quotes whose article was edited or deleted while the quotes were counted.
DELETE FROM dedup.quoted_sentence q
WHERE NOT EXISTS (SELECT FROM dedup.article a WHERE a.id = q.article_id AND a.revision = q.revision)
