-- The first words of articles without a title.

-- name: beginnings
-- How the texts of articles begin. OFFSET 0: looked up one by one, whatever the statistics say.
SELECT given.source_id, left(t.text, %(characters)s), t.html
FROM unnest(%(source_ids)s::text[]) AS given (source_id)
CROSS JOIN LATERAL (SELECT id FROM dedup.mark WHERE source_id = given.source_id OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT text, html FROM dedup.article_text WHERE article_id = a.id OFFSET 0) AS t
