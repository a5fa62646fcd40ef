-- Outlets and origins: who stands behind a text (docs/semantics.md, section 12).

CREATE TABLE dedup.outlet (
    name text COLLATE "C" NOT NULL,
    family text COLLATE "C",
    alias_of text COLLATE "C",
    agency text COLLATE "C",
    is_alias boolean NOT NULL GENERATED ALWAYS AS (alias_of IS NOT NULL) STORED,
    target_is_alias boolean GENERATED ALWAYS AS (CASE WHEN alias_of IS NOT NULL THEN false END) STORED,
    CONSTRAINT outlet_pkey PRIMARY KEY (name),
    -- An entry of a btree holds at most some 2,700 bytes.
    CONSTRAINT outlet_name_check CHECK (btrim(name) <> '' AND octet_length(name) <= 1000),
    CONSTRAINT outlet_family_check CHECK (btrim(family) <> '' AND octet_length(family) <= 1000),
    CONSTRAINT outlet_agency_check CHECK (btrim(agency) <> '' AND octet_length(agency) <= 1000),
    CONSTRAINT outlet_alias_check CHECK (alias_of IS NULL OR (family IS NULL AND agency IS NULL)),
    CONSTRAINT outlet_is_alias_key UNIQUE (name, is_alias),
    -- The foreign key refers only to outlets that are no aliases: so there are no chains and no cycles.
    CONSTRAINT outlet_alias_of_fkey FOREIGN KEY (alias_of, target_is_alias) REFERENCES dedup.outlet (name, is_alias)
);
CREATE INDEX outlet_alias_of ON dedup.outlet (alias_of) WHERE alias_of IS NOT NULL;
COMMENT ON TABLE dedup.outlet IS 'Outlets with owners and other names. Change it as you like: origins are computed when they are asked for. An outlet without a row stands for itself.';
COMMENT ON COLUMN dedup.outlet.name IS 'As in article.publication.';
COMMENT ON COLUMN dedup.outlet.family IS 'Its owner, or another name that joins outlets of one newsroom. Null: none known.';
COMMENT ON COLUMN dedup.outlet.alias_of IS 'The outlet of which this is another name. That outlet has a row, and is no alias.';
COMMENT ON COLUMN dedup.outlet.agency IS 'The agency that the outlet is, as agency.name. Null: none, unless its name is a spelling of a listed agency.';
COMMENT ON COLUMN dedup.outlet.is_alias IS 'Whether alias_of is given.';
COMMENT ON COLUMN dedup.outlet.target_is_alias IS 'Always false, for the foreign key: an alias of an alias is refused.';

CREATE VIEW dedup.outlet_article AS
SELECT a.id, a.source_id, a.publication, n.outlet, n.family,
       coalesce(n.agency, CASE WHEN n.listed THEN (
           SELECT min(g.name) FROM dedup.agency g
           WHERE lower(n.outlet) IN (SELECT lower(s) COLLATE "C" FROM unnest(g.spellings || g.name) AS s)) END) AS agency
FROM dedup.article a
LEFT JOIN dedup.outlet o ON o.name = a.publication COLLATE "C"
LEFT JOIN dedup.outlet t ON t.name = o.alias_of
CROSS JOIN LATERAL (
    SELECT coalesce(o.alias_of, CASE WHEN btrim(a.publication) <> '' THEN a.publication COLLATE "C" END) AS outlet,
           coalesce(t.family, o.family) AS family, coalesce(t.agency, o.agency) AS agency,
           -- The names of all agencies are hashed once in a query.
           lower(coalesce(o.alias_of, a.publication COLLATE "C")) IN (
               SELECT lower(s) COLLATE "C" FROM dedup.agency, unnest(spellings || name) AS s) AS listed
) AS n;
COMMENT ON VIEW dedup.outlet_article IS 'Every article with its outlet, the owner of the outlet, and the agency that the outlet is.';
COMMENT ON COLUMN dedup.outlet_article.id IS 'article.id.';
COMMENT ON COLUMN dedup.outlet_article.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.outlet_article.publication IS 'Who published it, as it was given.';
COMMENT ON COLUMN dedup.outlet_article.outlet IS 'The same, or the outlet of which that is an alias; null where unknown.';
COMMENT ON COLUMN dedup.outlet_article.family IS 'The owner of the outlet; null where unknown.';
COMMENT ON COLUMN dedup.outlet_article.agency IS 'The agency that the outlet is; null if it is none.';

-- One credit a text: of the first version that has one, so that a later copy never changes it.
CREATE VIEW dedup.story_origin AS
SELECT k.id AS story_id,
       CASE WHEN c.agency IS NOT NULL THEN 'agency' WHEN o.family IS NOT NULL THEN 'family'
            WHEN o.outlet IS NOT NULL THEN 'outlet' ELSE 'unknown' END AS kind,
       coalesce(c.agency, o.family, o.outlet) AS name
FROM dedup.article_mark k
-- OFFSET 0 forces one look-up by key for each row. In a join the planner may expect too few rows.
CROSS JOIN LATERAL (SELECT outlet, family FROM dedup.outlet_article WHERE id = k.id OFFSET 0) AS o
LEFT JOIN LATERAL (
    SELECT found.agency
    FROM (
        SELECT k.id, true AS original
        UNION ALL
        SELECT copy.id, false FROM (SELECT id FROM dedup.article_mark WHERE duplicate_of = k.id OFFSET 0) AS copy
    ) AS v
    CROSS JOIN LATERAL (
        SELECT p.agency, 0 AS place FROM dedup.outlet_article p WHERE p.id = v.id AND p.agency IS NOT NULL
        UNION ALL
        SELECT g.name, array_position('{byline,dateline,end,copyright}', d.place)
        FROM dedup.credit d JOIN dedup.agency g ON g.id = d.agency_id
        WHERE d.article_id = v.id AND d.kind = 'text'
        OFFSET 0
    ) AS found
    CROSS JOIN LATERAL (SELECT source_id, known_at FROM dedup.marked_article WHERE id = v.id OFFSET 0) AS a
    ORDER BY v.original DESC, a.known_at, a.source_id, found.place, found.agency
    LIMIT 1
) AS c ON true
WHERE k.status <> 'duplicate';
COMMENT ON VIEW dedup.story_origin IS 'Who stands behind the text of each story: an agency, else the family of the outlet of its original, else that outlet.';
COMMENT ON COLUMN dedup.story_origin.story_id IS 'article.id of the canonical article.';
COMMENT ON COLUMN dedup.story_origin.kind IS 'agency, family, outlet, or unknown: the original has no outlet.';
COMMENT ON COLUMN dedup.story_origin.name IS 'Name of the agency, the family or the outlet; null if unknown.';

CREATE FUNCTION dedup.origins(article_ids bigint[]) RETURNS TABLE (
    kind text, name text, articles bigint, stories bigint, outlets bigint
)
    LANGUAGE sql STABLE SET search_path = pg_catalog, dedup, pg_temp AS $$
    SELECT coalesce(o.kind, 'not compared'), o.name, count(*), count(DISTINCT s.story_id), count(DISTINCT p.outlet)
    FROM (
        -- Stories first: the copies of each are read once.
        SELECT m.story_id, array_agg(m.id) AS ids
        FROM (SELECT DISTINCT unnest(article_ids) AS id) AS given
        CROSS JOIN LATERAL (
            SELECT id, CASE WHEN status IN ('unique', 'similar', 'duplicate') THEN coalesce(duplicate_of, id) END AS story_id
            FROM article_mark WHERE id = given.id OFFSET 0
        ) AS m
        GROUP BY m.story_id OFFSET 0
    ) AS s
    LEFT JOIN LATERAL (SELECT kind, name FROM story_origin WHERE story_id = s.story_id OFFSET 0) AS o ON true
    CROSS JOIN LATERAL unnest(s.ids) AS member (id)
    CROSS JOIN LATERAL (SELECT outlet FROM outlet_article WHERE id = member.id OFFSET 0) AS p
    GROUP BY 1, 2
    ORDER BY 4 DESC, 3 DESC, 1, 2
$$;
COMMENT ON FUNCTION dedup.origins(bigint[]) IS 'The origins of a set of articles, by article.id: one row for each agency, family and outlet, one for all unknown outlets, and one for pending and failed articles (`not compared`), which are no origin.';

CREATE FUNCTION dedup.independent_origins(article_ids bigint[]) RETURNS integer
    LANGUAGE sql STABLE SET search_path = pg_catalog, dedup, pg_temp AS $$
    SELECT count(*)::integer FROM origins(article_ids) WHERE kind <> 'not compared'
$$;
COMMENT ON FUNCTION dedup.independent_origins(bigint[]) IS 'How many independent origins a set of articles has, by article.id.';

-- The new columns are subqueries, which Postgres leaves out of a query that does not name the columns.
CREATE OR REPLACE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       c.known_at AS first_at, CASE WHEN coalesce(d.times_known, true) THEN greatest(c.known_at, d.last_at) END AS last_at,
       1 + d.copies AS articles,
       d.copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids,
       c.archived,
       coalesce(d.undated, '{}') AS also_in,
       coalesce(d.times_known, c.known_at IS NOT NULL) AS times_known,
       (SELECT count(DISTINCT p.outlet)
        FROM (SELECT c.id UNION ALL SELECT copy.id FROM dedup.article_mark copy WHERE copy.duplicate_of = c.id) AS v
        CROSS JOIN LATERAL (SELECT outlet FROM dedup.outlet_article WHERE id = v.id OFFSET 0) AS p) AS outlets,
       CASE WHEN c.status IN ('unique', 'similar') OR d.copies > 0 THEN 1 ELSE 0 END AS independent_origins,
       (SELECT kind FROM dedup.story_origin WHERE story_id = c.id OFFSET 0) AS origin_kind,
       (SELECT name FROM dedup.story_origin WHERE story_id = c.id OFFSET 0) AS origin
FROM dedup.marked_article c
CROSS JOIN LATERAL (
    SELECT count(*) AS copies,
           array_agg(DISTINCT publication ORDER BY publication)
               FILTER (WHERE publication IS NOT NULL AND t.delay > interval '0') AS publications,
           array_agg(DISTINCT publication ORDER BY publication)
               FILTER (WHERE publication IS NOT NULL AND (t.delay > interval '0') IS NOT TRUE) AS undated,
           array_agg(source_id ORDER BY a.known_at, source_id) AS source_ids,
           max(a.known_at) AS last_at, bool_and(t.delay IS NOT NULL) AS times_known
    FROM dedup.marked_article a
    CROSS JOIN LATERAL (
        SELECT CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') AND c.known_at <> date_trunc('day', c.known_at, 'UTC')
                    THEN nullif(a.known_at - c.known_at, interval '0')
                    ELSE nullif(date_trunc('day', a.known_at, 'UTC') - date_trunc('day', c.known_at, 'UTC'), interval '0') END AS delay
    ) t
    WHERE a.duplicate_of = c.id
) d
WHERE c.status <> 'duplicate';
COMMENT ON COLUMN dedup.story.outlets IS 'Outlets that printed it, aliases counted once; unknown outlets are not counted.';
COMMENT ON COLUMN dedup.story.independent_origins IS '1, because copies have one origin; 0 if its only article is pending or failed.';
COMMENT ON COLUMN dedup.story.origin_kind IS 'agency, family, outlet or unknown, as in story_origin.';
COMMENT ON COLUMN dedup.story.origin IS 'Name of the agency, the family or the outlet; null if unknown.';
