-- Origins of sets of articles.

-- name: origins
-- Return the origins of the chosen articles with totals in every row. The last row may count the articles that are not
-- compared, and is no origin.
WITH given AS MATERIALIZED (SELECT ARRAY(${chosen}) AS ids),
found AS MATERIALIZED (SELECT o.* FROM given CROSS JOIN LATERAL dedup.origins(given.ids) AS o)
SELECT kind, left(name, %(characters)s), articles, stories, outlets,
       count(*) FILTER (WHERE kind <> 'not compared') OVER (),
       (sum(articles) OVER ())::bigint,
       (sum(stories) OVER ())::bigint,
       (coalesce(sum(articles) FILTER (WHERE kind = 'not compared') OVER (), 0))::bigint,
       (SELECT count(DISTINCT p.outlet) FROM given CROSS JOIN LATERAL unnest(given.ids) AS member (id)
        CROSS JOIN LATERAL (SELECT outlet FROM dedup.outlet_article WHERE id = member.id OFFSET 0) AS p)
FROM found ORDER BY kind = 'not compared', stories DESC, articles DESC, kind, name LIMIT %(limit)s

-- name: chosen
-- Select the articles of a filter. An article with an implausible time of publication is on no day. `among`: one of the
-- next three statements. `known`: the time of publication, null if missing or implausible.
SELECT m.id FROM (${among}) AS m
WHERE coalesce(m.published_at, m.added_at) >= %(since)s AND coalesce(m.published_at, m.added_at) < %(until)s
  AND (NOT %(dated)s OR ${known} IS NOT NULL)
  AND (%(publication)s::text IS NULL OR m.publication = %(publication)s)
  AND (%(language)s::text IS NULL OR m.language = %(language)s)
  AND (%(credit)s::text IS NULL OR EXISTS (
      SELECT FROM dedup.article_credit c WHERE c.article_id = m.id AND c.agency = %(credit)s AND c.kind = 'text'))

-- name: whole
-- Select all articles.
SELECT * FROM dedup.mark

-- name: with_words
-- Select the articles whose title or text has all words, by the index of words.
SELECT * FROM dedup.mark WHERE id IN (
    SELECT id FROM dedup.marked_article WHERE ${indexed} @@ plainto_tsquery('simple', ${words}))

-- name: named
-- Select articles by source_id. OFFSET 0 forces index lookups, even with outdated statistics.
SELECT a.* FROM unnest(%(source_ids)s::text[]) AS given (source_id)
CROSS JOIN LATERAL (SELECT * FROM dedup.mark WHERE source_id = given.source_id COLLATE "C" OFFSET 0) AS a

-- name: missing
-- Return the first source_id that no article has.
SELECT given.source_id FROM unnest(%(source_ids)s::text[]) WITH ORDINALITY AS given (source_id, place)
WHERE NOT EXISTS (SELECT FROM dedup.mark m WHERE m.source_id = given.source_id COLLATE "C") ORDER BY given.place LIMIT 1
