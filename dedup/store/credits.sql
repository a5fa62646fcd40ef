-- Credits of articles, and the list of agencies.

-- name: agencies
-- Return the list of agencies.
SELECT id, name, spellings, places FROM dedup.agency ORDER BY name

-- name: counted
-- Return the list of agencies with the number of articles that credit each agency, the highest number first.
SELECT g.name, g.spellings, g.places, count(c.article_id)
FROM dedup.agency g LEFT JOIN dedup.credit c ON c.agency_id = g.id
GROUP BY g.id ORDER BY count(c.article_id) DESC, g.name

-- name: add
-- Add an agency, or change its spellings and places.
INSERT INTO dedup.agency (name, spellings, places) VALUES (%(name)s, %(spellings)s, %(places)s)
ON CONFLICT (name) DO UPDATE SET spellings = excluded.spellings, places = excluded.places

-- name: remove
-- Remove an agency from the list.
DELETE FROM dedup.agency WHERE name = %(name)s

-- name: phrases
-- Return the phrases that announce corrections.
SELECT phrase FROM dedup.correction_phrase ORDER BY phrase

-- name: stored
-- Return the stored credits of articles, and their corrections, which have a phrase and no agency. OFFSET 0 forces index
-- lookups, because outdated statistics of a growing table caused full scans.
SELECT c.article_id, c.agency_id, c.place, NULL FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.credit WHERE article_id = given.id OFFSET 0) AS c
UNION ALL
SELECT c.article_id, NULL, c.place, c.phrase FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.correction WHERE article_id = given.id OFFSET 0) AS c
ORDER BY 1, 2

-- name: delete
-- Delete the credits of articles. OFFSET 0 forces index lookups, as in `stored`.
DELETE FROM dedup.credit WHERE ctid = ANY (ARRAY(
    SELECT c.place FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (SELECT ctid FROM dedup.credit WHERE article_id = given.id OFFSET 0) AS c (place)))

-- name: delete_corrections
-- Delete the corrections of articles. OFFSET 0 forces index lookups, as in `stored`.
DELETE FROM dedup.correction WHERE ctid = ANY (ARRAY(
    SELECT c.place FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (SELECT ctid FROM dedup.correction WHERE article_id = given.id OFFSET 0) AS c (place)))

-- name: insert_corrections
-- Store the corrections of articles.
INSERT INTO dedup.correction (article_id, phrase, place)
SELECT * FROM unnest(%(ids)s::bigint[], %(phrases)s::text[], %(places)s::text[])

-- name: take_unread
-- Return at most `limit` articles whose credits wait to be read, and delete these articles from the waiting list.
DELETE FROM dedup.credit_unread
WHERE article_id IN (SELECT article_id FROM dedup.credit_unread ORDER BY article_id LIMIT %(limit)s)
RETURNING article_id

-- name: failed
-- Return the articles of `ids` that failed or are gone.
SELECT given.id FROM unnest(%(ids)s::bigint[]) AS given (id)
LEFT JOIN LATERAL (SELECT status FROM dedup.article_mark WHERE id = given.id OFFSET 0) AS k ON true
WHERE k.status IS NULL OR k.status = 'failed'

-- name: unread_among
-- Return the articles of `ids` whose credits wait to be read.
SELECT article_id FROM dedup.credit_unread WHERE article_id = ANY (%(ids)s)

-- name: note_unread
-- Record articles whose credits must be read.
INSERT INTO dedup.credit_unread SELECT unnest(%(ids)s::bigint[]) ON CONFLICT DO NOTHING

-- name: counted_phrases
-- Return the phrases with the number of articles that announce a correction by each, the highest number first.
SELECT p.phrase, count(c.article_id)
FROM dedup.correction_phrase p LEFT JOIN dedup.correction c ON c.phrase = p.phrase
GROUP BY p.phrase ORDER BY count(c.article_id) DESC, p.phrase

-- name: add_phrase
-- Add a phrase.
INSERT INTO dedup.correction_phrase (phrase) VALUES (%(phrase)s) ON CONFLICT DO NOTHING

-- name: remove_phrase
-- Remove a phrase.
DELETE FROM dedup.correction_phrase WHERE phrase = %(phrase)s

-- name: of_articles
-- Return the agencies that articles credit, by source_id. OFFSET 0 forces index lookups, even with outdated statistics.
SELECT given.source_id, c.agency, c.place, c.kind
FROM unnest(%(source_ids)s::text[]) AS given (source_id)
CROSS JOIN LATERAL (SELECT id FROM dedup.mark WHERE source_id = given.source_id COLLATE "C" OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT agency, place, kind FROM dedup.article_credit WHERE article_id = a.id OFFSET 0) AS c
ORDER BY 1, 2

-- name: of_stories
-- Return the agencies that a story credits, with the number of crediting articles. A story is given by the source_id of
-- its original. Only credits of the kind text count.
SELECT o.source_id, c.agency, count(*)
FROM dedup.mark o JOIN dedup.article_credit c ON c.story_id = o.id
WHERE o.source_id = ANY (%(source_ids)s) AND c.kind = 'text' GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2

-- name: publications
-- Return for each publication the number and share of articles that come from news agencies.
SELECT publication, articles, credited, agency_copy, share, settled, own, own_at_most FROM dedup.publication_credit
ORDER BY agency_copy DESC, publication
