-- Articles.

-- name: incoming
-- The given articles as rows, made from one array per field. Texts are sent in binary format: in the text format,
-- psycopg must escape every backslash, which takes 80 bytes of memory for each.
unnest(%(source_id)b::text[], %(text)b::text[], %(title)b::text[], %(url)b::text[], %(publication)b::text[],
       %(published_at)s::timestamptz[], %(added_at)s::timestamptz[], %(language)b::text[], %(byline)b::text[],
       %(kept)b::text[]::jsonb[], %(scope)b::text[])
    AS i (source_id, text, title, url, publication, published_at, added_at, language, byline, kept, scope)

-- name: insert
-- Store the articles whose source_ids are new; return their ids.
INSERT INTO dedup.article (source_id, text, title, url, publication, published_at, added_at, language, byline, kept,
                           scope)
SELECT source_id, text, title, url, publication, published_at, coalesce(added_at, now()), language, byline, kept, scope
FROM ${incoming} ORDER BY source_id
ON CONFLICT (source_id) DO NOTHING RETURNING id

-- name: stored
-- Return the incoming articles that are stored already, and whether they change the stored ones. A null field changes
-- nothing.
SELECT a.id, a.revision,
       i.text IS NOT NULL AND i.text IS DISTINCT FROM a.text
       OR i.title IS NOT NULL AND i.title IS DISTINCT FROM a.title
       OR i.url IS NOT NULL AND i.url IS DISTINCT FROM a.url
       OR i.publication IS NOT NULL AND i.publication IS DISTINCT FROM a.publication
       OR i.published_at IS NOT NULL AND i.published_at IS DISTINCT FROM a.published_at
       OR i.added_at IS NOT NULL AND i.added_at IS DISTINCT FROM a.added_at
       OR i.language IS NOT NULL AND i.language IS DISTINCT FROM a.language
       OR i.byline IS NOT NULL AND i.byline IS DISTINCT FROM a.byline
       OR i.kept IS NOT NULL AND i.kept IS DISTINCT FROM a.kept
       OR i.scope IS NOT NULL AND i.scope IS DISTINCT FROM a.scope
FROM ${incoming} JOIN dedup.article a USING (source_id)

-- name: update
-- Update stored articles, and return their revisions; a field that is null keeps its stored value.
UPDATE dedup.article a
SET text = coalesce(i.text, a.text), title = coalesce(i.title, a.title), url = coalesce(i.url, a.url),
    publication = coalesce(i.publication, a.publication), published_at = coalesce(i.published_at, a.published_at),
    added_at = coalesce(i.added_at, a.added_at), language = coalesce(i.language, a.language),
    byline = coalesce(i.byline, a.byline), kept = coalesce(i.kept, a.kept), scope = coalesce(i.scope, a.scope)
FROM ${incoming}
WHERE i.source_id = a.source_id AND a.id = ANY (%(ids)s)
RETURNING a.id, a.revision

-- name: count
-- Count all articles.
SELECT count(*) FROM dedup.article

-- name: find
-- Return an article without its text.
SELECT a.id, a.revision, k.status, k.stale, a.language, a.title, a.scope
FROM dedup.article a CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
WHERE a.source_id = %(source_id)s

-- name: explained
-- Return an article with its text and mark, for `dedup explain`.
SELECT a.title, a.publication, a.published_at, a.added_at, a.language, a.scope, ${text}, ${html}, k.status, k.stale,
       k.archived, (SELECT o.source_id FROM dedup.article o WHERE o.id = k.duplicate_of),
       (SELECT c.phrase FROM dedup.correction c WHERE c.article_id = a.id)
FROM dedup.article a CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = a.id OFFSET 0) AS k
WHERE a.source_id = %(source_id)s

-- name: texts
-- Return texts to fingerprint. Leave out articles whose row of an attached table changed since the last sync.
SELECT a.id, a.revision, a.language, a.title, b.text, a.byline, a.scope, ${html}
FROM dedup.article a CROSS JOIN LATERAL (SELECT ${text} AS text OFFSET 0) AS b
WHERE a.id = ANY (%(ids)s) AND (a.text_hash IS NULL OR a.text_hash = sha256(convert_to(b.text, 'UTF8')))

-- name: partners
-- Return articles that are in a stored pair with an article of `source_ids`. OFFSET 0 forces index lookups:
-- with outdated statistics the planner might join whole tables.
SELECT DISTINCT m.id
FROM unnest(%(source_ids)s::text[]) AS given (source_id)
CROSS JOIN LATERAL (
    SELECT id FROM dedup.article WHERE source_id = given.source_id COLLATE "C" OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT * FROM (SELECT other_id FROM dedup.match WHERE article_id = a.id OFFSET 0) AS earlier
    UNION ALL
    SELECT * FROM (SELECT article_id FROM dedup.match WHERE other_id = a.id OFFSET 0) AS later
) AS m (id)

-- name: note_limit
-- Record which safety limit stopped the settling of articles.
UPDATE dedup.article_mark SET limit_fired = %(limit)s WHERE id = ANY (%(ids)s) AND (status = 'pending' OR stale)

-- name: withdraw
-- Exclude articles from comparisons until the articles are settled again. Marks that depend on them become stale.
SELECT dedup.withdraw(%(ids)s::bigint[])

-- name: remove_pairs
-- Remove all pairs of articles, and make the other article of each pair stale.
SELECT dedup.remove_pairs(%(ids)s::bigint[])

-- name: delete
-- Delete articles. Triggers make their copies pending, and the other articles of their pairs stale.
DELETE FROM dedup.article WHERE source_id = ANY (%(source_ids)s) RETURNING source_id

-- name: names
-- Return the source_ids of articles.
SELECT id, source_id FROM dedup.article WHERE id = ANY (%(ids)s)

-- name: newest
-- Return articles, the newest first. `fields`: SQL for the columns of an article.
SELECT ${fields} FROM dedup.article a WHERE a.id = ANY (%(ids)s)
ORDER BY coalesce(a.published_at, a.added_at) DESC, a.source_id

-- name: newest_ids
-- Return the ids of the newest articles that have not failed.
SELECT id FROM dedup.marked_article WHERE status <> 'failed'
ORDER BY coalesce(published_at, added_at) DESC, source_id LIMIT %(count)s

-- name: analyze
-- Update the planner's statistics of `tables`.
ANALYZE ${tables}

-- name: defer
-- Store a version of an article as deferred, without waiting for a lock.
INSERT INTO dedup.deferred_article (source_id, text, title, url, publication, published_at, added_at, language, byline,
                                    kept, scope)
VALUES (%(source_id)s, %(text)s, %(title)s, %(url)s, %(publication)s, %(published_at)s,
        coalesce(%(added_at)s, now()), %(language)s, %(byline)s, %(kept)s::jsonb,
        %(scope)s)

-- name: attached
-- Return the articles of `source_ids` that are rows of attached tables.
SELECT source_id FROM dedup.article WHERE source_id = ANY (%(source_ids)s) AND attachment_id IS NOT NULL

-- name: any_deferred
-- Return whether a version of an article is deferred.
SELECT EXISTS (SELECT FROM dedup.deferred_article WHERE source_id = %(source_id)s)

-- name: count_deferred
-- Count deferred versions of articles.
SELECT count(*) FROM dedup.deferred_article

-- name: deferred
-- Return the source_ids of deferred articles, in the order in which they were deferred.
SELECT source_id FROM dedup.deferred_article GROUP BY source_id ORDER BY min(id) LIMIT %(limit)s

-- name: take_deferred
-- Delete all deferred versions of articles, and return them in the order in which they came.
WITH taken AS (DELETE FROM dedup.deferred_article WHERE source_id = ANY (%(source_ids)s) RETURNING *)
SELECT source_id, text, title, url, publication, published_at, added_at, language, byline, kept, scope FROM taken
ORDER BY id

-- name: forget_deferred
-- Delete all deferred versions of articles.
DELETE FROM dedup.deferred_article WHERE source_id = ANY (%(source_ids)s)
