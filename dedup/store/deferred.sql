-- Articles that wait until someone can store them.

-- name: add
-- Keep an article; takes no lock that anyone else could hold.
INSERT INTO dedup.deferred_article (source_id, text, title, url, publication, published_at, added_at, language)
VALUES (%(source_id)s, %(text)s, %(title)s, %(url)s, %(publication)s, %(published_at)s,
        coalesce(%(added_at)s, now()), %(language)s)

-- name: attached
-- Those of some articles that are rows of attached tables.
SELECT source_id FROM dedup.article WHERE source_id = ANY (%(source_ids)s) AND attachment_id IS NOT NULL

-- name: any_of
-- Whether a version of an article waits.
SELECT EXISTS (SELECT FROM dedup.deferred_article WHERE source_id = %(source_id)s)

-- name: count
-- How many versions of articles wait.
SELECT count(*) FROM dedup.deferred_article

-- name: waiting
-- Some articles that wait, those that came first.
SELECT source_id FROM dedup.deferred_article GROUP BY source_id ORDER BY min(id) LIMIT %(limit)s

-- name: take
-- Take all waiting versions of some articles, in the order in which they came.
WITH taken AS (DELETE FROM dedup.deferred_article WHERE source_id = ANY (%(source_ids)s) RETURNING *)
SELECT source_id, text, title, url, publication, published_at, added_at, language FROM taken ORDER BY id

-- name: delete
-- Forget all waiting versions of some articles.
DELETE FROM dedup.deferred_article WHERE source_id = ANY (%(source_ids)s)
