-- A credit has a kind, which follows from its place (docs/semantics.md, section 11). All credits are read again: the
-- change of `agency` fires agency_changed.

ALTER TABLE dedup.agency DROP CONSTRAINT agency_places_check;
ALTER TABLE dedup.agency ALTER COLUMN places
    SET DEFAULT '{byline,dateline,end,copyright,item,contribution,photo}';
ALTER TABLE dedup.agency ADD CONSTRAINT agency_places_check
    CHECK (cardinality(places) > 0 AND places <@ '{byline,dateline,end,copyright,item,contribution,photo}');
COMMENT ON COLUMN dedup.agency.places IS 'Where it counts: byline, dateline, end, copyright, item, contribution, photo.';
UPDATE dedup.agency SET places = DEFAULT WHERE places @> '{byline,dateline,end,copyright,contribution}';

ALTER TABLE dedup.credit DROP CONSTRAINT credit_place_check;
ALTER TABLE dedup.credit ADD CONSTRAINT credit_place_check
    CHECK (place IN ('byline', 'dateline', 'end', 'copyright', 'item', 'contribution', 'photo'));
ALTER TABLE dedup.credit ADD COLUMN kind text NOT NULL GENERATED ALWAYS AS (
    CASE place WHEN 'item' THEN 'part' WHEN 'contribution' THEN place WHEN 'photo' THEN place ELSE 'text' END) STORED;
COMMENT ON COLUMN dedup.credit.place IS 'Where it is credited.';
COMMENT ON COLUMN dedup.credit.kind IS 'text: the text is the agency''s; part: an item of a column is; contribution: it helped; photo: a picture is its own.';

UPDATE dedup.agency a SET spellings = a.spellings || ARRAY(SELECT unnest(more.spellings) EXCEPT SELECT unnest(a.spellings))
FROM (VALUES
    ('AFP', '{"Afp","afp"}'::text[]),
    ('AP', '{"Ap","ap"}'),
    ('Reuters', '{"REUTERS","Thomson/Reuters","Agence Reuter"}'),
    ('UPI', '{"United Press","United Preß","U.P.","U.P.I."}'),
    ('Europa Press', '{"Europapress","Europapreß"}'),
    ('Keystone-SDA', '{"Agence télégraphique suisse","Schweizerische Depeschenagentur"}')) AS more (name, spellings)
WHERE a.name = more.name;
-- Their names are also those of people, banks and firms, so they count in few places. A list that was shortened stays short.
INSERT INTO dedup.agency (name, spellings, places)
SELECT name, spellings, places FROM (VALUES
    ('Havas', '{"Havas","Agence Havas"}'::text[], '{byline,dateline,end,item}'::text[]),
    ('Wolff', '{"Wolff","Agence Wolff","Wolffbüro","Wolff-Büro","W.T.B.","WTB"}', '{dateline,end,item}'),
    ('DNB', '{"DNB","D.N.B."}', '{dateline,end,item}'),
    ('Stefani', '{"Stefani","Agence Stefani","Agenzia Stefani"}', '{dateline,end,item}'),
    ('Exchange Telegraph', '{"Exchange Telegraph","Exchange","Extel"}', '{dateline,end,item}')) AS more (name, spellings, places)
WHERE (SELECT count(*) FROM dedup.agency) >= 48
ON CONFLICT (name) DO NOTHING;

CREATE OR REPLACE VIEW dedup.article_credit AS
SELECT c.article_id, a.source_id, coalesce(k.duplicate_of, k.id) AS story_id, a.publication, a.published_at,
       g.name AS agency, c.place, c.kind
FROM dedup.credit c
JOIN dedup.agency g ON g.id = c.agency_id
JOIN dedup.article a ON a.id = c.article_id
JOIN dedup.article_mark k ON k.id = c.article_id;
COMMENT ON COLUMN dedup.article_credit.place IS 'byline, dateline, end, copyright, item, contribution or photo.';
COMMENT ON COLUMN dedup.article_credit.kind IS 'text: the text is the agency''s; part: an item of a column is; contribution: it helped; photo: a picture is its own.';

CREATE OR REPLACE VIEW dedup.agency_copy AS
SELECT a.id AS article_id, a.source_id, a.publication, a.published_at, s.story_id, s.agency,
       EXISTS (SELECT FROM dedup.article_credit c
               WHERE c.article_id = a.id AND c.agency = s.agency AND c.kind = 'text') AS credited
FROM (SELECT DISTINCT story_id, agency FROM dedup.article_credit WHERE kind = 'text') AS s
JOIN dedup.article_mark k ON coalesce(k.duplicate_of, k.id) = s.story_id
JOIN dedup.article a ON a.id = k.id;

CREATE OR REPLACE VIEW dedup.publication_credit AS
SELECT coalesce(a.publication, '') AS publication, count(*) AS articles, count(*) FILTER (WHERE c.credited) AS credited,
       count(c.article_id) AS agency_copy, count(c.article_id)::double precision / count(*) AS share,
       count(*) FILTER (WHERE k.status IN ('unique', 'similar', 'duplicate')) AS settled,
       count(*) FILTER (WHERE k.status IN ('unique', 'similar') AND (c.article_id IS NULL OR c.own)) AS own
FROM dedup.article a
JOIN dedup.article_mark k ON k.id = a.id
LEFT JOIN (
    SELECT t.article_id, bool_or(t.credited) AS credited,
           bool_or(lower(t.publication) IN (SELECT lower(unnest(g.spellings || g.name)))) AS own
    FROM dedup.agency_copy t JOIN dedup.agency g ON g.name = t.agency
    GROUP BY t.article_id) AS c ON c.article_id = a.id
GROUP BY 1;
COMMENT ON COLUMN dedup.publication_credit.settled IS 'Its articles that are unique, similar or duplicates.';
COMMENT ON COLUMN dedup.publication_credit.own IS 'The unique and similar ones that are no agency''s text, or its own: the publication is that agency.';
