-- Sentences with their words: what each version of a story altered, and what many outlets share. Fingerprints have
-- hashes only, and a text is cut into sentences by the program. So `dedup sentences` fills two tables here, when
-- somebody asks for it, and a worker every so many minutes where somebody asked for that; neither a hook nor a backfill
-- does anything for them. The views show only what still fits the marks and the texts.

CREATE TABLE dedup.compared_version (
    article_id bigint NOT NULL,
    before_id bigint NOT NULL,
    revision integer NOT NULL,
    before_revision integer NOT NULL,
    earlier text[] NOT NULL,
    later text[] NOT NULL,
    earlier_hashes bigint[] NOT NULL,
    later_hashes bigint[] NOT NULL,
    compared_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT compared_version_pkey PRIMARY KEY (article_id)
);
CREATE INDEX compared_version_before ON dedup.compared_version (before_id);
COMMENT ON TABLE dedup.compared_version IS
    'What differs between a version of a story and the one before, as `dedup sentences` found it. Read it as dedup.alteration.';
COMMENT ON COLUMN dedup.compared_version.article_id IS 'The version (article.id).';
COMMENT ON COLUMN dedup.compared_version.before_id IS 'The version before (article.id).';
COMMENT ON COLUMN dedup.compared_version.revision IS 'article.revision of the version when it was compared.';
COMMENT ON COLUMN dedup.compared_version.before_revision IS 'article.revision of the version before.';
COMMENT ON COLUMN dedup.compared_version.earlier IS 'Sentences of the version before that are not in this one, one an alteration; null where one was added.';
COMMENT ON COLUMN dedup.compared_version.later IS 'The sentence in its place, or null where it was removed.';
COMMENT ON COLUMN dedup.compared_version.earlier_hashes IS 'The hashes of `earlier`.';
COMMENT ON COLUMN dedup.compared_version.later_hashes IS 'The hashes of `later`.';
COMMENT ON COLUMN dedup.compared_version.compared_at IS 'When.';

CREATE TABLE dedup.quoted_sentence (
    sentence_hash bigint NOT NULL,
    article_id bigint NOT NULL,
    revision integer NOT NULL,
    outlets integer NOT NULL,
    stories integer NOT NULL,
    articles integer NOT NULL,
    words text NOT NULL,
    counted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT quoted_sentence_pkey PRIMARY KEY (sentence_hash)
);
CREATE INDEX quoted_sentence_article ON dedup.quoted_sentence (article_id);
CREATE INDEX quoted_sentence_outlets ON dedup.quoted_sentence (outlets, sentence_hash);
CREATE INDEX quoted_sentence_stories ON dedup.quoted_sentence (stories, sentence_hash);
COMMENT ON TABLE dedup.quoted_sentence IS
    'Sentences that several outlets share, as `dedup sentences` counted them. Read it as dedup.quote.';
COMMENT ON COLUMN dedup.quoted_sentence.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.quoted_sentence.article_id IS 'The earliest article with it (article.id), whose words these are.';
COMMENT ON COLUMN dedup.quoted_sentence.revision IS 'article.revision of that article when its text was read.';
COMMENT ON COLUMN dedup.quoted_sentence.outlets IS 'Publications with it, each once.';
COMMENT ON COLUMN dedup.quoted_sentence.stories IS 'Stories with it.';
COMMENT ON COLUMN dedup.quoted_sentence.articles IS 'Articles with it.';
COMMENT ON COLUMN dedup.quoted_sentence.words IS 'The sentence as that article prints it; its first 500 characters.';
COMMENT ON COLUMN dedup.quoted_sentence.counted_at IS 'When it was counted.';

CREATE TABLE dedup.sentence_schedule (
    only_row boolean NOT NULL DEFAULT true,
    minutes integer NOT NULL,
    outlets integer NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sentence_schedule_pkey PRIMARY KEY (only_row),
    CONSTRAINT sentence_schedule_only_row_check CHECK (only_row),
    CONSTRAINT sentence_schedule_minutes_check CHECK (minutes > 0)
);
COMMENT ON TABLE dedup.sentence_schedule IS 'How often a worker does what `dedup sentences` does; without a row none does.';
COMMENT ON COLUMN dedup.sentence_schedule.only_row IS 'Always true: there is one row at most.';
COMMENT ON COLUMN dedup.sentence_schedule.minutes IS 'From one beginning to the next.';
COMMENT ON COLUMN dedup.sentence_schedule.outlets IS 'Outlets that share a sentence at least, for it to be a quote.';
COMMENT ON COLUMN dedup.sentence_schedule.begun_at IS 'When it was last begun.';

-- Words go with the texts that they are from.
CREATE FUNCTION dedup.sentences_went() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM compared_version;
        DELETE FROM quoted_sentence;
    ELSE
        DELETE FROM compared_version WHERE article_id = OLD.id;
        DELETE FROM compared_version WHERE before_id = OLD.id;
        DELETE FROM quoted_sentence WHERE article_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sentences_edited AFTER UPDATE OF title, text, text_hash, language ON dedup.article
    FOR EACH ROW WHEN (OLD.revision <> NEW.revision) EXECUTE FUNCTION dedup.sentences_went();
CREATE TRIGGER sentences_deleted AFTER DELETE ON dedup.article
    FOR EACH ROW EXECUTE FUNCTION dedup.sentences_went();
CREATE TRIGGER sentences_emptied AFTER TRUNCATE ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.sentences_went();

-- Story by story, so that one story costs what it holds.
CREATE VIEW dedup.story_version AS
SELECT v.id, a.source_id, c.id AS story_id, o.source_id AS story_source_id, v.version,
       v.before_id, b.source_id AS before_source_id, a.title, a.publication,
       CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
             THEN a.published_at END AS appeared_at, c.archived
FROM dedup.article_mark c
CROSS JOIN LATERAL (
    SELECT c.id, 1::bigint AS version, CASE WHEN c.status = 'similar' THEN (
        SELECT m.other_id FROM dedup.match m
        JOIN dedup.article_mark e ON e.id = m.other_id
        JOIN dedup.article s ON s.id = m.other_id
        WHERE m.article_id = c.id AND m.relation = 'similar'
        ORDER BY m.score DESC, e.time, s.source_id LIMIT 1) END AS before_id
    UNION ALL
    SELECT k.id, 1 + row_number() OVER w, lag(k.id, 1, c.id) OVER w
    FROM dedup.article_mark k JOIN dedup.article s ON s.id = k.id
    WHERE k.duplicate_of = c.id
    WINDOW w AS (ORDER BY k.time, s.source_id)
) v
JOIN dedup.article o ON o.id = c.id
-- OFFSET 0: each looked up by its key. Joined otherwise, the planner expects next to no rows, and then meets all.
CROSS JOIN LATERAL (SELECT * FROM dedup.article a WHERE a.id = v.id OFFSET 0) AS a
LEFT JOIN LATERAL (SELECT source_id FROM dedup.article b WHERE b.id = v.before_id OFFSET 0) AS b ON true
WHERE c.status <> 'duplicate';
COMMENT ON VIEW dedup.story_version IS 'Every article as a version of its story, with the version before it: the original, then its duplicates by time. Before an original is the earlier story that it is most like.';
COMMENT ON COLUMN dedup.story_version.id IS 'article.id.';
COMMENT ON COLUMN dedup.story_version.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.story_version.story_id IS 'article.id of the original of its story.';
COMMENT ON COLUMN dedup.story_version.story_source_id IS 'The caller''s key of the original.';
COMMENT ON COLUMN dedup.story_version.version IS 'Its number: 1 is the original, 2 the first of its duplicates by time.';
COMMENT ON COLUMN dedup.story_version.before_id IS 'article.id of the version before. Of an original: of the earlier original that it is most like, or null.';
COMMENT ON COLUMN dedup.story_version.before_source_id IS 'The caller''s key of that article.';
COMMENT ON COLUMN dedup.story_version.title IS 'Headline.';
COMMENT ON COLUMN dedup.story_version.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.story_version.appeared_at IS 'When it was published; null where that is not known.';
COMMENT ON COLUMN dedup.story_version.archived IS 'The original is before the horizon.';

CREATE VIEW dedup.alteration AS
SELECT v.id, v.source_id, v.story_source_id, v.version, v.before_source_id, v.publication, v.appeared_at,
       p.position::integer AS position,
       CASE WHEN p.earlier IS NULL THEN 'added' WHEN p.later IS NULL THEN 'removed' ELSE 'changed' END AS kind,
       p.earlier, p.later,
       EXISTS (SELECT FROM dedup.common_sentence s
               WHERE s.sentence_hash = p.earlier_hash OR s.sentence_hash = p.later_hash) AS common
FROM dedup.story_version v
CROSS JOIN LATERAL (
    SELECT * FROM dedup.compared_version c WHERE c.article_id = v.id AND c.before_id = v.before_id OFFSET 0) AS c
CROSS JOIN LATERAL (
    SELECT FROM dedup.article a WHERE a.id = c.article_id AND a.revision = c.revision OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT FROM dedup.article b WHERE b.id = c.before_id AND b.revision = c.before_revision OFFSET 0) AS b
CROSS JOIN LATERAL unnest(c.earlier, c.later, c.earlier_hashes, c.later_hashes)
    WITH ORDINALITY AS p (earlier, later, earlier_hash, later_hash, position);
COMMENT ON VIEW dedup.alteration IS 'How stories were altered along the way: sentences that a version added, removed or changed against the version before. `dedup sentences` fills it.';
COMMENT ON COLUMN dedup.alteration.id IS 'article.id of the version.';
COMMENT ON COLUMN dedup.alteration.source_id IS 'The caller''s key of the version.';
COMMENT ON COLUMN dedup.alteration.story_source_id IS 'The caller''s key of the original of its story.';
COMMENT ON COLUMN dedup.alteration.version IS 'Its number in the story; that of an original is 1, and the version before is of another story.';
COMMENT ON COLUMN dedup.alteration.before_source_id IS 'The caller''s key of the version before.';
COMMENT ON COLUMN dedup.alteration.publication IS 'Who published the version.';
COMMENT ON COLUMN dedup.alteration.appeared_at IS 'When the version was published; null where that is not known.';
COMMENT ON COLUMN dedup.alteration.position IS 'Order of the alterations of a version, from 1.';
COMMENT ON COLUMN dedup.alteration.kind IS 'added, removed or changed.';
COMMENT ON COLUMN dedup.alteration.earlier IS 'The sentence in the version before; null where it was added.';
COMMENT ON COLUMN dedup.alteration.later IS 'The sentence in the version; null where it was removed.';
COMMENT ON COLUMN dedup.alteration.common IS 'Whether it is a common sentence, which counts for nothing.';

CREATE VIEW dedup.quote AS
SELECT q.sentence_hash, q.words, q.outlets, q.stories, q.articles,
       c.sentence_hash IS NOT NULL AS common,
       q.words ~ '["«»„“”「」『』]' AS speech,
       a.source_id, a.publication,
       CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
             THEN a.published_at END AS appeared_at, q.counted_at
FROM dedup.quoted_sentence q
JOIN dedup.article a ON a.id = q.article_id AND a.revision = q.revision
LEFT JOIN dedup.common_sentence c ON c.sentence_hash = q.sentence_hash;
COMMENT ON VIEW dedup.quote IS 'Sentences that several outlets share, with their words, common ones included. `dedup sentences` fills it.';
COMMENT ON COLUMN dedup.quote.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.quote.words IS 'The sentence as the earliest article prints it; its first 500 characters.';
COMMENT ON COLUMN dedup.quote.outlets IS 'Publications with it, each once.';
COMMENT ON COLUMN dedup.quote.stories IS 'Stories with it: a sentence of one story only was reprinted with it.';
COMMENT ON COLUMN dedup.quote.articles IS 'Articles with it.';
COMMENT ON COLUMN dedup.quote.common IS 'Whether it is a common sentence, which counts for nothing.';
COMMENT ON COLUMN dedup.quote.speech IS 'Whether it holds a quotation mark.';
COMMENT ON COLUMN dedup.quote.source_id IS 'The caller''s key of the earliest article with it.';
COMMENT ON COLUMN dedup.quote.publication IS 'Who published that article.';
COMMENT ON COLUMN dedup.quote.appeared_at IS 'When; null where that is not known.';
COMMENT ON COLUMN dedup.quote.counted_at IS 'When it was counted.';
