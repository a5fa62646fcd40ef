-- Articles found by the words that they share with a text. All statements read views that an analyst may read.

-- name: asked
-- Return an article with its text, its time if known, the original of its story, and its scope.
SELECT a.id, a.title, t.text, t.html, a.known_at, coalesce(a.duplicate_of, a.id), a.scope
FROM dedup.marked_article a
CROSS JOIN LATERAL (SELECT text, html FROM dedup.article_text WHERE article_id = a.id OFFSET 0) AS t
WHERE a.source_id = %(source_id)s

-- name: in_window
-- Count articles of a window of time, up to a maximum.
SELECT count(*) FROM (
    SELECT FROM dedup.marked_article a
    WHERE coalesce(a.published_at, a.added_at) >= %(since)s AND coalesce(a.published_at, a.added_at) < %(until)s
    LIMIT %(most)s) AS w

-- name: candidates
-- Return the articles with the highest sums of the weights of shared words; of equals the earliest. A "word" in which
-- Postgres sees no word would find every article. An undated article is in no window.
SELECT found.id
FROM (
    SELECT given.weight, plainto_tsquery('simple', ${folded}) AS query
    FROM unnest(string_to_array(%(words)s, ' '), %(weights)s::float8[]) AS given (word, weight)
    OFFSET 0
) AS w
CROSS JOIN LATERAL (
    SELECT a.id, a.known_at, a.source_id FROM dedup.marked_article a
    WHERE ${indexed} @@ ${query} AND (NOT %(stored)s OR a.scope IS NOT DISTINCT FROM %(scope)s)
      AND (%(since)s::timestamptz IS NULL OR (a.known_at >= %(since)s AND a.known_at < %(until)s))
    LIMIT %(each)s
) AS found
WHERE numnode(w.query) > 0 AND found.id <> ALL (%(without)s::bigint[])
GROUP BY found.id, found.known_at, found.source_id
ORDER BY sum(w.weight) DESC, found.known_at, found.source_id
LIMIT %(most)s

-- name: texts
-- Return articles with their texts; HTML is whole, since cut markup could not be parsed.
SELECT a.id, a.source_id, a.title, a.publication, a.known_at, coalesce(a.duplicate_of, a.id), t.html,
       CASE WHEN t.html THEN t.text ELSE left(t.text, %(characters)s) END
FROM dedup.marked_article a
CROSS JOIN LATERAL (SELECT text, html FROM dedup.article_text WHERE article_id = a.id OFFSET 0) AS t
WHERE a.id = ANY (%(ids)s)

-- name: story
-- Return the articles of a story, with their times if known.
SELECT a.id, a.known_at FROM dedup.marked_article a WHERE a.id = %(story)s
UNION ALL
(SELECT a.id, a.known_at FROM dedup.marked_article a WHERE a.duplicate_of = %(story)s ORDER BY a.id LIMIT %(most)s)

-- name: similar
-- Return the originals that are similar to an original.
SELECT other_id FROM dedup.similar_pair WHERE article_id = %(story)s LIMIT %(most)s
