-- Credits: the agencies that a text or a byline names as its source (docs/semantics.md, section 11). They are read where
-- texts are fingerprinted, and stored with the fingerprint. What a hook stored, or what changed besides the text, waits in
-- credit_unread for the next backfill or worker.

CREATE TABLE dedup.agency (
    id integer GENERATED ALWAYS AS IDENTITY,
    name text COLLATE "C" NOT NULL,
    spellings text[] NOT NULL,
    places text[] NOT NULL DEFAULT '{byline,dateline,end,copyright,contribution}',
    CONSTRAINT agency_pkey PRIMARY KEY (id),
    CONSTRAINT agency_name_key UNIQUE (name),
    CONSTRAINT agency_spellings_check CHECK (cardinality(spellings) > 0 AND array_position(spellings, NULL) IS NULL),
    CONSTRAINT agency_places_check
        CHECK (cardinality(places) > 0 AND places <@ '{byline,dateline,end,copyright,contribution}')
);
COMMENT ON TABLE dedup.agency IS 'The agencies whose credits are read. Change it as you like: all articles are read again by the next backfill.';
COMMENT ON COLUMN dedup.agency.id IS 'Number of the agency.';
COMMENT ON COLUMN dedup.agency.name IS 'As it is shown.';
COMMENT ON COLUMN dedup.agency.spellings IS 'How texts write it. Case counts where it has fewer than four characters.';
COMMENT ON COLUMN dedup.agency.places IS 'Where it counts: byline, dateline, end, copyright, contribution.';
INSERT INTO dedup.agency (name, spellings) VALUES
    ('AP', '{"AP","Associated Press"}'),
    ('AFP', '{"AFP","Agence France-Presse","Agence France Presse"}'),
    ('Reuters', '{"Reuters","Reuter","Thomson Reuters","Reuters Health","Reuters Life!"}'),
    ('dpa', '{"dpa","DPA","Deutsche Presse-Agentur","Deutsche Presse Agentur"}'),
    ('PTI', '{"PTI","Press Trust of India"}'),
    ('ANI', '{"ANI","Asian News International"}'),
    ('IANS', '{"IANS","Indo-Asian News Service"}'),
    ('UPI', '{"UPI","United Press International"}'),
    ('ANSA', '{"ANSA"}'),
    ('EFE', '{"EFE","Agencia EFE"}'),
    ('Europa Press', '{"Europa Press","EUROPA PRESS"}'),
    ('Xinhua', '{"Xinhua","Xinhua News Agency","新华社"}'),
    ('TASS', '{"TASS","Itar-Tass","ITAR-TASS","Tass"}'),
    ('Interfax', '{"Interfax"}'),
    ('RIA Novosti', '{"RIA Novosti"}'),
    ('Kyodo', '{"Kyodo","Kyodo News"}'),
    ('Jiji', '{"Jiji","Jiji Press"}'),
    ('Yonhap', '{"Yonhap","Yonhap News Agency"}'),
    ('PA', '{"PA","Press Association","PA Media","PA News Agency"}'),
    ('AAP', '{"AAP","Australian Associated Press"}'),
    ('The Canadian Press', '{"Canadian Press","CP","La Presse Canadienne"}'),
    ('APA', '{"APA","Austria Presse Agentur"}'),
    ('SID', '{"SID","Sport-Informations-Dienst","sid"}'),
    ('epd', '{"epd","Evangelischer Pressedienst"}'),
    ('KNA', '{"KNA","Katholische Nachrichten-Agentur"}'),
    ('Keystone-SDA', '{"Keystone-SDA","SDA","sda","Keystone-ATS","ATS","ats"}'),
    ('Belga', '{"Belga","BELGA"}'),
    ('ANP', '{"ANP"}'),
    ('NTB', '{"NTB"}'),
    ('TT', '{"TT"}'),
    ('Ritzau', '{"Ritzau","RITZAU"}'),
    ('STT', '{"STT","STT-FNB"}'),
    ('Lusa', '{"Lusa","LUSA"}'),
    ('PAP', '{"PAP"}'),
    ('MTI', '{"MTI"}'),
    ('Anadolu', '{"Anadolu Agency","Anadolu Ajansi","Anadolu Ajansı","Anadolu"}'),
    ('DHA', '{"DHA"}'),
    ('WAM', '{"WAM"}'),
    ('IRNA', '{"IRNA"}'),
    ('Antara', '{"Antara","ANTARA"}'),
    ('Bernama', '{"Bernama","BERNAMA"}'),
    ('Notimex', '{"Notimex","NOTIMEX"}'),
    ('Telam', '{"Télam","Telam","TELAM"}'),
    ('NAN', '{"News Agency of Nigeria","NAN"}'),
    ('GNA', '{"GNA","Ghana News Agency"}'),
    ('APP', '{"APP","Associated Press of Pakistan"}'),
    ('BNS', '{"BNS"}'),
    ('Bloomberg', '{"Bloomberg","Bloomberg News"}');

CREATE TABLE dedup.credit (
    article_id bigint NOT NULL,
    agency_id integer NOT NULL,
    place text NOT NULL,
    CONSTRAINT credit_pkey PRIMARY KEY (article_id, agency_id),
    CONSTRAINT credit_place_check CHECK (place IN ('byline', 'dateline', 'end', 'copyright', 'contribution'))
);
COMMENT ON TABLE dedup.credit IS 'Which agencies an article credits. With names: dedup.article_credit.';
COMMENT ON COLUMN dedup.credit.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.credit.agency_id IS 'agency.id.';
COMMENT ON COLUMN dedup.credit.place IS 'Where it is credited; contribution: part of the text is its own.';

CREATE TABLE dedup.credit_unread (
    article_id bigint NOT NULL,
    CONSTRAINT credit_unread_pkey PRIMARY KEY (article_id)
);
COMMENT ON TABLE dedup.credit_unread IS 'Articles whose credits are to be read by the next backfill or worker.';
COMMENT ON COLUMN dedup.credit_unread.article_id IS 'article.id.';
INSERT INTO dedup.credit_unread SELECT id FROM dedup.article;

-- Another list: everything is read again. Under the settle lock, as all that stores credits is.
CREATE FUNCTION dedup.agency_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM settle_lock();
    DELETE FROM credit WHERE agency_id NOT IN (SELECT id FROM agency);
    INSERT INTO credit_unread SELECT id FROM article ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER agency_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON dedup.agency
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.agency_changed();

CREATE FUNCTION dedup.byline_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO credit_unread VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER article_byline AFTER UPDATE OF byline ON dedup.article
    FOR EACH ROW WHEN (OLD.byline IS DISTINCT FROM NEW.byline) EXECUTE FUNCTION dedup.byline_changed();

CREATE FUNCTION dedup.credits_gone() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM credit;
        DELETE FROM credit_unread;
    ELSE
        DELETE FROM credit WHERE article_id IN (SELECT id FROM gone);
        DELETE FROM credit_unread WHERE article_id IN (SELECT id FROM gone);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_credits_gone AFTER DELETE ON dedup.article REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.credits_gone();
CREATE TRIGGER article_credits_emptied AFTER TRUNCATE ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.credits_gone();

CREATE VIEW dedup.article_credit AS
SELECT c.article_id, a.source_id, coalesce(k.duplicate_of, k.id) AS story_id, a.publication, a.published_at,
       g.name AS agency, c.place
FROM dedup.credit c
JOIN dedup.agency g ON g.id = c.agency_id
JOIN dedup.article a ON a.id = c.article_id
JOIN dedup.article_mark k ON k.id = c.article_id;
COMMENT ON VIEW dedup.article_credit IS 'Which agencies articles credit: one row per article and agency.';
COMMENT ON COLUMN dedup.article_credit.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.article_credit.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.article_credit.story_id IS 'article.id of the original of its story; its own where it is no duplicate.';
COMMENT ON COLUMN dedup.article_credit.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.article_credit.published_at IS 'When it was published.';
COMMENT ON COLUMN dedup.article_credit.agency IS 'Name of the agency.';
COMMENT ON COLUMN dedup.article_credit.place IS 'byline, dateline, end, copyright, or contribution: only part of the text is the agency''s.';

CREATE VIEW dedup.agency_copy AS
SELECT a.id AS article_id, a.source_id, a.publication, a.published_at, s.story_id, s.agency,
       EXISTS (SELECT FROM dedup.article_credit c
               WHERE c.article_id = a.id AND c.agency = s.agency AND c.place <> 'contribution') AS credited
FROM (SELECT DISTINCT story_id, agency FROM dedup.article_credit WHERE place <> 'contribution') AS s
JOIN dedup.article_mark k ON coalesce(k.duplicate_of, k.id) = s.story_id
JOIN dedup.article a ON a.id = k.id;
COMMENT ON VIEW dedup.agency_copy IS 'Articles that are the text of an agency: they credit it, or another article of their story does. One row per article and agency.';
COMMENT ON COLUMN dedup.agency_copy.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.agency_copy.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.agency_copy.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.agency_copy.published_at IS 'When it was published.';
COMMENT ON COLUMN dedup.agency_copy.story_id IS 'article.id of the original of its story.';
COMMENT ON COLUMN dedup.agency_copy.agency IS 'Name of the agency.';
COMMENT ON COLUMN dedup.agency_copy.credited IS 'Whether the article itself credits it.';

CREATE VIEW dedup.publication_credit AS
SELECT coalesce(a.publication, '') AS publication, count(*) AS articles, count(*) FILTER (WHERE c.credited) AS credited,
       count(c.article_id) AS agency_copy, count(c.article_id)::double precision / count(*) AS share
FROM dedup.article a
LEFT JOIN (SELECT article_id, bool_or(credited) AS credited FROM dedup.agency_copy GROUP BY article_id) AS c
    ON c.article_id = a.id
GROUP BY 1;
COMMENT ON VIEW dedup.publication_credit IS 'How much of each publication is agency copy, also where no article of the agency is in the corpus.';
COMMENT ON COLUMN dedup.publication_credit.publication IS 'Who published; empty where unknown.';
COMMENT ON COLUMN dedup.publication_credit.articles IS 'Its articles.';
COMMENT ON COLUMN dedup.publication_credit.credited IS 'Those that credit an agency themselves.';
COMMENT ON COLUMN dedup.publication_credit.agency_copy IS 'These, and those of whose story another article does.';
COMMENT ON COLUMN dedup.publication_credit.share IS 'agency_copy over articles.';
