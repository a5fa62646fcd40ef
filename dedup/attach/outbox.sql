-- Changes of attached tables: notes that name changed rows, and updates of the articles from the rows.

-- name: notes
-- Select the next notes in the order of their ids, with about `limit` rows in total.
SELECT o.id, o.attachment_id, o.amount, CASE WHEN o.base = 0 THEN '{}' ELSE o.source_ids END, nullif(o.base, 0) FROM (
    SELECT id, sum(amount) OVER (ORDER BY id) - amount AS before
    FROM (SELECT id, amount FROM dedup.outbox
          WHERE id > %(after)s AND id <= %(through)s AND attachment_id <> ALL (%(without)s::integer[])
            AND (base IS DISTINCT FROM 0 OR attachment_id <> ALL (%(resting)s::integer[]))
          ORDER BY id LIMIT %(limit)s) AS next
) AS chosen JOIN dedup.outbox o USING (id)
WHERE chosen.before < %(limit)s ORDER BY o.id

-- name: count
-- Count the noted changes that are not applied yet; a note of a whole table counts as one change.
SELECT coalesce(sum(amount), 0) FROM dedup.outbox WHERE attachment_id <> ALL (%(without)s::integer[])

-- name: forget
-- Delete notes.
DELETE FROM dedup.outbox WHERE id = ANY (%(ids)s)

-- name: whole
-- Return the ids of notes that ask for a comparison of a whole table, and whether a trigger made one of these notes
-- because the owner ran TRUNCATE.
SELECT coalesce(array_agg(id), '{}'), coalesce(bool_or(source_ids IS NULL AND base IS NULL), false)
FROM dedup.outbox WHERE attachment_id = %(id)s AND (source_ids IS NULL OR source_ids = '{}' OR base = 0)

-- name: last_note
-- Return the id of the last note.
SELECT coalesce(max(id), 0) FROM dedup.outbox

-- name: count_refused
-- Count the rows of an attachment that were read and cannot be articles.
SELECT count(*) FROM dedup.refused_row WHERE attachment_id = %(id)s

-- name: note_freed
-- Note again the rows that were refused because an article had their source_id, if this article is gone.
WITH freed AS (
    DELETE FROM dedup.refused_row r
    WHERE NOT EXISTS (SELECT FROM dedup.article WHERE source_id = r.source_id)
      AND octet_length(r.source_id) <= %(longest)s
    RETURNING attachment_id, source_id
)
INSERT INTO dedup.outbox (attachment_id, amount, source_ids)
SELECT attachment_id, count(*), array_agg(source_id) FROM freed GROUP BY attachment_id

-- name: original
-- Select the source_id of the original of article `a`, if the original is in the same table.
SELECT source_id FROM dedup.article WHERE id = a.duplicate_of AND attachment_id = a.attachment_id OFFSET 0

-- name: copied_rows
-- Select copied rows by their source_ids. For copied tables, this query replaces a call of the table's function.
(SELECT ${copied} FROM dedup.attached_copy c
 WHERE c.attachment_id = %(id)s AND c.source_id = ANY (${given}))

-- name: copied_page
-- Select the next copied rows in the order of their source_ids.
(SELECT ${copied} FROM dedup.attached_copy c
 WHERE c.attachment_id = %(id)s AND (%(after)s::text IS NULL OR c.source_id > %(after)s::text COLLATE "C")
 ORDER BY c.source_id LIMIT %(limit)s::integer)

-- name: copied_recent
-- Select the next copied rows in the order of their times of change.
(SELECT ${copied} FROM dedup.attached_copy c
 WHERE c.attachment_id = %(id)s
   AND CASE WHEN %(after)s::text IS NULL THEN c.changed_at >= %(since)s::timestamptz
            ELSE (c.changed_at, c.source_id) > (%(since)s::timestamptz, %(after)s::text COLLATE "C") END
 ORDER BY c.changed_at, c.source_id LIMIT %(limit)s::integer)

-- name: copied
-- Columns of a copied row, with the names and types of the columns that the functions of a table return.
c.source_id, sha256(convert_to(c.text, 'UTF8')) AS text_hash, c.title, c.url, c.publication, c.language,
c.published_at, c.byline, c.scope, c.status, c.original, c.score, c.kept, c.changed_at

-- name: titles
-- Select titles that may have tags or entities of HTML. `rows`: a call of a function made for the table.
SELECT DISTINCT title FROM ${rows} AS r WHERE title ~ '[<&]'

-- name: follow
-- Update articles from their rows. Return four counts: new, changed, deleted and refused articles. Return three arrays
-- about articles that must be settled again: ids, old revisions, new revisions. Last, return a source_id that several
-- rows share, or null. `rows`: a call of a function of the table. `titles`: titles with tags; `plain`: without tags.
WITH state AS MATERIALIZED (
    SELECT g.source_id, v.source_id IS NOT NULL AS present, a.id, a.attachment_id, a.revision,
           a.published_at AS was_published_at, v.text_hash, coalesce(h.plain, v.title) AS title, v.url, v.publication, v.language,
           v.published_at, ${kept} AS kept, ${byline} AS byline, ${scope} AS scope, v.times,
           octet_length(g.source_id) <= %(longest)s AS fits,
           (v.status, v.original, v.score) IS DISTINCT FROM (a.status, o.source_id, a.score) AS otherwise
    FROM (SELECT DISTINCT given.id COLLATE "C" AS source_id FROM unnest(%(source_ids)s::text[]) AS given (id)) AS g
    LEFT JOIN (
        SELECT DISTINCT ON (source_id) *, count(*) OVER (PARTITION BY source_id) AS times FROM ${rows} AS r) AS v ON v.source_id = g.source_id
    LEFT JOIN unnest(%(titles)s::text[], %(plain)s::text[]) AS h (title, plain) ON h.title = v.title
    LEFT JOIN LATERAL (
        SELECT own.*, k.status, k.duplicate_of, k.score
        FROM (SELECT id, attachment_id, revision, published_at
              FROM dedup.article WHERE source_id = g.source_id OFFSET 0) AS own
        CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = own.id OFFSET 0) AS k
    ) AS a ON true
    LEFT JOIN LATERAL (${original}) AS o ON true
), marks AS (
    INSERT INTO dedup.mark_change (attachment_id, source_id)
    SELECT %(id)s::integer, s.source_id FROM state s
    WHERE %(marked)s AND s.present AND s.otherwise AND s.attachment_id = %(id)s
), refused AS (
    SELECT s.source_id FROM state s
    WHERE s.present AND (NOT s.fits OR s.id IS NOT NULL AND s.attachment_id IS DISTINCT FROM %(id)s)
), kept AS (
    INSERT INTO dedup.refused_row (attachment_id, source_id) SELECT %(id)s::integer, source_id FROM refused
    ON CONFLICT DO NOTHING
), inserted AS (
    INSERT INTO dedup.article (source_id, attachment_id, text_hash, title, url, publication, language, published_at,
                               kept, byline, scope)
    SELECT s.source_id, %(id)s::integer, s.text_hash, s.title, s.url, s.publication, s.language, s.published_at, s.kept,
           s.byline, s.scope
    FROM state s
    WHERE s.present AND s.id IS NULL AND s.fits ORDER BY s.source_id
    ON CONFLICT (source_id) DO NOTHING RETURNING 1
), updated AS (
    UPDATE dedup.article a
    SET (text_hash, title, url, publication, language, published_at, kept, byline, scope)
        = ROW (s.text_hash, s.title, s.url, s.publication, s.language, s.published_at, s.kept, s.byline, s.scope)
    FROM state s
    WHERE a.id = s.id AND s.present AND a.attachment_id = %(id)s
      AND (a.text_hash, a.title, a.url, a.publication, a.language, a.published_at, a.kept, a.byline, a.scope)
          IS DISTINCT FROM (s.text_hash, s.title, s.url, s.publication, s.language, s.published_at, s.kept, s.byline,
                            s.scope)
    RETURNING a.id, s.revision AS before, a.revision AS after,
        (s.revision, s.was_published_at) IS DISTINCT FROM (a.revision, a.published_at) AS touches
), deleted AS (
    DELETE FROM dedup.article a USING state s
    WHERE a.id = s.id AND NOT s.present AND a.attachment_id = %(id)s RETURNING 1
), touching AS (
    SELECT id, before, after FROM updated WHERE touches
)
SELECT (SELECT count(*) FROM inserted), (SELECT count(*) FROM updated), (SELECT count(*) FROM deleted),
       (SELECT count(*) FROM refused),
       ARRAY(SELECT id FROM touching ORDER BY id), ARRAY(SELECT before FROM touching ORDER BY id),
       ARRAY(SELECT after FROM touching ORDER BY id),
       (SELECT min(source_id) FROM state WHERE times > 1)

-- name: edited
-- Record edits of articles in one call. During a sync, the trigger on `article` does not record them.
SELECT dedup.articles_edited(%(ids)s::bigint[], %(before)s::integer[], %(after)s::integer[])

-- name: changed
-- Read the next page of rows, with `page`, a call of a function of the table. Return five values: 1. an array of rows
-- that differ from their articles, each with the difference in words; 2. the source_id of the last row; 3. the time of
-- change of the last row; 4. the latest time of change; 5. a source_id that several rows share, or null.
WITH page AS MATERIALIZED (
    SELECT row_number() OVER () AS place, ${changed_at} AS at, ${kept} AS keeps, ${byline} AS wrote, ${scope} AS within, v.*
    FROM ${page} AS v
), differing AS (
    SELECT p.place, p.source_id,
           CASE WHEN a.id IS NULL THEN 'the row has no article'
                WHEN a.attachment_id IS DISTINCT FROM %(id)s
                    OR (a.text_hash, a.title, a.url, a.publication, a.language, a.published_at, a.kept, a.byline, a.scope)
                       IS DISTINCT FROM (p.text_hash, coalesce(h.plain, p.title), p.url, p.publication, p.language,
                                         p.published_at, p.keeps, p.wrote, p.within)
                THEN 'the row differs from its article'
                WHEN %(marked)s AND (p.status, p.original, p.score) IS DISTINCT FROM (a.status, o.source_id, a.score)
                THEN 'the row lacks the marks of its article' END AS matter
    FROM page p
    LEFT JOIN unnest(%(titles)s::text[], %(plain)s::text[]) AS h (title, plain) ON h.title = p.title
    LEFT JOIN LATERAL (
        SELECT own.*, k.status, k.duplicate_of, k.score
        FROM (SELECT * FROM dedup.article WHERE source_id = p.source_id OFFSET 0) AS own
        CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = own.id OFFSET 0) AS k) AS a ON true
    LEFT JOIN LATERAL (${original}) AS o ON true
    WHERE NOT EXISTS (SELECT FROM dedup.refused_row r WHERE r.attachment_id = %(id)s AND r.source_id = p.source_id)
)
SELECT (SELECT array_agg(ARRAY[source_id, matter] ORDER BY place) FROM differing WHERE matter IS NOT NULL),
       (SELECT source_id FROM page ORDER BY place DESC LIMIT 1),
       (SELECT at::text FROM page ORDER BY place DESC LIMIT 1), (SELECT max(at)::text FROM page),
       (SELECT source_id FROM page GROUP BY source_id HAVING count(*) > 1 LIMIT 1)

-- name: gone
-- Return the next articles that have no row, as five values like the query `changed`. `rows`: SQL that selects rows.
WITH page AS MATERIALIZED (
    SELECT source_id FROM dedup.article
    WHERE source_id > %(first)s AND source_id < %(end)s AND attachment_id = %(id)s
    ORDER BY source_id LIMIT %(limit)s
)
SELECT (SELECT array_agg(ARRAY[p.source_id, 'the article has no row'] ORDER BY p.source_id)
        FROM page p LEFT JOIN ${rows} AS v USING (source_id) WHERE v.source_id IS NULL),
       (SELECT max(source_id) FROM page), NULL, NULL, NULL

-- name: note
-- Store source_ids of rows as notes; return the ids of the notes. `most`: maximum number of source_ids per note.
INSERT INTO dedup.outbox (attachment_id, amount, source_ids)
SELECT %(id)s::integer, count(*), array_agg(s.source_id)
FROM (SELECT g.source_id, row_number() OVER () / %(most)s AS part
      FROM unnest(%(source_ids)s::text[]) AS g (source_id)) AS s
GROUP BY s.part
RETURNING id

-- name: note_whole
-- Add notes that ask for a comparison of every attached table.
INSERT INTO dedup.outbox (attachment_id, source_ids) SELECT id, '{}' FROM dedup.attachment WHERE NOT leaving

-- name: noted
-- Select the source_ids of rows that wait to be read or to get marks; null or an empty array: the whole table waits.
SELECT CASE WHEN base IS NULL THEN source_ids END FROM dedup.outbox WHERE attachment_id = %(id)s
UNION ALL
SELECT ARRAY[source_id] FROM dedup.mark_change WHERE attachment_id = %(id)s AND failed IS NULL

-- name: delete
-- Delete articles of an attachment by their source_ids.
DELETE FROM dedup.article WHERE source_id = ANY (%(source_ids)s) AND attachment_id = %(id)s

-- name: count_articles
-- Count the articles of an attachment.
SELECT count(*) FROM dedup.article
WHERE source_id > %(first)s AND source_id < %(end)s AND attachment_id = %(id)s

-- name: delete_some
-- Delete the first articles of an attachment, at most `limit`.
DELETE FROM dedup.article WHERE id = ANY (ARRAY(
    SELECT id FROM dedup.article
    WHERE source_id > %(first)s AND source_id < %(end)s AND attachment_id = %(id)s
    ORDER BY source_id LIMIT %(limit)s))
