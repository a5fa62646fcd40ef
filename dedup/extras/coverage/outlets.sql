-- The editable table of outlets.

-- name: listed
-- Return every outlet that has articles or a row in the table, with its number of articles, the highest number first.
SELECT coalesce(o.name, p.name), o.family, o.alias_of, o.agency, coalesce(p.articles, 0)
FROM dedup.outlet o
FULL JOIN (SELECT publication COLLATE "C" AS name, count(*) AS articles FROM dedup.outlet_article
           WHERE btrim(publication) <> '' GROUP BY 1) AS p ON p.name = o.name
ORDER BY coalesce(p.articles, 0) DESC, 1

-- name: stored
-- Return the rows of the table.
SELECT name, family, alias_of, agency FROM dedup.outlet ORDER BY name

-- name: of_name
-- Return the row of an outlet.
SELECT name, family, alias_of, agency FROM dedup.outlet WHERE name = %(name)s

-- name: without_articles
-- Return the names that no article has as its outlet, by the index of the first 100 characters.
SELECT given.name FROM unnest(%(names)s::text[]) WITH ORDINALITY AS given (name, number)
WHERE NOT EXISTS (SELECT FROM dedup.outlet_article
                  WHERE left(publication, 100) COLLATE "C" = left(given.name, 100)
                    AND publication COLLATE "C" = given.name OFFSET 0)
ORDER BY given.number

-- name: unlisted
-- Return the agencies of `agencies` that are not listed.
SELECT given.name FROM unnest(%(agencies)s::text[]) AS given (name)
WHERE NOT EXISTS (SELECT FROM dedup.agency g WHERE g.name = given.name COLLATE "C") ORDER BY 1

-- name: chained
-- If the change would make an alias of an alias, return the first alias, its outlet, and the outlet of that outlet.
WITH later AS (
    SELECT * FROM unnest(%(names)s::text[], %(aliases)s::text[]) AS given (name, alias_of)
    UNION ALL
    SELECT name, alias_of FROM dedup.outlet WHERE name <> ALL (%(names)s::text[])
)
SELECT a.name, a.alias_of, t.alias_of FROM later a JOIN later t ON t.name = a.alias_of
WHERE t.alias_of IS NOT NULL ORDER BY 1 LIMIT 1

-- name: write
-- Store rows, in place of earlier rows of the same outlets, and a row for each outlet of an alias.
INSERT INTO dedup.outlet AS o (name, family, alias_of, agency)
SELECT * FROM unnest(%(names)s::text[], %(families)s::text[], %(aliases)s::text[], %(agencies)s::text[])
UNION ALL
SELECT DISTINCT given.name, NULL, NULL, NULL FROM unnest(%(aliases)s::text[]) AS given (name)
WHERE given.name <> ALL (%(names)s::text[]) AND NOT EXISTS (SELECT FROM dedup.outlet t WHERE t.name = given.name COLLATE "C")
ON CONFLICT (name) DO UPDATE SET family = excluded.family, alias_of = excluded.alias_of, agency = excluded.agency

-- name: aliases
-- Return some aliases of an outlet.
SELECT name FROM dedup.outlet WHERE alias_of = %(name)s ORDER BY name LIMIT %(limit)s

-- name: remove
-- Delete the row of an outlet.
DELETE FROM dedup.outlet WHERE name = %(name)s
