-- Copies of rows of attached tables. Sessions of the table owners read the original rows.

-- name: turn
-- Try to become the only session that copies rows of a table or writes its marks, until the end of the transaction;
-- return false if a different session does so already.
SELECT pg_try_advisory_xact_lock(hashtext('dedup.attached_copy'), %(id)s)

-- name: wait_for_turn
-- Wait until this session is the only one that copies rows of a table or writes its marks.
SELECT pg_advisory_xact_lock(hashtext('dedup.attached_copy'), %(id)s)

-- name: rows
-- Select rows as texts, in a session of the owner. `rows`: a call of a function that belongs to the owner.
SELECT r.source_id, left(${text}, %(most)s), r.title, r.url, r.publication, r.language, r.published_at::text,
       ${byline}, ${scope}, r.status, r.original, r.score::text, ${kept}, ${changed_at}
FROM ${rows} AS r

-- name: limit_time
-- Limit the time of the next statement, in a session of the owner. SET is used because it calls no function: the
-- owner could have made a function with the name of set_config.
SET statement_timeout = ${milliseconds}

-- name: keep
-- Store copied rows. Each parameter for a column is an array of texts.
INSERT INTO dedup.attached_copy AS c
    (attachment_id, source_id, text, title, url, publication, language, published_at, byline, scope, status, original,
     score, kept, changed_at)
SELECT %(id)s::integer, g.source_id, g.text, g.title, g.url, g.publication, g.language, g.published_at::timestamptz,
       g.byline, g.scope, g.status, g.original, g.score::double precision, g.kept::jsonb, g.changed_at::timestamptz
FROM unnest(%(source_id)s::text[], %(text)s::text[], %(title)s::text[], %(url)s::text[], %(publication)s::text[],
            %(language)s::text[], %(published_at)s::text[], %(byline)s::text[], %(scope)s::text[],
            %(status)s::text[],
            %(original)s::text[], %(score)s::text[], %(kept)s::text[], %(changed_at)s::text[])
    AS g (source_id, text, title, url, publication, language, published_at, byline, scope, status, original, score,
          kept, changed_at)
ON CONFLICT (attachment_id, source_id) DO UPDATE
SET (text, title, url, publication, language, published_at, byline, scope, status, original, score, kept, changed_at)
    = ROW (EXCLUDED.text, EXCLUDED.title, EXCLUDED.url, EXCLUDED.publication, EXCLUDED.language,
           EXCLUDED.published_at, EXCLUDED.byline, EXCLUDED.scope, EXCLUDED.status, EXCLUDED.original, EXCLUDED.score,
           EXCLUDED.kept, EXCLUDED.changed_at)
WHERE (c.text, c.title, c.url, c.publication, c.language, c.published_at, c.byline, c.scope, c.status, c.original,
       c.score, c.kept, c.changed_at)
      IS DISTINCT FROM
      (EXCLUDED.text, EXCLUDED.title, EXCLUDED.url, EXCLUDED.publication, EXCLUDED.language, EXCLUDED.published_at,
       EXCLUDED.byline, EXCLUDED.scope, EXCLUDED.status, EXCLUDED.original, EXCLUDED.score, EXCLUDED.kept,
       EXCLUDED.changed_at)

-- name: drop_gone
-- Delete the copies of rows that were requested but not found in the table.
DELETE FROM dedup.attached_copy
WHERE attachment_id = %(id)s AND source_id = ANY (%(asked)s::text[]) AND source_id <> ALL (%(found)s::text[])

-- name: copied_ids
-- Select the source_ids of the next copied rows, in order.
SELECT source_id FROM dedup.attached_copy
WHERE attachment_id = %(id)s AND source_id > %(after)s ORDER BY source_id LIMIT %(limit)s

-- name: written
-- Update the marks in the copies, after the marks were written into the table. `held`: rows that got no marks.
UPDATE dedup.attached_copy c SET (status, original, score) = ROW (g.status, g.original, g.score)
FROM unnest(%(ids)s::text[], %(statuses)s::text[], %(originals)s::text[], %(scores)s::text[]::double precision[])
    AS g (id, status, original, score)
WHERE c.attachment_id = %(id)s AND c.source_id = g.id AND g.id <> ALL (%(held)s::text[])

-- name: forget
-- Delete all copied rows of a table.
DELETE FROM dedup.attached_copy WHERE attachment_id = %(id)s
