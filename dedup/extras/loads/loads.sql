-- List loads and feeds, and remove the articles that they brought.

-- name: list
-- Return the newest loads, and how many of their new articles are still stored.
SELECT l.id, l.source, l.feed_id IS NOT NULL, l.loaded_by, l.loaded_at,
       coalesce((SELECT sum(upper(r.part) - lower(r.part)) FROM unnest(i.new) AS r (part)), 0)::bigint,
       coalesce((SELECT sum(upper(r.part) - lower(r.part)) FROM unnest(i.known) AS r (part)), 0)::bigint,
       coalesce((
           SELECT sum(s.stored)
           FROM unnest(i.new) AS r (part)
           CROSS JOIN LATERAL (
               SELECT count(*) AS stored FROM dedup.article
               WHERE id >= lower(r.part) AND id < upper(r.part) OFFSET 0) AS s), 0)::bigint,
       l.removed_by, l.removed_at
FROM (SELECT * FROM dedup.load ORDER BY id DESC LIMIT %(limit)s) AS l
CROSS JOIN LATERAL (
    SELECT range_agg(r.part) FILTER (WHERE p.kind = 'new') AS new,
           range_agg(r.part) FILTER (WHERE p.kind = 'known')
           - coalesce(range_agg(r.part) FILTER (WHERE p.kind = 'new'), '{}') AS known
    FROM dedup.load_part p CROSS JOIN LATERAL unnest(p.ids) AS r (part)
    WHERE p.load_id = l.id) AS i
ORDER BY l.id DESC

-- name: feeds
-- Return every feed, and how many articles that it brought are still stored. Articles of forgotten entries count, too.
SELECT f.address, f.answered_at, (
    SELECT count(*)
    FROM (
        SELECT a.id FROM dedup.feed_entry e JOIN dedup.article a USING (source_id)
        WHERE e.feed_id = f.id AND e.brought
        UNION
        SELECT a.id
        FROM dedup.load_part p
        CROSS JOIN LATERAL unnest(p.ids) AS r (part)
        CROSS JOIN LATERAL (
            SELECT id FROM dedup.article WHERE id >= lower(r.part) AND id < upper(r.part) OFFSET 0) AS a
        WHERE p.feed_id = f.id
    ) AS brought)
FROM dedup.feed f ORDER BY f.address

-- name: begin_feed
-- Return the load that stands for a feed to be removed, and the feed. Use the load of a stopped removal, or make a load.
WITH asked AS (SELECT id, address FROM dedup.feed WHERE address = %(address)s),
stopped AS (
    SELECT l.id, l.feed_id FROM dedup.load l JOIN asked ON asked.id = l.feed_id WHERE l.removed_at IS NULL LIMIT 1),
made AS (
    INSERT INTO dedup.load (source, feed_id) SELECT address, id FROM asked WHERE NOT EXISTS (SELECT FROM stopped)
    RETURNING id, feed_id)
SELECT * FROM stopped UNION ALL SELECT * FROM made

-- name: note_feed
-- Put all articles that a feed brought into a load. Parts of forgotten entries move from the feed to the load.
WITH moved AS (UPDATE dedup.load_part SET load_id = %(load)s, feed_id = NULL WHERE feed_id = %(feed)s)
INSERT INTO dedup.load_part (load_id, kind, ids)
SELECT %(load)s, 'new', range_agg(int8range(a.id, a.id, '[]'))
FROM dedup.feed_entry e JOIN dedup.article a USING (source_id)
WHERE e.feed_id = %(feed)s AND e.brought HAVING count(*) > 0

-- name: find
-- Return the loads with these numbers, their feeds, and when they were removed.
SELECT id, feed_id, removed_at FROM dedup.load WHERE id = ANY (%(loads)s::integer[])

-- name: spans
-- Return all article ids of these loads as ascending ranges: the first id, and the id after the last.
SELECT lower(r.part), upper(r.part)
FROM (
    SELECT range_agg(i.part) AS ids
    FROM dedup.load_part p CROSS JOIN LATERAL unnest(p.ids) AS i (part)
    WHERE p.load_id = ANY (%(loads)s::integer[])
) AS found
CROSS JOIN LATERAL unnest(found.ids) AS r (part)

-- name: outcomes
-- Return for each article in ranges of ids `articles` (remove it), or the reason why it stays. `older`: neither these
-- loads nor removed loads brought it. `elsewhere`: another load or feed had it too. `edited`: somebody else changed its
-- text; edits by a feed that brought the article do not count.
SELECT a.id, CASE
    WHEN NOT EXISTS (
        SELECT FROM dedup.load_part p JOIN dedup.load l ON l.id = p.load_id
        WHERE p.ids @> a.id AND p.kind = 'new' AND (l.id = ANY (%(loads)s::integer[]) OR l.removed_at IS NOT NULL)
    ) THEN 'older'
    WHEN EXISTS (
        SELECT FROM dedup.load_part p LEFT JOIN dedup.load l ON l.id = p.load_id
        WHERE p.ids @> a.id AND l.removed_at IS NULL
          AND coalesce(p.load_id <> ALL (%(loads)s::integer[]), p.feed_id <> ALL (%(feeds)s::integer[]))
    ) OR EXISTS (
        SELECT FROM dedup.feed_entry e
        WHERE e.source_id = a.source_id AND e.feed_id <> ALL (%(feeds)s::integer[])
          AND NOT EXISTS (  -- a removed feed does not count
              SELECT FROM dedup.load_part p JOIN dedup.load l ON l.id = p.load_id
              WHERE p.ids @> a.id AND l.feed_id = e.feed_id AND l.removed_at IS NOT NULL)
    ) THEN 'elsewhere'
    WHEN a.revision <> (SELECT count(*) FROM dedup.load_part p WHERE p.ids @> a.id AND p.kind = 'edited')
         AND NOT EXISTS (
             SELECT FROM dedup.load_part p JOIN dedup.load l ON l.id = p.load_id
             WHERE p.ids @> a.id AND l.id = ANY (%(loads)s::integer[]) AND l.feed_id IS NOT NULL)
    THEN 'edited'
    ELSE 'articles' END
FROM unnest(%(first)s::bigint[], %(end)s::bigint[]) AS r (first, past)
CROSS JOIN LATERAL (
    SELECT id, source_id, revision FROM dedup.article
    WHERE id >= r.first AND id < r.past OFFSET 0) AS a

-- name: depending
-- Return the articles whose marks depend on given articles; true for a copy of a given article.
SELECT DISTINCT d.id, d.copy
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (
    SELECT * FROM (SELECT id, true FROM dedup.article_mark WHERE duplicate_of = given.id OFFSET 0) AS copies
    UNION ALL
    SELECT * FROM (SELECT other_id, false FROM dedup.match WHERE article_id = given.id OFFSET 0) AS earlier
    UNION ALL
    SELECT * FROM (SELECT article_id, false FROM dedup.match WHERE other_id = given.id OFFSET 0) AS later
) AS d (id, copy)

-- name: delete
-- Delete articles. Triggers make marks that depend on these articles pending or stale.
DELETE FROM dedup.article WHERE id = ANY (%(ids)s)

-- name: end
-- Store that these loads are removed.
UPDATE dedup.load SET removed_by = session_user, removed_at = now()
WHERE id = ANY (%(loads)s::integer[]) AND removed_at IS NULL
