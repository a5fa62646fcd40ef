-- Corrections: articles that announce that they correct an earlier version (docs/semantics.md, section 12), and the
-- articles that can represent a story. Corrections are read with credits, of articles that wait in credit_unread.

CREATE TABLE dedup.correction_phrase (
    phrase text COLLATE "C" NOT NULL,
    CONSTRAINT correction_phrase_pkey PRIMARY KEY (phrase),
    CONSTRAINT correction_phrase_check CHECK (length(phrase) BETWEEN 5 AND 80 AND phrase = btrim(phrase))
);
COMMENT ON TABLE dedup.correction_phrase IS 'The phrases that announce corrections. Change it as you like: all articles are read again by the next backfill.';
COMMENT ON COLUMN dedup.correction_phrase.phrase IS 'How a headline or a note begins, in any letter case. A colon at its end also stands for a dash or a closing bracket.';
INSERT INTO dedup.correction_phrase VALUES
    ('Corrects'), ('Corrected:'), ('Correction:'), ('Corrections:'), ('Clarification:'), ('Refiles'),
    ('Refiled:'), ('Refile:'), ('Erratum:'), ('Updated to correct'), ('Rectificatif:'), ('Rectification:'),
    ('Correctif:'), ('(Corrige'), ('Corrige:'), ('Corrigé:'), ('Korrektur:'), ('Korrigiert:'),
    ('Korrekturhinweis:'), ('Berichtigung:'), ('Berichtigt:'), ('Richtigstellung:'), ('Corrección:'),
    ('Corregido:'), ('Rectificación:'), ('Errata corrige:'), ('Errata:'), ('Correzione:'), ('Rettifica:'),
    ('(Corregge'), ('Correção:'), ('Corrigido:'), ('Erramos:'), ('Correctie:'), ('Rectificatie:'),
    ('Rättelse:'), ('Rettelse:');
-- Phrases of which parts differ: every combination.
INSERT INTO dedup.correction_phrase
SELECT 'Corrections ' || a || ' ' || b || ':'
FROM unnest('{and,&}'::text[]) AS a,
     unnest('{clarifications,amplifications}'::text[]) AS b
UNION ALL
SELECT a || ' version of this ' || b
FROM unnest('{"An earlier","A previous","The original"}'::text[]) AS a,
     unnest('{article,story,post,report,column,piece,essay,headline,caption}'::text[]) AS b
UNION ALL
SELECT a || ' version of the ' || b
FROM unnest('{"An earlier","A previous"}'::text[]) AS a,
     unnest('{article,story,headline}'::text[]) AS b
UNION ALL
SELECT a || ' version ' || b
FROM unnest('{"An earlier","A previous"}'::text[]) AS a,
     unnest('{misstated,misspelled,misidentified,incorrectly,corrected,gave}'::text[]) AS b
UNION ALL
SELECT 'The headline of this ' || a || ' ' || b || ' ' || c
FROM unnest('{article,story}'::text[]) AS a,
     unnest('{was,"has been"}'::text[]) AS b,
     unnest('{amended,corrected}'::text[]) AS c
UNION ALL
SELECT 'In an earlier version of this ' || a
FROM unnest('{article,story}'::text[]) AS a
UNION ALL
SELECT 'This ' || a || ' ' || b || ' ' || c
FROM unnest('{article,story,post,report,column,piece,review}'::text[]) AS a,
     unnest('{was,"has been"}'::text[]) AS b,
     unnest('{corrected,amended}'::text[]) AS c
UNION ALL
SELECT 'This ' || a || ' ' || b || ' updated to ' || c
FROM unnest('{article,story,post,report,column}'::text[]) AS a,
     unnest('{was,"has been"}'::text[]) AS b,
     unnest('{correct,clarify}'::text[]) AS c
UNION ALL
SELECT 'This ' || a || ' corrects'
FROM unnest('{story,article,version,item}'::text[]) AS a
UNION ALL
SELECT a || ' an editing error'
FROM unnest('{"Due to","Because of","Owing to"}'::text[]) AS a
UNION ALL
SELECT 'Une version ' || a || ' de ' || b
FROM unnest('{précédente,antérieure}'::text[]) AS a,
     unnest('{cet,ce,cette}'::text[]) AS b
UNION ALL
SELECT 'Une première version de ' || a
FROM unnest('{cet,ce,cette}'::text[]) AS a
UNION ALL
SELECT 'Dans une ' || a || ' version de ' || b
FROM unnest('{première,précédente}'::text[]) AS a,
     unnest('{cet,ce,cette}'::text[]) AS b
UNION ALL
SELECT 'Cet article a été ' || a
FROM unnest('{corrigé,rectifié}'::text[]) AS a
UNION ALL
SELECT 'Korrigierte ' || a || ':'
FROM unnest('{Fassung,Version}'::text[]) AS a
UNION ALL
SELECT 'In einer ' || a || ' ' || b || ' ' || c
FROM unnest('{früheren,ersten,vorherigen}'::text[]) AS a,
     unnest('{Version,Fassung}'::text[]) AS b,
     unnest('{dieses,des,der,dieser}'::text[]) AS c
UNION ALL
SELECT 'Eine ' || a || ' ' || b || ' ' || c
FROM unnest('{frühere,erste}'::text[]) AS a,
     unnest('{Version,Fassung}'::text[]) AS b,
     unnest('{dieses,des}'::text[]) AS c
UNION ALL
SELECT 'Dieser ' || a || ' wurde korrigiert'
FROM unnest('{Artikel,Text,Beitrag}'::text[]) AS a
UNION ALL
SELECT 'Fe de ' || a || ':'
FROM unnest('{errores,erratas}'::text[]) AS a
UNION ALL
SELECT 'Una versión ' || a || ' de ' || b
FROM unnest('{anterior,previa}'::text[]) AS a,
     unnest('{este,esta}'::text[]) AS b
UNION ALL
SELECT 'En una ' || a || ' de ' || b
FROM unnest('{"primera versión","versión anterior"}'::text[]) AS a,
     unnest('{este,esta}'::text[]) AS b
UNION ALL
SELECT 'Esta ' || a || ' ha sido corregida'
FROM unnest('{noticia,información}'::text[]) AS a
UNION ALL
SELECT 'Este ' || a || ' ha sido corregido'
FROM unnest('{artículo,texto}'::text[]) AS a
UNION ALL
SELECT a || ' versione precedente di quest' || b
FROM unnest('{Una,"In una"}'::text[]) AS a,
     unnest('{o,a}'::text[]) AS b
UNION ALL
SELECT a || ' versão anterior dest' || b
FROM unnest('{Uma,"Em uma"}'::text[]) AS a,
     unnest('{e,a}'::text[]) AS b
UNION ALL
SELECT 'Diferentemente do ' || a
FROM unnest('{publicado,"que foi publicado",informado}'::text[]) AS a
UNION ALL
SELECT a || ' eerdere versie van dit'
FROM unnest('{Een,"In een"}'::text[]) AS a;

CREATE TABLE dedup.correction (
    article_id bigint NOT NULL,
    phrase text COLLATE "C" NOT NULL,
    place text NOT NULL,
    CONSTRAINT correction_pkey PRIMARY KEY (article_id),
    CONSTRAINT correction_place_check CHECK (place IN ('headline', 'beginning', 'end'))
);
COMMENT ON TABLE dedup.correction IS 'Which articles announce that they are corrections.';
COMMENT ON COLUMN dedup.correction.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.correction.phrase IS 'correction_phrase.phrase.';
COMMENT ON COLUMN dedup.correction.place IS 'Where the article has it: headline, beginning or end of the text.';
COMMENT ON TABLE dedup.credit_unread IS 'Articles whose credits and corrections are to be read by the next backfill or worker.';
INSERT INTO dedup.credit_unread SELECT id FROM dedup.article ON CONFLICT DO NOTHING;

CREATE OR REPLACE FUNCTION dedup.agency_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM settle_lock();
    DELETE FROM credit WHERE agency_id NOT IN (SELECT id FROM agency);
    DELETE FROM correction WHERE phrase NOT IN (SELECT p.phrase FROM correction_phrase p);
    INSERT INTO credit_unread SELECT id FROM article ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER correction_phrase_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON dedup.correction_phrase
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.agency_changed();

-- A headline can announce a correction, and a changed headline alone makes no mark pending.
DROP TRIGGER article_byline ON dedup.article;
CREATE TRIGGER article_byline AFTER UPDATE OF byline, title ON dedup.article
    FOR EACH ROW WHEN (OLD.byline IS DISTINCT FROM NEW.byline OR OLD.title IS DISTINCT FROM NEW.title)
    EXECUTE FUNCTION dedup.byline_changed();

CREATE OR REPLACE FUNCTION dedup.credits_gone() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM credit;
        DELETE FROM correction;
        DELETE FROM credit_unread;
    ELSE
        DELETE FROM credit WHERE article_id IN (SELECT id FROM gone);
        DELETE FROM correction WHERE article_id IN (SELECT id FROM gone);
        DELETE FROM credit_unread WHERE article_id IN (SELECT id FROM gone);
    END IF;
    RETURN NULL;
END $$;

-- A sub-select, so that a query without this column does not look it up.
CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived, a.kept, a.byline,
       CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
            THEN a.published_at END AS known_at,
       (SELECT c.phrase FROM dedup.correction c WHERE c.article_id = a.id) AS correction
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON COLUMN dedup.marked_article.correction IS 'The phrase by which it announces that it is a correction, or null.';

CREATE OR REPLACE VIEW dedup.mark AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       a.status, a.stale, a.duplicate_of, o.source_id AS original_source_id, a.score, a.reason, a.limit_fired,
       a.marked_at, a.archived, a.kept, a.byline, a.correction
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of;
COMMENT ON COLUMN dedup.mark.correction IS 'The phrase by which it announces that it is a correction, or null.';

CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived, a.kept, a.byline, a.correction
FROM dedup.marked_article a
WHERE a.status <> 'duplicate';
COMMENT ON COLUMN dedup.canonical_article.correction IS 'The phrase by which it announces that it is a correction, or null.';

-- The articles of a story are looked up by keys, and only if it has copies: so one story costs what it holds. Either table
-- of fingerprints may be the one in use; only words of the present text count.
CREATE VIEW dedup.story_representative AS
SELECT k.id AS story_id, k.id AS first_id, coalesce(m.latest_id, k.id) AS latest_id,
       coalesce(m.fullest_id, k.id) AS fullest_id
FROM dedup.article_mark k
CROSS JOIN LATERAL (
    SELECT (array_agg(a.id ORDER BY a.correction IS NULL, a.known_at DESC NULLS LAST, w.words DESC, a.source_id))[1]
               AS latest_id,
           (array_agg(a.id ORDER BY w.words DESC, a.correction IS NULL, a.known_at DESC NULLS LAST, a.source_id))[1]
               AS fullest_id
    FROM (SELECT k.id UNION ALL SELECT d.id FROM dedup.article_mark d WHERE d.duplicate_of = k.id) AS told (id)
    CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article WHERE id = told.id OFFSET 0) AS a
    CROSS JOIN LATERAL (
        SELECT coalesce(max(f.word_count), 0) AS words FROM (
            SELECT word_count, revision FROM dedup.fingerprint WHERE article_id = told.id
            UNION ALL
            SELECT word_count, revision FROM dedup.fingerprint_bulk WHERE article_id = told.id) AS f
        WHERE f.revision = a.revision) AS w
    WHERE EXISTS (SELECT FROM dedup.article_mark d WHERE d.duplicate_of = k.id)) AS m
WHERE k.status <> 'duplicate';
COMMENT ON VIEW dedup.story_representative IS 'The articles that can represent each story: the first, the latest and the fullest (docs/semantics.md, section 12).';
COMMENT ON COLUMN dedup.story_representative.story_id IS 'article.id of the canonical article.';
COMMENT ON COLUMN dedup.story_representative.first_id IS 'The same: the canonical article.';
COMMENT ON COLUMN dedup.story_representative.latest_id IS 'article.id of the last correction by known time, or without corrections of the last article.';
COMMENT ON COLUMN dedup.story_representative.fullest_id IS 'article.id of the article with the most words.';

CREATE VIEW dedup.current_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived, a.kept, a.byline, a.correction,
       o.id AS story_id, o.source_id AS story_source_id
FROM dedup.article o
-- OFFSET 0 keeps the look-ups in this order: in a join the planner may begin with all stories.
CROSS JOIN LATERAL (SELECT latest_id FROM dedup.story_representative WHERE story_id = o.id OFFSET 0) AS r
CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article WHERE id = r.latest_id OFFSET 0) AS a;
COMMENT ON VIEW dedup.current_article IS 'The latest article of each story, a correction if there is one (docs/semantics.md, section 12). Use it instead of canonical_article to read the text that stands.';
COMMENT ON COLUMN dedup.current_article.id IS 'article.id.';
COMMENT ON COLUMN dedup.current_article.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.current_article.url IS 'Where it was published.';
COMMENT ON COLUMN dedup.current_article.title IS 'Headline.';
COMMENT ON COLUMN dedup.current_article.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.current_article.published_at IS 'When it was published.';
COMMENT ON COLUMN dedup.current_article.added_at IS 'When the corpus first stored it.';
COMMENT ON COLUMN dedup.current_article.language IS 'ISO 639 code, or null.';
COMMENT ON COLUMN dedup.current_article.text IS 'The body.';
COMMENT ON COLUMN dedup.current_article.status IS 'Its own mark: unique, similar, duplicate, pending or failed.';
COMMENT ON COLUMN dedup.current_article.stale IS 'The mark is the last one and must be settled again.';
COMMENT ON COLUMN dedup.current_article.score IS 'Its own score.';
COMMENT ON COLUMN dedup.current_article.reason IS 'The rule that decided its mark, or why it failed; null if unique.';
COMMENT ON COLUMN dedup.current_article.marked_at IS 'When the mark was written.';
COMMENT ON COLUMN dedup.current_article.archived IS 'Before the horizon: compared with nothing any more.';
COMMENT ON COLUMN dedup.current_article.kept IS 'Columns of one''s own by their names, or null.';
COMMENT ON COLUMN dedup.current_article.byline IS 'Who wrote it, as it was given.';
COMMENT ON COLUMN dedup.current_article.correction IS 'The phrase by which it announces that it is a correction, or null.';
COMMENT ON COLUMN dedup.current_article.story_id IS 'article.id of the canonical article of its story.';
COMMENT ON COLUMN dedup.current_article.story_source_id IS 'The caller''s key of that article.';
